package io.fulgurite.spark.dataset

import scala.reflect.ClassTag

import io.fulgurite.spark.Blocks
import org.apache.spark.{Partition, TaskContext}
import org.apache.spark.rdd.RDD
import org.apache.spark.storage.StorageLevel

/**
 * Stripes made of what another RDD has, partition by partition. Unless they are to be kept, they belong to the task, as those of
 * [[TaskRDD]] do.
 *
 * @param make gets the partition's index, its elements, and what to apply to each stripe that it makes anew
 * @param kept whether another RDD keeps the stripes; otherwise they are kept where this one is persisted
 */
private[spark] final class MadeRDD[A: ClassTag](
    parent: RDD[A], make: (Int, Iterator[A], Blocks => Blocks) => Iterator[Blocks], kept: Boolean = false)
    extends RDD[Blocks](parent) {

  override def getPartitions: Array[Partition] = firstParent[A].partitions

  override def compute(split: Partition, context: TaskContext): Iterator[Blocks] = {
    val own: Blocks => Blocks = if (!kept && getStorageLevel == StorageLevel.NONE) _.markEphemeral() else identity
    make(split.index, firstParent[A].iterator(split, context), own)
  }
}
