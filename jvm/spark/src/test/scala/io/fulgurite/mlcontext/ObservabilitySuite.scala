package io.fulgurite.mlcontext

import io.fulgurite.{Data, Faults, SparkSessions}
import io.fulgurite.spark.{Event, Json}
import io.fulgurite.spark.metrics.{Figures, NativeWork, Traffic, WorkCounter}
import org.apache.spark.TaskContext
import org.apache.spark.fulgurite.{Shown, TaskTotals}
import org.scalatest.funsuite.AnyFunSuite

/** What the Spark UI and reports say of a run. A task may be tried three times. */
final class ObservabilitySuite extends AnyFunSuite with SparkSessions {
  override def master: String = "local[2,3]"

  private val cells = Data.matrix(2000, 20)
  private val nonZeros = cells.flatten.count(_ != 0).toLong
  private def frame = Faults.frame(spark, cells, 4)((_, rows) => rows)

  /** Everything that reads X runs on Spark. */
  private def run(text: String, outputs: String*): MLResults = {
    ml.setConfigProperty("fulgurite.memory.local", "50k")
    try ml.execute(ScriptFactory.dml(text).setName("seen.dml").in("X", frame).in("v", Data.matrix(20, 1)).out(outputs: _*))
    finally ml.resetConfig()
  }

  private def onSpark(results: MLResults): Seq[OperatorReport] = results.report.operators.filter(_.location == "spark")

  test("jobs and stages say for which operator, in which line of which script they run") {
    val shown = new Shown(spark.sparkContext)
    try {
      val results = run("s = sum(X)\n\nwhile (s > 1e300) { s = s / 2 }\nY = X * 2 + 1\nt = sum(Y %*% v) + sum(Y)\nR = t(X)", "s", "t", "R")
      val jobs = shown.descriptions
      assert(jobs.head == "read X")
      assert(onSpark(results).nonEmpty)
      for (line <- Seq("seen.dml:1", "seen.dml:5", "output R")) assert(jobs.exists(_.endsWith(line)), jobs.mkString("\n"))
      assert(jobs.forall(job => job.contains("seen.dml:") || job.endsWith(" X") || job.endsWith(" R")), jobs.mkString("\n"))
      val stages = shown.stageNames
      assert(stages.forall(stage => stage.contains("seen.dml:") || stage.endsWith(" X") || stage.endsWith(" R")), stages.mkString("\n"))
      for (operator <- onSpark(results) if operator.tasks > 0) {
        assert(shown.rddNames(operator.label), s"${operator.label} is not among ${shown.rddNames.mkString(", ")}")
      }
    } finally shown.close()
  }

  test("what is stored bears the name of the operator that made it") {
    var stored = Set.empty[String]
    ml.setPrintSink { _ => stored ++= spark.sparkContext.getPersistentRDDs.values.map(_.name) }
    // What one block reads once is not stored, and what is the same for all iterations is read before them.
    try run("Y = X * 2 + 1\nfor (i in 1:2) { print(sum(Y > i)) }")
    finally ml.setPrintSink(line => Console.out.println(line))
    assert(stored("read X") && stored.exists(name => name != null && name.endsWith("seen.dml:1")), stored.mkString(", "))
  }

  test("what the caller called jobs and stages is there again") {
    val context = spark.sparkContext
    context.setJobDescription("mine")
    val shown = new Shown(context)
    try {
      run("s = sum(X)", "s")
      context.parallelize(1 to 10, 2).count()
      assert(shown.descriptions.last == "mine" && shown.descriptions.head == "read X")
      assert(shown.stageNames.last.startsWith("count at "))
      assert(context.getLocalProperty("callSite.short") == null)
    } finally {
      shown.close()
      context.setJobDescription(null)
    }
  }

