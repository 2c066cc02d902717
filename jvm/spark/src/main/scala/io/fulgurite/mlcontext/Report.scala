package io.fulgurite.mlcontext

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode
import io.fulgurite.spark.{Event, Json}
import io.fulgurite.spark.metrics.{Figures, NativeWork, Traffic}

/**
 * How one operator ran.
 *
 * @param location `local` or `spark`
 * @param seconds that the control program waited for it: next to none, where Spark computes its result when somebody reads it
 * @param form the physical form in which it ran on the executors, the last time
 * @param plan of a fused operator
 * @param work of its native tasks on the executors
 */
final case class OperatorReport(
    label: String, location: String, count: Long, seconds: Double, form: Option[String], plan: Option[String], work: NativeWork) {
  /** Native tasks, one for each stripe. */
  def tasks: Long = work.tasks
  /** In native code on the executors, all tasks together. */
  def nativeSeconds: Double = work.seconds
  /** Of these, what the operator took, compiling included; the rest is what it takes to call it. */
  def operatorSeconds: Double = work.operatorSeconds
  /** Of these, compiling. */
  def compileSeconds: Double = work.compileSeconds
  def rows: Long = work.rows
  def nnz: Long = work.nnz
  def bytesIn: Long = work.bytesIn
  def bytesOut: Long = work.bytesOut
}

/**
 * How often a distributed input was read.
 *
 * @param partitions that it has; 0 if it was small, and brought to the driver
 * @param partitionsRead from its source: a file, or a DataFrame
 * @param partitionsScanned of what these became, by operators
 */
final case class InputReport(name: String, partitions: Long, partitionsRead: Long, partitionsScanned: Long) {
  /** How often operators read all of it. */
  def scans: Double = if (partitions == 0) 0 else partitionsScanned.toDouble / partitions
}

/**
 * All runs of a `parfor`; where iterations ran, and how many at a time, is of the last one.
 *
 * @param degree iterations at a time
 * @param location `local` or `spark`
 * @param locationReason why there, where there was a choice
 * @param tasks of the job that ran all iterations; 0 where they ran on the driver
 * @param reason what limits the degree
 * @param merged how results were put together on the workers, where that was done there
 */
final case class LoopReport(
    label: String, runs: Long, iterations: Long, degree: Int, threadsEach: Int, location: String, locationReason: Option[String], tasks: Long,
    reason: String, merged: Option[String] = None)

/**
 * What an execution did: the account of the control program, and what Spark's executors say. The latter count what successful
 * tasks did. Work that Spark does again, because an executor or a cached partition was lost, is there again.
 */
final class Report(native: JsonNode, figures: Figures) {

  /** What ran, what took longest first. */
  def operators: Seq[OperatorReport] = {
    val known = Json.elements(native.path("operators")).map { operator =>
      val (label, location) = (operator.path("label").asText, operator.path("location").asText)
      val work = figures.work.get(label).filter(_ => location == Report.Spark)
      OperatorReport(
        label, location, operator.path("count").asLong, operator.path("seconds").asDouble, text(operator, "form"), text(operator, "plan"),
        work.getOrElse(NativeWork()))
    }
    val others = figures.work -- known.filter(_.location == Report.Spark).map(_.label)
    val onExecutorsOnly = others.toSeq.filter(_._2.tasks > 0).map { case (label, work) => OperatorReport(label, Report.Spark, 0, 0.0, None, None, work) }
    (known ++ onExecutorsOnly).sortBy(operator => (-math.max((operator.seconds * 1e9).toLong, operator.work.nanoseconds), operator.label))
  }

  /** [[operators]] for Java. */
  def getOperators: java.util.List[OperatorReport] = java.util.Arrays.asList(operators: _*)

  /** The `parfor` loops that ran. */
  def loops: Seq[LoopReport] = Option(native.get("parfors")).toSeq.flatMap(Json.elements).map { loop =>
    LoopReport(
      loop.path("label").asText, loop.path("runs").asLong, loop.path("iterations").asLong, loop.path("degree").asInt, loop.path("threadsEach").asInt,
      loop.path("location").asText, text(loop, "locationReason"), loop.path("tasks").asLong,
      loop.path("reason").asText, text(loop, "merged"))
  }

  /** [[loops]] for Java. */
  def getLoops: java.util.List[LoopReport] = java.util.Arrays.asList(loops: _*)

