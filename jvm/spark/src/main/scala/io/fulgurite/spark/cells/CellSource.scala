package io.fulgurite.spark.cells

import io.fulgurite.core.FulguriteException
import io.fulgurite.spark.{Blocks, Errors}
import io.fulgurite.spark.arrow.{BlockBuilder, CsrBuilder, DenseBuilder}
import io.fulgurite.spark.dataset.{Dataset, MadeRDD, SourceRDD}
import io.fulgurite.spark.primitives.Striping
import org.apache.spark.Partitioner
import org.apache.spark.rdd.RDD
import org.apache.spark.storage.StorageLevel

/** What is known of a matrix before its cells are. */
private[spark] final case class Size(rows: Option[Long], cols: Option[Long])

/** What a cell says of the one across the diagonal. */
private[spark] sealed abstract class Symmetry(val across: Double) extends Serializable {

  /** The first row (from 0) that an array has of a column. */
  def firstRow(col: Long): Long

  /** How many values an array has. */
  def entries(rows: Long, cols: Long): Long
}

private[spark] object Symmetry {
  case object General extends Symmetry(0) {
    override def firstRow(col: Long): Long = 0
    override def entries(rows: Long, cols: Long): Long = Math.multiplyExact(rows, cols)
  }

  case object Symmetric extends Symmetry(1) {
    override def firstRow(col: Long): Long = col
    override def entries(rows: Long, cols: Long): Long = Math.multiplyExact(rows, rows + 1) / 2
  }

  case object Skew extends Symmetry(-1) {
    override def firstRow(col: Long): Long = col + 1
    override def entries(rows: Long, cols: Long): Long = Math.multiplyExact(rows, math.max(0, rows - 1)) / 2
  }
}

