package io.fulgurite.spark.dataset

import scala.reflect.ClassTag

import io.fulgurite.spark.Blocks
import org.apache.spark.{Partition, TaskContext}
import org.apache.spark.rdd.RDD

/**
 * The stripes that another RDD keeps, at their places. Tasks get the places of their partition alone: there are many in a large matrix. Empty
 * stripes are dropped.
 *
 * @param layout of all stripes that the other RDD had when it was counted
 */
private[spark] final class PlacedRDD[A: ClassTag](kept: RDD[A], @transient private val layout: Dataset.Layout, cols: Long, blocksOf: A => Blocks)
    extends RDD[Blocks](kept) {

  override def getPartitions: Array[Partition] =
    firstParent[A].partitions.zip(layout).map { case (partition, stripes) =>
      new PlacedPartition(partition, stripes.iterator.map(_.rowOffset).toArray, stripes.iterator.map(_.rows).toArray)
    }

  override def compute(split: Partition, context: TaskContext): Iterator[Blocks] = {
    val places = split.asInstanceOf[PlacedPartition]
    Repeated.check(Kept.iterator(firstParent[A], places.kept, context)(blocksOf), places.rows, cols, split.index)(blocksOf)
      .zip(places.offsets.iterator)
      .map { case (stripe, rowOffset) => (blocksOf(stripe), rowOffset) }
      .collect { case (blocks, rowOffset) if blocks.rows > 0 => blocks.placeStoredAt(rowOffset) }
  }
}

/** Where stripes begin and how many rows they have: numbers, which travel with each task in far less time than [[Stripe]]s do. */
private final class PlacedPartition(val kept: Partition, val offsets: Array[Long], val rows: Array[Long]) extends Partition {
  override def index: Int = kept.index
}
