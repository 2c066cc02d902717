package io.fulgurite.spark.memory

import io.fulgurite.mlcontext.Settings
import io.fulgurite.spark.Errors
import org.apache.spark.{TaskContext, TaskKilledException}
import org.apache.spark.fulgurite.OffHeapMemory

/** What native memory is charged to. What is acquired is released, to the byte. */
private[memory] trait Account {

  /** @throws io.fulgurite.core.FulguriteException of kind `memory` if there is not so much */
  def acquire(bytes: Long): Unit
  def release(bytes: Long): Unit
}

/** Spark's off-heap memory, which Spark shares out among tasks. */
private[memory] final class OffHeapAccount(memory: OffHeapMemory) extends Account {
  override def acquire(bytes: Long): Unit =
    for (available <- memory.acquire(bytes)) {
      throw Account.exhausted(bytes, memory.getUsed, s"$available are left for it of spark.memory.offHeap.size", "spark.memory.offHeap.size")
    }

  override def release(bytes: Long): Unit = memory.freeMemory(bytes)
}

/** A share of the memory that the executor has beyond its heap. */
private[memory] final class PoolAccount(pool: OverheadPool, task: TaskContext) extends Account {
  override def acquire(bytes: Long): Unit = {
    def checkKilled(): Unit = if (task.isInterrupted()) throw new TaskKilledException("the task was killed while it waited for native memory")
    for (available <- pool.acquire(task.taskAttemptId(), bytes)(checkKilled())) {
      val key = s"spark.${Settings.TaskMemory}"
      throw Account.exhausted(
        bytes, pool.of(task.taskAttemptId()), s"$available are left of the ${pool.limit} that tasks of a process may have ($key)",
        s"spark.executor.memoryOverhead, or $key itself")
    }
  }

  override def release(bytes: Long): Unit = pool.release(task.taskAttemptId(), bytes)
}

private[memory] object Account {
  def exhausted(needed: Long, taken: Long, available: String, setting: String) = Errors.memory(
    s"a task that has $taken bytes of native memory needs $needed more, and $available",
    s"raise $setting, give executors fewer cores, or use more and smaller partitions")
}
