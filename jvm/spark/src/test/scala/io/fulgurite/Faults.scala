package io.fulgurite

import java.nio.file.{FileAlreadyExistsException, Files, Path}

import org.apache.spark.sql.{DataFrame, Row, SparkSession}
import org.apache.spark.sql.types.{DoubleType, StructField, StructType}

/** Things that happen once, whichever process they happen in: each leaves a file. */
final class Once(folder: String) extends Serializable {
  def this() = this(Files.createTempDirectory("fulgurite-once").toString)

  /** True for who asks first. */
  def first(what: String): Boolean =
    try {
      Files.createFile(Path.of(folder, what))
      true
    } catch { case _: FileAlreadyExistsException => false }

  def happened(what: String): Boolean = Files.exists(Path.of(folder, what))
}

object Faults {
  /** Cells that look random, so that columns are independent, and whose sums depend on the order of addition. */
  def cells(rows: Int, cols: Int): Array[Array[Double]] = Array.tabulate(rows, cols) { (row, col) =>
    val number = math.sin(row * 12.9898 + col * 78.233) * 43758.5453
    number - math.floor(number) - 0.5
  }

  /** A DataFrame of the cells, of which each partition goes through `disturb`, in the task that reads it. */
  def frame(spark: SparkSession, cells: Array[Array[Double]], partitions: Int)(disturb: (Int, Iterator[Row]) => Iterator[Row]): DataFrame = {
    val schema = StructType(cells.head.indices.map(col => StructField(s"c$col", DoubleType)))
    val rows = spark.sparkContext.parallelize(cells.toSeq, partitions).map(row => Row.fromSeq(row.toSeq)).mapPartitionsWithIndex(disturb)
    spark.createDataFrame(rows, schema)
  }

  def bits(cells: Array[Array[Double]]): Seq[Seq[Long]] = cells.map(_.map(java.lang.Double.doubleToRawLongBits).toSeq).toSeq
}
