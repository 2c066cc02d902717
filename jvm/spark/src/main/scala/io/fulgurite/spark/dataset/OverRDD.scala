package io.fulgurite.spark.dataset

import scala.collection.mutable

import io.fulgurite.spark.Blocks
import io.fulgurite.spark.primitives.Assembly
import org.apache.spark.{NarrowDependency, OneToOneDependency, Partition, TaskContext}
import org.apache.spark.fulgurite.Internals
import org.apache.spark.rdd.RDD
import org.apache.spark.storage.StorageLevel

/**
 * Runs a native task for each stripe of co-partitioned inputs with the stripes of another dataset, and combines what it gives for the same
 * stripe, in the order of the other one's rows. That one is kept by executors: a partition of it comes when its turn is, from where it is, and
 * nothing is shuffled, so that a task holds a few stripes of it at a time. They are gone over once for as many of its own stripes, with their
 * results, as take so many bytes.
 *
 * @param rowBytes what a row of the result takes at most, as far as is known
 */
private[spark] final class OverRDD(
    inputs: Seq[RDD[Blocks]], over: RDD[Blocks], private var native: NativeTask, combine: Array[Byte], bytes: Long, rowBytes: Long)
    extends RDD[Blocks](over.sparkContext, inputs.map(new OneToOneDependency(_)) :+ new All(over)) {
  /** They travel with the RDD, which is sent once, not with each partition. */
  private var allOver = over.partitions

  private[spark] def task: NativeTask = native

  override protected def clearDependencies(): Unit = {
    super.clearDependencies()
    native = null
    allOver = null
  }

  override def getPartitions: Array[Partition] = TaskRDD.partitions(own, task.label)

  /** Where the inputs are: another partition may be nearer to some of what is gone over. */
  override def getPreferredLocations(split: Partition): Seq[String] =
    Internals.preferredLocations(own.head, split.index)

  override def compute(split: Partition, context: TaskContext): Iterator[Blocks] = {
    val parts = own.zip(split.asInstanceOf[TaskPartition].parents).map { case (rdd, part) => Kept.iterator(rdd, part, context)(identity) }
    val kept = getStorageLevel != StorageLevel.NONE
    new Passes(parts).flatMap { runs =>
      val results = pass(runs, context)
      runs.foreach(_.foreach(_.closeIfEphemeral()))
      if (kept) results.map(_.shared) else results
    }
  }

  /** The results of runs whose stripes are held meanwhile. */
  private def pass(runs: Vector[Seq[Blocks]], context: TaskContext): Vector[Blocks] = {
    val results = mutable.ArrayBuffer.fill(runs.size)(Option.empty[Blocks])
    val stripes = allOver.iterator.flatMap(Kept.iterator(goneOver, _, context)(identity))
    for (stripe <- Assembly.joined(stripes, StripeGroups.Bytes)) {
      for ((run, index) <- runs.zipWithIndex) {
        val before = results(index)
        results(index) = Some(task.runCombined(Seq(run), combine, before, Some(stripe)).markEphemeral())
        before.foreach(_.close())
      }
      stripe.closeIfEphemeral()
    }
    results.iterator.zip(runs.iterator).flatMap { case (result, run) => result.map(_.placeAt(run.head.rowOffset)) }.toVector
  }

  /** Runs of which the stripes and their results take so many bytes, one at least. */
  private final class Passes(parts: Seq[Iterator[Blocks]]) extends Iterator[Vector[Seq[Blocks]]] {
    private val left = StripeGroups.runs(parts, task.label).buffered

    override def hasNext: Boolean = left.hasNext

    override def next(): Vector[Seq[Blocks]] = {
      val runs = Vector.newBuilder[Seq[Blocks]]
      var taken = 0L
      do {
        val run = left.next()
        taken += size(run)
        runs += run
      } while (left.hasNext && taken + size(left.head) <= bytes)
      runs.result()
    }

    private def size(run: Seq[Blocks]): Long = run.iterator.map(_.bytes).sum + run.head.rows * rowBytes
  }

  private def own: Seq[RDD[Blocks]] = dependencies.init.map(_.rdd.asInstanceOf[RDD[Blocks]])

  private def goneOver: RDD[Blocks] = dependencies.last.rdd.asInstanceOf[RDD[Blocks]]
}

/** Each partition reads all of another RDD. */
private final class All(over: RDD[Blocks]) extends NarrowDependency[Blocks](over) {
  override def getParents(partition: Int): Seq[Int] = over.partitions.indices
}
