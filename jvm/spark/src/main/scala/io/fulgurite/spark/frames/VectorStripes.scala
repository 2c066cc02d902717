package io.fulgurite.spark.frames

import io.fulgurite.core.FulguriteException
import io.fulgurite.spark.{Blocks, Errors}
import io.fulgurite.spark.arrow.{BlockBuilder, CsrBuilder, DenseBuilder}
import io.fulgurite.spark.primitives.Striping

/** A row of a matrix, with its number (from 1) where its source numbers rows. */
private[frames] final case class NumberedVector(cells: VectorCells, number: Option[Long])

/**
 * Vectors of one partition as stripes; each is read once.
 *
 * @param source what messages call the place that the vectors are from
 */
private[frames] final class VectorStripes(vectors: Iterator[NumberedVector], source: String) extends Iterator[ReadStripe] {
  private val rows = vectors.buffered
  private var width = -1

  override def hasNext: Boolean = rows.hasNext

  override def next(): ReadStripe = {
    val index = Array.newBuilder[Long]
    // The first vector of a stripe decides its layout; native code changes it where that pays.
    val first = rows.head.cells
    if (width < 0) width = first.size
    val blocks =
      if (first.isDense) {
        val limit = Striping.rows(width)
        VectorStripes.building(new DenseBuilder(width, limit.toLong))(builder => each(builder.rows < limit, index)(_.appendTo(builder)))
      } else {
        VectorStripes.building(new CsrBuilder(width)) { builder =>
          each(!Striping.isFull(width, builder.rows, builder.bytes), index)(_.appendTo(builder))
        }
      }
    new ReadStripe(blocks, index.result())
  }

  private def each(goesOn: => Boolean, index: scala.collection.mutable.Builder[Long, Array[Long]])(append: VectorCells => Unit): Unit =
    while (rows.hasNext && goesOn) {
      val row = rows.next()
      if (row.cells.size != width) throw VectorStripes.mixed(source, width, row.cells.size)
      append(row.cells)
      row.number.foreach(index += _)
    }
}

private[frames] object VectorStripes {
  def mixed(source: String, size: Int, other: Int): FulguriteException =
    Errors.data(s"$source holds vectors of $size and of $other elements", "all rows of a matrix are equally long")

  /** What is in the builder after `fillIn`. */
  def building[B <: BlockBuilder](builder: B)(fillIn: B => Unit): Blocks = {
    try fillIn(builder)
    catch {
      case failure: Throwable =>
        builder.close()
        throw failure
    }
    Blocks.built(builder, 0)
  }
}
