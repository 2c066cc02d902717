package org.apache.spark.fulgurite

import scala.reflect.ClassTag

import org.apache.spark.{SparkConf, SparkContext, SparkEnv, TaskContext}
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.rdd.RDD
import org.apache.spark.storage.RDDBlockId
import org.apache.spark.util.Utils

/** What Spark keeps to its packages, beside memory. */
object Internals {

  /** A broadcast of which the driver keeps only what it sends, unless tasks run there, too. */
  def broadcastSerialized[A: ClassTag](context: SparkContext, value: A): Broadcast[A] =
    context.broadcastInternal(value, serializedOnly = true)

  /** Adds to what a task has read of files, as Spark's own readers do. */
  def countInput(task: TaskContext, bytes: Long): Unit = task.taskMetrics().inputMetrics.incBytesRead(bytes)

  /** Where a partition is best computed: where it is kept, or what it is computed from. As an RDD names its own places to Spark. */
  def preferredLocations(rdd: RDD[_], partition: Int): Seq[String] = rdd.sparkContext.getPreferredLocs(rdd, partition).map(_.toString)

  /** Whether a partition that is to be kept is, as objects, in this process. */
  def isInMemory(rdd: Int, partition: Int): Boolean = SparkEnv.get.blockManager.memoryStore.contains(RDDBlockId(rdd, partition))

  /** For executors that start from now on. */
  def setDefault(context: SparkContext, key: String, value: String): Unit = context.conf.setIfMissing(key, value)

  /** The folders that Spark's own are made in. */
  def localFolders(conf: SparkConf): Seq[String] = Utils.getConfiguredLocalDirs(conf).toSeq
}
