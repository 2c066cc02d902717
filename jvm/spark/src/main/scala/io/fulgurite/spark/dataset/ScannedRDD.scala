package io.fulgurite.spark.dataset

import io.fulgurite.spark.{Blocks, Counts, Event}
import org.apache.spark.{Partition, SparkEnv, TaskContext}
import org.apache.spark.rdd.RDD

/** The stripes of an input, which are kept elsewhere; counts how often each partition is read. */
private[spark] final class ScannedRDD(stripes: RDD[Blocks], input: String, counts: Counts) extends RDD[Blocks](stripes) {
  override def getPartitions: Array[Partition] = firstParent[Blocks].partitions

  override def compute(split: Partition, context: TaskContext): Iterator[Blocks] = {
    counts.add(Event(Event.InputPartition, input, SparkEnv.get.executorId))
    Kept.iterator(firstParent[Blocks], split, context)(identity)
  }
}