  test("operators say what their tasks read, did and gave; so does an accumulator of their name") {
    val shown = new Shown(spark.sparkContext)
    try {
      val results = run("s = sum(X * X + 0.4711)", "s")
      assert(onSpark(results).size == 1)
      val operator = onSpark(results).head
      assert(operator.label.endsWith("seen.dml:1") && operator.count == 1)
      assert((operator.tasks, operator.rows, operator.nnz) == ((4L, 2000L, nonZeros)))
      assert(operator.bytesIn >= 2000 * 20 * 8 && operator.bytesIn < 2 * 2000 * 20 * 8)
      // Of each task a sum and what was rounded away from it.
      assert(operator.bytesOut == 4 * 16)
      // Tasks of this process are timed by the same clock as the whole.
      assert(operator.nativeSeconds > 0 && operator.nativeSeconds < 2 * results.report.totalSeconds)
      assert(operator.compileSeconds <= operator.operatorSeconds && operator.operatorSeconds > 0)
      assert(operator.operatorSeconds <= operator.nativeSeconds)
      assert(results.report.executors == Set("driver"))
      assert(results.report.getOperators.get(0) == results.report.operators.head)
      val shownValue = shown.accumulators.getOrElse(operator.label, shown.accumulators.mkString(", "))
      assert(shownValue.contains("native tasks: 4,") && shownValue.contains(s"rows: 2000, nnz: $nonZeros,"), shownValue)
    } finally shown.close()
  }

  test("a plan is compiled by the tasks that meet it first") {
    val script = "s = sum(abs(X * 0.0815) + X * 2)"
    val (first, second) = (run(script, "s").report, run(script, "s").report)
    // Tasks share the plan cache of their process, which here is the driver's, too.
    assert(first.compiledByTasks >= 1 && first.compileSecondsOfTasks > 0, first.toString)
    assert(first.compiled == first.compiledByTasks)
    assert(second.compiledByTasks == 0 && second.compileSecondsOfTasks == 0 && second.compiled == 0, second.toString)
    assert(second.planCacheHits >= 4, second.toString)
  }

  test("a transpose in stripes of its own shuffles, a map does not") {
    val moved = run("R = t(X) + 1", "R").report.traffic
    assert(moved.shuffleWritten > 0 && moved.shuffleRead == moved.shuffleWritten)
    val mapped = run("s = sum(X + 1)", "s").report.traffic
    assert(mapped.shuffleWritten == 0 && mapped.shuffleRead == 0)
    // Reading X, and the sum.
    assert(mapped.jobs == 2 && mapped.tasks == 8 && mapped.isComplete)
    assert((mapped.broadcast, mapped.spread, mapped.collected) == ((0L, 0L, 16L)))
  }

  test("an input is read once and scanned once an iteration; each vector is broadcast") {
    val report = run("for (i in 1:3) { v = t(X) %*% (X %*% v) / 100000 }", "v").report
    assert(report.inputs == Seq(InputReport("X", 4, 4, 12)) && report.inputs.head.scans == 3)
    assert(report.traffic.broadcast == 3 * 20 * 8 && report.traffic.collected == 3 * 20 * 8)
    assert(report.operators.filter(_.location == "spark").map(_.rows).sum == 3 * 2000)
  }

  test("operators on the workers say in which form they ran") {
    val report = run("v = t(X) %*% (X %*% v)\ny = X[, 1] * 2 + X\nt = sum(t(X) + 1)", "v", "y", "t").report
    val forms = report.operators.flatMap(operator => operator.form.map(operator.location -> _))
    assert(forms.nonEmpty && forms.forall(_._1 == "spark"))
    assert(forms.exists(_._2.contains("operand 2 sent")), forms.mkString("\n"))
    for ((_, form) <- forms) assert(report.toString.linesIterator.exists(_.trim == form), report.toString)
  }

  test("a range of rows is a scan of a part") {
    val report = run("s = sum(X[1:1000, ] + 1)", "s").report
    assert(report.inputs == Seq(InputReport("X", 4, 4, 2)) && report.inputs.head.scans == 0.5)
  }

  test("a script on small data has no Spark job, and an input that fits is brought to the driver") {
    val script = ScriptFactory.dml("s = sum(A)").in("A", Data.matrix(3, 3)).out("s")
    val local = ml.execute(script).report
    assert(local.traffic == Traffic() && local.inputs.isEmpty && local.operators.forall(_.tasks == 0))
    val brought = ml.execute(ScriptFactory.dml("s = sum(X)").in("X", frame).out("s")).report
    assert(brought.inputs == Seq(InputReport("X", 0, 4, 0)) && brought.traffic.jobs == 2)
  }

