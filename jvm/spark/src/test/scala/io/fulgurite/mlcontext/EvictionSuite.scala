package io.fulgurite.mlcontext

import scala.collection.mutable

import io.fulgurite.{Faults, SparkSessions}
import io.fulgurite.spark.memory.NativeMemory
import org.apache.spark.sql.SparkSession
import org.scalatest.funsuite.AnyFunSuite

/** X is larger than Spark's storage memory: partitions are evicted, spilled and read again. */
final class EvictionSuite extends AnyFunSuite {
  private val cells = Faults.cells(20000, 50)
  private val bytes = 8L * cells.length * cells.head.length

  private def session[A](fraction: String)(work: SparkSession => A): A = {
    val settings = Map("spark.memory.fraction" -> fraction, "spark.fulgurite.memory.tasks" -> "4m", "spark.fulgurite.memory.local" -> "1m")
    val spark = SparkSessions.start("local[2]", suiteName, settings)
    try {
      spark.sparkContext.setLogLevel("ERROR")
      work(spark)
    } finally spark.stop()
  }

  /** The bits of the result; `between` is called after each iteration. */
  private def iterate(spark: SparkSession)(between: () => Unit): Seq[Seq[Long]] = {
    val script = ScriptFactory.dml(
      "v = matrix(1, ncol(X), 1)\nfor (i in 1:30) { v = t(X) %*% (X %*% v)\nv = v / sqrt(sum(v ^ 2))\nprint(i) }")
      .in("X", Faults.frame(spark, cells, 8)((_, rows) => rows)).out("v")
    val results = new MLContext(spark).setPrintSink(_ => between()).execute(script)
    assert(results.report.partitionsRead == Map("X" -> 8))
    Faults.bits(results.getMatrixAs2DDoubleArray("v"))
  }

  test("an iteration over evicted partitions has the bits of one in memory, and what it reads from disk does not pile up") {
    val (cached, held) = (mutable.Buffer.empty[Long], mutable.Buffer.empty[Long])
    val undisturbed = session(fraction = "0.6") { spark =>
      iterate(spark)(() => cached += spark.sparkContext.getRDDStorageInfo.map(_.memSize).sum)
    }
    assert(cached.forall(_ >= bytes))
    // Of a heap of 1500 MB, without the 300 that Spark reserves.
    val evicted = session(fraction = "0.003") { spark =>
      cached.clear()
      iterate(spark) { () =>
        cached += spark.sparkContext.getRDDStorageInfo.map(_.memSize).sum
        held += NativeMemory.held
      }
    }
    assert(cached.forall(_ < bytes / 2), cached.mkString(", "))
    assert(evicted == undisturbed)
    // Half of X is read from disk in each of 30 passes.
    assert(held.max < 3 * bytes, held.mkString(", "))
    assert(NativeMemory.owned == 0)
  }
}
