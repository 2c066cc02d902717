package io.fulgurite.spark.arrow

/**
 * Reads one block in place; valid while its handle is.
 *
 * @param found what [[io.fulgurite.core.Native.look]] says
 * @param at where in it the block's numbers begin
 */
final class BlockView(found: Array[Long], at: Int) {
  def rowOffset: Long = found(at)
  val rows: Int = Math.toIntExact(found(at + 1))
  val cols: Int = Math.toIntExact(found(at + 2))
  def bytes: Long = found(at + 3)
  def layout: Byte = found(at + 4).toByte
  val isDense: Boolean = layout == BlockSchema.Dense
  def stored: Long = found(at + 6)
  def isCsr: Boolean = layout == BlockSchema.Csr
  val isCoordinate: Boolean = layout == BlockSchema.Coordinate

  /** Where `values` begin. */
  val valueAddress: Long = found(at + 5)

  /** Unless it is dense: where row pointers (of coordinates, row numbers) and column numbers begin. */
  val pointerAddress: Long = found(at + 7)
  val indexAddress: Long = found(at + 8)

  /** Of a dense block, the cell; of another, the stored value at this position. */
  def value(at: Long): Double = SystemMemory.double(valueAddress + at * 8)

  /** Unless it is dense: where the row's stored values begin; `rows` for where all end. */
  def pointer(row: Int): Long = if (isCoordinate) firstFrom(row) else SystemMemory.long(pointerAddress + row * 8L)

  /** Of coordinates: the first stored value in this row or a later one. */
  private def firstFrom(row: Int): Long = {
    var (from, until) = (0L, stored)
    while (from < until) {
      val middle = from + (until - from) / 2
      if (rowNumber(middle) < row) from = middle + 1 else until = middle
    }
    from
  }

  /** Of coordinates: the row of a stored value. */
  def rowNumber(at: Long): Long = SystemMemory.long(pointerAddress + at * 8)

  /** Unless it is dense: the column of a stored value. */
  def index(at: Long): Int = SystemMemory.int(indexAddress + at * 4)

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
}

object BlockView {
  /** Numbers before those of the first block, and of each block. */
  private[spark] val Header = 3
  private[spark] val Length = 9

  /** All blocks that [[io.fulgurite.core.Native.look]] has found. */
  def all(found: Array[Long]): Seq[BlockView] = (Header until found.length by Length).map(new BlockView(found, _))
}
