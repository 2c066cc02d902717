package io.fulgurite.mlcontext

import java.nio.file.{Files, Path}

import io.fulgurite.{Faults, SparkSessions}
import io.fulgurite.spark.memory.InProcess
import org.apache.spark.fulgurite.{EventLog, LoggedBlock, LoggedStage}
import org.apache.spark.rdd.RDD
import org.scalatest.funsuite.AnyFunSuite

/** What iterations ask of Spark, as its event log tells. */
abstract class EventLogSuite(override val master: String) extends AnyFunSuite with SparkSessions {
  import EventLogSuite._

  override def configuration: Map[String, String] = EventLog.settings(Files.createTempDirectory("fulgurite-events"))

  private lazy val log = new EventLog(spark.sparkContext)

  /** Runs the script with a budget that X is too large for; `between` gets each line that it prints. */
  private def run(script: Script, budget: String, settings: (String, String)*)(between: String => Unit = _ => ()): MLResults = {
    for ((key, value) <- settings :+ ("fulgurite.memory.local" -> budget)) ml.setConfigProperty(key, value)
    ml.setPrintSink(line => between(line))
    try ml.execute(script)
    finally {
      ml.resetConfig()
      ml.setPrintSink(line => Console.out.println(line))
    }
  }

  private def rows(cells: Array[Array[Double]], partitions: Int): RDD[Array[Double]] = spark.sparkContext.parallelize(cells.toSeq, partitions)

  private val cells = Faults.cells(2000, 20)
  private val bytes = 8L * cells.length * cells.head.length
  private val response = Faults.cells(2000, 1)
  private val iterations = 6

  test("conjugate gradients read the file once, and scan the cached X once an iteration") {
    val file = csv(cells)
    val script = algorithm("linreg_cg.dml").in("$X", file.toString).in("$Y", "y").in("y", response).in("$maxi", iterations).out("beta")
    val (results, events) = log.during(run(script, "100k")())
    val (reading, working) = events.stages.partition(_.name.startsWith("read "))
    // A look at the first line, and all of them.
    val lines = reading.map(_.inputRecords).sorted
    assert(lines.last == cells.length && lines.init.sum <= 2, reading.mkString("\n"))
    assert(reading.map(_.inputBytes).sum >= Files.size(file) && reading.map(_.inputBytes).sum < 1.5 * Files.size(file).toDouble, reading.mkString("\n"))
    val loop = working.filter(_.isOf("linreg_cg.dml", lineOf("linreg_cg.dml", "q = t(X)")))
    assert(loop.size == iterations && loop.forall(scansOnce), working.mkString("\n"))
    // Beside the loop, X is read for the first gradient, and for the residual.
    assert(working.map(_.inputBytes).sum < (iterations + 2.5) * bytes.toDouble, working.mkString("\n"))
    assert(results.report.inputs.map(_.scans) == Seq(iterations + 2.0))
    assert(events.stages.map(_.shuffleWritten).sum == 0)
  }

  /** Reads what is cached of X, and nothing else that is large. */
  private def scansOnce(stage: LoggedStage): Boolean = stage.inputBytes >= bytes && stage.inputBytes < 1.1 * bytes.toDouble

  test("the line search of a support vector machine makes no Spark job") {
    val labels = response.map(_.map(cell => if (cell > 0) 1.0 else -1.0))
    val script = algorithm("l2svm.dml").in("X", rows(cells, 4)).in("labels", labels).in("$X", "X").in("$Y", "Y").in("$maxi", iterations).out("w")
    val (results, events) = log.during(run(script, "100k")())
    val (first, last) = (lineOf("l2svm.dml", "while (searching)"), lineOf("l2svm.dml", "searching = slope"))
    assert(results.printed.count(_.startsWith("iteration ")) == iterations)
    assert(events.stages.forall(stage => !(first to last).exists(stage.isOf("l2svm.dml", _))), events.stages.mkString("\n"))
    for (line <- Seq("Xs = X", "gradientNew = t(X)")) {
      val stages = events.stages.filter(_.isOf("l2svm.dml", lineOf("l2svm.dml", line)))
      assert(stages.size == iterations && stages.forall(scansOnce), s"$line\n${events.stages.mkString("\n")}")
    }
    assert(events.stages.map(_.shuffleWritten).sum == 0)
  }

