package io.fulgurite.spark.cells

import com.fasterxml.jackson.databind.JsonNode
import io.fulgurite.core.Native
import io.fulgurite.spark.{Blocks, Json}
import io.fulgurite.spark.arrow.{BlockView, DenseBuilder, Library}

/** Cells on their way to their stripe: blocks of which each row is row and column, from 1, and value. */
private[spark] object Cells {

  /** How many there are, and the largest row and column. */
  final case class Extent(count: Long, row: Long, col: Long) {
    def and(other: Extent): Extent = Extent(count + other.count, math.max(row, other.row), math.max(col, other.col))
  }

  val Nothing: Extent = Extent(0, 0, 0)

  def extent(cells: Blocks): Extent = {
    var (row, col) = (0.0, 0.0)
    each(cells) { (ofRow, ofCol) =>
      if (ofRow > row) row = ofRow
      if (ofCol > col) col = ofCol
    }
    Extent(cells.rows, row.toLong, col.toLong)
  }

  /** Whether one is this cell, or, where the matrix is symmetric, the one across the diagonal. */
  def have(cells: Blocks, row: Long, col: Long, symmetry: Symmetry): Boolean = {
    var found = false
    each(cells) { (ofRow, ofCol) =>
      found ||= (ofRow == row && ofCol == col) || (symmetry != Symmetry.General && ofRow == col && ofCol == row)
    }
    found
  }

  /** What `fill` puts, as row, column and value; the caller's to close. */
  def built(fill: ((Long, Long, Double) => Unit) => Unit): Blocks = {
    val builder = new DenseBuilder(3)
    try fill { (row, col, value) =>
        builder.put(row.toDouble)
        builder.put(col.toDouble)
        builder.put(value)
        builder.endRow()
      }
    catch {
      case failure: Throwable =>
        builder.close()
        throw failure
    }
    Blocks.built(builder, 0)
  }

  /** The cells of each range of rows, by its number; they belong to the task. */
  def spread(cells: Blocks, starts: Array[Long], symmetry: Symmetry): Iterator[(Int, Blocks)] = {
    Library.ensureLoaded()
    val how = Json.newObject().put("symmetry", symmetry.name)
    val json = how.putArray("starts")
    starts.foreach(json.add(_))
    val parts = cells.withHandle(Native.spreadCells(Json.bytes(how), _))
    val ranges = parts.indices.filter(parts(_) != 0)
    ranges.iterator.zip(Blocks.ofTask(ranges.map(parts(_))).iterator)
  }

  /** Stripes of the cells of a range of rows; they belong to the task. What stands twice is the error. */
  def gather(cells: Seq[Blocks], from: Long, until: Long, cols: Int, height: Int, mayBeDense: Boolean): Either[(Long, Long), Seq[Blocks]] = {
    Library.ensureLoaded()
    val how = Json.newObject().put("from", from).put("until", until).put("cols", cols).put("height", height).put("mayBeDense", mayBeDense)
    val reply: JsonNode = Json.parse(Blocks.withHandles(cells)(Native.gatherCells(Json.bytes(how), _)))
    Option(reply.get("twice")) match {
      case Some(place) => Left((place.get(0).asLong, place.get(1).asLong))
      case None => Right(Blocks.ofTask(Json.elements(reply.get("handles")).map(_.asLong)))
    }
  }

  private def each(cells: Blocks)(use: (Double, Double) => Unit): Unit = cells.read(_.foreach { (view: BlockView) =>
    var at = 0L
    while (at < view.rows) {
      use(view.value(3 * at), view.value(3 * at + 1))
      at += 1
    }
  })
}
