package io.fulgurite.mlcontext

import java.util.concurrent.atomic.AtomicInteger

import scala.collection.mutable.ArrayBuffer

import io.fulgurite.{Data, Failures, Faults, SparkSessions}
import io.fulgurite.faults.{TaskFault, TaskFaultPlugin}
import org.apache.spark.fulgurite.Jobs
import org.apache.spark.scheduler.{SparkListener, SparkListenerTaskEnd, SparkListenerTaskStart}
import org.scalatest.funsuite.AnyFunSuite

/** What a loop leaves: results, to the bit, and lines. */
final case class Leaves(R: Seq[Seq[Long]], S: Seq[Seq[Long]], s: Double, lines: Seq[String])

/** Iterations of a `parfor` as one job: what they leave is what threads of the driver leave, to the bit. */
abstract class RemoteParforSuite(override val master: String, executors: Set[String]) extends AnyFunSuite with SparkSessions {
  override def configuration: Map[String, String] =
    Map("spark.plugins" -> s"io.fulgurite.spark.FulguriteSparkPlugin,${classOf[TaskFaultPlugin].getName}")

  protected val X: Array[Array[Double]] = Faults.cells(300, 8)

  protected val text: String =
    """scale = function(matrix[double] A, double by) return (matrix[double] B) { B = sqrt(abs(A)) * by }
      |R = matrix(0, nrow(X), ncol(X))
      |S = matrix(1/3, ncol(X), ncol(X))
      |parfor (i in 1:nrow(X)) {
      |  R[i, ] = scale(X[i, ], i / 7)
      |  S += t(X) %*% (X / i)
      |  if (i %% 100 == 0) { print("iteration " + i) }
      |}
      |s = sum(R)""".stripMargin

  protected def run(mode: String, text: String = text): (Leaves, Report) = {
    val lines = ArrayBuffer.empty[String]
    ml.setConfigProperty("fulgurite.parfor.mode", mode).setConfigProperty("fulgurite.threads", "2")
    ml.setPrintSink(line => lines += line)
    try {
      val results = ml.execute(ScriptFactory.dml(text).setName("loop.dml").in("X", X).out("R", "S", "s"))
      val left = Leaves(
        Faults.bits(results.getMatrixAs2DDoubleArray("R")), Faults.bits(results.getMatrixAs2DDoubleArray("S")), results.getDouble("s"), lines.toSeq)
      (left, results.report)
    } finally {
      ml.resetConfig()
      ml.setPrintSink(line => Console.out.println(line))
    }
  }

  private type ScriptInput = Script => Script

  /** R and S, what was printed, and the report, where so much fits here. */
  private def leaves(text: String, X: ScriptInput, budget: String): (Seq[Seq[Seq[Long]]], Seq[String], Report) = {
    val lines = ArrayBuffer.empty[String]
    ml.setConfigProperty("fulgurite.memory.local", budget).setPrintSink(line => lines += line)
    try {
      val results = ml.execute(X(ScriptFactory.dml(text)).out("R", "S"))
      val left = Seq("R", "S").map { name =>
        val matrix = results.getMatrix(name)
        try Faults.bits(matrix.to2DDoubleArray)
        finally matrix.close()
      }
      (left, lines.toSeq, results.report)
    } finally {
      ml.resetConfig()
      ml.setPrintSink(line => Console.out.println(line))
    }
  }

  protected def nothingIsLeft(): Unit = {
    assert(spark.sparkContext.getPersistentRDDs.isEmpty)
    tasksOwnNothing()
  }

  protected lazy val here: Leaves = run("local")._1

  test("iterations are tasks of one job, and leave what threads of the driver leave") {
    val (there, report) = run("remote")
    assert(there == here && there.lines == Seq("iteration 100", "iteration 200", "iteration 300"))
    assert(report.loops.map(loop => (loop.label, loop.location, loop.locationReason, loop.iterations)) ==
      Seq(("parfor i loop.dml:4", "spark", Some("as fulgurite.parfor.mode says"), 300L)))
    val loop = report.loops.head
    assert(report.traffic.jobs == 1 && report.traffic.tasks == loop.tasks, report.toString)
    assert(loop.tasks > 1 && report.nativeTasks(loop.label).values.sum == loop.tasks)
    assert(report.executors == executors, report.toString)
    assert(report.toString.contains(s"on spark in ${loop.tasks} tasks (as fulgurite.parfor.mode says), "), report.toString)
    assert(report.operators.exists(operator => operator.location == "spark" && operator.count == 300), report.toString)
    nothingIsLeft()
  }

