package io.fulgurite.mlcontext

import scala.reflect.ClassTag

import io.fulgurite.spark.Blocks
import io.fulgurite.spark.arrow.BlockView
import io.fulgurite.spark.frames.Columns
import org.apache.spark.ml.linalg.{SQLDataTypes, Vector, Vectors}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.{DataFrame, Row, SparkSession}
import org.apache.spark.sql.types.{DoubleType, LongType, StructField, StructType}

/** Stripes as DataFrames and vectors, in the order of rows. */
private[fulgurite] object MatrixFrames {

  def toFrame(spark: SparkSession, stripes: RDD[Blocks], cols: Int, vector: Boolean, numbered: Boolean): DataFrame = {
    val cells =
      if (vector) Seq(StructField("C1", SQLDataTypes.VectorType, nullable = false))
      else (1 to cols).map(col => StructField(s"C$col", DoubleType, nullable = false))
    val number = if (numbered) Seq(StructField(Columns.Index, DoubleType, nullable = false)) else Seq.empty
    val rows = each(stripes)(rowsOf(_, vector, numbered))
    spark.createDataFrame(rows, StructType(number ++ cells))
  }

  /** Columns `i`, `j` and `v`, of the cells that are not 0. */
  def toCells(spark: SparkSession, stripes: RDD[Blocks]): DataFrame = {
    val fields = Seq("i" -> LongType, "j" -> LongType, "v" -> DoubleType).map { case (name, kind) => StructField(name, kind, nullable = false) }
    spark.createDataFrame(each(stripes)(cellsOf), StructType(fields))
  }

  def toVectors(stripes: RDD[Blocks]): RDD[Vector] = each(stripes)(view => (0 until view.rows).map(vectorOf(view, _)))

  private def each[A: ClassTag](stripes: RDD[Blocks])(of: BlockView => Seq[A]): RDD[A] = stripes.mapPartitions(_.flatMap { blocks =>
    val found = blocks.read(_.flatMap(of))
    blocks.closeIfEphemeral()
    found
  })

  private def cellsOf(view: BlockView): Seq[Row] = {
    val cells = Seq.newBuilder[Row]
    for (row <- 0 until view.rows) {
      view.foreachStored(row)((col, value) => if (value != 0.0) cells += Row(view.rowOffset + row + 1, col + 1L, value))
    }
    cells.result()
  }

  private def rowsOf(view: BlockView, vector: Boolean, numbered: Boolean): Seq[Row] =
    (0 until view.rows).map { row =>
      val cells: Seq[Any] = if (vector) Seq(vectorOf(view, row)) else view.denseRow(row).toSeq
      Row.fromSeq(if (numbered) (view.rowOffset + row + 1).toDouble +: cells else cells)
    }

  private def vectorOf(view: BlockView, row: Int): Vector =
    if (view.isDense) Vectors.dense(view.denseRow(row))
    else {
      val stored = scala.Vector.newBuilder[(Int, Double)]
      view.foreachStored(row)((col, value) => stored += ((col, value)))
      Vectors.sparse(view.cols, stored.result())
    }
}
