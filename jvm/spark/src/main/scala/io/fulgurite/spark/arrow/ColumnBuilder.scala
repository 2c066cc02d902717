package io.fulgurite.spark.arrow

import java.util.{ArrayList => JList}

import org.apache.arrow.memory.ArrowBuf
import org.apache.arrow.vector.ipc.message.ArrowFieldNode

/**
 * A column of a chunk that is put together in native memory, piece by piece. Whoever made it closes it.
 *
 * @param width bytes of a value; 0 for bits, [[ColumnBuilder.Text]] for strings
 */
private[spark] final class ColumnBuilder(width: Int) extends AutoCloseable {
  private val isText = width == ColumnBuilder.Text
  private val allocator = ArrowMemory.allocator
  /** Values, or where each string begins and, last of all, where the last one ends. */
  private var slots: ArrowBuf = allocator.buffer(ColumnBuilder.Least)
  private var text: ArrowBuf = if (isText) allocator.buffer(ColumnBuilder.Least) else null
  private var textEnd = 0
  /** A bit for each row, from the first null on. */
  private var validity: ArrowBuf = _
  private var rowCount = 0
  private var nullCount = 0

  if (isText) slots.setInt(0, 0)

  def rows: Int = rowCount
  def nulls: Int = nullCount
  def bytes: Long = slots.capacity + (if (isText) text.capacity else 0L)

  /** Room for this many values of a fixed width; the address of the first. */
  def reserve(count: Int): Long = {
    slots = grown(slots, rowCount.toLong * width, (rowCount.toLong + count) * width)
    rowCount += count
    slots.memoryAddress + (rowCount - count).toLong * width
  }

  /** Bits of `values`, one byte each. */
  def putBits(values: Array[Byte], count: Int): Unit = {
    slots = grown(slots, (rowCount + 7L) / 8, (rowCount.toLong + count + 7) / 8)
    var at = 0
    while (at < count) {
      val (row, byte) = (rowCount + at, (rowCount + at) >> 3)
      val before = if ((row & 7) == 0) 0 else slots.getByte(byte.toLong).toInt
      slots.setByte(byte.toLong, before | ((values(at) & 1) << (row & 7)))
      at += 1
    }
    rowCount += count
  }

  /** Room for this many strings, and for what they are made of; [[putText]] then gives each of them. */
  def reserveText(count: Int, bytes: Long): Unit = {
    if (textEnd + bytes > Int.MaxValue) throw new IllegalStateException("a chunk of strings beyond 2 GB")
    slots = grown(slots, (rowCount + 1L) * 4, (rowCount + 1L + count) * 4)
    text = grown(text, textEnd.toLong, textEnd + bytes)
  }

  def putText(base: AnyRef, offset: Long, length: Int): Unit = {
    SystemMemory.copy(base, offset, text.memoryAddress + textEnd, length.toLong)
    textEnd += length
    rowCount += 1
    slots.setInt(rowCount * 4L, textEnd)
  }

  /** The string of a row of another column. */
  def putText(of: ColumnBuilder, row: Int): Unit = {
    val start = of.slots.getInt(row * 4L)
    val length = of.slots.getInt(row * 4L + 4) - start
    reserveText(1, length.toLong)
    putText(null, of.text.memoryAddress + start, length)
  }

  def int(row: Int): Int = slots.getInt(row * 4L)

  def putNoText(): Unit = {
    rowCount += 1
    slots.setInt(rowCount * 4L, textEnd)
  }

  def isNull(row: Int): Boolean = validity != null && (row >> 3) < validity.capacity && (validity.getByte((row >> 3).toLong) & (1 << (row & 7))) == 0

  /** Marks a row as null, which has a value all the same. */
  def setNull(row: Int): Unit = {
    if (validity == null) {
      validity = allocator.buffer(math.max(slots.capacity, 64))
      validity.setOne(0, validity.capacity)
    }
    val byte = (row >> 3).toLong
    if (byte >= validity.capacity) {
      val former = validity.capacity
      validity = grown(validity, former, byte + 1)
      validity.setOne(former, validity.capacity - former)
    }
    validity.setByte(byte, validity.getByte(byte) & ~(1 << (row & 7)))
    nullCount += 1
  }

  /** Adds what is there to a batch, which shares it. */
  def finish(nodes: JList[ArrowFieldNode], buffers: JList[ArrowBuf]): Unit = {
    if (validity != null && validity.capacity * 8 < rowCount) {
      val former = validity.capacity
      validity = grown(validity, former, (rowCount + 7L) / 8)
      validity.setOne(former, validity.capacity - former)
    }
    nodes.add(new ArrowFieldNode(rowCount.toLong, nullCount.toLong))
    buffers.add(if (validity == null) allocator.getEmpty else validity)
    buffers.add(slots)
    if (isText) buffers.add(text)
    ()
  }

  override def close(): Unit = Seq(slots, text, validity).filter(_ != null).foreach(_.close())

  private def grown(buffer: ArrowBuf, used: Long, needed: Long): ArrowBuf =
    if (needed <= buffer.capacity) buffer
    else {
      val larger = allocator.buffer(math.max(needed, 2 * buffer.capacity))
      larger.setBytes(0, buffer, 0, used)
      buffer.close()
      larger
    }
}

private[spark] object ColumnBuilder {
  val Text: Int = -1
  private val Least = 1L << 16
}