  /** The shuffled bytes and the jobs of so many iterations. */
  private def shuffles(iterations: Int)(run: Int => MLResults): (Long, Int) = {
    val (_, events) = log.during(run(iterations))
    (events.stages.map(_.shuffleWritten).sum, events.jobs)
  }

  for ((what, cols, side) <- Seq(
      ("a product of two matrices that are cut otherwise", 15, "t(X) %*% abs(Y - i)"),
      ("a product with a distributed vector", 1, "t(X) %*% abs(Y - i)"),
      ("operators on two matrices that are cut otherwise", 20, "colSums(abs(X * i - Y))"))) {
    test(s"$what shuffles one of them once, whatever the number of iterations") {
      val tall = Faults.cells(20000, 20)
      val other = Faults.cells(20000, cols)
      def sum(iterations: Int) = run(
        ScriptFactory.dml(s"G = 0.0\nfor (i in 1:$iterations) { G = G + sum($side) }").in("X", rows(tall, 4)).in("Y", rows(other, 3)).out("G"), "100k")()
      val (few, many) = (shuffles(3)(sum), shuffles(10)(sum))
      // The one that is cut otherwise, as Arrow streams, compressed or not.
      assert(few._1 > 0 && few._1 < 2L * 8 * other.length * cols, few)
      assert(many._1 == few._1, s"$many after $few")
      assert(many._2 - few._2 == 7, s"$many after $few")
    }
  }

  test("a support vector machine whose vectors do not fit the driver shuffles them once, not in each iteration") {
    val labels = response.map(_.map(cell => if (cell > 0) 1.0 else -1.0))
    def train(iterations: Int) = run(
      algorithm("l2svm.dml").in("X", rows(cells, 4)).in("labels", rows(labels, 3)).in("$X", "X").in("$Y", "Y").in("$maxi", iterations).out("w"), "15k")()
    val (few, many) = (shuffles(3)(train), shuffles(6)(train))
    assert(few._1 > 0 && many._1 == few._1, s"$many after $few")
  }

  test("a local matrix that may not be broadcast is spread and aligned once") {
    def sum(iterations: Int) = run(
      ScriptFactory.dml(s"s = 0.0\nfor (i in 1:$iterations) { s = s + sum(abs(X * y - i)) }").in("X", rows(cells, 4)).in("y", response).out("s"),
      "100k", "fulgurite.memory.broadcast" -> "10k", "fulgurite.blocksize" -> "300")()
    val (few, many) = (shuffles(3)(sum), shuffles(10)(sum))
    assert(few._1 > 0 && many._1 == few._1, s"$many after $few")
  }

  test("operators that keep the rows where they are shuffle nothing, in any iteration") {
    def script(iterations: Int) = ScriptFactory.dml(
      s"""Z = X
         |t = 0.0
         |for (i in 1:$iterations) {
         |  Z = sqrt(abs(Z - i)) + X
         |  A = cbind(Z, Z[, 1:3], rowSums(Z))
         |  t = t + sum(A * 2) + sum(Z %*% v) + sum(colMeans(A))
         |}""".stripMargin).in("X", rows(cells, 4)).in("v", Faults.cells(20, 20)).out("t", "Z")
    val (few, many) = (shuffles(3)(iterations => run(script(iterations), "100k")()), shuffles(10)(iterations => run(script(iterations), "100k")()))
    assert(few._1 == 0 && many._1 == 0)
    // Equally many jobs for each iteration: nothing is computed again from the beginning.
    assert(many._2 > few._2 && (many._2 - few._2) % 7 == 0, s"$many after $few")
  }

  /** The broadcasts among the blocks that have more than 20 kB: Spark's own, of tasks, have less. */
  private def large(blocks: Seq[LoggedBlock]): Set[String] =
    blocks.filter(block => block.block.startsWith("broadcast_") && block.bytes > 20000).map(_.block.split('_')(1)).toSet

