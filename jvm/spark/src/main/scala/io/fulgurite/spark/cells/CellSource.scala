package io.fulgurite.spark.cells

import io.fulgurite.core.FulguriteException
import io.fulgurite.spark.{Blocks, Errors}
import io.fulgurite.spark.dataset.{Dataset, MadeRDD, SourceRDD}
import io.fulgurite.spark.primitives.{Pieces, Striping}
import org.apache.spark.Partitioner
import org.apache.spark.rdd.RDD
import org.apache.spark.storage.StorageLevel

/** What is known of a matrix before its cells are. */
private[spark] final case class Size(rows: Option[Long], cols: Option[Long])

/**
 * What a cell says of the one across the diagonal.
 *
 * @param name as native code calls it
 */
private[spark] sealed abstract class Symmetry(val name: String, val across: Double) extends Serializable {

  /** The first row (from 0) that an array has of a column. */
  def firstRow(col: Long): Long
}

private[spark] object Symmetry {
  case object General extends Symmetry("general", 0) {
    override def firstRow(col: Long): Long = 0
  }

  case object Symmetric extends Symmetry("symmetric", 1) {
    override def firstRow(col: Long): Long = col
  }

  case object Skew extends Symmetry("skew", -1) {
    override def firstRow(col: Long): Long = col + 1
  }

  def named(name: String): Symmetry = Seq(General, Symmetric, Skew).find(_.name == name).getOrElse(throw Errors.internal(s"no symmetry is called '$name'"))
}

/** Cells in any order as datasets: shuffled by ranges of rows, and put together as stripes there, by native code. What has no cell is 0. */
private[spark] object CellSource {

  /**
   * @param cells as [[Cells]] has them; may come from a source that must be read once: they are persisted where they are used twice
   * @param promised how many cells there have to be, where that is known
   * @param mayBeDense whether stripes with few zeros are dense
   */
  def dataset(
      name: String, cells: RDD[Blocks], size: Size, symmetry: Symmetry = Symmetry.General, promised: Option[Long] = None,
      mayBeDense: Boolean = false): Dataset = {
    val known = for (rows <- size.rows; cols <- size.cols if promised.isEmpty) yield (rows, cols)
    if (known.isEmpty) cells.persist(StorageLevel.MEMORY_AND_DISK)
    try {
      val (rows, cols) = known.getOrElse(measured(name, cells, size, promised))
      val ordered = new SourceRDD[Blocks](shuffled(name, cells, rows, width(name, cols), symmetry, mayBeDense), name, identity)
      ordered.persist(StorageLevel.MEMORY_AND_DISK)
      try Dataset(ordered, Dataset.count(ordered))
      catch {
        case failure: Throwable =>
          ordered.unpersist(blocking = false)
          throw failure
      }
    } finally cells.unpersist(blocking = false)
  }

  /** What is wrong with a cell in a matrix of this size. */
  def problem(row: Long, col: Long, size: Size): Option[String] =
    if (row < 1) Some(s"the row $row is less than 1")
    else if (col < 1) Some(s"the column $col is less than 1")
    else if (size.rows.exists(row > _) || size.cols.exists(col > _)) {
      Some(s"cell ($row, $col) is outside the ${size.rows.fold("?")(_.toString)} x ${size.cols.fold("?")(_.toString)} matrix")
    } else if (col > Int.MaxValue) Some(s"the column $col is beyond the ${Int.MaxValue} that a matrix can have")
    else None

  private def measured(name: String, cells: RDD[Blocks], size: Size, promised: Option[Long]): (Long, Long) = {
    val found = cells.map(Cells.extent).fold(Cells.Nothing)(_ and _)
    for (announced <- promised if announced != found.count) {
      throw Errors.data(s"'$name' announces $announced entries and has ${found.count}", "the file may have been cut short: make it anew")
    }
    if (found.count == 0 && (size.rows.isEmpty || size.cols.isEmpty)) {
      throw Errors.data(s"'$name' has no cells, and nothing says how large it is", "say so: MatrixMetadata with rows and cols")
    }
    (size.rows.getOrElse(found.row), size.cols.getOrElse(found.col))
  }

  private def width(name: String, cols: Long): Int =
    if (cols >= 1 && cols <= Int.MaxValue) cols.toInt
    else throw Errors.unsupported(s"'$name' has $cols columns", s"a sparse matrix has between 1 and ${Int.MaxValue}")

  private def shuffled(name: String, cells: RDD[Blocks], rows: Long, cols: Int, symmetry: Symmetry, mayBeDense: Boolean): RDD[Blocks] = {
    if (rows < 1) throw Errors.data(s"'$name' has $rows rows", "a matrix needs at least one")
    val targets = math.max(1L, math.min(cells.partitions.length.toLong, rows)).toInt
    val ranges = new RowRanges(rows, targets)
    val kept = cells.getStorageLevel != StorageLevel.NONE
    val moved = cells.mapPartitions { part =>
      val spread = part.flatMap { block =>
        if (!kept) block.markEphemeral()
        val pieces = Cells.spread(block, ranges.starts, symmetry)
        if (!kept) block.close()
        pieces
      }
      Pieces.closedWhenWritten(spread, targets)(_._2)
    }.partitionBy(ranges)
    new MadeRDD[(Int, Blocks)](
      moved, (range, part, own) => stripes(name, part.map(_._2), ranges.starts(range), ranges.end(range), cols, mayBeDense).map(own), kept = true)
  }

  /** Of the rows `from until until` (from 0), of cells in any order. */
  private def stripes(name: String, parts: Iterator[Blocks], from: Long, until: Long, cols: Int, mayBeDense: Boolean): Iterator[Blocks] = {
    val cells = parts.map(_.markEphemeral()).toVector
    val bytesPerRow = 8 + 12.0 * cells.iterator.map(_.rows).sum / math.max(1L, until - from)
    val gathered = Cells.gather(cells, from, until, cols, Striping.sparseRows(cols, bytesPerRow), mayBeDense)
    cells.foreach(_.close())
    gathered.fold({ case (row, col) => throw new TwiceException(name, row, col) }, _.iterator.map(_.shared))
  }
}

/** Even ranges of rows; rows count from 0. */
private final class RowRanges(rows: Long, override val numPartitions: Int) extends Partitioner {
  private def from(range: Int): Long = (BigInt(rows) * range / numPartitions).toLong

  /** The first row of each. */
  val starts: Array[Long] = Array.tabulate(numPartitions)(from)

  def end(range: Int): Long = from(range + 1)

  override def getPartition(target: Any): Int = target.asInstanceOf[Int]
}

/** Two cells are at one place; who knows their source can say where they come from. */
private[spark] final class TwiceException(name: String, val row: Long, val col: Long)
    extends FulguriteException(
      "data", s"data error: cell ($row, $col) of '$name' stands twice\n   = help: let each cell stand once: sum up or drop the others", null)
