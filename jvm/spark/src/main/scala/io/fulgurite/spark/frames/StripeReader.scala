package io.fulgurite.spark.frames

import scala.collection.mutable

import io.fulgurite.core.FulguriteException
import io.fulgurite.spark.{Blocks, Errors}
import io.fulgurite.spark.arrow.{BlockBuilder, CsrBuilder, DenseBuilder}
import io.fulgurite.spark.primitives.Striping
import org.apache.spark.sql.catalyst.InternalRow

/** Rows of a stripe with their numbers, if the frame has them. */
final class ReadStripe(val blocks: Blocks, val index: Array[Long])

/** Reads the rows of one partition into stripes; each row is read once. */
final class StripeReader(rows: Iterator[InternalRow], columns: Columns, indexed: Boolean, fill: Option[Double])
    extends Iterator[ReadStripe] {

  private val source = rows.buffered
  private var vectorSize = -1

  override def hasNext: Boolean = source.hasNext

  override def next(): ReadStripe = {
    val index = Array.newBuilder[Long]
    val blocks = columns match {
      case Scalars(names) => scalars(names, index)
      case Vectors(name) => vectors(name, index)
    }
    new ReadStripe(blocks, index.result())
  }

  private def scalars(names: Seq[String], index: mutable.Builder[Long, Array[Long]]): Blocks = {
    val cols = names.size
    val limit = Striping.rows(cols)
    building(new DenseBuilder(cols)) { builder =>
      while (source.hasNext && builder.rows < limit) {
        val row = source.next()
        var col = 0
        while (col < cols) {
          builder.put(if (row.isNullAt(col)) fill.getOrElse(throw isNull(names(col))) else row.getDouble(col))
          col += 1
        }
        builder.endRow()
        if (indexed) index += number(row, cols)
      }
    }
  }

  private def vectors(name: String, index: mutable.Builder[Long, Array[Long]]): Blocks = {
    // The first vector of a stripe decides its layout; native code changes it where that pays.
    val first = vector(source.head, name)
    if (vectorSize < 0) vectorSize = first.size
    val limit = Striping.rows(vectorSize)
    def each(builder: BlockBuilder)(append: VectorCells => Unit): Unit =
      while (source.hasNext && builder.rows < limit) {
        val row = source.next()
        val cells = vector(row, name)
        if (cells.size != vectorSize) {
          throw Errors.data(s"column '$name' holds vectors of $vectorSize and of ${cells.size} elements", "all rows of a matrix are equally long")
        }
        append(cells)
        if (indexed) index += number(row, 1)
      }
    if (first.isDense) {
      building(new DenseBuilder(vectorSize)) { builder =>
        each(builder) { cells => cells.foreachCell(builder.put); builder.endRow() }
      }
    } else {
      building(new CsrBuilder(vectorSize)) { builder =>
        each(builder) { cells => cells.foreachStored(builder.put); builder.endRow() }
      }
    }
  }

  private def vector(row: InternalRow, name: String): VectorCells = {
    if (row.isNullAt(0)) throw isNull(name)
    new VectorCells(row.getStruct(0, 4))
  }

  private def building[B <: BlockBuilder](builder: B)(fillIn: B => Unit): Blocks = {
    try fillIn(builder)
    catch {
      case failure: Throwable =>
        builder.close()
        throw failure
    }
    Blocks.built(builder, 0)
  }

  private def number(row: InternalRow, at: Int): Long = {
    if (row.isNullAt(at)) throw isNull(Columns.Index)
    val value = row.getDouble(at)
    if (value < 1 || value != Math.rint(value)) {
      throw Errors.data(s"column '${Columns.Index}' holds ${if (value == Math.rint(value)) value.toLong else value}", "rows are numbered 1, 2, 3 ...")
    }
    value.toLong
  }

  private def isNull(name: String): FulguriteException =
    Errors.data(s"column '$name' holds a null", "drop such rows (df.na.drop), or fill them (df.na.fill, or fulgurite.input.fill)")
}

/** A vector as SQL stores it: kind (0 sparse, 1 dense), size, indices, values. */
private final class VectorCells(struct: InternalRow) {
  val isDense: Boolean = struct.getByte(0) == 1
  private val values = struct.getArray(3).toDoubleArray()
  private val indices = if (isDense) Array.emptyIntArray else struct.getArray(2).toIntArray()
  val size: Int = if (isDense) values.length else struct.getInt(1)

  def foreachStored(use: (Int, Double) => Unit): Unit = {
    var at = 0
    while (at < values.length) {
      use(if (isDense) at else indices(at), values(at))
      at += 1
    }
  }

  def foreachCell(use: Double => Unit): Unit = {
    var next = 0
    foreachStored { (index, value) =>
      while (next < index) { use(0.0); next += 1 }
      use(value)
      next = index + 1
    }
    while (next < size) { use(0.0); next += 1 }
  }
}
