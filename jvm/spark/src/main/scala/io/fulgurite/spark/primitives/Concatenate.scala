package io.fulgurite.spark.primitives

import io.fulgurite.spark.Blocks
import io.fulgurite.spark.dataset.{CoalescedStripes, Dataset, MadeRDD, Stripe}
import org.apache.spark.rdd.{PartitionPruningRDD, RDD}

/**
 * Ranges of rows of datasets, one below the other. No row changes its partition, unless there get to be too many small ones, as in a
 * loop that appends rows: then adjacent ones are put together. Partitions outside of a range are not read.
 */
object Concatenate {

  /** The rows `from until until` of a dataset. */
  final case class Part(dataset: Dataset, from: Long, until: Long) {
    def rows: Long = math.max(0L, until - from)
  }

  def run(session: Session, parts: Seq[Part]): Dataset = {
    val starts = parts.scanLeft(0L)(_ + _.rows)
    val (stripes, layouts) = parts.zip(starts).map { case (part, start) => range(part, start) }.unzip
    val rdd = if (stripes.size == 1) stripes.head else together(session.context.union(stripes))
    val sizes = parts.zip(layouts).flatMap { case (part, layout) => layout.map(bytes(part.dataset, _)) }
    CoalescedStripes.plan(sizes, session.context.defaultParallelism) match {
      case Some(plan) => Dataset.found(new CoalescedStripes(rdd, plan))
      case None => Dataset.placed(rdd, layouts.flatten.toVector)
    }
  }

  /** What so many of a dataset's rows take, if they are like the others. Who appends to a matrix keeps it, and knows; others are not put together by the hundred. */
  private def bytes(of: Dataset, stripes: Seq[Stripe]): Long = of.knownBytes.fold(CoalescedStripes.Small) { known =>
    val all = math.max(1L, of.layout.iterator.flatten.map(_.rows).sum)
    (known.toDouble / all * stripes.iterator.map(_.rows).sum).toLong
  }

  /** The stripes of a union belong to the tasks that made them for it, until it is known whether it is kept. */
  private def together(union: RDD[Blocks]): RDD[Blocks] = new MadeRDD[Blocks](union, (_, part, own) => part.map { blocks =>
    if (blocks.isEphemeral) own(blocks.shared) else blocks
  })

  private def range(part: Part, start: Long): (RDD[Blocks], Dataset.Layout) = {
    val Part(dataset, from, until) = part
    val moved = start - from
    def within(stripe: Stripe): Option[Stripe] = {
      val (first, last) = (math.max(from, stripe.rowOffset), math.min(until, stripe.rowOffset + stripe.rows))
      if (first < last) Some(Stripe(first + moved, last - first)) else None
    }
    val kept = dataset.layout.map(_.flatMap(within(_)))
    val pruned = PartitionPruningRDD.create(dataset.stripes, kept.indices.filter(kept(_).nonEmpty).toSet)
    val cutStripes = new MadeRDD[Blocks](pruned, (_, part, own) => part.flatMap(cut(_, from, until, moved, own)))
    (cutStripes, kept.filter(_.nonEmpty))
  }

  private def cut(blocks: Blocks, from: Long, until: Long, moved: Long, own: Blocks => Blocks): Option[Blocks] = {
    val (offset, rows) = (blocks.rowOffset, blocks.rows)
    val (first, last) = (math.max(from, offset), math.min(until, offset + rows))
    val result =
      if (first >= last) None
      else if (last - first == rows) Some(if (moved == 0 && !blocks.isEphemeral) blocks else own(blocks.at(offset + moved)))
      else {
        val slice = blocks.read(views => Assembly.slice(views.head, (first - offset).toInt, (last - offset).toInt))
        Some(own(slice.placeAt(first + moved)))
      }
    blocks.closeIfEphemeral()
    result
  }
}
