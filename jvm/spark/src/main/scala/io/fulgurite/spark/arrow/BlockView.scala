package io.fulgurite.spark.arrow

import org.apache.arrow.memory.ArrowBuf
import org.apache.arrow.vector.{BigIntVector, TinyIntVector, VectorSchemaRoot}
import org.apache.arrow.vector.complex.LargeListVector

/** Reads one block of a batch in place; valid while the batch is open. */
final class BlockView(batch: VectorSchemaRoot, row: Int) {
  val rowOffset: Long = long("row_offset")
  val rows: Int = Math.toIntExact(long("rows"))
  val cols: Int = Math.toIntExact(long("cols"))
  val isDense: Boolean = batch.getVector("layout").asInstanceOf[TinyIntVector].get(row) == BlockSchema.Dense

  private val (values, valuesFrom, valueCount) = items("values")
  private val (pointers, pointersFrom, _) = items("pointers")
  private val (indices, indicesFrom, _) = items("indices")

  def stored: Long = valueCount

  /** The memory that `values` stands in, and the byte its first cell is at. */
  def valueMemory: (ArrowBuf, Long) = (values, valuesFrom * 8)
  def indexMemory: (ArrowBuf, Long) = (indices, indicesFrom * 4)
  def pointerMemory: (ArrowBuf, Long) = (pointers, pointersFrom * 8)

  /** Of a dense block, the cell; of a CSR block, the stored value at this position. */
  def value(at: Long): Double = values.getDouble((valuesFrom + at) * 8)

  /** CSR: where the row's stored values begin. */
  def pointer(row: Int): Long = pointers.getLong((pointersFrom + row) * 8)

  /** CSR: the column of a stored value. */
  def index(at: Long): Int = indices.getInt((indicesFrom + at) * 4)

  /** Calls `use(column, value)` for the stored cells of a row, in ascending order of columns. */
  def foreachStored(row: Int)(use: (Int, Double) => Unit): Unit =
    if (isDense) {
      var col = 0
      while (col < cols) {
        use(col, value(row.toLong * cols + col))
        col += 1
      }
    } else {
      var at = pointer(row)
      val end = pointer(row + 1)
      while (at < end) {
        use(index(at), value(at))
        at += 1
      }
    }

  /** A row with all its zeros. */
  def denseRow(row: Int): Array[Double] = {
    val cells = new Array[Double](cols)
    foreachStored(row)((col, value) => cells(col) = value)
    cells
  }

  private def long(name: String): Long = batch.getVector(name).asInstanceOf[BigIntVector].get(row)

  private def items(name: String): (ArrowBuf, Long, Long) = {
    val list = batch.getVector(name).asInstanceOf[LargeListVector]
    val from = list.getOffsetBuffer.getLong(row * 8L)
    val to = list.getOffsetBuffer.getLong((row + 1) * 8L)
    (list.getDataVector.getDataBuffer, from, to - from)
  }
}
