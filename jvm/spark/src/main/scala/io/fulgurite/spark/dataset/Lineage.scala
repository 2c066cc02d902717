package io.fulgurite.spark.dataset

import scala.annotation.tailrec

import org.apache.spark.rdd.RDD

/** What datasets are computed from, and computed from again where a partition is lost. */
private[spark] object Lineage {

  /** The ids of the broadcasts that native tasks, and partitions of local matrices, read. */
  def broadcasts(of: Iterable[RDD[_]]): Set[Long] = ancestors(of.toList, Set.empty).flatMap {
    case tasks: TaskRDD => tasks.task.broadcasts.map(_.id)
    case local: LocalRDD => local.sent.map(_.id)
    case _ => Seq.empty
  }

  @tailrec private def ancestors(left: List[RDD[_]], found: Set[RDD[_]]): Set[RDD[_]] = left match {
    case Nil => found
    case rdd :: others if found(rdd) => ancestors(others, found)
    case rdd :: others => ancestors(rdd.dependencies.map(_.rdd).toList ++ others, found + rdd)
  }
}
