package io.fulgurite.spark.primitives

import io.fulgurite.spark.{Blocks, Errors}
import io.fulgurite.spark.dataset.{Dataset, Stripe}
import org.apache.spark.Partitioner

/** Brings a dataset to the stripes of another one: cut, shuffled, put together again. */
object Align {

  def run(session: Session, left: Dataset, right: Dataset): Dataset = {
    val (target, source) = (left.characteristics, right.characteristics)
    if (target.rows != source.rows) {
      throw Errors.internal(s"cannot align ${source.rows} rows with ${target.rows}")
    }
    if (target.layout == source.layout) new Dataset(right.stripes, Some(source))
    else new Dataset(shuffled(right, target.layout, source.cols.toInt), Some(source.copy(layout = target.layout)))
  }

  /** A piece of a stripe-to-be: its partition, its place among the partition's stripes, its rows. */
  private type Piece = ((Int, Int), Blocks)

  private def shuffled(source: Dataset, target: Vector[Vector[Stripe]], cols: Int) =
    source.stripes
      .mapPartitions(_.flatMap(pieces(_, target)))
      .partitionBy(new ByPartition(target.size))
      .mapPartitionsWithIndex({ (index, part) =>
        val pieces = part.toVector.groupMap(_._1._2)(_._2)
        target(index).indices.iterator.map { place =>
          Assembly.concatenate(pieces.getOrElse(place, Vector.empty).sortBy(_.description.rowOffset), cols)
            .placeAt(target(index)(place).rowOffset)
        }
      }, preservesPartitioning = true)

  private def pieces(blocks: Blocks, target: Vector[Vector[Stripe]]): Iterator[Piece] = {
    val from = blocks.description.rowOffset
    val until = from + blocks.rows
    val places = for {
      (part, index) <- target.iterator.zipWithIndex
      (stripe, place) <- part.iterator.zipWithIndex
      first = math.max(stripe.rowOffset, from)
      last = math.min(stripe.rowOffset + stripe.rows, until)
      if first < last
    } yield (index, place, first, last)
    val cut = places.toVector.map { case (index, place, first, last) =>
      val piece = blocks.read(views => Assembly.slice(views.head, (first - from).toInt, (last - from).toInt))
      ((index, place), piece)
    }
    blocks.closeIfEphemeral()
    cut.iterator
  }

  private final class ByPartition(override val numPartitions: Int) extends Partitioner {
    override def getPartition(key: Any): Int = key.asInstanceOf[(Int, Int)]._1
  }
}
