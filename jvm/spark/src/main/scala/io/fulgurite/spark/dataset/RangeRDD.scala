package io.fulgurite.spark.dataset

import io.fulgurite.spark.{Blocks, Errors, Json}
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

  override def compute(split: Partition, context: TaskContext): Iterator[(Array[Byte], Array[Byte])] =
    Iterator.single(RangeRDD.run(task, split.asInstanceOf[RangePartition].range, None))
}

private[spark] object RangeRDD {

  /** The iterations of a range whose rows a dataset has: a task for each stripe. */
  def ofStripes(stripes: RDD[Blocks], task: NativeTask, range: Array[Byte]): RDD[(Array[Byte], Array[Byte])] =
    stripes.mapPartitions(_.map { stripe =>
      try run(task, range, Some(stripe))
      finally stripe.closeIfEphemeral()
    })

  private def run(task: NativeTask, range: Array[Byte], stripe: Option[Blocks]): (Array[Byte], Array[Byte]) = {
    val result = task.runRange(range, stripe).markEphemeral()
    try {
      val account = result.account.getOrElse(throw Errors.internal(s"a range of '${task.label}' came without its account"))
      (Json.bytes(account), Wire.write(result))
    } finally result.close()
  }
}

private final class RangePartition(override val index: Int, val range: Array[Byte]) extends Partition
