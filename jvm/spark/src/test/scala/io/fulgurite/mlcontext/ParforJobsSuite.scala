package io.fulgurite.mlcontext

import java.nio.file.Files
import java.util.concurrent.{CountDownLatch, TimeUnit}

import scala.collection.mutable

import io.fulgurite.{Failures, Faults, SparkSessions}
import io.fulgurite.mlcontext.EventLogSuite.csv
import io.fulgurite.spark.primitives.Session
import org.apache.spark.fulgurite.{EventLog, LoggedEvents}
import org.apache.spark.rdd.RDD
import org.apache.spark.scheduler.{SparkListener, SparkListenerJobEnd, SparkListenerJobStart}
import org.scalatest.funsuite.AnyFunSuite

/** A `parfor` whose iterations make Spark jobs: they run beside each other, and leave what `for` leaves. */
final class ParforJobsSuite extends AnyFunSuite with SparkSessions {
  override def configuration: Map[String, String] =
    EventLog.settings(Files.createTempDirectory("fulgurite-events")) + ("spark.scheduler.mode" -> "FAIR")

  private lazy val log = new EventLog(spark.sparkContext)
  private val cells = Faults.cells(3000, 12)
  private val others = Faults.cells(3000, 12)

  private def rows(cells: Array[Array[Double]], partitions: Int): RDD[Array[Double]] = spark.sparkContext.parallelize(cells.toSeq, partitions)

  private def run(text: String, settings: (String, String)*)(bind: Script => Script): MLResults = {
    for ((key, value) <- Seq("fulgurite.memory.local" -> "100k", "fulgurite.threads" -> "2") ++ settings) ml.setConfigProperty(key, value)
    ml.setPrintSink(_ => ())
    try ml.execute(bind(ScriptFactory.dml(text).setName("loop.dml")))
    finally {
      ml.resetConfig()
      ml.setPrintSink(line => Console.out.println(line))
    }
  }

  private def nothingIsLeft(): Unit = {
    assert(spark.sparkContext.getPersistentRDDs.isEmpty)
    tasksOwnNothing()
  }

  /** What happened to jobs of an execution, and the pools that they were in. */
  private final class Jobs extends SparkListener {
    private val running = mutable.Set.empty[Int]
    private var (most, pools) = (0, Set.empty[String])

    override def onJobStart(job: SparkListenerJobStart): Unit = synchronized {
      running += job.jobId
      most = math.max(most, running.size)
      pools ++= Option(job.properties).flatMap(properties => Option(properties.getProperty("spark.scheduler.pool")))
    }

    override def onJobEnd(job: SparkListenerJobEnd): Unit = synchronized(running -= job.jobId)

    def during[A](work: => A): (A, Int, Set[String]) = {
      spark.sparkContext.addSparkListener(this)
      val result =
        try work
        finally {
          log.end // Waits for the events.
          spark.sparkContext.removeSparkListener(this)
        }
      synchronized((result, most, pools))
    }
  }

  private def body(keyword: String, iterations: Int): String =
    s"""R = matrix(0, $iterations, ncol(X))
       |S = matrix(1/3, ncol(X), ncol(X))
       |$keyword (i in 1:$iterations) {
       |  Z = X * i + 1
       |  R[i, ] = colSums(sqrt(abs(Z - Y)) / i)
       |  S += t(X) %*% abs(Y - i)
       |  if (i %% 4 == 0) { print("iteration " + i) }
       |}""".stripMargin

  private def both(text: String, settings: (String, String)*): MLResults =
    run(text, settings: _*)(_.in("X", rows(cells, 4)).in("Y", rows(others, 3)).out("R", "S"))

  private def left(results: MLResults): Seq[Seq[Seq[Long]]] = Seq("R", "S").map(name => Faults.bits(results.getMatrixAs2DDoubleArray(name)))

  test("jobs of several iterations run at a time, in pools of their own, and leave what `for` leaves, to the bit") {
    val (expected, one, none) = new Jobs().during(both(body("for", 12)))
    assert(one == 1 && none.isEmpty)
    val (results, most, pools) = new Jobs().during(both(body("parfor", 12)))
    assert(left(results) == left(expected) && results.printed == expected.printed && results.printed.size == 3)
    assert(most == 2 && pools == Set("fulgurite-0", "fulgurite-1"), s"$most in $pools")
    val loop = results.report.loops.head
    assert((loop.location, loop.degree, loop.iterations) == (("local", 2, 12L)), results.report.toString)
    assert(spark.sparkContext.getLocalProperty("spark.scheduler.pool") == null)
    nothingIsLeft()
  }

