package io.fulgurite.spark.dataset

import io.fulgurite.spark.{Blocks, Counts, Description, Errors}
import org.apache.spark.rdd.RDD
import org.apache.spark.storage.StorageLevel

/** Where a stripe stands. */
final case class Stripe(rowOffset: Long, rows: Long)

/** Sizes of a dataset as found by running it. */
final case class Characteristics(layout: Dataset.Layout, cols: Long, nnz: Long, bytes: Long) {
  def rows: Long = layout.iterator.flatten.map(_.rows).sum
}

/**
 * A distributed matrix: row stripes, in partitions whose order is the order of rows. Datasets that share a layout have
 * the same stripes in the same partitions.
 *
 * @param knownLayout where the stripes stand, where that is known without running the dataset
 * @param known all characteristics, where they are known
 * @param persisted what is to be forgotten with the dataset
 */
final class Dataset private (
    val stripes: RDD[Blocks], private var knownLayout: Dataset.KnownLayout, known: Option[Characteristics], persisted: Seq[RDD[_]]) {
  private var counted = known
  (stripes +: persisted).foreach(Names.name(_))

  /** Where each stripe stands, partition by partition; runs the dataset if nobody knows. */
  lazy val layout: Dataset.Layout = synchronized(counted).map(_.layout).orElse(knownLayout()).getOrElse(characteristics.layout)

  def characteristics: Characteristics = synchronized {
    counted.getOrElse {
      val result = Dataset.count(stripes)
      counted = Some(result)
      // It names the dataset that this one was made from, which would name the one before, and so on through all iterations of a loop.
      knownLayout = Dataset.unknown
      result
    }
  }

  /** What it takes, where that is known without running it. */
  def knownBytes: Option[Long] = synchronized(counted).map(_.bytes)

  /** What is kept of it: its stripes, or those that it is made of. */
  def kept: Option[RDD[_]] = persisted.find(_.getStorageLevel != StorageLevel.NONE)

  def persist(): Unit = stripes match {
    case _: ScannedRDD => // Kept already.
    case own => if (own.getStorageLevel == StorageLevel.NONE) own.persist(StorageLevel.MEMORY_AND_DISK)
  }

  /** The dataset as an input that is kept, and counts how often it is read. Releasing it releases this one, if that is `owned`. */
  def asInput(name: String, counts: Counts, owned: Boolean): Dataset = {
    val scanned = new ScannedRDD(stripes, name, counts).setName(s"$name, as an input")
    new Dataset(scanned, Dataset.unknown, Some(characteristics), if (owned) persisted else Seq.empty)
  }

  /** A stopped context has forgotten it. */
  def release(): Unit = for (rdd <- persisted if !stripes.sparkContext.isStopped) rdd.unpersist(blocking = false)
}

object Dataset {
  type Layout = Vector[Vector[Stripe]]

  /** What knows a layout, if anything does. */
  private type KnownLayout = () => Option[Layout]
  private val unknown: KnownLayout = () => None

  def apply(stripes: RDD[Blocks], known: Characteristics, parent: Option[RDD[_]] = None): Dataset =
    new Dataset(stripes, unknown, Some(known), stripes +: parent.toSeq)

  /** A dataset co-partitioned with another one, of which nothing else is known yet. */
  def like(stripes: RDD[Blocks], other: Dataset): Dataset = new Dataset(stripes, () => Some(other.layout), None, Seq(stripes))

  /** A dataset whose stripes stand where the layout says. */
  def placed(stripes: RDD[Blocks], layout: Layout): Dataset = new Dataset(stripes, () => Some(layout), None, Seq(stripes))

  /** A dataset whose stripes know where they stand, which is found out when it is first asked for. */
  def found(stripes: RDD[Blocks]): Dataset = new Dataset(stripes, unknown, None, Seq(stripes))

  /** A dataset whose stripes stand where they happen to: it is to be placed. */
  def unplaced(stripes: RDD[Blocks]): Dataset =
    new Dataset(stripes, () => throw Errors.internal("a shuffled dataset was used before it was placed"), None, Seq(stripes))

  /** Another name for a dataset: releasing it releases nothing. */
  def alias(other: Dataset): Dataset = new Dataset(other.stripes, () => Some(other.layout), None, Seq.empty)

  /** Stripes of which each knows its place already. */
  def count(stripes: RDD[Blocks]): Characteristics = characteristics(look(stripes))

  /** What the stripes of each partition are. */
  private def look(stripes: RDD[Blocks]): Vector[Vector[Description]] = Errors.ofSpark {
    stripes match {
      case source: SourceRDD[Blocks @unchecked] => source.look(_.description)
      case _ => stripes.mapPartitions { part =>
          Iterator.single(part.map { blocks =>
            val found = blocks.description
            blocks.closeIfEphemeral()
            found
          }.toVector)
        }.collect().toVector
    }
  }

  private def characteristics(parts: Vector[Vector[Description]]): Characteristics = {
    val all = parts.flatten
    Characteristics(
      parts.map(_.map(found => Stripe(found.rowOffset, found.rows))),
      width(all.iterator.map(_.cols)), all.iterator.map(_.nnz).sum, all.iterator.map(_.bytes).sum)
  }

  /** The columns of a matrix with stripes of so many. */
  def width(ofStripes: Iterator[Long]): Long = ofStripes.toSet.toList match {
    case Nil => 0
    case List(cols) => cols
    case several =>
      throw Errors.data(s"some rows have ${several.min} elements, others ${several.max}", "all rows of a matrix are equally long, in all partitions")
  }

  /**
   * A dataset of stripes whose order in the RDD is the order of rows, and which do not know their places. Persisted
   * before it is counted, so that its source is read once. Empty stripes are dropped.
   */
  def fromSource(read: RDD[Blocks], input: String): Dataset = fromOrdered(new SourceRDD[Blocks](read, input, identity))

  /** As [[fromSource]], of what is the same whenever it is computed. */
  def fromOrdered(unplaced: RDD[Blocks]): Dataset = {
    Names.name(unplaced).persist(StorageLevel.MEMORY_AND_DISK)
    try {
      val parts = look(unplaced)
      val found = characteristics(parts)
      val starts = found.layout.scanLeft(0L)((start, part) => start + part.iterator.map(_.rows).sum)
      val layout = found.layout.zip(starts).map { case (part, start) =>
        val offsets = part.scanLeft(start)(_ + _.rows)
        part.zip(offsets).map { case (stripe, offset) => Stripe(offset, stripe.rows) }
      }
      val placed = new PlacedRDD[Blocks](unplaced, layout, found.cols, identity)
      together(placed, unplaced, parts.map(_.iterator.map(_.bytes).sum)).getOrElse {
        Dataset(placed, found.copy(layout = layout.map(_.filter(_.rows > 0))), Some(unplaced))
      }
    } catch {
      case failure: Throwable =>
        unplaced.unpersist(blocking = false)
        throw failure
    }
  }

  /** The stripes in fewer partitions, if there are too many for their sizes: these are kept from now on, in place of those of `kept`. */
  def together(placed: RDD[Blocks], kept: RDD[_], bytes: Seq[Long]): Option[Dataset] =
    for (starts <- CoalescedStripes.plan(bytes, placed.sparkContext.defaultParallelism)) yield {
      val stripes = Names.name(new CoalescedStripes(placed, starts)).persist(StorageLevel.MEMORY_AND_DISK)
      try {
        val dataset = Dataset(stripes, count(stripes))
        kept.unpersist(blocking = false)
        dataset
      } catch {
        case failure: Throwable =>
          stripes.unpersist(blocking = false)
          throw failure
      }
    }
}
