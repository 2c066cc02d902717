package io.fulgurite.spark.arrow

import org.apache.arrow.memory.{AllocationManager, ArrowBuf, BufferAllocator, ReferenceManager, RootAllocator}
import sun.misc.Unsafe

/**
 * Memory of the C library. Arrow's own managers take the JVM's direct memory, of which there is no more than heap unless somebody
 * says otherwise, and which counts what waits for the collector: a process that reads blocks which Spark has spilled would end there.
 * What bounds it here is [[io.fulgurite.spark.memory.NativeMemory]].
 */
private[arrow] final class SystemMemory(allocator: BufferAllocator, bytes: Long) extends AllocationManager(allocator) {
  private val address = SystemMemory.unsafe.allocateMemory(math.max(bytes, 1))

  override def getSize: Long = bytes
  override protected def memoryAddress: Long = address
  override protected def release0(): Unit = SystemMemory.unsafe.freeMemory(address)
}

private[arrow] object SystemMemory extends AllocationManager.Factory {
  private lazy val unsafe: Unsafe = {
    val field = classOf[Unsafe].getDeclaredField("theUnsafe")
    field.setAccessible(true)
    field.get(null).asInstanceOf[Unsafe]
  }

  def double(address: Long): Double = unsafe.getDouble(address)
  def long(address: Long): Long = unsafe.getLong(address)
  def int(address: Long): Int = unsafe.getInt(address)

  def copy(from: Long, to: Long, bytes: Long): Unit = unsafe.copyMemory(from, to, bytes)

  /** From an array, or from where `base` is null. */
  def copy(base: AnyRef, offset: Long, to: Long, bytes: Long): Unit = unsafe.copyMemory(base, offset, null, to, bytes)

  /** To memory that has room for them. */
  def copy(items: Array[Double], address: Long): Unit =
    unsafe.copyMemory(items, Unsafe.ARRAY_DOUBLE_BASE_OFFSET.toLong, null, address, items.length * 8L)

  /** To memory that has room for them. */
  def copy(items: Array[Int], address: Long): Unit =
    unsafe.copyMemory(items, Unsafe.ARRAY_INT_BASE_OFFSET.toLong, null, address, items.length * 4L)

  /** The methods are public, but the class that has the first one is not, nor are the types of what they give. */
  def allocator(): BufferAllocator = {
    val configure = classOf[RootAllocator].getMethod("configBuilder")
    configure.setAccessible(true)
    val builder = configure.invoke(null)
    builder.getClass.getMethod("allocationManagerFactory", classOf[AllocationManager.Factory]).invoke(builder, this)
    val configuration = builder.getClass.getMethod("build").invoke(builder)
    val constructor = classOf[RootAllocator].getConstructors.find(_.getParameterTypes match {
      case Array(only) => only.isInstance(configuration)
      case _ => false
    })
    constructor.getOrElse(throw new NoSuchMethodError("RootAllocator(Config)")).newInstance(configuration).asInstanceOf[BufferAllocator]
  }

  override def create(allocator: BufferAllocator, bytes: Long): AllocationManager = new SystemMemory(allocator, bytes)

  override def empty(): ArrowBuf = new ArrowBuf(ReferenceManager.NO_OP, null, 0, 0)
}
