package io.fulgurite.spark.dataset

import scala.reflect.ClassTag

import io.fulgurite.core.Native
import io.fulgurite.spark.Blocks
import org.apache.spark.{Partition, TaskContext}
import org.apache.spark.rdd.RDD

/**
 * What is read of a source that was made by others, to be persisted: so it is computed once, and again only where Spark has lost a partition, which has
 * to be what it was. Otherwise a matrix would be mixed of both, and nobody would notice.
 *
 * @param input what the source is called
 * @param blocksOf the blocks in an element
 */
private[spark] final class SourceRDD[A: ClassTag](read: RDD[A], input: String, blocksOf: A => Blocks) extends RDD[A](read) {
  /** Of each partition, once it is known. It goes with each stage, a few numbers for each partition. */
  private var known = Option.empty[Array[Content]]

  override def getPartitions: Array[Partition] = firstParent[A].partitions

  override def compute(split: Partition, context: TaskContext): Iterator[A] = {
    val elements = firstParent[A].iterator(split, context)
    known.fold(elements)(contents => new Checked(elements, contents(split.index), split.index))
  }

  /** Runs it for the first time: what `of` says of each element, partition by partition. */
  def look[B](of: A => B): Vector[Vector[B]] = {
    val (blocksOf, rdd) = (this.blocksOf, id)
    val parts = mapPartitionsWithIndex { (index, part) =>
      var content = Content.empty
      val found = Kept.own(rdd, index, part)(blocksOf).map { element =>
        val blocks = blocksOf(element)
        content = content.and(blocks)
        val said = of(element)
        blocks.closeIfEphemeral()
        said
      }.toVector
      Iterator.single((found, content))
    }.collect()
    known = Some(parts.map(_._2))
    parts.iterator.map(_._1).toVector
  }

  /** Another number of rows or columns is found by who knows the stripes, and can say more. */
  private final class Checked(elements: Iterator[A], expected: Content, partition: Int) extends Iterator[A] {
    private var content = Content.empty

    override def hasNext: Boolean = {
      val more = elements.hasNext
      if (!more && content.rows == expected.rows && content.cols == expected.cols && content.sum != expected.sum) {
        throw Repeated.hasOtherValues(input, partition)
      }
      more
    }

    override def next(): A = {
      val element = elements.next()
      content = content.and(blocksOf(element))
      element
    }
  }
}

/**
 * What a partition holds.
 *
 * @param cols of the last stripe
 * @param sum a checksum of all stripes, in their order
 */
private final case class Content(rows: Long, cols: Long, sum: Long) {
  def and(blocks: Blocks): Content =
    Content(rows + blocks.rows, blocks.cols, java.lang.Long.rotateLeft(sum, 7) * Content.Factor ^ blocks.withHandle(Native.checksum))
}

private object Content {
  val empty: Content = Content(0, 0, 0)
  /** Odd, so that the order of stripes counts and nothing is lost. */
  private val Factor = 0x9e3779b97f4a7c15L
}
