package io.fulgurite.mlcontext

import java.nio.file.Path

import scala.collection.mutable

import io.fulgurite.{Faults, SparkSessions}
import io.fulgurite.spark.memory.NativeMemory
import org.apache.spark.fulgurite.Jobs
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