  test("the header of the loop says where it runs") {
    val (there, report) = run("auto", text.replace("in 1:nrow(X)", "in 1:nrow(X), mode=REMOTE_SPARK, par=1"))
    assert(there == here)
    assert(report.loops.map(loop => (loop.location, loop.tasks, loop.locationReason)) == Seq(("spark", 1L, Some("as mode= says"))))
    val (_, local) = run("remote", text.replace("in 1:nrow(X)", "in 1:nrow(X), mode=LOCAL"))
    assert(local.loops.map(_.location) == Seq("local") && local.traffic.jobs == 0)
  }

  test("no iteration changes anything") {
    val (there, report) = run("remote", "R = X\nS = X\nparfor (i in 1:5) { if (i > 5) { R[i, 1] = 1 } }\ns = sum(R)")
    assert(there.R == Faults.bits(X) && report.loops.head.location == "spark")
  }

  test("iterations run where the rows are that they read") {
    val cells = Faults.cells(1000, 8)
    val rows = "R = matrix(0, nrow(X), 1)\nS = matrix(0, 1, ncol(X))\nparfor (i in 1:nrow(X)) {\n" +
      "x = X[i, ]\nR[i, 1] = sum(sqrt(abs(x))) / nrow(X)\nS += x / i\nif (i %% 400 == 0) { print(i) }\n}"
    val (here, lines, _) = leaves(rows, _.in("X", cells), "1g")
    val frame = Faults.frame(spark, cells, 5)((_, rows) => rows)
    val (there, linesThere, report) = leaves(rows, _.in("X", frame), "40k")
    assert(there == here && linesThere == lines && lines == Seq("400", "800"))
    assert(report.loops.map(loop => (loop.location, loop.locationReason, loop.iterations)) ==
      Seq(("spark", Some("each iteration reads its row of 'X'"), 1000L)), report.toString)
    assert(report.loops.head.tasks == 5 && report.partitionsRead == Map("X" -> 5), report.toString)
    nothingIsLeft()
  }

  test("iterations run where the rows are that they read, and write rows of a matrix of the workers") {
    val cells = Faults.cells(1000, 9)
    val frame = Faults.frame(spark, cells, 5)((_, rows) => rows)
    for ((start, write, read) <- Seq(
        ("matrix(0, nrow(X), 9)", "x = X[i, ]\nR[i, 1:8] = sqrt(abs(x[1, 2:9])) / i\nif (i %% 3 == 0) { R[i, 9] = sum(x) }", "X"),
        ("X * 2", "x = R[i, ]\nR[i, 2:9] = sqrt(abs(x[1, 1:8])) / i", "R"))) {
      val rows = s"R = $start\nif (nrow(R) > 10000) { print('no') }\nparfor (i in 1:nrow(X)) {\n$write\nif (i %% 400 == 0) { print(i) }\n}\nS = R[10:20, ]"
      val (here, lines, _) = leaves(rows, _.in("X", cells), "1g")
      val (there, linesThere, report) = leaves(rows, _.in("X", frame), "60k")
      assert(there == here && linesThere == lines && lines == Seq("400", "800"), write)
      val loop = report.loops.head
      assert((loop.location, loop.locationReason, loop.iterations) == (("spark", Some(s"each iteration reads its row of '$read'"), 1000L)), report.toString)
      // 72 kB of R come in ten jobs of an eighth of 60k each, whose tasks are of five stripes.
      assert(loop.tasks == 50 && loop.toString.contains("'R': "), report.toString)
      nothingIsLeft()
    }
  }

