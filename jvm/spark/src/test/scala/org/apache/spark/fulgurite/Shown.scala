package org.apache.spark.fulgurite

import scala.collection.mutable

import org.apache.spark.SparkContext
import org.apache.spark.scheduler.{SparkListener, SparkListenerJobStart, SparkListenerStageCompleted, StageInfo}

/** What the Spark UI has to show of the jobs that run while this listens. */
final class Shown(context: SparkContext) extends AutoCloseable {
  private val jobs = mutable.Buffer.empty[String]
  private val stages = mutable.Buffer.empty[StageInfo]
  private val listener = new SparkListener {
    override def onJobStart(job: SparkListenerJobStart): Unit = synchronized {
      jobs += Option(job.properties.getProperty("spark.job.description")).getOrElse("")
    }
    override def onStageCompleted(stage: SparkListenerStageCompleted): Unit = synchronized(stages += stage.stageInfo)
  }
  context.addSparkListener(listener)

  /** Descriptions of jobs, in their order. */
  def descriptions: Seq[String] = delivered(jobs.toVector)
  def stageNames: Seq[String] = delivered(stages.map(_.name).toVector)
  def rddNames: Set[String] = delivered(stages.flatMap(_.rddInfos.map(_.name)).toSet)

  /** The last value of each named accumulator that is not Spark's own. */
  def accumulators: Map[String, String] = delivered(stages.flatMap(_.accumulables.values)
    .collect { case found if found.name.exists(!_.startsWith("internal.")) => found.name.get -> found.value.fold("")(_.toString) }.toMap)

  override def close(): Unit = context.removeSparkListener(listener)

  private def delivered[A](found: => A): A = {
    context.listenerBus.waitUntilEmpty()
    listener.synchronized(found)
  }
}