  /** Native tasks that executors ran: by operator, then by executor. */
  def nativeTasks: Map[String, Map[String, Long]] = figures.work.filter(_._2.tasks > 0).map { case (label, work) => label -> work.tasksByExecutor }

  /** Executors that ran native tasks. */
  def executors: Set[String] = nativeTasks.values.flatMap(_.keys).toSet

  /** How often each DataFrame, file and distributed matrix was read. */
  def inputs: Seq[InputReport] = {
    val (read, scanned) = (partitionsRead, of(Event.InputPartition))
    (figures.partitions.keySet ++ read.keySet).toSeq.sorted.map { name =>
      InputReport(name, figures.partitions.getOrElse(name, 0).toLong, read.getOrElse(name, 0L), scanned.getOrElse(name, 0L))
    }
  }

  /** [[inputs]] for Java. */
  def getInputs: java.util.List[InputReport] = java.util.Arrays.asList(inputs: _*)

  /** How many partitions of each distributed input were read from its source. */
  def partitionsRead: Map[String, Long] = of(Event.SourcePartition)

  /** Bytes that were moved. */
  def traffic: Traffic = figures.traffic

  /** Why fused operators were interpreted, where the driver may not have machine code. */
  def interpreted: Option[String] = text(native, "interpreted")

  def totalSeconds: Double = native.path("totalSeconds").asDouble
  /** Fused operators that the driver's process compiled for this execution. */
  def compiled: Long = native.path("planCacheMisses").asLong
  def compileSeconds: Double = native.path("compileMilliseconds").asDouble / 1000
  /** How often the driver's process had a fused operator already. */
  def planCacheHits: Long = native.path("planCacheHits").asLong
  /** Fused operators that tasks compiled, since their process had not met them. */
  def compiledByTasks: Long = figures.work.values.map(_.compiled).sum
  def compileSecondsOfTasks: Double = figures.work.values.map(_.compileSeconds).sum

  /** Everything, as JSON: what the control program reports, with what executors did beside it. */
  def json: String = {
    val all = native.deepCopy[ObjectNode]()
    val list = all.putArray("operators")
    val details = Json.elements(native.path("operators")).map(operator => (operator.path("label").asText, operator.path("location").asText) -> operator).toMap
    for (operator <- operators) {
      val node = list.addObject()
      details.get((operator.label, operator.location)).foreach(detail => node.setAll[JsonNode](detail.asInstanceOf[ObjectNode]))
      node.put("label", operator.label).put("location", operator.location).put("count", operator.count).put("seconds", operator.seconds)
      if (operator.location == Report.Spark) {
        node.put("tasks", operator.tasks).put("nativeSeconds", operator.nativeSeconds)
          .put("operatorSeconds", operator.operatorSeconds).put("compileSeconds", operator.compileSeconds)
          .put("rows", operator.rows).put("nnz", operator.nnz).put("bytesIn", operator.bytesIn).put("bytesOut", operator.bytesOut)
      }
    }
    val inputList = all.putArray("inputs")
    for (input <- inputs) {
      inputList.addObject().put("name", input.name).put("partitions", input.partitions).put("partitionsRead", input.partitionsRead)
        .put("partitionsScanned", input.partitionsScanned).put("scans", input.scans)
    }
    all.putObject("spark").put("jobs", traffic.jobs).put("tasks", traffic.tasks).put("taskSeconds", traffic.taskSeconds)
      .put("bytesShuffledWritten", traffic.shuffleWritten).put("bytesShuffledRead", traffic.shuffleRead).put("bytesSpilled", traffic.spilled)
      .put("bytesBroadcast", traffic.broadcast).put("bytesSpread", traffic.spread).put("bytesCollected", traffic.collected)
      .put("isComplete", traffic.isComplete).put("compiled", compiledByTasks).put("compileSeconds", compileSecondsOfTasks)
    Json.pretty(all)
  }

  /** As text: the operators that took longest, at most so many, and all sums. */
  def text(heavyHitters: Int): String = ReportText.of(this, native, heavyHitters)

  override def toString: String = text(Int.MaxValue)

  private def text(of: JsonNode, field: String): Option[String] = Option(of.get(field)).filterNot(_.isNull).map(_.asText)

  private def of(kind: String): Map[String, Long] =
    figures.events.toSeq.filter(_._1.kind == kind).groupBy(_._1.label).map { case (name, events) => name -> events.map(_._2).sum }
}

object Report {
  private[mlcontext] val Spark = "spark"
}