  test("what a failed attempt of a task did does not count") {
    val counter = new WorkCounter
    spark.sparkContext.register(counter, "twice")
    spark.sparkContext.parallelize(0 until 4, 4).foreachPartition { _ =>
      counter.add(NativeWork(Map("driver" -> 1L), rows = 10))
      val task = TaskContext.get()
      if (task.partitionId() == 1 && task.attemptNumber() == 0) throw new IllegalStateException("injected")
    }
    assert(counter.value == NativeWork(Map("driver" -> 4L), rows = 40))
  }

  private val fixed = {
    val native = Json.parse(
      """{"operators": [
        |  {"label": "fused(0) Row ba(+*) a.dml:4", "location": "spark", "count": 3, "seconds": 0.5, "form": "operand 2 sent", "plan": "Row"},
        |  {"label": "b(+) a.dml:2", "location": "local", "count": 12, "seconds": 0.002},
        |  {"label": "b(*) a.dml:3", "location": "spark", "count": 1, "seconds": 0.0001}],
        | "planCacheHits": 5, "planCacheMisses": 2, "blockPlans": 3, "planningMilliseconds": 1.25, "compileMilliseconds": 12.5,
        | "totalSeconds": 1.5}""".stripMargin)
    val work = Map(
      "fused(0) Row ba(+*) a.dml:4" -> NativeWork(Map("0" -> 8L, "1" -> 4L), 812300000L, 790000000L, 21000000L, 2, 6000, 120000, 960000, 480),
      "b(*) a.dml:3" -> NativeWork(Map("1" -> 4L), 1250000000L, 1240000000L, 0, 0, 2000, 40000, 320000, 320000))
    val events = Map(Event(Event.SourcePartition, "X", "0") -> 3L, Event(Event.SourcePartition, "X", "1") -> 1L,
      Event(Event.InputPartition, "X", "0") -> 8L, Event(Event.InputPartition, "X", "1") -> 8L, Event(Event.SourcePartition, "y", "1") -> 2L)
    new Report(native, Figures(work, events, Map("X" -> 4), Traffic(480, 0, 960, TaskTotals(5, 20, 1234567, 1234567, 0, 2540))))
  }

  test("the layout of a report") {
    assert(fixed.toString ==
      """   seconds      native     count  where     tasks          rows           nnz         in        out  operator
        |    0.0001      1.2500         1  spark         4          2000         40000   320.0 kB   320.0 kB  b(*) a.dml:3
        |    0.5000      0.8123         3  spark        12          6000        120000   960.0 kB      480 B  fused(0) Row ba(+*) a.dml:4
        |                                                                                                       operand 2 sent
        |    0.0020                    12  local                                                              b(+) a.dml:2
        |total 1.500 s; planned 3 blocks in 1.3 ms; compiled 2 fused operators in 12.5 ms, 5 from the cache; tasks compiled 2 in 21.0 ms
        |Spark: 5 jobs of 20 tasks, 2.5 s on executors; shuffles: 1.2 MB written, 1.2 MB read, 0 B spilled; matrices: 480 B broadcast, 0 B spread, 960 B collected
        |input X: 4 partitions read from the source, 4 partitions scanned 4 times
        |input y: 2 partitions read from the source, brought to the driver
        |native tasks of b(*) a.dml:3: 4 on 1
        |native tasks of fused(0) Row ba(+*) a.dml:4: 8 on 0, 4 on 1""".stripMargin)
    assert(fixed.text(1).linesIterator.take(3).toSeq.last == "    0.5020      0.8123  in 2 more")
  }

  test("a report as JSON has the figures of the executors beside those of the control program") {
    val json = Json.parse(fixed.json)
    val first = json.path("operators").path(0)
    assert(first.path("nativeSeconds").asDouble == 1.25 && first.path("operatorSeconds").asDouble == 1.24)
    assert(first.path("label").asText == "b(*) a.dml:3" && first.path("rows").asLong == 2000)
    val second = json.path("operators").path(1)
    assert(second.path("plan").asText == "Row" && second.path("form").asText == "operand 2 sent")
    assert(json.path("inputs").path(0).path("scans").asDouble == 4.0)
    assert(json.path("spark").path("taskSeconds").asDouble == 2.54)
    assert(json.path("spark").path("bytesShuffledWritten").asLong == 1234567 && json.path("blockPlans").asLong == 3)
  }
}
