package io.fulgurite.spark.frames

import io.fulgurite.core.FulguriteException
import io.fulgurite.spark.{Blocks, Errors}
import io.fulgurite.spark.arrow.{BlockView, CsrBuilder, DenseBuilder}
import io.fulgurite.spark.dataset.{Characteristics, CoalescedStripes, Dataset, MadeRDD, Names, PlacedRDD, SourceRDD, Stripe}
import io.fulgurite.spark.primitives.{Pieces, Striping}
import org.apache.spark.Partitioner
import org.apache.spark.rdd.RDD
import org.apache.spark.storage.StorageLevel

/**
 * Brings numbered rows to the order of their numbers. What the frame gave is persisted first, so that it is computed
 * once; frames that are in order already (the usual case) are not shuffled.
 *
 * In messages `name` is the source, and `numbers` is what holds them.
 */
private[frames] object RowOrder {

  /** What is known of a stripe before its rows are moved. */
  private final case class Numbers(first: Long, rows: Long, ascending: Boolean, largest: Long, cols: Long, nnz: Long, bytes: Long)

  def dataset(read: RDD[ReadStripe], name: String, numbers: String): Dataset = {
    val numbered = Names.name(new SourceRDD[(Blocks, Array[Long])](read.map(stripe => (stripe.blocks, stripe.index)), name, _._1))
    numbered.persist(StorageLevel.MEMORY_AND_DISK)
    try {
      val found = numbered.look { case (blocks, index) => numbersOf(blocks, index) }
      val all = found.flatten
      val total = all.map(_.rows).sum
      all.foreach(stripe => checkLargest(stripe.largest, total, numbers))
      val (cols, nnz, bytes) = (Dataset.width(all.iterator.map(_.cols)), all.map(_.nnz).sum, all.map(_.bytes).sum)
      if (inOrder(all)) {
        val layout = found.map(_.map(stripe => Stripe(stripe.first - 1, stripe.rows)))
        val placed = new PlacedRDD[(Blocks, Array[Long])](numbered, layout, cols, _._1)
        Dataset.together(placed, numbered, found.map(_.iterator.map(_.bytes).sum)).getOrElse {
          Dataset(placed, Characteristics(layout, cols, nnz, bytes), Some(numbered))
        }
      } else {
        val height = Striping.sparseRows(cols.toInt, bytes.toDouble / math.max(1L, total)).toLong
        val targets = CoalescedStripes.targets(found.size, bytes, numbered.sparkContext.defaultParallelism)
        val layout = Vector.tabulate(targets)(target(_, targets, total, height))
        val ordered = Names.name(new SourceRDD[Blocks](reorder(numbered, layout, cols.toInt, numbers), name, identity))
        ordered.persist(StorageLevel.MEMORY_AND_DISK)
        // Run now: a hole or a duplicate is an error of the input, not of the first operator.
        try Dataset.count(ordered)
        catch {
          case failure: Throwable =>
            ordered.unpersist(blocking = false)
            throw failure
        }
        numbered.unpersist(blocking = false)
        Dataset(ordered, Characteristics(layout, cols, nnz, bytes))
      }
    } catch {
      case failure: Throwable =>
        numbered.unpersist(blocking = false)
        throw failure
    }
  }

  /** Stripes that are all here, as one block. */
  def ordered(stripes: Vector[ReadStripe], numbers: String): Blocks = {
    val (rows, cols) = (stripes.map(_.blocks.rows).sum, Dataset.width(stripes.iterator.map(_.blocks.cols)))
    for (stripe <- stripes) checkLargest(if (stripe.index.isEmpty) 0 else stripe.index.max, rows, numbers)
    assemble(stripes.map(stripe => (stripe.blocks, stripe.index)), Stripe(0, rows), cols.toInt, numbers)
  }

  private def checkLargest(number: Long, rows: Long, numbers: String): Unit =
    if (number > rows) throw notANumbering(numbers, s"it holds $number, but there are $rows rows")

  private def numbersOf(blocks: Blocks, index: Array[Long]): Numbers = {
    val ascending = index.indices.forall(at => index(at) == index(0) + at)
    val size = blocks.description
    Numbers(index.headOption.getOrElse(1L), size.rows, ascending, if (index.isEmpty) 0 else index.max, size.cols, size.nnz, size.bytes)
  }

  private def inOrder(stripes: Seq[Numbers]): Boolean = {
    val expected = stripes.scanLeft(1L)(_ + _.rows)
    stripes.zip(expected).forall { case (stripe, first) => stripe.ascending && stripe.first == first }
  }

  /** The stripes of a partition when rows are spread evenly. */
  private def target(partition: Int, partitions: Int, rows: Long, step: Long): Vector[Stripe] = {
    val (from, until) = (partition * rows / partitions, (partition + 1) * rows / partitions)
    (from until until by step).map(start => Stripe(start, math.min(step, until - start))).toVector
  }

  /** Rows on their way: CSR or dense as they were, with their numbers. */
  private type Piece = (Int, (Blocks, Array[Long]))

  private def reorder(numbered: RDD[(Blocks, Array[Long])], layout: Vector[Vector[Stripe]], cols: Int, numbers: String): RDD[Blocks] = {
    val starts = layout.scanLeft(0L)((start, part) => start + part.map(_.rows).sum).toArray
    val moved = numbered
      .mapPartitions { part =>
        Pieces.closedWhenWritten(part.flatMap { case (blocks, index) => pieces(blocks, index, starts) }, layout.size)(_._2._1)
      }
      .partitionBy(new ByNumber(layout.size))
    new MadeRDD[Piece](moved, { (partition, part, own) =>
      val pieces = part.map { case (_, (blocks, index)) => (blocks.markEphemeral(), index) }.toVector
      layout(partition).iterator.map(stripe => own(assemble(pieces, stripe, cols, numbers)))
    }, kept = true)
  }

  private def pieces(blocks: Blocks, index: Array[Long], starts: Array[Long]): Iterator[Piece] = {
    val byPartition = index.indices.groupBy { row =>
      val found = java.util.Arrays.binarySearch(starts, index(row) - 1)
      // Empty partitions share their start with the one behind them.
      if (found < 0) -found - 2 else starts.lastIndexWhere(_ == index(row) - 1)
    }
    blocks.read { views =>
      byPartition.toVector.map { case (partition, rows) =>
        (partition, (pick(views.head, rows).markEphemeral(), rows.map(index(_)).toArray))
      }
    }.iterator
  }

  private def pick(view: BlockView, rows: Seq[Int]): Blocks = {
    val builder = if (view.isDense) new DenseBuilder(view.cols, rows.size.toLong) else new CsrBuilder(view.cols)
    try rows.foreach(row => builder.append(view, row, row + 1))
    catch {
      case failure: Throwable =>
        builder.close()
        throw failure
    }
    Blocks.built(builder, 0)
  }

  private def assemble(pieces: Vector[(Blocks, Array[Long])], stripe: Stripe, cols: Int, numbers: String): Blocks = {
    val sources = Array.fill(stripe.rows.toInt)(-1L)
    for (((_, index), piece) <- pieces.zipWithIndex; (number, row) <- index.zipWithIndex) {
      val at = number - 1 - stripe.rowOffset
      if (at >= 0 && at < stripe.rows) {
        if (sources(at.toInt) >= 0) throw notANumbering(numbers, s"$number occurs twice")
        sources(at.toInt) = (piece.toLong << 32) | row
      }
    }
    sources.indexWhere(_ < 0) match {
      case -1 =>
      case missing => throw notANumbering(numbers, s"${stripe.rowOffset + missing + 1} is missing")
    }
    val needed = sources.map(source => (source >>> 32).toInt).distinct.sorted
    val dense = needed.exists(piece => pieces(piece)._1.read(_.head.isDense))
    val builder = if (dense) new DenseBuilder(cols, stripe.rows) else new CsrBuilder(cols)
    // Views are open together: rows of many pieces interleave.
    def withViews(left: List[Int], views: Map[Int, BlockView]): Unit = left match {
      case piece :: others => pieces(piece)._1.read(found => withViews(others, views.updated(piece, found.head)))
      case Nil =>
        sources.foreach { source =>
          val row = source.toInt
          builder.append(views((source >>> 32).toInt), row, row + 1)
        }
    }
    try withViews(needed.toList, Map.empty)
    catch {
      case failure: Throwable =>
        builder.close()
        throw failure
    }
    Blocks.built(builder, stripe.rowOffset)
  }

  private def notANumbering(numbers: String, reason: String): FulguriteException =
    Errors.data(s"$numbers is no numbering of the rows: $reason", "number the rows 1, 2, 3 ... without gaps or duplicates")

  private final class ByNumber(override val numPartitions: Int) extends Partitioner {
    override def getPartition(key: Any): Int = key.asInstanceOf[Int]
  }
}
