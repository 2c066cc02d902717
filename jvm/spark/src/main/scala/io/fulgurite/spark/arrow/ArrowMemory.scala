package io.fulgurite.spark.arrow

import org.apache.arrow.memory.{ArrowBuf, BufferAllocator}

/** Off-heap memory of this process that Arrow's Java library hands out. */
object ArrowMemory {
  lazy val allocator: BufferAllocator = SystemMemory.allocator()
}

/** Off-heap memory that grows as it is written to; whoever made it closes it. */
final class GrowingBuffer(initialBytes: Long) extends AutoCloseable {
  private var memory: ArrowBuf = ArrowMemory.allocator.buffer(math.max(initialBytes, 64))
  private var used = 0L

  def bytes: Long = used
  def buffer: ArrowBuf = memory

  def putDouble(value: Double): Unit = { grow(8); memory.setDouble(used, value); used += 8 }
  def putLong(value: Long): Unit = { grow(8); memory.setLong(used, value); used += 8 }
  def putInt(value: Int): Unit = { grow(4); memory.setInt(used, value); used += 4 }

  /** Room for `count` zero bytes; where it begins. */
  def putZeros(count: Long): Long = { grow(count); memory.setZero(used, count); used += count; used - count }

  def putBytes(source: ArrowBuf, from: Long, count: Long): Unit = {
    grow(count)
    memory.setBytes(used, source, from, count)
    used += count
  }

  override def close(): Unit = memory.close()

  private def grow(more: Long): Unit =
    if (used + more > memory.capacity) {
      val larger = ArrowMemory.allocator.buffer(math.max(used + more, 2 * memory.capacity))
      larger.setBytes(0, memory, 0, used)
      memory.close()
      memory = larger
    }
}
