package io.fulgurite.spark.primitives

import io.fulgurite.core.Native
import io.fulgurite.spark.Blocks
import io.fulgurite.spark.dataset.{Dataset, MadeRDD, TaskRDD}
import org.apache.spark.Partitioner

/**
 * Brings the pieces that native tasks cut their results into to their targets, and makes a stripe of each target's pieces: in the
 * order of the stripes they came from, whatever arrives first. A piece's row offset is the number of its target.
 */
object Shuffle {

  /** @param combine how pieces of equal shape become one; without it they are put one below the other */
  def run(tasks: TaskRDD, targets: Int, combine: Option[Array[Byte]]): Dataset = {
    val partitions = math.max(1, math.min(targets, tasks.partitions.length))
    val moved = tasks
      .mapPartitionsWithIndex { (index, part) =>
        val cut = part.zipWithIndex.flatMap { case (blocks, place) => pieces(blocks, (index, place)) }
        Pieces.closedWhenWritten(cut, partitions)(_._2._2)
      }
      .partitionBy(new ByRange(targets, partitions))
    Dataset.unplaced(new MadeRDD[(Long, Piece)](moved, { (_, part, own) =>
      val pieces = part.map { case (target, (source, blocks)) => (target, (source, blocks.markEphemeral())) }.toVector
      pieces.groupBy(_._1).toVector.sortBy(_._1).iterator.map { case (target, found) =>
        own(assemble(found.map(_._2).sortBy(_._1).map(_._2), combine, target))
      }
    }))
  }

  private type Source = (Int, Int)
  private type Piece = (Source, Blocks)

  private def pieces(blocks: Blocks, source: Source): Iterator[(Long, Piece)] = {
    val cut = blocks.read(_.map(view => (view.rowOffset, (source, Assembly.slice(view, 0, view.rows).markEphemeral()))))
    blocks.closeIfEphemeral()
    cut.iterator
  }

  private def assemble(pieces: Seq[Blocks], combine: Option[Array[Byte]], target: Long): Blocks = combine match {
    case None =>
      val stripe = Assembly.concatenate(pieces).placeAt(target)
      pieces.foreach(_.close())
      stripe
    case Some(how) =>
      val stripe = pieces.reduce { (left, right) =>
        val result = left.withHandle(l => right.withHandle(r => Blocks.owning(Native.combine(how, l, r)))).markEphemeral()
        left.close()
        right.close()
        result
      }
      // Shares the values, and may be kept.
      val placed = stripe.at(target)
      stripe.close()
      placed
  }

  /** Ranges of targets, so that the order of partitions is the order of targets. */
  private final class ByRange(targets: Int, override val numPartitions: Int) extends Partitioner {
    override def getPartition(target: Any): Int = {
      val index = target.asInstanceOf[Long] * numPartitions / math.max(1, targets)
      math.max(0L, math.min(index, numPartitions - 1L)).toInt
    }
  }
}
