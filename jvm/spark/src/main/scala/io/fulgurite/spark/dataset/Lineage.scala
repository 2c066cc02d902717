package io.fulgurite.spark.dataset

import scala.annotation.tailrec
import scala.collection.mutable

import org.apache.spark.rdd.RDD

/** What datasets are computed from, and computed from again where a partition is lost. It ends where it was cut: see [[Cuts]]. */
private[spark] object Lineage {

  /** The RDDs, and all that they are computed from. */
  def of(rdds: Iterable[RDD[_]]): Set[RDD[_]] = withAncestors(rdds.toList, Set.empty)

  /** The ids of the broadcasts that native tasks, and partitions of local matrices, read where they are computed. */
  def broadcasts(lineage: Set[RDD[_]]): Set[Long] = lineage.filterNot(_.isCheckpointed).flatMap {
    case tasks: TaskRDD => tasks.task.broadcasts.map(_.id)
    case tasks: OverRDD => tasks.task.broadcasts.map(_.id)
    case local: LocalRDD => local.sent.map(_.id)
    case _ => Seq.empty
  }

  /**
   * How many RDDs of this library's stand one behind the other, at most. Those of Spark's do not count: a source is what its owner has made
   * it. Not by recursion, which a deep lineage would end.
   */
  def depth(of: RDD[_]): Int = {
    val depths = mutable.Map.empty[RDD[_], Int]
    var left = List[RDD[_]](of)
    while (left.nonEmpty) {
      val rdd = left.head
      val parents = rdd.dependencies.map(_.rdd)
      parents.filterNot(depths.contains) match {
        case Seq() =>
          depths(rdd) = parents.iterator.map(depths).foldLeft(0)(math.max) + own(rdd)
          left = left.tail
        case unknown => left = unknown.toList ++ left
      }
    }
    depths(of)
  }

  private def own(rdd: RDD[_]): Int = rdd match {
    case _: TaskRDD | _: OverRDD | _: MadeRDD[_] | _: PlacedRDD[_] | _: ScannedRDD | _: CoalescedStripes => 1
    case _ => 0
  }

  @tailrec private def withAncestors(left: List[RDD[_]], found: Set[RDD[_]]): Set[RDD[_]] = left match {
    case Nil => found
    case rdd :: others if found(rdd) => withAncestors(others, found)
    case rdd :: others => withAncestors(rdd.dependencies.map(_.rdd).toList ++ others, found + rdd)
  }
}
