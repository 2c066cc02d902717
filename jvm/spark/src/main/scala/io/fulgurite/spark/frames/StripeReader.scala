package io.fulgurite.spark.frames

import io.fulgurite.core.FulguriteException
import io.fulgurite.spark.{Blocks, Errors}
import io.fulgurite.spark.arrow.DenseBuilder
import io.fulgurite.spark.primitives.Striping
import org.apache.spark.sql.catalyst.InternalRow

/** Rows of a stripe with their numbers, if their source has them. */
final class ReadStripe(val blocks: Blocks, val index: Array[Long])

/** Rows of a frame as Spark computes them: the matrix' columns, then the index if there is one. */
private[frames] final class FrameRows(columns: Columns, indexed: Boolean, fill: Option[Double]) extends Serializable {

  /** The rows of one partition as stripes; each row is read once. */
  def stripes(rows: Iterator[InternalRow]): Iterator[ReadStripe] = columns match {
    case Scalars(names) => new ScalarStripes(rows, names, this)
    case Vectors(name) => new VectorStripes(rows.map(row => NumberedVector(vector(row, name), if (indexed) Some(number(row)) else None)), s"column '$name'")
  }

  /** What is wrong with a row whose vectors should have so many elements, if anything is. */
  def problem(row: InternalRow, size: Option[Int]): Option[FulguriteException] =
    try {
      columns match {
        case Scalars(names) => names.indices.foreach(cell(row, names, _))
        case Vectors(name) =>
          val found = vector(row, name).size
          for (expected <- size if found != expected) throw VectorStripes.mixed(s"column '$name'", expected, found)
      }
      if (indexed) number(row)
      None
    } catch { case bad: FulguriteException => Some(bad) }

  /** The elements of a row's vector. */
  def size(row: InternalRow): Option[Int] = columns match {
    case Vectors(name) if !row.isNullAt(0) => Some(vector(row, name).size)
    case _ => None
  }

  def cell(row: InternalRow, names: Seq[String], col: Int): Double =
    if (row.isNullAt(col)) fill.getOrElse(throw isNull(names(col))) else row.getDouble(col)

  /** The number of a row, if rows are numbered. */
  def numberIn(row: InternalRow): Option[Long] = if (indexed) Some(number(row)) else None

  private def vector(row: InternalRow, name: String): VectorCells = {
    if (row.isNullAt(0)) throw isNull(name)
    VectorCells.ofStruct(row.getStruct(0, 4))
  }

  private def number(row: InternalRow): Long = {
    val at = columns.names.size
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

/** Rows of numbers as dense stripes. */
private final class ScalarStripes(rows: Iterator[InternalRow], names: Seq[String], form: FrameRows) extends Iterator[ReadStripe] {
  private val columns = names.toIndexedSeq

  override def hasNext: Boolean = rows.hasNext

  override def next(): ReadStripe = {
    val index = Array.newBuilder[Long]
    val limit = Striping.rows(columns.size)
    val blocks = VectorStripes.building(new DenseBuilder(columns.size, limit.toLong)) { builder =>
      while (rows.hasNext && builder.rows < limit) {
        val row = rows.next()
        var col = 0
        while (col < columns.size) {
          builder.put(form.cell(row, columns, col))
          col += 1
        }
        builder.endRow()
        form.numberIn(row).foreach(index += _)
      }
    }
    new ReadStripe(blocks, index.result())
  }
}
