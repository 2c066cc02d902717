package io.fulgurite.spark.dataset

import scala.reflect.ClassTag

import io.fulgurite.spark.Blocks
import org.apache.spark.{Partition, TaskContext}
import org.apache.spark.rdd.RDD
import org.apache.spark.storage.StorageLevel

/**
 * Stripes made of what another RDD has, partition by partition. Unless it is persisted, they belong to the task, as those of
 * [[TaskRDD]] do.
 *
 * @param make gets the partition's index, its elements, and what to apply to each stripe that it makes anew
 */
private[spark] final class MadeRDD[A: ClassTag](parent: RDD[A], make: (Int, Iterator[A], Blocks => Blocks) => Iterator[Blocks])
    extends RDD[Blocks](parent) {

  override def getPartitions: Array[Partition] = firstParent[A].partitions

  override def compute(split: Partition, context: TaskContext): Iterator[Blocks] = {
    val own: Blocks => Blocks = if (getStorageLevel == StorageLevel.NONE) _.markEphemeral() else identity
    make(split.index, firstParent[A].iterator(split, context), own)
  }
}
