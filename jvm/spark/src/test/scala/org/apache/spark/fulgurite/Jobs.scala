package org.apache.spark.fulgurite

import scala.collection.mutable

import org.apache.spark.SparkContext
import org.apache.spark.scheduler.{SparkListener, SparkListenerJobStart}

/** How many tasks each job has, in the order in which jobs started. */
final class Jobs(context: SparkContext) extends AutoCloseable {
  private val tasks = mutable.Buffer.empty[Int]
  private val listener = new SparkListener {
    override def onJobStart(job: SparkListenerJobStart): Unit = synchronized(tasks += job.stageInfos.map(_.numTasks).sum)
  }
  context.addSparkListener(listener)

  /** Those since the last call. */
  def started(): Seq[Int] = {
    Jobs.awaitEvents(context)
    synchronized {
      val found = tasks.toVector
      tasks.clear()
      found
    }
  }

  override def close(): Unit = context.removeSparkListener(listener)
}

object Jobs {
  /** Returns when listeners have heard of all that has happened. */
  def awaitEvents(context: SparkContext): Unit = context.listenerBus.waitUntilEmpty()
}
