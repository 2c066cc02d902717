package org.apache.spark.fulgurite

import java.util.concurrent.{CountDownLatch, TimeUnit}

import scala.annotation.tailrec
import scala.collection.mutable

import org.apache.spark.{SparkContext, Success}
import org.apache.spark.scheduler.{SparkListener, SparkListenerEvent, SparkListenerJobStart, SparkListenerTaskEnd}

/** Sums over successful tasks. */
final case class TaskTotals(
    jobs: Long = 0, tasks: Long = 0, shuffleWritten: Long = 0, shuffleRead: Long = 0, spilled: Long = 0, isComplete: Boolean = true)

/**
 * Listens to the tasks of one execution: of jobs that bear its number as a local property. In a package of Spark's, which keeps
 * its listener bus to itself.
 */
final class TaskEvents(context: SparkContext, execution: String) extends SparkListener {
  private val stages = mutable.Set.empty[Int]
  private var sums = TaskTotals()
  private val delivered = new CountDownLatch(1)
  private val last = new LastEvent
  context.addSparkListener(this)

  def totals: TaskTotals = synchronized(sums)

  override def onJobStart(job: SparkListenerJobStart): Unit =
    if (job.properties != null && job.properties.getProperty(TaskEvents.Execution) == execution) synchronized {
      stages ++= job.stageIds
      sums = sums.copy(jobs = sums.jobs + 1)
    }

  override def onTaskEnd(task: SparkListenerTaskEnd): Unit = synchronized {
    if (task.reason == Success && task.taskMetrics != null && stages(task.stageId)) {
      val metrics = task.taskMetrics
      sums = sums.copy(
        tasks = sums.tasks + 1,
        shuffleWritten = sums.shuffleWritten + metrics.shuffleWriteMetrics.bytesWritten,
        shuffleRead = sums.shuffleRead + metrics.shuffleReadMetrics.totalBytesRead,
        spilled = sums.spilled + metrics.diskBytesSpilled)
    }
  }

  override def onOtherEvent(event: SparkListenerEvent): Unit = if (event eq last) delivered.countDown()

  /** Ends when all events of jobs that have ended are here. The bus delivers in order: an event of our own comes after them. */
  def finish(): Unit = {
    context.listenerBus.post(last)
    val complete = awaitLast(TaskEvents.MostWaits)
    synchronized { sums = sums.copy(isComplete = complete) }
    if (!context.isStopped) context.removeSparkListener(this)
  }

  @tailrec private def awaitLast(waits: Int): Boolean =
    if (waits == 0 || context.isStopped) delivered.getCount == 0
    else if (interrupted()) false
    else if (delivered.getCount == 0) true
    else awaitLast(waits - 1)

  /** Waits a while; true if this thread was asked to end meanwhile. */
  private def interrupted(): Boolean =
    try {
      delivered.await(TaskEvents.WaitMilliseconds, TimeUnit.MILLISECONDS)
      false
    } catch {
      case _: InterruptedException =>
        Thread.currentThread.interrupt()
        true
    }
}

object TaskEvents {
  /** The local property that jobs of an execution have. */
  val Execution = "fulgurite.execution"

  private val WaitMilliseconds = 100L
  private val MostWaits = 100
}

/** Not for event logs. */
private final class LastEvent extends SparkListenerEvent {
  override protected[spark] def logEvent: Boolean = false
}
