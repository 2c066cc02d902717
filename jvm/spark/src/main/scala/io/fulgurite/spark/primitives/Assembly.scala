package io.fulgurite.spark.primitives

import io.fulgurite.core.Native
import io.fulgurite.spark.Blocks
import io.fulgurite.spark.arrow.{BlockBuilder, BlockSchema, BlockView, CoordinateBuilder, CsrBuilder, DenseBuilder}

/** Cuts blocks by rows, and makes one block of several. */
object Assembly {
  /** Up to which stripes are joined. */
  val JoinedBytes: Long = 1L << 20

  /** One block of stripes in the order of rows; the result starts where the first one does. */
  def concatenate(stripes: Seq[Blocks]): Blocks =
    if (stripes.isEmpty) Blocks.built(new DenseBuilder(0, 0), 0)
    else Blocks.withHandles(stripes)(addresses => Blocks.owning(Native.join(addresses)))

  /** One block of blocks, each with its number in the blocks that it is among; it starts where the first one does. */
  def concatenateNumbered(blocks: Seq[(Blocks, Int)]): Blocks =
    Blocks.withHandles(blocks.map(_._1))(addresses => Blocks.owning(Native.joinBlocks(addresses, blocks.iterator.map(_._2.toLong).toArray)))

  /**
   * Stripes that stand one below the other, in the same layout, as one, up to so many bytes: what is done with a stripe takes as long as
   * with some thousand cells. Closes those that it joins.
   */
  def joined(stripes: Iterator[Blocks], most: Long): Iterator[Blocks] = {
    val left = stripes.buffered
    def follows(last: Blocks, next: Blocks) =
      next.rowOffset == last.rowOffset + last.rows && next.cols == last.cols && next.sizes.layout == last.sizes.layout
    new Iterator[Blocks] {
      override def hasNext: Boolean = left.hasNext

      override def next(): Blocks = {
        var group = Vector(left.next())
        var bytes = group.head.bytes
        while (left.hasNext && bytes + left.head.bytes <= most && follows(group.last, left.head)) {
          group :+= left.next()
          bytes += group.last.bytes
        }
        if (group.size == 1) group.head
        else
          try concatenate(group).markEphemeral()
          finally group.foreach(_.closeIfEphemeral())
      }
    }
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
