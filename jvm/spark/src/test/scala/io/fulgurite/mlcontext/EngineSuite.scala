package io.fulgurite.mlcontext

import io.fulgurite.{Data, Failures, Fulgurite, SparkSessions}
import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.sql.types._
import org.scalatest.funsuite.AnyFunSuite

/** Scripts on Spark: the same expectations in one process and on executors of their own. */
abstract class EngineSuite(override val master: String, executors: Set[String]) extends AnyFunSuite with SparkSessions {
  import Data._

  private def frame(cells: Array[Array[Double]], partitions: Int): DataFrame = {
    val schema = StructType(cells.head.indices.map(col => StructField(s"c$col", DoubleType)))
    spark.createDataFrame(spark.sparkContext.parallelize(cells.toSeq, partitions).map(row => Row.fromSeq(row.toSeq)), schema)
  }

  /** Everything that reads a matrix of the size runs on Spark. */
  private def distributed[A](budget: String)(work: => A): A = {
    ml.setConfigProperty("fulgurite.memory.local", budget)
    try work
    finally ml.resetConfig()
  }

  private val X = matrix(2000, 20)
  private val v = matrix(20, 1)

  private val gradient = "for (i in 1:3) { g = t(X) %*% (X %*% v); v = v + g / 100000 }\ns = sum(X)"

  test("a fused operator runs natively on the executors, and X is read once") {
    val script = ScriptFactory.dml(gradient).in("X", frame(X, 4)).in("v", v).out("v", "s")
    val onSpark = distributed("50k")(ml.execute(script))
    val local = ml.execute(script)
    assert(close(onSpark.getMatrixAs2DDoubleArray("v"), local.getMatrixAs2DDoubleArray("v")))
    assert(onSpark.getDouble("s") == local.getDouble("s"))
    val report = onSpark.report
    assert(report.partitionsRead == Map("X" -> 4))
    assert(report.executors == executors, report.toString)
    val fused = report.operators.filter(operator => operator.location == "spark" && operator.plan.nonEmpty)
    assert(fused.exists(_.count == 3), report.toString)
    assert(report.nativeTasks.values.flatMap(_.values).sum >= 3 * 4, report.toString)
    assert(local.report.executors.isEmpty)
  }

  test("a run repeats to the bit") {
    val cells = Array.tabulate(1000, 10)((row, col) => math.sin(row * 10.0 + col))
    val script = ScriptFactory.dml("G = t(X) %*% X\ns = sum(X ^ 2)").in("X", frame(cells, 7)).out("G", "s")
    val runs = distributed("20k")(Seq.fill(3)(ml.execute(script)))
    assert(runs.map(_.getMatrixAs2DDoubleArray("G").map(_.toSeq).toSeq).distinct.size == 1)
    assert(runs.map(_.getDouble("s")).distinct.size == 1)
  }

  test("a distributed result is ordered, and the input of another script") {
    val script = ScriptFactory.dml("Y = X * 2 + 1").in("X", frame(X, 3)).out("Y")
    distributed("50k") {
      val result = ml.execute(script).getMatrix("Y")
      assert(result.isDistributed)
      val rows = result.toDF().collect()
      assert(rows.map(_.getDouble(0)).toSeq == (1 to 2000).map(_.toDouble))
      assert(rows.map(row => (1 to 20).map(row.getDouble).toArray).zip(X).forall { case (found, expected) => found.sameElements(expected.map(_ * 2 + 1)) })
      val sum = ml.execute(ScriptFactory.dml("s = sum(Y)").in("Y", result).out("s")).getDouble("s")
      assert(sum == X.flatten.map(_ * 2 + 1).sum)
      result.close()
    }
  }

  test("an intermediate that is kept on the executors outlives the broadcasts it was made with") {
    val script = ScriptFactory.dml("Z = cbind(X, w)\nw = w * 2\nt = 0.0\nfor (i in 1:3) { c = colSums(Z * i); t = t + sum(Z) + sum(c) }")
      .in("X", frame(X, 3)).in("w", matrix(2000, 1)).out("t", "c", "Z")
    val onSpark = distributed("50k")(ml.execute(script))
    val local = ml.execute(script)
    assert(onSpark.getDouble("t") == local.getDouble("t"))
    assert(close(onSpark.getMatrixAs2DDoubleArray("c"), local.getMatrixAs2DDoubleArray("c")))
    assert(close(onSpark.getMatrixAs2DDoubleArray("Z"), local.getMatrixAs2DDoubleArray("Z")))
  }

