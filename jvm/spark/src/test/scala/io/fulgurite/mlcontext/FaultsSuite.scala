package io.fulgurite.mlcontext

import java.nio.file.{Files, Path}
import java.util.concurrent.{CountDownLatch, TimeUnit}

import io.fulgurite.{Failures, Faults, Once}
import io.fulgurite.faults.FaultyFileSystem
import io.fulgurite.spark.dataset.Cuts
import org.apache.spark.TaskContext
import org.apache.spark.scheduler.{SparkListener, SparkListenerExecutorRemoved}
import org.apache.spark.sql.Row
import org.scalatest.funsuite.AnyFunSuite

/** What goes wrong in a cluster while a script iterates: results are those of an undisturbed run, to the bit, or one clear error. */
final class FaultsSuite extends AnyFunSuite with FaultyCluster with ShuffleFaultsTests with WriteFaultsTests {
  private val cells = Faults.cells(2000, 20)
  private val partitions = 4

  /** Conjugate gradients over a distributed X; `between` is called on the driver after each iteration. */
  private def run(disturb: (Int, Iterator[Row]) => Iterator[Row] = (_, rows) => rows)(between: Int => Unit = _ => ()): MLResults = {
    val script = ScriptFactory.dmlFromFile(FaultsSuite.script)
      .in("X", Faults.frame(spark, cells, partitions)(disturb)).in("y", Faults.cells(2000, 1))
      .in("$X", "X").in("$Y", "y").in("$maxi", 5).out("beta")
    def iterates(line: String): Unit = if (line.startsWith("iteration ")) between(line.stripPrefix("iteration ").takeWhile(_.isDigit).toInt)
    configured("fulgurite.memory.local" -> "50k")(iterates)(ml.execute(script))
  }

  private def weights(results: MLResults): Seq[Seq[Long]] = {
    val matrix = results.getMatrix("beta")
    try Faults.bits(matrix.to2DDoubleArray)
    finally matrix.close()
  }

  private lazy val undisturbed: Seq[Seq[Long]] = weights(run()())

  test("an executor is killed mid-iteration, and another while it reads X again") {
    undisturbed
    val once = new Once
    val results = run { (partition, rows) =>
      if (!once.first(s"read $partition") && once.first("halted while reading")) Runtime.getRuntime.halt(1)
      rows
    } { iteration => if (iteration == 2) halt(once) }
    assert(weights(results) == undisturbed)
    assert(once.happened("halted") && once.happened("halted while reading"))
    assert(results.report.partitionsRead("X") > partitions)
    nothingIsLeft()
  }

  /** The bits of a matrix that a loop carries. */
  private def carried(iterations: Int, folder: Option[Path], local: String = "50k")(between: Int => Unit): Seq[Seq[Long]] = {
    val script = ScriptFactory.dml(s"Z = X\nfor (i in 1:$iterations) { Z = Z * 0.5 + X * v\nv = v * 0.9\nprint(i) }")
      .in("X", Faults.frame(spark, cells, partitions)((_, rows) => rows)).in("v", Faults.cells(1, 20)).out("Z")
    val settings = Seq("fulgurite.memory.local" -> local) ++ folder.map("fulgurite.scratch" -> _.toString)
    configured(settings: _*)(line => between(line.toInt)) {
      val Z = ml.execute(script).getMatrix("Z")
      try Faults.bits(Z.to2DDoubleArray)
      finally Z.close()
    }
  }

  test("an executor is killed after the lineage of a matrix that a loop carries was cut") {
    val folder = Files.createTempDirectory("fulgurite-cut")
    def written = folder.toFile.list.toSeq
    val uncut = carried(40, None)(_ => ())
    val (once, cut) = (new Once, new Once)
    val found = carried(40, Some(folder)) { iteration =>
      if (iteration < 30) assert(written.isEmpty)
      if (iteration == 36 && written.size == 1) cut.first("cut")
      if (iteration == 36) halt(once)
    }
    assert(found == uncut)
    assert(cut.happened("cut") && once.happened("halted"))
    // What the result was computed from is garbage with it.
    FaultsSuite.await {
      System.gc()
      written.isEmpty
    }
    assert(written.isEmpty)
    nothingIsLeft()
  }

  test("a loop that carries a matrix goes on where there is no folder for it, and ends with an executor") {
    val iterations = 2 * Cuts.Deepest + 20
    assert(carried(iterations, None)(_ => ()) == carried(iterations, None, local = "1g")(_ => ()))
    val failure = Failures.of("backend")(carried(iterations, None)(iteration => if (iteration == Cuts.Deepest + 20) haltAll()))
    assert(failure.getMessage.contains("an executor was lost, and with it a part of a matrix that a loop carries"), failure.getMessage)
    assert(failure.getMessage.contains("spark.fulgurite.scratch"), failure.getMessage)
    nothingIsLeft()
  }

  test("a task that fails is run again") {
    val once = new Once
    val results = run { (partition, rows) =>
      if (partition == 1 && TaskContext.get().attemptNumber() < 2) {
        once.first("failed")
        throw new IllegalStateException("injected")
      }
      rows
    }()
    assert(weights(results) == undisturbed && once.happened("failed"))
    nothingIsLeft()
  }

