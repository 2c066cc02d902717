package io.fulgurite.mlcontext

import io.fulgurite.spark.Blocks
import io.fulgurite.spark.arrow.BlockView
import io.fulgurite.spark.frames.Columns
import org.apache.spark.ml.linalg.{SQLDataTypes, Vector, Vectors}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.{DataFrame, Row, SparkSession}
import org.apache.spark.sql.types.{DoubleType, StructField, StructType}

/** Stripes as DataFrames, in the order of rows. */
private[mlcontext] object MatrixFrames {

  def toFrame(spark: SparkSession, stripes: RDD[Blocks], cols: Int, vector: Boolean, numbered: Boolean): DataFrame = {
    val cells =
      if (vector) Seq(StructField("C1", SQLDataTypes.VectorType, nullable = false))
      else (1 to cols).map(col => StructField(s"C$col", DoubleType, nullable = false))
    val number = if (numbered) Seq(StructField(Columns.Index, DoubleType, nullable = false)) else Seq.empty
    val rows = stripes.mapPartitions(_.flatMap { blocks =>
      val rows = blocks.read(_.flatMap(rowsOf(_, vector, numbered)))
      blocks.closeIfEphemeral()
      rows
    })
    spark.createDataFrame(rows, StructType(number ++ cells))
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

/** Stripes as lines of text. */
private[mlcontext] object MatrixText {
  def csv(stripes: RDD[Blocks]): RDD[String] = lines(stripes)((view, row) => Seq(view.denseRow(row).mkString(",")))

  def ijv(stripes: RDD[Blocks]): RDD[String] = lines(stripes) { (view, row) =>
    val cells = Seq.newBuilder[String]
    view.foreachStored(row)((col, value) => if (value != 0.0) cells += s"${view.rowOffset + row + 1} ${col + 1} $value")
    cells.result()
  }

  private def lines(stripes: RDD[Blocks])(ofRow: (BlockView, Int) => Seq[String]): RDD[String] =
    stripes.mapPartitions(_.flatMap { blocks =>
      val text = blocks.read(_.flatMap(view => (0 until view.rows).flatMap(ofRow(view, _))))
      blocks.closeIfEphemeral()
      text
    })
}
