package io.fulgurite.mlcontext

import io.fulgurite.{Faults, SparkSessions}
import org.apache.spark.fulgurite.Jobs
import org.scalatest.funsuite.AnyFunSuite

/** Aggregates of matrices in more partitions than may give their partial results to the driver. */
final class TreeReductionSuite extends AnyFunSuite with SparkSessions {
  // As if there were so many cores: partitions that are small stay.
  override def configuration: Map[String, String] = Map("spark.default.parallelism" -> "32")

  private val names = Seq("G", "s", "low", "m", "c")
  private val script = "G = t(X) %*% X\ns = sum(X * 3)\nlow = min(X - 1)\nm = moment(X[, 2], 3)\nc = colSums(X)"
  private val cells = Faults.cells(2000, 6)

  private def run(partitions: Int, budget: String): Map[String, Seq[Double]] = {
    val X = Faults.frame(spark, cells, partitions)((_, rows) => rows)
    ml.setConfigProperty("fulgurite.memory.local", budget)
    try {
      val results = ml.execute(ScriptFactory.dml(script).in("X", X).out(names: _*))
      names.map { name =>
        name -> (results.get(name) match {
          case matrix: Matrix =>
            try matrix.to2DDoubleArray.toSeq.flatten
            finally matrix.close()
          case _ => Seq(results.getDouble(name))
        })
      }.toMap
    } finally ml.resetConfig()
  }

  for (partitions <- Seq(33, 40, 100)) {
    test(s"aggregates of $partitions partitions are combined in groups, with the same bits each time") {
      val jobs = new Jobs(spark.sparkContext)
      val found =
        try run(partitions, "20k")
        finally {
          // A task for each partition, and one for each group.
          val groups = math.ceil(math.sqrt(partitions.toDouble)).toInt
          assert(jobs.started().contains(partitions + groups))
          jobs.close()
        }
      assert(run(partitions, "20k") == found)
      for ((name, expected) <- run(partitions, "1g"); (value, here) <- found(name).zip(expected)) {
        assert(math.abs(value - here) <= 1e-9 * math.max(1.0, math.abs(here)), s"$name: $value for $here")
      }
    }
  }
}
