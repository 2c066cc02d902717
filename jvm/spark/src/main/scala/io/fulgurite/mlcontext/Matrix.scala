package io.fulgurite.mlcontext

import io.fulgurite.spark.{Blocks, Errors}
import io.fulgurite.spark.dataset.Dataset
import io.fulgurite.spark.primitives.{Session, Transfer}
import io.fulgurite.spark.text.WrittenLines
import org.apache.spark.api.java.JavaRDD
import org.apache.spark.ml.linalg.Vector
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.{DataFrame, SparkSession}

/** Where a matrix is. */
private[fulgurite] sealed trait Storage
private[fulgurite] final case class Local(blocks: Blocks) extends Storage
private[fulgurite] final case class Distributed(dataset: Dataset) extends Storage

/**
 * A matrix in Fulgurite's form: in native memory of the driver, or a dataset of row stripes. An input of any number of
 * scripts, without conversion. Its memory is freed by [[close]] or when it is garbage.
 */
final class Matrix private[fulgurite] (private[fulgurite] val storage: Storage, spark: SparkSession) extends AutoCloseable {
  def rows: Long = size(_.rows, _.rows)
  def cols: Long = size(_.cols, _.cols)
  def nnz: Long = size(_.nnz, _.nnz)
  def isDistributed: Boolean = storage.isInstanceOf[Distributed]
  def getMatrixMetadata: MatrixMetadata = MatrixMetadata(MatrixFormat.CSV, rows, cols, nnz)

  def to2DDoubleArray: Array[Array[Double]] =
    onDriver(_.read(_.toArray.flatMap(view => Array.tabulate(view.rows)(view.denseRow))))

  /** Column `__INDEX` from 1, then `C1`, `C2` …; rows are in order. */
  def toDF(): DataFrame = toDFDoubleWithIDColumn()
  def toDFDoubleWithIDColumn(): DataFrame = frame(vector = false, numbered = true)
  def toDFDoubleNoIDColumn(): DataFrame = frame(vector = false, numbered = false)

  /** One ML vector a row, in column `C1`. */
  def toDFVectorWithIDColumn(): DataFrame = frame(vector = true, numbered = true)
  def toDFVectorNoIDColumn(): DataFrame = frame(vector = true, numbered = false)

  /** Columns `i`, `j` (from 1) and `v`: a row for each cell that is not 0. */
  def toDFIJV(): DataFrame = MatrixFrames.toCells(spark, stripes)

  /** One ML vector a row, in order. */
  def toRDDVector: RDD[Vector] = MatrixFrames.toVectors(stripes)
  def toJavaRDDVector: JavaRDD[Vector] = toRDDVector.toJavaRDD()

  /** A line for each row, zeros included. */
  def toRDDStringCSV: RDD[String] = WrittenLines.elements(stripes, WrittenLines.csv(","))
  def toJavaRDDStringCSV: JavaRDD[String] = toRDDStringCSV.toJavaRDD()

  /** A line `row column value` (from 1) for each cell that is not 0. */
  def toRDDStringIJV: RDD[String] = WrittenLines.elements(stripes, WrittenLines.cells)
  def toJavaRDDStringIJV: JavaRDD[String] = toRDDStringIJV.toJavaRDD()

  override def close(): Unit = storage match {
    case Local(blocks) => blocks.close()
    case Distributed(dataset) => dataset.release()
  }

  override def toString: String = s"Matrix: $rows x $cols${if (isDistributed) ", distributed" else ""}"

  /** Calls `use` with the whole matrix in this process. */
  private[fulgurite] def onDriver[A](use: Blocks => A): A = storage match {
    case Local(blocks) => use(blocks)
    case Distributed(dataset) =>
      val blocks = Errors.ofSpark(Transfer.collect(dataset))
      try use(blocks)
      finally blocks.close()
  }

  private def frame(vector: Boolean, numbered: Boolean): DataFrame = MatrixFrames.toFrame(spark, stripes, cols.toInt, vector, numbered)

  private def stripes: RDD[Blocks] = storage match {
    case Local(blocks) => Transfer.stripes(new Session(spark), blocks)
    case Distributed(dataset) => dataset.stripes
  }

  private def size(local: Blocks => Long, distributed: io.fulgurite.spark.dataset.Characteristics => Long): Long = storage match {
    case Local(blocks) => local(blocks)
    case Distributed(dataset) => distributed(dataset.characteristics)
  }
}
