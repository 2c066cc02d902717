package io.fulgurite.spark

import java.nio.file.Files

import io.fulgurite.{Faults, SparkSessions}
import io.fulgurite.mlcontext.{MLContext, MLResults, ScriptFactory}
import io.fulgurite.spark.dataset.{CoalescedStripes, Dataset}
import io.fulgurite.spark.frames.FrameSource
import io.fulgurite.spark.primitives.{Session, Transfer}
import io.fulgurite.spark.text.{CsvFormat, CsvSource}
import org.apache.spark.sql.Row
import org.apache.spark.sql.types.{DoubleType, LongType, StructField, StructType}
import org.scalatest.funsuite.AnyFunSuite

/** Many small partitions become few, in their order. */
final class CoalescingSuite extends AnyFunSuite with SparkSessions {
  private val Mb = 1L << 20

  test("partitions are put together up to 32 MB, if they are small and there are more than four for each core") {
    assert(CoalescedStripes.plan(Seq.fill(8)(1L), 2).isEmpty)
    assert(CoalescedStripes.plan(Seq.fill(100)(8 * Mb), 2).isEmpty)
    assert(CoalescedStripes.plan(Seq.fill(100)(7 * Mb), 2).contains((0 to 100 by 4).toVector))
    // One for each core at least, whatever they take.
    assert(CoalescedStripes.plan(Seq.fill(100)(1000L), 4).contains(Vector(0, 25, 50, 75, 100)))
    assert(CoalescedStripes.plan(Seq.fill(9)(0L), 2).contains(Vector(0, 9)))
    // A large one stands alone.
    assert(CoalescedStripes.plan(Seq(1L, 1L, 60 * Mb, 1L) ++ Seq.fill(8)(1L), 2).contains(Vector(0, 2, 3, 12)))
  }

  private def few(dataset: Dataset): Unit = {
    assert(dataset.stripes.partitions.length <= 4, dataset.stripes.partitions.length)
    assert(dataset.layout.flatten.size <= 4, dataset.layout.flatten.size)
    // What the small partitions were kept as is not kept any more.
    assert(spark.sparkContext.getPersistentRDDs.size == 1)
  }

  private def rows(dataset: Dataset): Seq[Seq[Double]] = {
    val blocks = Transfer.collect(dataset)
    try blocks.read(_.flatMap(view => Seq.tabulate(view.rows)(view.denseRow(_).toSeq)))
    finally blocks.close()
  }

  test("a folder of 500 part files becomes few partitions, and keeps the order of rows") {
    val folder = Files.createTempDirectory("fulgurite-parts")
    val cells = Faults.cells(1500, 3)
    for ((part, index) <- cells.grouped(3).zipWithIndex) {
      Files.writeString(folder.resolve(f"part-$index%05d"), part.map(_.mkString(",")).mkString("", "\n", "\n"))
    }
    val dataset = CsvSource.read(new Session(spark), folder.toString, CsvFormat(",", header = false, None))
    few(dataset)
    assert(rows(dataset) == cells.map(_.toSeq).toSeq)
    // A lost partition is made of its files again.
    spark.sparkContext.getPersistentRDDs.values.foreach(_.unpersist(blocking = true))
    assert(rows(dataset) == cells.map(_.toSeq).toSeq)
    dataset.release()
  }

  test("numbered rows, in order or not, become few partitions") {
    val cells = Faults.cells(300, 2)
    val schema = StructType(Seq(StructField("__INDEX", LongType), StructField("a", DoubleType), StructField("b", DoubleType)))
    for (number <- Seq[Int => Long](_ + 1L, row => 300L - row)) {
      val numbered = spark.sparkContext.parallelize(cells.indices, 100).map(row => Row(number(row), cells(row)(0), cells(row)(1)))
      val dataset = FrameSource.read(new Session(spark), "X", spark.createDataFrame(numbered, schema), None)
      few(dataset)
      val expected = cells.indices.sortBy(number).map(cells(_).toSeq)
      assert(rows(dataset) == expected)
      dataset.release()
    }
  }

  private def execute(text: String, budget: String, X: Any): MLResults =
    new MLContext(spark).setConfigProperty("fulgurite.memory.local", budget).execute(ScriptFactory.dml(text).in("X", X).out("Z"))

  test("a loop that appends rows has a bounded number of partitions and stripes") {
    val cells = Faults.cells(100, 10)
    val X = Faults.frame(spark, cells, 2)((_, rows) => rows)
    for ((text, rows) <- Seq(
        "Z = X\nfor (i in 1:200) { Z = rbind(Z, matrix(i, 1, 10)) }" -> 300, "Z = X\nfor (i in 1:200) { Z = rbind(X[i %% 100 + 1, ], Z) }" -> 300)) {
      val (onSpark, here) = (execute(text, "2k", X).getMatrix("Z"), execute(text, "1g", X).getMatrix("Z"))
      assert(onSpark.isDistributed && onSpark.rows == rows)
      assert(Faults.bits(onSpark.to2DDoubleArray) == Faults.bits(here.to2DDoubleArray), text)
      val partitions = onSpark.toRDDVector.partitions.length
      assert(partitions <= 16, s"$partitions partitions of $text")
      onSpark.close()
    }
  }
}
