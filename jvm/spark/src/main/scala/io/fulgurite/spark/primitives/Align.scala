package io.fulgurite.spark.primitives

import java.util.Arrays

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
    val (places, partitions) = (Places.of(target), target.size)
    val moved = source.stripes
      .mapPartitions(part => Pieces.closedWhenWritten(part.flatMap(pieces(_, places)), partitions)(_._2))
      .partitionBy(new ByPartition(partitions))
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

  private def pieces(blocks: Blocks, target: Places): Iterator[Piece] = {
    val (from, until) = (blocks.rowOffset, blocks.rowOffset + blocks.rows)
    val cut = target.within(from, until).map { stripe =>
      val (first, last) = (math.max(target.from(stripe), from), math.min(target.until(stripe), until))
      val piece = blocks.read(views => Assembly.slice(views.head, (first - from).toInt, (last - from).toInt))
      ((target.partition(stripe), target.place(stripe)), piece.markEphemeral())
    }
    blocks.closeIfEphemeral()
    cut.iterator
  }

  /** The stripes of a layout in the order of rows, as numbers: where each begins and ends, its partition, and its place among the partition's stripes. */
  private final class Places(val from: Array[Long], val until: Array[Long], val partition: Array[Int], val place: Array[Int]) extends Serializable {

    /** The stripes that have rows of these, of which there are some. */
    def within(first: Long, end: Long): Vector[Int] = {
      val found = Arrays.binarySearch(from, first)
      val start = if (found >= 0) found else math.max(0, -found - 2)
      Iterator.range(start, from.length).takeWhile(from(_) < end).filter(until(_) > first).toVector
    }
  }

  private object Places {
    def of(layout: Dataset.Layout): Places = {
      val stripes = (for {
        (part, index) <- layout.zipWithIndex
        (stripe, place) <- part.zipWithIndex if stripe.rows > 0
      } yield (stripe, index, place)).sortBy(_._1.rowOffset)
      new Places(
        stripes.map(_._1.rowOffset).toArray, stripes.map { case (stripe, _, _) => stripe.rowOffset + stripe.rows }.toArray,
        stripes.map(_._2).toArray, stripes.map(_._3).toArray)
    }
  }

  private final class ByPartition(override val numPartitions: Int) extends Partitioner {
    override def getPartition(key: Any): Int = key.asInstanceOf[(Int, Int)]._1
  }
}
