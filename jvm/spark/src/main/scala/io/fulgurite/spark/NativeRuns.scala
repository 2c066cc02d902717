package io.fulgurite.spark

import java.util.concurrent.{ConcurrentHashMap, Executors, ScheduledExecutorService, TimeUnit}
import java.util.concurrent.atomic.AtomicLong

import io.fulgurite.core.Native
import org.apache.spark.TaskContext

/** What runs in native code of this process, by the numbers by which it can be interrupted. */
private[fulgurite] object NativeRuns {
  private val MillisecondsBetweenLooks = 25L

  private val last = new AtomicLong
  private val tasks = new ConcurrentHashMap[Long, TaskContext]()

  /** Spark tells a task that it is killed when the task asks. While native code runs, this thread asks for it. */
  private lazy val looks: ScheduledExecutorService = {
    val timer = Executors.newSingleThreadScheduledExecutor { (work: Runnable) =>
      val thread = new Thread(work, "fulgurite-killed-tasks")
      thread.setDaemon(true)
      thread
    }
    val look: Runnable = () => tasks.forEach((number, task) => if (task.isInterrupted()) { Native.interrupt(number); () })
    timer.scheduleWithFixedDelay(look, MillisecondsBetweenLooks, MillisecondsBetweenLooks, TimeUnit.MILLISECONDS)
    timer
  }

  def next(): Long = last.incrementAndGet()

  /** Runs native code of the task that this thread is, which ends soon after Spark has killed the task. */
  def ofTask[A](native: Long => A): A = Option(TaskContext.get()) match {
    case None => native(0)
    case Some(task) =>
      val number = next()
      looks
      tasks.put(number, task)
      try native(number)
      finally tasks.remove(number)
  }
}