  test("what iterations write into matrices of the executors, and add to them, is put together after jobs that run at a time") {
    def text(keyword: String) =
      s"""R = X * 2 - Y
         |S = X + 1 / 3
         |$keyword (i in 1:12) {
         |  R[i * 100, ] = colSums(sqrt(abs(Y - i))) / i
         |  R[i * 100, 2] = sum(R[i * 100, ] > 0) / 3
         |  S += Y / i
         |}""".stripMargin
    val expected = both(text("for"))
    val (results, most, pools) = new Jobs().during(both(text("parfor")))
    assert(left(results) == left(expected))
    assert(most == 2 && pools == Set("fulgurite-0", "fulgurite-1"), s"$most in $pools")
    val loop = results.report.loops.head
    assert((loop.location, loop.degree) == (("local", 2)), results.report.toString)
    assert(loop.merged.contains("'S': 12 sums added in 2 passes, 'R': 12 parts put in 1 pass") && results.report.toString.contains(loop.merged.get))
    for (results <- Seq(expected, results); name <- Seq("R", "S")) results.getMatrix(name).close()
    nothingIsLeft()
  }

  test("a pool that the caller has chosen stays") {
    spark.sparkContext.setLocalProperty("spark.scheduler.pool", "mine")
    try {
      val (_, _, pools) = new Jobs().during(both(body("parfor", 6)))
      assert(pools == Set("mine"))
    } finally spark.sparkContext.setLocalProperty("spark.scheduler.pool", null)
  }

  private def shuffled(events: LoggedEvents): Long = events.stages.map(_.shuffleWritten).sum

  test("the file is read once, and one matrix is shuffled once, however many iterations and threads") {
    val x = csv(cells)
    def shuffles(iterations: Int, threads: Int) = {
      val text = s"""X = read("$x")\n${body("parfor", iterations)}"""
      val (_, events) = log.during(run(text, "fulgurite.threads" -> threads.toString)(_.in("Y", rows(others, 3)).out("R")))
      val lines = events.stages.filter(_.name.startsWith(s"read $x")).map(_.inputRecords).sorted
      assert(lines.last == cells.length && lines.init.sum <= 2, events.stages.mkString("\n"))
      shuffled(events)
    }
    val (few, many) = (shuffles(4, 2), shuffles(12, 2))
    assert(many == few && shuffles(12, 1) == few && few < 3L * 8 * 12 * cells.length, s"$many after $few")
  }

  test("what iterations compute of a matrix cell by cell is not shuffled for each of them") {
    val labels = Faults.cells(3000, 1)
    def shuffles(iterations: Int) = {
      val text =
        s"""R = matrix(0, $iterations, ncol(X))
           |parfor (c in 1:$iterations) {
           |  L = 2 * (Y > c / 20) - 1
           |  if (c > 99) { print("no") }
           |  M = 1 - L
           |  if (c > 99) { print("no") }
           |  R[c, ] = t(t(X) %*% M + t(X) %*% L)
           |}""".stripMargin
      val (_, events) = log.during(run(text, "fulgurite.memory.local" -> "15k")(_.in("X", rows(cells, 4)).in("Y", rows(labels, 3)).out("R")))
      shuffled(events)
    }
    val (few, many) = (shuffles(4), shuffles(12))
    assert(few > 0 && many == few && few < 2L * 8 * labels.length, s"$many after $few")
  }

  test("the first error in the order of iterations is the loop's, whatever fails first") {
    val bad = Files.createTempDirectory("fulgurite-bad").resolve("bad.csv")
    Files.writeString(bad.resolveSibling("bad.csv.mtd"), """{"format": "csv", "rows": 20000, "cols": 2}""")
    Files.writeString(bad, Seq.fill(19999)("1,2").mkString("", "\n", "\n1,two\n"))
    val text =
      s"""R = matrix(0, 20, 1)
         |parfor (i in 1:20) {
         |  if (i == 3) { R[i, 1] = sum(read("$bad") * i) }
         |  if (i > 3) { stop("too late at " + i) }
         |  R[i, 1] = sum(X * i)
         |}""".stripMargin
    val failure = Failures.of("data")(run(text)(_.in("X", rows(cells, 4)).out("R")))
    assert(failure.getMessage.contains("bad.csv") && failure.getMessage.contains("two"), failure.getMessage)
    nothingIsLeft()
  }

  test("jobs that nobody waits for any more are cancelled") {
    val session = new Session(spark)
    val started = new CountDownLatch(1)
    val listener = new SparkListener {
      override def onJobStart(job: SparkListenerJobStart): Unit = started.countDown()
    }
    spark.sparkContext.addSparkListener(listener)
    var ended = Option.empty[Throwable]
    val work: Runnable = () =>
      session.iterating(1, 0) {
        try spark.sparkContext.parallelize(0 until 600, 2).foreach(_ => Thread.sleep(100))
        catch { case failure: Throwable => ended = Some(failure) }
      }
    val thread = new Thread(work)
    try {
      thread.start()
      assert(started.await(20, TimeUnit.SECONDS))
      session.cancel(1, 1)
      session.cancel(2, 0)
      thread.join(500)
      assert(thread.isAlive)
      session.cancel(1, 0)
      thread.join(20000)
      assert(!thread.isAlive && ended.nonEmpty)
    } finally spark.sparkContext.removeSparkListener(listener)
  }
}
