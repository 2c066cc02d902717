package io.fulgurite.spark.dataset

import io.fulgurite.spark.{Errors, Json}
import io.fulgurite.spark.primitives.Wire
import org.apache.spark.{Partition, SparkContext, TaskContext}
import org.apache.spark.rdd.RDD

/**
 * Iterations of a loop: a task for each range of them. It gives what happened, as JSON, and the matrices that belong to it.
 */
private[spark] final class RangeRDD(context: SparkContext, task: NativeTask, @transient private val ranges: Vector[Array[Byte]])
    extends RDD[(Array[Byte], Array[Byte])](context, Nil) {

  override def getPartitions: Array[Partition] =
    ranges.iterator.zipWithIndex.map { case (range, index) => new RangePartition(index, range) }.toArray

  override def compute(split: Partition, context: TaskContext): Iterator[(Array[Byte], Array[Byte])] = {
    val result = task.runRange(split.asInstanceOf[RangePartition].range).markEphemeral()
    try {
      val account = result.description.account.getOrElse(throw Errors.internal(s"a range of '${task.label}' came without its account"))
      Iterator.single((Json.bytes(account), Wire.write(result)))
    } finally result.close()
  }
}

private final class RangePartition(override val index: Int, val range: Array[Byte]) extends Partition
