package org.apache.spark.fulgurite

import java.util.concurrent.{CountDownLatch, TimeUnit}

import scala.annotation.tailrec
import scala.collection.mutable

import org.apache.spark.{SparkContext, Success}
import org.apache.spark.scheduler.{SparkListener, SparkListenerEvent, SparkListenerJobStart, SparkListenerTaskEnd, SparkListenerTaskStart}

/**
 * Sums over successful tasks.
 *
 * @param milliseconds that executors spent on them, from reading the task to writing its result; Spark rounds each of three parts down
 */
final case class TaskTotals(
    jobs: Long = 0, tasks: Long = 0, shuffleWritten: Long = 0, shuffleRead: Long = 0, spilled: Long = 0, milliseconds: Long = 0,
    isComplete: Boolean = true)

/**
 * Listens to the tasks of one execution: of jobs that bear its number as a local property. In a package of Spark's, which keeps
 * its listener bus to itself.
 */
final class TaskEvents(context: SparkContext, execution: String) extends SparkListener {
  /** Of jobs of this execution, with what the jobs are for. */
  private val stages = mutable.Map.empty[Int, String]
  /** How many tasks run. */
  private val running = mutable.Map.empty[String, Int].withDefaultValue(0)
  private var sums = TaskTotals()
  context.addSparkListener(this)

  def totals: TaskTotals = synchronized(sums)

  override def onJobStart(job: SparkListenerJobStart): Unit =
    if (job.properties != null && job.properties.getProperty(TaskEvents.Execution) == execution) synchronized {
      val purpose = job.properties.getProperty(TaskEvents.Purpose, "")
      for (stage <- job.stageIds) stages.getOrElseUpdate(stage, purpose)
      sums = sums.copy(jobs = sums.jobs + 1)
    }

  override def onTaskStart(task: SparkListenerTaskStart): Unit = synchronized { stages.get(task.stageId).foreach(running(_) += 1) }

  override def onTaskEnd(task: SparkListenerTaskEnd): Unit = synchronized {
    stages.get(task.stageId).foreach(running(_) -= 1)
    if (task.reason == Success && task.taskMetrics != null && stages.contains(task.stageId)) {
      val metrics = task.taskMetrics
      sums = sums.copy(
        tasks = sums.tasks + 1,
        shuffleWritten = sums.shuffleWritten + metrics.shuffleWriteMetrics.bytesWritten,
        shuffleRead = sums.shuffleRead + metrics.shuffleReadMetrics.totalBytesRead,
        spilled = sums.spilled + metrics.diskBytesSpilled,
        milliseconds = sums.milliseconds + metrics.executorDeserializeTime + metrics.executorRunTime + metrics.resultSerializationTime)
    }
  }

  override def onOtherEvent(event: SparkListenerEvent): Unit = event match {
    case mark: Mark if mark.of eq this => mark.delivered.countDown()
    case _ =>
  }

  /** Ends when all events of jobs that have ended are here. */
  def finish(): Unit = {
    val complete = caughtUp()
    synchronized { sums = sums.copy(isComplete = complete) }
    if (!context.isStopped) context.removeSparkListener(this)
  }

  /** Waits for tasks of jobs that have ended: those of a job that failed, and copies that came second, were told to end, and may take a while. */
  def awaitTasks(purpose: String): Unit = if (caughtUp()) {
    waited(synchronized(running(purpose) == 0))(Thread.sleep(_))
    ()
  }

  /** Whether all that has happened was heard of. The bus delivers in order: an event of our own comes after all others. */
  private def caughtUp(): Boolean = {
    val mark = new Mark(this)
    context.listenerBus.post(mark)
    waited(mark.delivered.getCount == 0)(mark.delivered.await(_, TimeUnit.MILLISECONDS))
  }

  /** Waits for a condition, but not forever. */
  @tailrec private def waited(condition: => Boolean, waits: Int = TaskEvents.MostWaits)(pause: Long => Any): Boolean =
    if (condition) true
    else if (waits == 0 || context.isStopped || interrupted(pause)) condition
    else waited(condition, waits - 1)(pause)

  /** Waits a while; true if this thread was asked to end meanwhile. */
  private def interrupted(pause: Long => Any): Boolean =
    try {
      pause(TaskEvents.WaitMilliseconds)
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

  /** The local property that the jobs of one primitive have. */
  val Purpose = "fulgurite.purpose"

  private val WaitMilliseconds = 100L
  private val MostWaits = 100
}

/** Not for event logs. */
private final class Mark(val of: TaskEvents) extends SparkListenerEvent {
  val delivered = new CountDownLatch(1)
  override protected[spark] def logEvent: Boolean = false
}