  test("columns and blocks of rows are brought together once, and iterations run where they are") {
    // Sums are exact: plans, and with them the order of additions, depend on what fits here.
    val cells = Data.matrix(300, 40)
    for ((iterations, read, what) <- Seq(
        (40, "X[, i]", "its column of 'X'"),
        (20, "X[, (2 * i - 1):(2 * i)]", "its 2 columns of 'X'"),
        (43, "X[((i - 1) * 7 + 1):min(i * 7, nrow(X)), ]", "its 7 rows of 'X'"))) {
      val slices = s"R = matrix(0, $iterations, 1)\nS = matrix(0, 1, 1)\nfor (k in 1:2) {\nparfor (i in 1:$iterations) {\n" +
        s"x = $read\nR[i, 1] = sum(abs(x) * k)\nS += as.matrix(sum(x * i))\nif (i %% 10 == 0) { print(i + ' ' + nrow(x)) }\n}\n}"
      val (here, lines, _) = leaves(slices, _.in("X", cells), "1g")
      val (there, linesThere, report) = leaves(slices, _.in("X", Faults.frame(spark, cells, 4)((_, rows) => rows)), "64k")
      assert(there == here && linesThere == lines && lines.nonEmpty, read)
      val loop = report.loops.head
      assert((loop.location, loop.locationReason, loop.runs) == (("spark", Some(s"each iteration reads $what"), 2L)), report.toString)
      // One shuffle for both runs.
      val bytes = 8L * cells.length * cells.head.length
      assert(report.traffic.shuffleWritten > 0 && report.traffic.shuffleWritten < 2 * bytes, report.toString)
      assert(report.partitionsRead == Map("X" -> 4), report.toString)
      nothingIsLeft()
    }
  }

  test("the first error in the order of iterations is the loop's, with its place and the lines before it") {
    val failing = text.replace("  if (i %%", "  if (i >= 150) { stop(\"no more at \" + i) }\n  if (i %%")
    val lines = ArrayBuffer.empty[String]
    for (mode <- Seq("local", "remote")) {
      lines.clear()
      ml.setConfigProperty("fulgurite.parfor.mode", mode)
      ml.setPrintSink(line => lines += line)
      try {
        val failure = Failures.of("stopped")(ml.execute(ScriptFactory.dml(failing).setName("loop.dml").in("X", X).out("R")))
        assert(failure.getMessage.contains("no more at 150") && failure.getMessage.contains("loop.dml:7"), failure.getMessage)
        assert(failure.getMessage.contains("if (i >= 150)"), failure.getMessage)
        assert(lines == Seq("iteration 100"), mode)
      } finally {
        ml.resetConfig()
        ml.setPrintSink(line => Console.out.println(line))
      }
    }
    nothingIsLeft()
  }

  test("a task that is killed runs again, and nothing of it is seen twice") {
    val (started, ended) = (new AtomicInteger, new AtomicInteger)
    val killer = new SparkListener {
      override def onTaskStart(event: SparkListenerTaskStart): Unit = {
        started.incrementAndGet()
        val task = event.taskInfo
        if (task.index == 0 && task.attemptNumber == 0) spark.sparkContext.killTaskAttempt(task.taskId, interruptThread = false, "injected")
      }
      override def onTaskEnd(event: SparkListenerTaskEnd): Unit = if (event.taskInfo.killed) ended.incrementAndGet()
    }
    spark.sparkContext.addSparkListener(killer)
    try {
      val (there, report) = TaskFault.during(spark.sparkContext, TaskFault.AwaitsKill)(run("remote"))
      assert(there == here && report.loops.head.location == "spark")
      Jobs.awaitEvents(spark.sparkContext)
      assert(ended.get == 1 && started.get == report.loops.head.tasks + 1, s"${ended.get} of ${started.get}")
    } finally spark.sparkContext.removeSparkListener(killer)
    nothingIsLeft()
  }
}

final class LocalRemoteParforSuite extends RemoteParforSuite("local[2]", Set("driver")) {
  test("where tasks would run on the driver's cores, nobody asks for a job") {
    val (there, report) = run("auto")
    assert(there == here && report.traffic.jobs == 0)
    assert(report.loops.map(_.locationReason) == Seq(Some("tasks would run on the same cores")))
  }
}

final class ClusterRemoteParforSuite extends RemoteParforSuite("local-cluster[2,1,1024]", Set("0", "1")) {
  test("an executor is lost, and its iterations run elsewhere") {
    val started = new AtomicInteger
    val counter = new SparkListener {
      override def onTaskStart(event: SparkListenerTaskStart): Unit = { started.incrementAndGet(); () }
    }
    spark.sparkContext.addSparkListener(counter)
    try {
      val (there, report) = TaskFault.during(spark.sparkContext, TaskFault.ExecutorHalts)(run("remote"))
      assert(there == here && report.loops.head.location == "spark")
      Jobs.awaitEvents(spark.sparkContext)
      assert(started.get > report.loops.head.tasks)
    } finally spark.sparkContext.removeSparkListener(counter)
    nothingIsLeft()
  }
}
