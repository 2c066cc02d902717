package io.fulgurite.mlcontext

import java.nio.file.{Files, Path}

import scala.collection.mutable

import io.fulgurite.{Failures, Faults, SparkSessions}
import io.fulgurite.spark.memory.NativeMemory
import org.apache.spark.fulgurite.Jobs
import org.apache.spark.ml.linalg.Vectors
import org.scalatest.funsuite.AnyFunSuite

/** What iterations over a distributed X ask of Spark. */
final class SparkUseSuite extends AnyFunSuite with SparkSessions {
  private val partitions = 4
  private val cells = Faults.cells(2000, 20)

  /** Runs an algorithm for six iterations; what `seen` gives after each. */
  private def iterations[A](algorithm: String, X: Any, labels: Array[Array[Double]])(seen: () => A): (MLResults, Seq[A]) = {
    val found = mutable.Buffer.empty[A]
    val script = ScriptFactory.dmlFromFile(Path.of("..", "..", "examples", "algorithms", algorithm).toString)
      .in("X", X).in(if (algorithm == "l2svm.dml") "labels" else "y", labels).in("$X", "X").in("$Y", "Y").in("$maxi", 6)
    ml.setConfigProperty("fulgurite.memory.local", "100k")
    ml.setPrintSink(line => if (line.startsWith("iteration ")) { found += seen(); () })
    try {
      val results = ml.execute(script)
      (results, found.toSeq)
    } finally {
      ml.resetConfig()
      ml.setPrintSink(line => Console.out.println(line))
    }
  }

  private def frame = Faults.frame(spark, cells, partitions)((_, rows) => rows)
  private val response = Faults.cells(2000, 1)
  private val classes = response.map(_.map(cell => if (cell > 0) 1.0 else -1.0))

  private def jobs(algorithm: String, labels: Array[Array[Double]]): (MLResults, Seq[Seq[Int]]) = {
    val jobs = new Jobs(spark.sparkContext)
    try iterations(algorithm, frame, labels)(() => jobs.started())
    finally jobs.close()
  }

  test("conjugate gradients read X once, and scan it once an iteration") {
    val (results, perIteration) = jobs("linreg_cg.dml", response)
    assert(perIteration.tail == Seq.fill(5)(Seq(partitions)))
    assert(results.report.partitionsRead == Map("X" -> partitions))
  }

  test("the line search of a support vector machine makes no Spark job") {
    val (results, perIteration) = jobs("l2svm.dml", classes)
    // X times the direction before the search, and the gradient after it.
    assert(perIteration.tail == Seq.fill(5)(Seq(partitions, partitions)))
    assert(results.report.partitionsRead == Map("X" -> partitions))
  }

  test("what reads a vector on the executors runs there, and the vector stays: one job, and a number that comes back") {
    val script = ScriptFactory.dml("R = max(X %*% v)").in("X", frame).in("v", Faults.cells(20, 1)).out("R")
    val jobs = new Jobs(spark.sparkContext)
    def ran(pull: String): (Double, Int, Long) = {
      ml.setConfigProperty("fulgurite.memory.local", "100k")
      ml.setConfigProperty("fulgurite.fusion.policy", "none")
      ml.setConfigProperty("fulgurite.placement.pull", pull)
      try {
        jobs.started()
        val results = ml.execute(script)
        (results.getDouble("R"), jobs.started().size, results.report.traffic.collected)
      } finally ml.resetConfig()
    }
    try {
      val (collected, jobsBefore, bytesBefore) = ran("false")
      val (found, jobsNow, bytesNow) = ran("true")
      assert(found == collected && jobsNow == jobsBefore)
      assert(bytesBefore == 2000 * 8 && bytesNow == 8)
    } finally jobs.close()
  }

  test("a script whose data are small makes no Spark job") {
    val session = spark
    import session.implicits._
    val folder = Files.createTempDirectory("fulgurite-small")
    val csv = Files.writeString(folder.resolve("A.csv"), "1,2\n3,4\n")
    val frames = Seq(
      "plain" -> Seq((1.0, 2), (3.0, 4)).toDF("a", "b"),
      "numbered" -> Seq((2, 3.0, 4.0), (1, 1.0, 2.0)).toDF("__INDEX", "a", "b"),
      "vectors" -> Seq(Vectors.dense(1, 2), Vectors.dense(3, 4)).map(Tuple1(_)).toDF("features"))
    val jobs = new Jobs(spark.sparkContext)
    try {
      for ((kind, frame) <- frames) {
        val out = folder.resolve(s"$kind.csv").toString
        val script = ScriptFactory.dml("A = read($A, format=\"csv\")\nB = A %*% X + v\nfor (i in 1:3) B = B + X\nwrite(B, $B, format=\"csv\")\nC = B + 1")
          .in("X", frame).in("v", Array(1.0, 2.0)).in("$A", csv.toString).in("$B", out).out("C")
        val C = ml.execute(script).getMatrix("C")
        assert(!C.isDistributed && C.to2DDoubleArray.map(_.toSeq).toSeq == Seq(Seq(12, 18), Seq(27, 37)), kind)
        assert(Files.readString(Path.of(out)).linesIterator.next() == "11.0,17.0")
        C.close()
      }
      assert(jobs.started().isEmpty)
    } finally jobs.close()
  }

  test("a frame on the driver that is too large for it, or wrong, is what it is elsewhere") {
    val session = spark
    import session.implicits._
    val frame = (1 to 2000).map(row => (2001 - row, row / 7.0)).toDF("__INDEX", "x")
    ml.setConfigProperty("fulgurite.memory.local", "10k")
    val large =
      try ml.matrix(frame)
      finally ml.resetConfig()
    val small = ml.matrix(frame)
    assert(large.isDistributed && !small.isDistributed)
    assert(Faults.bits(large.to2DDoubleArray) == Faults.bits(small.to2DDoubleArray))
    Seq(large, small).foreach(_.close())
    for ((rows, reason) <- Seq(
        Seq((1, 1.0), (3, 2.0)) -> "it holds 3, but there are 2 rows", Seq((1, 1.0), (1, 2.0)) -> "1 occurs twice")) {
      assert(Failures.of("data")(ml.matrix(rows.toDF("__INDEX", "x"))).getMessage.contains(reason))
    }
    assert(Failures.of("data")(ml.matrix(Seq(Some(1.0), None).toDF("x"))).getMessage.contains("column 'x' holds a null"))
  }

  test("no broadcast outlives its use") {
    ml.setConfigProperty("fulgurite.memory.local", "100k")
    val X =
      try ml.matrix(frame)
      finally ml.resetConfig()
    assert(X.isDistributed)
    val (_, first) = iterations("linreg_cg.dml", X, response)(() => NativeMemory.held)
    val (_, second) = iterations("linreg_cg.dml", X, response)(() => NativeMemory.held)
    // Each iteration sends the direction; the garbage collector may free what was left before.
    for (held <- Seq(first, second)) assert(held.size == 6 && held.tail.zip(held.tail.tail).forall { case (before, after) => after <= before }, held.mkString(", "))
    X.close()
  }
}