/** Cells in any order as datasets: shuffled by ranges of rows, and put together as stripes there. What has no cell is 0. */
private[spark] object CellSource {

  /**
   * @param promised how many cells there have to be, where that is known
   * @param cells may come from a source that must be read once: it is persisted where it is used twice
   * @param mayBeDense whether stripes with few zeros are dense; otherwise all are CSR
   */
  def dataset(
      name: String, cells: RDD[Cells], size: Size, symmetry: Symmetry = Symmetry.General, promised: Option[Long] = None,
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

  private def measured(name: String, cells: RDD[Cells], size: Size, promised: Option[Long]): (Long, Long) = {
    val (largestRow, largestCol, count) = cells.map(part => (part.largestRow, part.largestCol.toLong, part.size.toLong))
      .fold((0L, 0L, 0L)) { case ((rowA, colA, countA), (rowB, colB, countB)) => (math.max(rowA, rowB), math.max(colA, colB), countA + countB) }
    for (announced <- promised if announced != count) {
      throw Errors.data(s"'$name' announces $announced entries and has $count", "the file may have been cut short: make it anew")
    }
    if (count == 0 && (size.rows.isEmpty || size.cols.isEmpty)) {
      throw Errors.data(s"'$name' has no cells, and nothing says how large it is", "say so: MatrixMetadata with rows and cols")
    }
    (size.rows.getOrElse(largestRow), size.cols.getOrElse(largestCol))
  }

  private def width(name: String, cols: Long): Int =
    if (cols >= 1 && cols <= Int.MaxValue) cols.toInt
    else throw Errors.unsupported(s"'$name' has $cols columns", s"a sparse matrix has between 1 and ${Int.MaxValue}")

  private def shuffled(name: String, cells: RDD[Cells], rows: Long, cols: Int, symmetry: Symmetry, mayBeDense: Boolean): RDD[Blocks] = {
    if (rows < 1) throw Errors.data(s"'$name' has $rows rows", "a matrix needs at least one")
    val targets = math.max(1L, math.min(cells.partitions.length.toLong, rows)).toInt
    val ranges = new RowRanges(rows, targets)
    val moved = cells.mapPartitions(new Spreading(_, ranges, symmetry)).partitionBy(ranges)
    new MadeRDD[(Int, Cells)](moved, (partition, part, own) =>
      new StripesOfCells(name, part.map(_._2), ranges.from(partition), ranges.from(partition + 1), cols, mayBeDense).map(own), kept = true)
  }
}

/** Even ranges of rows; rows count from 0. */
private final class RowRanges(rows: Long, override val numPartitions: Int) extends Partitioner {
  def from(partition: Int): Long = (BigInt(rows) * partition / numPartitions).toLong

  private val starts = Array.tabulate(numPartitions)(from)

  def of(row: Long): Int = {
    val found = java.util.Arrays.binarySearch(starts, row)
    if (found >= 0) found else -found - 2
  }

  override def getPartition(target: Any): Int = target.asInstanceOf[Int]
}

/** Sorts cells by the range that they belong to, some at a time. */
private final class Spreading(parts: Iterator[Cells], ranges: RowRanges, symmetry: Symmetry) extends Iterator[(Int, Cells)] {
  private val buffers = Array.fill(ranges.numPartitions)(new CellBuffer)
  private val limit = math.max(1 << 10, (1 << 20) / ranges.numPartitions)
  private val full = scala.collection.mutable.Queue.empty[(Int, Cells)]

  override def hasNext: Boolean = {
    while (full.isEmpty && parts.hasNext) spread(parts.next())
    if (full.isEmpty) for (target <- buffers.indices if !buffers(target).isEmpty) full += (target -> buffers(target).take())
    full.nonEmpty
  }

  override def next(): (Int, Cells) = {
    if (!hasNext) throw new NoSuchElementException
    full.dequeue()
  }

  private def spread(cells: Cells): Unit = {
    var at = 0
    while (at < cells.size) {
      val (row, col, value) = (cells.rows(at), cells.cols(at), cells.values(at))
      add(row, col, value)
      if (symmetry.across != 0 && row != col) add(col.toLong, row.toInt, symmetry.across * value)
      at += 1
    }
  }

  private def add(row: Long, col: Int, value: Double): Unit = {
    val target = ranges.of(row - 1)
    val buffer = buffers(target)
    buffer.add(row, col, value)
    if (buffer.size == limit) full += (target -> buffer.take())
  }
}

/** Stripes of the rows `from until until` (from 0), of cells in any order. */
private final class StripesOfCells(name: String, parts: Iterator[Cells], from: Long, until: Long, cols: Int, mayBeDense: Boolean)
    extends Iterator[Blocks] {
  private lazy val buckets = {
    val all = parts.toVector
    val perRow = 8 + 12.0 * all.iterator.map(_.size.toLong).sum / math.max(1L, until - from)
    new Buckets(all, from, until, Striping.sparseRows(cols, perRow))
  }
  private var stripe = 0

  override def hasNext: Boolean = stripe < buckets.count

  override def next(): Blocks = {
    val (first, cells) = buckets.take(stripe)
    val rows = buckets.rows(stripe)
    stripe += 1
    if (mayBeDense && cells.size >= StripesOfCells.Dense * rows * cols) built(new DenseBuilder(cols, rows.toLong), first) { dense =>
      val row = new Array[Double](cols)
      fill(first, rows, cells)(row.update) {
        dense.put(row)
        dense.endRow()
        java.util.Arrays.fill(row, 0.0)
      }
    } else built(new CsrBuilder(cols), first)(csr => fill(first, rows, cells)(csr.put)(csr.endRow()))
  }

  private def built[B <: BlockBuilder](builder: B, first: Long)(fill: B => Unit): Blocks = {
    try fill(builder)
    catch {
      case failure: Throwable =>
        builder.close()
        throw failure
    }
    Blocks.built(builder, first)
  }

  /** Calls `put` for the cells of each row, in the order of columns (from 0), and `endRow` after it. */
  private def fill(first: Long, rows: Int, cells: CellBuffer)(put: (Int, Double) => Unit)(endRow: => Unit): Unit = {
    val ends = new Array[Int](rows + 1)
    for (at <- 0 until cells.size) ends((cells.row(at) - 1 - first).toInt + 1) += 1
    for (row <- 0 until rows) ends(row + 1) += ends(row)
    // Columns with the places of their values, row by row, to be sorted.
    val placed = new Array[Long](cells.size)
    val next = ends.clone()
    for (at <- 0 until cells.size) {
      val row = (cells.row(at) - 1 - first).toInt
      placed(next(row)) = (cells.col(at).toLong << 32) | at
      next(row) += 1
    }
    for (row <- 0 until rows) {
      java.util.Arrays.sort(placed, ends(row), ends(row + 1))
      var before = 0L
      for (place <- ends(row) until ends(row + 1)) {
        val col = placed(place) >>> 32
        if (col == before) throw new TwiceException(name, first + row + 1, col)
        before = col
        put((col - 1).toInt, cells.value(placed(place).toInt))
      }
      endRow
    }
  }
}

private object StripesOfCells {
  /** The share of cells from which on native code prefers dense matrices. */
  val Dense = 0.4
}

/** Two cells are at one place; who knows their source can say where they come from. */
private[spark] final class TwiceException(name: String, val row: Long, val col: Long)
    extends FulguriteException(
      "data", s"data error: cell ($row, $col) of '$name' stands twice\n   = help: let each cell stand once: sum up or drop the others", null)

/** The cells of each stripe of a range of rows. */
private final class Buckets(parts: Vector[Cells], from: Long, until: Long, height: Int) {
  val count: Int = Math.toIntExact((until - from + height - 1) / height)
  private val buckets = Array.fill[CellBuffer](count)(null)
  for (part <- parts; at <- 0 until part.size) {
    val stripe = ((part.rows(at) - 1 - from) / height).toInt
    if (buckets(stripe) == null) buckets(stripe) = new CellBuffer
    buckets(stripe).add(part.rows(at), part.cols(at), part.values(at))
  }

  def rows(stripe: Int): Int = math.min(height.toLong, until - from - stripe.toLong * height).toInt

  /** The first row, and the cells, once. */
  def take(stripe: Int): (Long, CellBuffer) = {
    val cells = Option(buckets(stripe)).getOrElse(new CellBuffer)
    buckets(stripe) = null
    (from + stripe.toLong * height, cells)
  }
}
