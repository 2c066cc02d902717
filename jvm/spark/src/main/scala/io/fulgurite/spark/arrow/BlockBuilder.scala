package io.fulgurite.spark.arrow

import org.apache.arrow.vector.VectorSchemaRoot

import BlockBatch.Items

/** Builds one block by rows, out of cells or out of rows of other blocks. Whoever made it closes it. */
sealed trait BlockBuilder extends AutoCloseable {
  def rows: Int

  /** Appends the rows `from until until` of a block that has as many columns. */
  def append(block: BlockView, from: Int, until: Int): Unit

  /** What has been built; the caller closes it. */
  def finish(rowOffset: Long): VectorSchemaRoot

  /** Bytes in use. */
  def bytes: Long
}

/** @param expectedRows for which there is room without a copy; fewer are well, too */
final class DenseBuilder(cols: Int, expectedRows: Long = 0) extends BlockBuilder {
  private val values = new GrowingBuffer(expectedRows * cols * 8)
  private var complete = 0
  private var nonZeros = 0L

  /** The next cell of the current row; [[endRow]] ends it. */
  def put(value: Double): Unit = {
    if (value != 0.0 && nonZeros != BlockBatch.NotCounted) nonZeros += 1
    values.putDouble(value)
  }

  /** The next cells of the current row. */
  def put(cells: Array[Double]): Unit = {
    nonZeros = BlockBatch.NotCounted
    values.putDoubles(cells)
  }

  def endRow(): Unit = complete += 1

  override def rows: Int = complete
  override def bytes: Long = values.bytes

  override def append(block: BlockView, from: Int, until: Int): Unit = {
    if (block.isDense) {
      values.putBytes(block.valueAddress + from.toLong * cols * 8, (until - from).toLong * cols * 8)
    } else {
      for (row <- from until until) {
        val start = values.putZeros(cols.toLong * 8)
        block.foreachStored(row)((col, value) => values.buffer.setDouble(start + col.toLong * 8, value))
      }
    }
    complete += until - from
    nonZeros = BlockBatch.NotCounted
  }

  override def finish(rowOffset: Long): VectorSchemaRoot = {
    values.trim()
    val none = Items(ArrowMemory.allocator.getEmpty, 0)
    BlockBatch(rowOffset, complete.toLong, cols.toLong, nonZeros, BlockSchema.Dense, Items(values.buffer, values.bytes / 8), none, none)
  }

  override def close(): Unit = values.close()
}

final class CsrBuilder(cols: Int, expectedRows: Long = 0, expectedStored: Long = 0) extends BlockBuilder {
  private val values = new GrowingBuffer(expectedStored * 8)
  private val pointers = new GrowingBuffer((expectedRows + 1) * 8)
  private val indices = new GrowingBuffer(expectedStored * 4)
  private var complete = 0
  pointers.putLong(0)

  /** The next stored cell of the current row, in ascending order of columns; [[endRow]] ends it. Zeros are dropped. */
  def put(col: Int, value: Double): Unit =
    if (value != 0.0) {
      indices.putInt(col)
      values.putDouble(value)
    }

  /** The next stored cells of the current row, as [[put]] takes one. */
  def put(cols: Array[Int], cells: Array[Double]): Unit = {
    var at = 0
    while (at < cells.length && cells(at) != 0.0) at += 1
    if (at == cells.length) {
      indices.putInts(cols)
      values.putDoubles(cells)
    } else for (at <- cells.indices) put(cols(at), cells(at))
  }

  def endRow(): Unit = {
    pointers.putLong(values.bytes / 8)
    complete += 1
  }

  override def rows: Int = complete
  override def bytes: Long = values.bytes + pointers.bytes + indices.bytes

  override def append(block: BlockView, from: Int, until: Int): Unit =
    for (row <- from until until) {
      block.foreachStored(row)(put)
      endRow()
    }

  override def finish(rowOffset: Long): VectorSchemaRoot = {
    val stored = values.bytes / 8
    BlockBatch(
      rowOffset, complete.toLong, cols.toLong, stored, BlockSchema.Csr,
      Items(values.buffer, stored), Items(pointers.buffer, complete + 1L), Items(indices.buffer, stored))
  }

  override def close(): Unit = {
    values.close()
    pointers.close()
    indices.close()
  }
}

/** Of blocks that are coordinates, too. */
final class CoordinateBuilder(cols: Int, expectedStored: Long = 0) extends BlockBuilder {
  private val values = new GrowingBuffer(expectedStored * 8)
  private val rowNumbers = new GrowingBuffer(expectedStored * 8)
  private val indices = new GrowingBuffer(expectedStored * 4)
  private var complete = 0

  override def rows: Int = complete
  override def bytes: Long = values.bytes + rowNumbers.bytes + indices.bytes

  override def append(block: BlockView, from: Int, until: Int): Unit = {
    val (first, end) = (block.pointer(from), block.pointer(until))
    var at = first
    while (at < end) {
      rowNumbers.putLong(block.rowNumber(at) - from + complete)
      at += 1
    }
    indices.putBytes(block.indexAddress + first * 4, (end - first) * 4)
    values.putBytes(block.valueAddress + first * 8, (end - first) * 8)
    complete += until - from
  }

  override def finish(rowOffset: Long): VectorSchemaRoot = {
    val stored = values.bytes / 8
    BlockBatch(
      rowOffset, complete.toLong, cols.toLong, stored, BlockSchema.Coordinate,
      Items(values.buffer, stored), Items(rowNumbers.buffer, stored), Items(indices.buffer, stored))
  }

  override def close(): Unit = {
    values.close()
    rowNumbers.close()
    indices.close()
  }
}
