package io.fulgurite.spark.cells

import java.util.Arrays

/** Cells on their way to their stripe: rows and columns from 1. */
private[spark] final class Cells(val rows: Array[Long], val cols: Array[Int], val values: Array[Double]) extends Serializable {
  def size: Int = values.length
  def largestRow: Long = if (size == 0) 0 else rows.max
  def largestCol: Int = if (size == 0) 0 else cols.max
}

/** Cells as they come; grows. */
private[spark] final class CellBuffer {
  private var rows = new Array[Long](CellBuffer.Initial)
  private var cols = new Array[Int](CellBuffer.Initial)
  private var values = new Array[Double](CellBuffer.Initial)
  private var count = 0

  def size: Int = count
  def isEmpty: Boolean = count == 0

  def add(row: Long, col: Int, value: Double): Unit = {
    if (count == values.length) {
      // An array has fewer than 2^31 elements; a buffer that would need more has run out of memory before.
      val larger = math.min(count.toLong * 2, Int.MaxValue - 8L).toInt
      rows = Arrays.copyOf(rows, larger)
      cols = Arrays.copyOf(cols, larger)
      values = Arrays.copyOf(values, larger)
    }
    rows(count) = row
    cols(count) = col
    values(count) = value
    count += 1
  }

  def row(at: Int): Long = rows(at)
  def col(at: Int): Int = cols(at)
  def value(at: Int): Double = values(at)

  /** What has come so far; empties the buffer. */
  def take(): Cells = {
    val taken = new Cells(Arrays.copyOf(rows, count), Arrays.copyOf(cols, count), Arrays.copyOf(values, count))
    count = 0
    taken
  }
}

private[spark] object CellBuffer {
  private val Initial = 64
}
