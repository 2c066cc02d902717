package io.fulgurite.spark.arrow

import java.nio.ByteBuffer

import org.apache.arrow.memory.{ArrowBuf, BufferAllocator, ReferenceManager}

/** Off-heap memory of this process that Arrow's Java library hands out. */
object ArrowMemory {
  lazy val allocator: BufferAllocator = SystemMemory.allocator()

  /** Memory that others own, less than 2 GB of it. */
  def at(address: Long, bytes: Long): ByteBuffer = new ArrowBuf(ReferenceManager.NO_OP, null, bytes, address).nioBuffer(0, bytes.toInt)
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

  def putDoubles(items: Array[Double]): Unit = {
    grow(items.length * 8L)
    SystemMemory.copy(items, memory.memoryAddress + used)
    used += items.length * 8L
  }

  def putInts(items: Array[Int]): Unit = {
    grow(items.length * 4L)
    SystemMemory.copy(items, memory.memoryAddress + used)
    used += items.length * 4L
  }

  /** Room for `count` zero bytes; where it begins. */
  def putZeros(count: Long): Long = { grow(count); memory.setZero(used, count); used += count; used - count }

  def putBytes(address: Long, count: Long): Unit = {
    grow(count)
    SystemMemory.copy(address, memory.memoryAddress + used, count)
    used += count
  }

  /** Gives memory back that was not needed, if that is most of it. */
  def trim(): Unit = if (used < memory.capacity / 2) move(math.max(used, 64))

  override def close(): Unit = memory.close()

  private def grow(more: Long): Unit = if (used + more > memory.capacity) move(math.max(used + more, 2 * memory.capacity))

  private def move(capacity: Long): Unit = {
    val other = ArrowMemory.allocator.buffer(capacity)
    other.setBytes(0, memory, 0, used)
    memory.close()
    memory = other
  }
}
