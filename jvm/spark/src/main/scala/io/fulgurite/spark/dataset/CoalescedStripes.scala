package io.fulgurite.spark.dataset

import io.fulgurite.spark.Blocks
import io.fulgurite.spark.primitives.Assembly
import org.apache.spark.{NarrowDependency, Partition, TaskContext}
import org.apache.spark.fulgurite.Internals
import org.apache.spark.rdd.RDD
import org.apache.spark.storage.StorageLevel

/**
 * Adjacent partitions of another RDD as one, in their order: a task costs Spark some milliseconds whatever it does, and a stripe as much as
 * some thousand cells. Small stripes are joined. No row is shuffled; a partition is where most of what it is made of is.
 *
 * @param starts the first partition of each, and after the last one how many there are
 */
private[spark] final class CoalescedStripes(parts: RDD[Blocks], starts: Vector[Int])
    extends RDD[Blocks](parts.sparkContext, Seq(new Adjacent(parts, starts))) {

  override def getPartitions: Array[Partition] = {
    val parents = firstParent[Blocks].partitions
    Array.tabulate(starts.size - 1)(index => new CoalescedPartition(index, parents.slice(starts(index), starts(index + 1)).toSeq))
  }

  override def getPreferredLocations(split: Partition): Seq[String] = {
    val parent = firstParent[Blocks]
    val places = split.asInstanceOf[CoalescedPartition].parents.flatMap(part => Internals.preferredLocations(parent, part.index))
    if (places.isEmpty) Seq.empty else Seq(places.groupBy(identity).maxBy { case (place, found) => (found.size, place) }._1)
  }

  override def compute(split: Partition, context: TaskContext): Iterator[Blocks] = {
    val stripes = split.asInstanceOf[CoalescedPartition].parents.iterator.flatMap(Kept.iterator(firstParent[Blocks], _, context)(identity))
    val joined = Assembly.joined(stripes, Assembly.JoinedBytes)
    if (getStorageLevel == StorageLevel.NONE) joined else joined.map(_.shared)
  }
}

private final class CoalescedPartition(override val index: Int, val parents: Seq[Partition]) extends Partition

private final class Adjacent(parts: RDD[Blocks], starts: Vector[Int]) extends NarrowDependency[Blocks](parts) {
  override def getParents(partition: Int): Seq[Int] = starts(partition) until starts(partition + 1)
}

private[spark] object CoalescedStripes {
  /** Partitions for each core, from which on there are enough. */
  private val Enough = 4
  /** Of a partition, below which a task does less than Spark around it. */
  val Small: Long = 8L << 20
  /** That partitions are put together to, unless there were too few of them for all cores. */
  private val Target = 32L << 20

  /**
   * Which partitions of these sizes are put together, where there are too many: the first of each, and how many there are.
   *
   * @param cores that can work on them at the same time
   */
  def plan(bytes: Seq[Long], cores: Int): Option[Vector[Int]] = {
    val (count, total) = (bytes.size, bytes.sum)
    if (count <= Enough * cores || total / count >= Small) None
    else {
      val most = math.min(Target, (total + cores - 1) / cores)
      val starts = Vector.newBuilder[Int]
      var (taken, from) = (0L, -1)
      for ((size, index) <- bytes.zipWithIndex) {
        if (from < 0 || taken + size > most) {
          starts += index
          taken = 0
          from = index
        }
        taken += size
      }
      Some((starts += count).result())
    }
  }

  /** Into how many partitions cells are shuffled that come from so many, and take so much together. */
  def targets(partitions: Int, bytes: Long, cores: Int): Int =
    if (partitions <= Enough * cores || bytes / partitions >= Small) partitions
    else math.max(cores.toLong, (bytes + Target - 1) / Target).toInt
}