  /** The persisted RDDs that have blocks. */
  private def datasets(blocks: Seq[LoggedBlock]): Set[String] = blocks.map(_.block.split('_')).collect { case Array("rdd", rdd, _) => rdd }.toSet

  /**
   * Runs a script that prints once an iteration: there may be so many of its broadcasts at a time, no more datasets than at first, and none of
   * either afterwards.
   */
  private def noneOutlives(script: Script, budget: String, atATime: Int, settings: (String, String)*): Unit = {
    val start = log.end
    def stored = log.from(start).stored
    // In local mode, tasks find them in the process.
    val inProcessBefore = InProcess.sizes
    def inProcess = (InProcess.sizes -- inProcessBefore.keys).collect { case (number, size) if size > 20000 => s"in process: $number" }
    def alive = large(stored) ++ inProcess
    var (seen, rdds, all) = (Vector.empty[Int], Vector.empty[Int], Set.empty[String])
    val results = run(script, budget, settings: _*) { _ =>
      // Spark removes them when it gets round to it.
      FaultsSuite.await(alive.size <= atATime)
      seen :+= alive.size
      rdds :+= datasets(stored).size
      all ++= inProcess
    }
    FaultsSuite.await(alive.isEmpty && datasets(stored).isEmpty)
    assert(seen.size >= iterations && seen.forall(_ <= atATime), seen.mkString(", "))
    assert((large(log.from(start).blocks) ++ all).size >= results.printed.count(_.startsWith("iteration ")))
    assert(rdds.max <= rdds.take(2).max, rdds.mkString(", "))
    assert(alive.isEmpty && datasets(stored).isEmpty, (stored ++ inProcess).mkString("\n"))
  }

  test("no broadcast outlives its use") {
    // The direction of each iteration takes 32 kB.
    val script = algorithm("linreg_cg.dml").in("X", rows(Faults.cells(300, 4000), 4)).in("y", Faults.cells(300, 1))
      .in("$X", "X").in("$Y", "y").in("$maxi", iterations)
    noneOutlives(script, "1m", atATime = 1)
  }

  test("no matrix that was cut into stripes outlives its use") {
    // Each iteration spreads a vector of 64 kB in two parts.
    val script = ScriptFactory.dml(
      s"""for (i in 1:$iterations) {
         |  z = z * 0.9 + i
         |  s = sum(abs(X * z))
         |  print("iteration " + i + ": " + s)
         |}""".stripMargin).in("X", rows(Faults.cells(8000, 10), 4)).in("z", Faults.cells(8000, 1))
    noneOutlives(script, "200k", atATime = 4, "fulgurite.memory.broadcast" -> "16k")
  }
}

object EventLogSuite {
  private val algorithms = Path.of("..", "..", "examples", "algorithms")

  def algorithm(file: String): Script = ScriptFactory.dmlFromFile(algorithms.resolve(file).toString)

  /** The number of the line that begins so. */
  def lineOf(file: String, begin: String): Int = {
    val line = Files.readString(algorithms.resolve(file)).linesIterator.indexWhere(_.trim.startsWith(begin))
    require(line >= 0, s"$file has no line '$begin'")
    line + 1
  }

  /** A csv file, with its metadata beside it. */
  def csv(cells: Array[Array[Double]]): Path = {
    val file = Files.createTempDirectory("fulgurite-csv").resolve("X.csv")
    Files.writeString(file.resolveSibling("X.csv.mtd"), s"""{"format": "csv", "rows": ${cells.length}, "cols": ${cells.head.length}}""")
    Files.writeString(file, cells.map(_.mkString(",")).mkString("", "\n", "\n"))
  }

  implicit final class Located(stage: LoggedStage) {
    /** Whether the stage ran for an operator in this line of the script. */
    def isOf(file: String, line: Int): Boolean = stage.name.endsWith(s"$file:$line")
  }
}

final class LocalEventLogSuite extends EventLogSuite("local[2]")

final class ClusterEventLogSuite extends EventLogSuite("local-cluster[2,1,1024]")
