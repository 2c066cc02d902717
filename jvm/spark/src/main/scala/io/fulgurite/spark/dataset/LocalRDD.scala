package io.fulgurite.spark.dataset

import io.fulgurite.spark.Blocks
import io.fulgurite.spark.primitives.Wire
import org.apache.spark.{Partition, SparkContext, TaskContext}
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.rdd.RDD
import org.apache.spark.storage.StorageLevel

/**
 * Stripes of a local matrix. A partition's are sent to an executor when it first computes the partition; Spark's own way of
 * making an RDD of local data sends them with every task.
 */
private[spark] final class LocalRDD(context: SparkContext, @transient val sent: Vector[Broadcast[Array[Array[Byte]]]])
    extends RDD[Blocks](context, Nil) {

  override def getPartitions: Array[Partition] =
    sent.iterator.zipWithIndex.map { case (stripes, index) => new LocalPartition(index, stripes) }.toArray

  override def compute(split: Partition, context: TaskContext): Iterator[Blocks] = {
    val stripes = split.asInstanceOf[LocalPartition].stripes.value.iterator.map(Wire.read)
    if (getStorageLevel == StorageLevel.NONE) stripes.map(_.markEphemeral()) else stripes
  }
}

private final class LocalPartition(override val index: Int, val stripes: Broadcast[Array[Array[Byte]]]) extends Partition

private[spark] object LocalRDD {

  /** Spreads stripes over partitions, in their order; they are closed. */
  def apply(context: SparkContext, partitions: Vector[Seq[Blocks]]): LocalRDD =
    new LocalRDD(context, partitions.map { stripes =>
      val bytes = stripes.iterator.map(Wire.write).toArray
      stripes.foreach(_.close())
      context.broadcast(bytes)
    })
}
