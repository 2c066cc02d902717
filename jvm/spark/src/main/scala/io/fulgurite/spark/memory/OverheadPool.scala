package io.fulgurite.spark.memory

import scala.collection.mutable

/**
 * Shares a bound out among the tasks of a process. Each of n tasks can have an n-th of it: where others have more, it waits for
 * them. Beyond, it gets what is free, and does not wait, so that no two tasks ever wait for each other.
 */
private[memory] final class OverheadPool(val limit: Long) {
  private val taken = mutable.LongMap.empty[Long]

  def of(task: Long): Long = synchronized(taken.getOrElse(task, 0L))

  /**
   * All of it, or nothing: how much could have been had then.
   *
   * @param checkKilled is called while waiting, and throws when the task is to end
   */
  def acquire(task: Long, bytes: Long)(checkKilled: => Unit): Option[Long] = synchronized {
    var refused = Option.empty[Long]
    var done = false
    while (!done) {
      val (mine, free) = (of(task), limit - taken.values.sum)
      val tasks = if (mine > 0) taken.size else taken.size + 1
      if (bytes <= free) {
        taken(task) = mine + bytes
        done = true
      } else if (mine + bytes <= limit / tasks) {
        checkKilled
        wait(MillisecondsBetweenChecks)
      } else {
        refused = Some(free)
        done = true
      }
    }
    refused
  }

  def release(task: Long, bytes: Long): Unit = synchronized {
    val left = of(task) - bytes
    require(left >= 0, s"task $task released ${-left} bytes more than it had")
    if (left == 0) taken.remove(task) else taken(task) = left
    notifyAll()
  }

  private val MillisecondsBetweenChecks = 200L
}
