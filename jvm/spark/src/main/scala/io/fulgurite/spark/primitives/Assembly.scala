package io.fulgurite.spark.primitives

import io.fulgurite.spark.Blocks
import io.fulgurite.spark.arrow.{BlockBuilder, BlockSchema, BlockView, CoordinateBuilder, CsrBuilder, DenseBuilder}

/** Cuts blocks by rows, and makes one block of several. */
object Assembly {

  /** One block of stripes in the order of rows; the result starts where the first one does. Sparse, or coordinates, only if all are. */
  def concatenate(stripes: Seq[Blocks]): Blocks = {
    val found = stripes.map(_.description)
    val cols = found.lastOption.fold(0)(stripe => Math.toIntExact(stripe.cols))
    val builder = this.builder(cols, found.map(_.rows).sum, found.map(_.stored).sum, found.map(_.layout))
    try stripes.foreach(_.read(views => builder.append(views.head, 0, views.head.rows)))
    catch {
      case failure: Throwable =>
        builder.close()
        throw failure
    }
    Blocks.built(builder, stripes.headOption.fold(0L)(_.rowOffset))
  }

  /** Of a block with room for so many rows and stored cells, of stripes in these layouts. */
  def builder(cols: Int, rows: Long, stored: Long, layouts: Seq[Byte]): BlockBuilder =
    layouts.reduceOption(BlockSchema.widest).getOrElse(BlockSchema.Dense) match {
      case BlockSchema.Coordinate => new CoordinateBuilder(cols, stored)
      case BlockSchema.Csr => new CsrBuilder(cols, rows, stored)
      case _ => new DenseBuilder(cols, rows)
    }

  /** The rows `from until until` of a block, counted within it. */
  def slice(view: BlockView, from: Int, until: Int): Blocks = {
    val builder =
      if (view.isDense) new DenseBuilder(view.cols, (until - from).toLong)
      else if (view.isCoordinate) new CoordinateBuilder(view.cols)
      else new CsrBuilder(view.cols)
    try builder.append(view, from, until)
    catch {
      case failure: Throwable =>
        builder.close()
        throw failure
    }
    Blocks.built(builder, view.rowOffset + from)
  }
}
