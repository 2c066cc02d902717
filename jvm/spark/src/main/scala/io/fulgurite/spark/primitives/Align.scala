package io.fulgurite.spark.primitives

import io.fulgurite.spark.{Blocks, Errors}
import io.fulgurite.spark.dataset.{Dataset, MadeRDD}
import org.apache.spark.Partitioner
import org.apache.spark.rdd.RDD

/** Brings a dataset to the stripes of another one: cut, shuffled, put together again. */
object Align {

  def run(session: Session, left: Dataset, right: Dataset): Dataset = {
    val (target, source) = (left.layout, right.layout)
    if (rows(target) != rows(source)) {
      throw Errors.internal(s"cannot align ${rows(source)} rows with ${rows(target)}")
    }
    if (target == source) Dataset.alias(right) else Dataset.placed(shuffled(right, target), target)
  }

  private def rows(layout: Dataset.Layout): Long = layout.iterator.flatten.map(_.rows).sum

  /** A piece of a stripe-to-be: its partition, its place among the partition's stripes, its rows. */
  private type Piece = ((Int, Int), Blocks)

  private def shuffled(source: Dataset, target: Dataset.Layout): RDD[Blocks] = {
    val moved = source.stripes
      .mapPartitions(part => Pieces.closedWhenWritten(part.flatMap(pieces(_, target)), target.size)(_._2))
      .partitionBy(new ByPartition(target.size))
    new MadeRDD[Piece](moved, { (index, part, own) =>
      val pieces = part.map { case ((_, place), piece) => (place, piece.markEphemeral()) }.toVector.groupBy(_._1)
      target(index).indices.iterator.map { place =>
        val found = pieces.getOrElse(place, Vector.empty).map(_._2).sortBy(_.rowOffset)
        val stripe = Assembly.concatenate(found).placeAt(target(index)(place).rowOffset)
        found.foreach(_.close())
        own(stripe)
      }
    })
  }

  private def pieces(blocks: Blocks, target: Dataset.Layout): Iterator[Piece] = {
    val (from, until) = (blocks.rowOffset, blocks.rowOffset + blocks.rows)
    val places = for {
      (part, index) <- target.iterator.zipWithIndex
      (stripe, place) <- part.iterator.zipWithIndex
      first = math.max(stripe.rowOffset, from)
      last = math.min(stripe.rowOffset + stripe.rows, until)
      if first < last
    } yield (index, place, first, last)
    val cut = places.toVector.map { case (index, place, first, last) =>
      val piece = blocks.read(views => Assembly.slice(views.head, (first - from).toInt, (last - from).toInt))
      ((index, place), piece.markEphemeral())
    }
    blocks.closeIfEphemeral()
    cut.iterator
  }

  private final class ByPartition(override val numPartitions: Int) extends Partitioner {
    override def getPartition(key: Any): Int = key.asInstanceOf[(Int, Int)]._1
  }
}