  test("a task that fails in the middle of its rows is run again") {
    val once = new Once
    val results = run((partition, rows) => rows.zipWithIndex.map { case (row, index) =>
      if (partition == 2 && index == 300 && once.first("failed")) throw new IllegalStateException("injected")
      row
    })()
    assert(weights(results) == undisturbed && once.happened("failed"))
    nothingIsLeft()
  }

  test("a task is overtaken by its speculative copy") {
    val once = new Once
    val results = run { (partition, rows) =>
      if (partition == 3) {
        // The first attempt gives up waiting for its copy only where there is none, which the test then sees.
        if (once.first("attempt")) FaultsSuite.await(once.happened("copy")) else once.first("copy")
      }
      rows
    }()
    assert(once.happened("copy"))
    assert(weights(results) == undisturbed)
    nothingIsLeft()
  }

  /** Five iterations whose vectors come to the driver; at most so many bytes through its heap, the others by way of the folder. */
  private def runThroughDriver(heap: String, folder: Option[String])(between: Int => Unit = _ => ()): Seq[Seq[Long]] = {
    val script = ScriptFactory.dml(
      "v = matrix(1, ncol(X), 1)\nfor (i in 1:5) {\nq = X %*% v\nif (i > 0) print(i)\nv = t(X) %*% (q / sqrt(sum(q ^ 2)))\n}")
      .in("X", Faults.frame(spark, cells, partitions)((_, rows) => rows)).out("v")
    val settings = Seq("fulgurite.memory.local" -> "200k", "fulgurite.memory.transfer" -> heap) ++ folder.map("fulgurite.scratch" -> _)
    configured(settings: _*)(line => between(line.toInt)) {
      val matrix = ml.execute(script).getMatrix("v")
      try Faults.bits(matrix.to2DDoubleArray)
      finally matrix.close()
    }
  }

  test("results come to the driver through files, and an executor is killed meanwhile") {
    val folder = Files.createTempDirectory("fulgurite-faults")
    val undisturbed = runThroughDriver("10m", None)()
    assert(runThroughDriver("1k", Some(folder.toString))() == undisturbed)
    val once = new Once
    assert(runThroughDriver("1k", Some(folder.toString))(iteration => if (iteration == 2) halt(once)) == undisturbed)
    assert(once.happened("halted") && folder.toFile.list.isEmpty)
    // While the driver reads what an executor wrote that is no more.
    val meanwhile = new Once
    FaultyFileSystem.opens = () => if (meanwhile.first("opened")) halt(meanwhile)
    try assert(runThroughDriver("1k", Some(s"${FaultyFileSystem.Scheme}:$folder"))() == undisturbed)
    finally FaultyFileSystem.opens = () => ()
    assert(meanwhile.happened("halted") && folder.toFile.list.isEmpty)
    nothingIsLeft()
  }

  test("an executor is killed whose storage has no room for its part of X") {
    val cells = Faults.cells(10000, 20)
    val bytes = 8L * cells.length * cells.head.length
    def iterate(storage: Int => Unit): Seq[Seq[Long]] = {
      val script = ScriptFactory.dml("v = matrix(1, ncol(X), 1)\nfor (i in 1:6) {\nv = t(X) %*% (X %*% v)\nv = v / sqrt(sum(v ^ 2))\nprint(i)\n}")
        .in("X", Faults.frame(spark, cells, 8)((_, rows) => rows)).out("v")
      configured("fulgurite.memory.local" -> "1m")(line => storage(line.toInt)) {
        Faults.bits(ml.execute(script).getMatrixAs2DDoubleArray("v"))
      }
    }
    val undisturbed = iterate(_ => ())
    val once = new Once
    val found = iterate { iteration =>
      val stored = spark.sparkContext.getRDDStorageInfo
      if (iteration == 2 || iteration == 6) assert(stored.map(_.memSize).sum < bytes && stored.map(_.diskSize).sum > 0, stored.mkString(", "))
      if (iteration == 2) halt(once)
    }
    assert(found == undisturbed && once.happened("halted"))
    nothingIsLeft()
  }

  test("a result that is too large for the driver's heap, where no folder is known, is an error that says what to do") {
    val failure = Failures.of("io")(runThroughDriver("1k", None)())
    assert(failure.getMessage.contains("no folder that driver and executors share"), failure.getMessage)
    assert(failure.getMessage.contains("spark.fulgurite.scratch") && failure.getMessage.contains("spark.fulgurite.memory.transfer"), failure.getMessage)
    nothingIsLeft()
  }

  // The last one: it leaves a single worker.
  test("a worker is stopped mid-iteration") {
    val removed = new CountDownLatch(1)
    spark.sparkContext.addSparkListener(new SparkListener {
      override def onExecutorRemoved(event: SparkListenerExecutorRemoved): Unit = removed.countDown()
    })
    val results = run() { iteration =>
      if (iteration == 2) {
        cluster.stopWorker(0)
        assert(removed.await(60, TimeUnit.SECONDS), "the executor of the stopped worker is still there")
      }
    }
    assert(weights(results) == undisturbed)
    nothingIsLeft()
  }
}

private[fulgurite] object FaultsSuite {
  val script: String = Path.of("..", "..", "examples", "algorithms", "linreg_cg.dml").toString
  require(Files.exists(Path.of(script)), s"$script is not there: run from jvm/spark")

  def await(condition: => Boolean): Unit = {
    var checks = 0
    while (!condition && checks < 600) {
      Thread.sleep(100)
      checks += 1
    }
  }
}
