package io.fulgurite.spark.primitives

import io.fulgurite.core.Native
import io.fulgurite.spark.Blocks
import io.fulgurite.spark.dataset.{Dataset, MadeRDD, TaskRDD}
import org.apache.spark.Partitioner

/**
 * Brings the pieces that native tasks cut their results into to their targets, and makes a stripe of each target's pieces: in the
 * order of the stripes they came from, whatever arrives first. A piece's row offset is the number of its target.
 *
 * Pieces travel as native code gave them, many in one element: those of one result for a sixteenth of
 * a partition's targets. There may be as many pieces as results times targets, and each that is an object of the JVM
 * costs as much as the copy of some thousand cells. What arrives is closed chunk by chunk.
 */
object Shuffle {
  /** In which a partition's targets come. */
  private val Chunks = 16

  /** @param combine how pieces of equal shape become one; without it they are put one below the other */
  def run(tasks: TaskRDD, targets: Int, combine: Option[Array[Byte]]): Dataset = {
    val partitions = math.max(1, math.min(targets, tasks.partitions.length))
    val perChunk = math.max(1, targets / (partitions * Chunks))
    val moved = tasks
      .mapPartitionsWithIndex { (index, part) =>
        val cut = part.zipWithIndex.flatMap { case (blocks, place) => chunks(blocks, (index, place), perChunk) }
        Pieces.closedWhenWritten(cut, partitions)(_._2._2)
      }
      .partitionBy(new ByRange((targets + perChunk - 1) / perChunk, partitions))
    Dataset.unplaced(new MadeRDD[(Long, Arrived)](moved, { (_, part, own) =>
      val arrived = part.map { case (chunk, (source, blocks)) => (chunk, (source, blocks.markEphemeral())) }.toVector
      arrived.groupBy(_._1).toVector.sortBy(_._1).iterator.flatMap { case (_, chunk) =>
        val inOrder = chunk.map(_._2).sortBy(_._1).map(_._2)
        val pieces = inOrder.flatMap(blocks => targetsOf(blocks).zipWithIndex.map { case (target, number) => (target, (blocks, number)) })
        val stripes = pieces.groupBy(_._1).toVector.sortBy(_._1).iterator.map { case (target, found) => own(assemble(found.map(_._2), combine, target)) }
        // Once these have been taken.
        stripes ++ {
          inOrder.foreach(_.close())
          Iterator.empty
        }
      }
    }))
  }

  private type Source = (Int, Int)
  private type Arrived = (Source, Blocks)

  private def targetsOf(blocks: Blocks): Seq[Long] = blocks.read(_.map(_.rowOffset))

  /** Pieces that stand side by side in a result and are for the same chunk of targets, with the number of that. */
  private def chunks(blocks: Blocks, source: Source, perChunk: Int): Iterator[(Long, Arrived)] = {
    val chunkOf = targetsOf(blocks).map(_ / perChunk)
    val starts = chunkOf.indices.filter(at => at == 0 || chunkOf(at) != chunkOf(at - 1))
    val cut = starts.zip(starts.drop(1) :+ chunkOf.size).map { case (from, until) =>
      (chunkOf(from), (source, blocks.part(from, until).markEphemeral()))
    }
    blocks.closeIfEphemeral()
    cut.iterator
  }

  private def assemble(pieces: Seq[(Blocks, Int)], combine: Option[Array[Byte]], target: Long): Blocks = combine match {
    case None => Assembly.concatenateNumbered(pieces).placeAt(target)
    case Some(how) =>
      val stripe = pieces.map { case (blocks, number) => blocks.part(number, number + 1).markEphemeral() }.reduce { (left, right) =>
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

  /** Ranges of chunks, so that the order of partitions is the order of targets. */
  private final class ByRange(chunks: Int, override val numPartitions: Int) extends Partitioner {
    override def getPartition(chunk: Any): Int = {
      val index = chunk.asInstanceOf[Long] * numPartitions / math.max(1, chunks)
      math.max(0L, math.min(index, numPartitions - 1L)).toInt
    }
  }
}
