package io.fulgurite.mlcontext

import java.util.Locale

import com.fasterxml.jackson.databind.JsonNode

/** The layout of a report. */
private[mlcontext] object ReportText {
  private def header = row("seconds", "native", "count", "where", "tasks", "rows", "nnz", "in", "out", "operator")

  def of(report: Report, native: JsonNode, heavyHitters: Int): String = {
    val (shown, others) = report.operators.splitAt(heavyHitters)
    val more =
      if (others.isEmpty) Seq.empty
      else Seq(row(seconds(others.map(_.seconds).sum), seconds(others.map(_.nativeSeconds).sum), s"in ${others.size} more"))
    (Seq(header) ++ shown.map(operator) ++ more ++ report.loops.map(loop) ++ Seq(program(report, native)) ++ interpreted(report) ++ sparkUse(report) ++ report.inputs.map(input) ++ tasks(report))
      .mkString("\n")
  }

  private def operator(of: OperatorReport): String =
    (if (of.tasks == 0) row(seconds(of.seconds), "", of.count.toString, of.location, "", "", "", "", "", of.label)
     else row(
       seconds(of.seconds), seconds(of.nativeSeconds), of.count.toString, of.location,
       of.tasks.toString, of.rows.toString, of.nnz.toString, bytes(of.bytesIn), bytes(of.bytesOut), of.label)) +
      of.form.fold("")(form => s"\n${row(widths.init.map(_ => "") :+ s"  $form": _*)}")

  private val widths = Seq(10, 10, 8, -6, 7, 12, 12, 9, 9, 0)

  private def row(cells: String*): String =
    cells.zip(widths).map { case (cell, width) => if (width == 0) cell else s"%${width}s".format(cell) }.mkString("  ")

  private def program(report: Report, native: JsonNode): String = {
    def milliseconds(name: String) = format("%.1f ms", native.path(name).asDouble)
    val onExecutors =
      if (report.compiledByTasks == 0) ""
      else s"; tasks compiled ${report.compiledByTasks} in ${format("%.1f ms", report.compileSecondsOfTasks * 1000)}"
    format("total %.3f s", report.totalSeconds) + s"; planned ${native.path("blockPlans").asLong} blocks in ${milliseconds("planningMilliseconds")}; " +
      s"compiled ${report.compiled} fused operators in ${milliseconds("compileMilliseconds")}, ${report.planCacheHits} from the cache$onExecutors"
  }

  private def loop(of: LoopReport): String = {
    def counted(count: Long, what: String) = if (count == 1) s"1 $what" else s"$count ${what}s"
    val place = if (of.tasks == 0) "here" else s"on ${of.location} in ${counted(of.tasks, "task")}"
    val where = of.locationReason.fold(if (of.tasks == 0) "" else s"$place, ")(reason => s"$place ($reason), ")
    s"${of.label}: ${counted(of.iterations, "iteration")} in ${counted(of.runs, "run")}, $where${of.degree} at a time with " +
      s"${counted(of.threadsEach.toLong, "thread")} each (${of.reason})" + of.merged.fold("")(merged => s"; $merged")
  }

  private def interpreted(report: Report): Seq[String] =
    report.interpreted.map(reason => s"no machine code, so that fused operators were interpreted: $reason").toSeq

  private def sparkUse(report: Report): Seq[String] = {
    val moved = report.traffic
    val late = if (moved.isComplete) Seq.empty else Seq("Spark had not delivered all its events by the end of the script: there were more jobs, tasks and bytes")
    if (moved.jobs == 0) Seq("no Spark job") ++ late
    else Seq(
      s"Spark: ${moved.jobs} jobs of ${moved.tasks} tasks, ${format("%.1f s", moved.taskSeconds)} on executors; shuffles: ${bytes(moved.shuffleWritten)} written, ${bytes(moved.shuffleRead)} read, " +
        s"${bytes(moved.spilled)} spilled; matrices: ${bytes(moved.broadcast)} broadcast, ${bytes(moved.spread)} spread, ${bytes(moved.collected)} collected") ++ late
  }

  private def input(of: InputReport): String = {
    val read = s"input ${of.name}: ${of.partitionsRead} partitions read from the source, "
    val times = format(if (of.scans.isWhole) "%.0f" else "%.2f", of.scans)
    if (of.partitions == 0) read + "brought to the driver" else read + s"${of.partitions} partitions scanned $times times"
  }

  private def tasks(report: Report): Seq[String] = report.nativeTasks.toSeq.sortBy(_._1).map { case (label, byExecutor) =>
    byExecutor.toSeq.sorted.map { case (executor, count) => s"$count on $executor" }.mkString(s"native tasks of $label: ", ", ", "")
  }

  private def seconds(of: Double): String = format("%.4f", of)

  private def bytes(count: Long): String = {
    val units = Seq("kB", "MB", "GB", "TB")
    if (count < 1000) s"$count B"
    else {
      val power = (1 to units.size).takeWhile(power => count >= math.pow(1000, power.toDouble)).last
      format("%.1f ", count / math.pow(1000, power.toDouble)) + units(power - 1)
    }
  }

  /** The same text in all languages of the system. */
  private def format(pattern: String, number: Double): String = pattern.formatLocal(Locale.ROOT, number)
}
