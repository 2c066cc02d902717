package org.apache.spark.fulgurite

import scala.reflect.ClassTag

import org.apache.spark.rdd.{CheckpointRDD, RDD, RDDCheckpointData, ReliableCheckpointRDD}

/** Ends the lineage of an RDD that is persisted and was computed. Spark's own ways do so with a job to come, and in one folder for all. */
object Checkpoints {

  /** From now on there is but what Spark keeps. */
  def forget(rdd: RDD[_]): Unit = {
    rdd.localCheckpoint()
    rdd.checkpointData.foreach(_.checkpoint())
  }

  /** Writes it to a folder, from which partitions are read that are not kept any more. */
  def store[A](rdd: RDD[A], folder: String): Unit = {
    implicit val tag: ClassTag[A] = rdd.elementClassTag
    val data = new InFolder[A](rdd, folder)
    rdd.checkpointData = Some(data)
    data.checkpoint()
  }

  private final class InFolder[A: ClassTag](@transient private val rdd: RDD[A], folder: String) extends RDDCheckpointData[A](rdd) {
    override protected def doCheckpoint(): CheckpointRDD[A] = ReliableCheckpointRDD.writeRDDToCheckpointDirectory(rdd, folder)
  }
}
