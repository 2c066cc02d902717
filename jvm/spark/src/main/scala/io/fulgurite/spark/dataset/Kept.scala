package io.fulgurite.spark.dataset

import io.fulgurite.spark.Blocks
import org.apache.spark.{Partition, TaskContext}
import org.apache.spark.fulgurite.Internals
import org.apache.spark.rdd.RDD
import org.apache.spark.storage.StorageLevel

/**
 * Partitions that Spark was asked to keep, as tasks read them. Where it has no room for one in this process, it reads the partition from its
 * disk, or gets it from another executor: nobody else holds such blocks, and they become the task's own, which closes them once it has read them.
 * They would be garbage otherwise, which the collector takes for small.
 */
private[dataset] object Kept {

  /** As `rdd.iterator`. */
  def iterator[A](rdd: RDD[A], split: Partition, context: TaskContext)(blocksOf: A => Blocks): Iterator[A] = {
    val elements = rdd.iterator(split, context)
    if (rdd.getStorageLevel == StorageLevel.NONE) elements else own(rdd.id, split.index, elements)(blocksOf)
  }

  /** The elements of a partition that is to be kept. Spark has tried to when it gives its iterator, and moves nothing that is being read. */
  def own[A](rdd: Int, partition: Int, elements: Iterator[A])(blocksOf: A => Blocks): Iterator[A] =
    if (Internals.isInMemory(rdd, partition)) elements
    else elements.map { element =>
      val blocks = blocksOf(element)
      if (blocks.isFromStream) blocks.markRead()
      element
    }
}
