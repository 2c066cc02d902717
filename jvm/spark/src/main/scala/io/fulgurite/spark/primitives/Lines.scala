package io.fulgurite.spark.primitives

import io.fulgurite.spark.Blocks
import io.fulgurite.spark.arrow.BlockView
import org.apache.spark.rdd.RDD

/** Stripes as lines of text, in the order of rows. */
private[fulgurite] object Lines {

  /** A line for each row, zeros included. */
  def csv(stripes: RDD[Blocks], separator: String): RDD[String] = of(stripes)((view, row) => Seq(view.denseRow(row).mkString(separator)))

  /** A line `row column value` (from 1) for each cell that is not 0. */
  def cells(stripes: RDD[Blocks]): RDD[String] = of(stripes) { (view, row) =>
    val cells = Seq.newBuilder[String]
    view.foreachStored(row)((col, value) => if (value != 0.0) cells += s"${view.rowOffset + row + 1} ${col + 1} $value")
    cells.result()
  }

  /** A line `label index:value ...` for each row; the label is the last column. */
  def libsvm(stripes: RDD[Blocks]): RDD[String] = of(stripes) { (view, row) =>
    var label = 0.0
    val features = new StringBuilder
    view.foreachStored(row) { (col, value) =>
      if (col == view.cols - 1) label = value
      else if (value != 0.0) features.append(' ').append(col + 1).append(':').append(value)
    }
    Seq(s"$label$features")
  }

  private def of(stripes: RDD[Blocks])(ofRow: (BlockView, Int) => Seq[String]): RDD[String] =
    stripes.mapPartitions(_.flatMap { blocks =>
      val text = blocks.read(_.flatMap(view => (0 until view.rows).flatMap(ofRow(view, _))))
      blocks.closeIfEphemeral()
      text
    })
}