  /** The script gives on Spark what it gives here, and reads X once. */
  private def sameOnSpark(script: String): Unit = {
    val ready = ScriptFactory.dml(script).in("X", frame(X, 4)).in("y", matrix(2000, 1)).out("R")
    val onSpark = distributed("50k")(ml.execute(ready))
    val local = ml.execute(ready)
    assert(close(onSpark.getMatrixAs2DDoubleArray("R"), local.getMatrixAs2DDoubleArray("R")), script)
    assert(onSpark.report.partitionsRead == Map("X" -> 4), script)
    assert(onSpark.report.executors.nonEmpty, script)
  }

  for ((what, script) <- Seq(
      "a range of rows" -> "R = X[501:1500, 2:19] * 2",
      "matrices below each other" -> "Z = rbind(X * 2, X, matrix(1, 3, ncol(X)))\nR = Z[1990:4003, ]",
      "an assignment to a range" -> "Z = X\nZ[499:1501, 3:4] = X[499:1501, 1:2] * y[499:1501, ]\nR = Z[400:1600, ] + 1",
      "a running sum" -> "R = cumsum(X * y)",
      "a transpose in stripes of its own" -> "R = t(X) + 1",
      "rows without empty ones" -> "R = removeEmpty(target=X * (y > 0), margin=\"rows\") + 1",
      "the reverse" -> "R = rev(X * 2)",
      "an order" -> "R = order(target=X * 2, by=3, decreasing=TRUE)",
      "a diagonal matrix" -> "R = rowSums(diag(rowSums(X)) %*% X)",
      "a table of many rows" -> "T = table(seq(1, nrow(X)), X[, 1] * 4 + 7, abs(X[, 2]), nrow(X), 13)\nR = T %*% matrix(1, 13, 20) + X",
      "a random matrix" -> "R = X + rand(rows=2000, cols=20, seed=7, sparsity=0.7)",
      "cells in another shape" -> "R = matrix(X, rows=625, cols=64) * 2",
      "cells by column in another shape" -> "R = matrix(X * 2, rows=500, cols=80, byrow=FALSE) + 1",
      "a product of large matrices" -> "R = X %*% (t(X) %*% rand(rows=2000, cols=400, seed=3))")) {
    test(s"$what is made by the executors") { sameOnSpark(script) }
  }

  test("sparse vectors run on Spark as they are") {
    import org.apache.spark.ml.linalg.Vectors
    val session = spark
    import session.implicits._
    val vectors = (0 until 500).map(row => Tuple1(Vectors.sparse(100, Seq(row % 100 -> (row + 1.0)))))
    val expected = Array.tabulate(100, 1)((col, _) => (0 until 500).filter(_ % 100 == col).map(_ + 1.0).sum)
    val script = ScriptFactory.dml("c = t(colSums(X))").in("X", vectors.toDF("features").repartition(3)).out("c")
    val result = distributed("4k")(ml.execute(script))
    assert(result.getMatrixAs2DDoubleArray("c").map(_.toSeq).toSeq == expected.map(_.toSeq).toSeq)
    assert(result.report.executors.nonEmpty)
  }

  test("an error on an executor is the error of the script, and the context goes on") {
    val odd = frame(X, 2).selectExpr("c0", "if(c0 > 1, null, c1) as hole")
    val failure = Failures.of("data")(ml.execute(ScriptFactory.dml("s = sum(X)").in("X", odd).out("s")))
    assert(failure.getMessage.contains("column 'hole' holds a null"))
    assert(ml.execute(ScriptFactory.dml("s = 1 + 1").out("s")).getLong("s") == 2)
  }

  test("a HOP DAG runs on blocks") {
    val dag = scala.io.Source.fromResource("hop/weighted_sum.json").mkString
    val cells = matrix(300, 4)
    for (budget <- Seq("1g", "2k")) {
      val results = distributed(budget) { ml; Fulgurite.execute(dag, Map("X" -> frame(cells, 3), "Y" -> cells)) }
      assert(results.getDouble("s") == cells.flatten.map(cell => cell * cell).sum)
    }
  }
}

final class LocalEngineSuite extends EngineSuite("local[2]", Set("driver"))

final class ClusterEngineSuite extends EngineSuite("local-cluster[2,1,1024]", Set("0", "1"))
