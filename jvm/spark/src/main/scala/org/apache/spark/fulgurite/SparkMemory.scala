package org.apache.spark.fulgurite

import org.apache.spark.{SparkEnv, TaskContext}
import org.apache.spark.memory.{MemoryConsumer, MemoryMode, TaskMemoryManager}

/** What Spark's memory manager says, and does, for packages of Spark's only. */
object SparkMemory {

  /** Bytes that Spark's storage holds in this process: cached partitions, also while they are being stored, and broadcasts. */
  def stored: Long = SparkEnv.get.memoryManager.storageMemoryUsed

  def offHeap(context: TaskContext): OffHeapMemory = new OffHeapMemory(context.taskMemoryManager())
}

/** What one task has of Spark's off-heap execution memory. Never spilled: native code is working on it. */
final class OffHeapMemory private[fulgurite] (manager: TaskMemoryManager) extends MemoryConsumer(manager, MemoryMode.OFF_HEAP) {

  /** All of it, or nothing: how much could have been had then. */
  def acquire(bytes: Long): Option[Long] = {
    val granted = acquireMemory(bytes)
    if (granted == bytes) None
    else {
      freeMemory(granted)
      Some(granted)
    }
  }

  override def spill(bytes: Long, trigger: MemoryConsumer): Long = 0
}
