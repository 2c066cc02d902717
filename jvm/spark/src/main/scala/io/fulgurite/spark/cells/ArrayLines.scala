package io.fulgurite.spark.cells

import io.fulgurite.spark.{Blocks, Errors, Json}
import io.fulgurite.spark.dataset.Dataset
import io.fulgurite.spark.primitives.Session
import io.fulgurite.spark.text.TextLines
import org.apache.spark.storage.StorageLevel

/** MatrixMarket arrays as datasets. Values stand column by column; where each belongs follows from how many stand before it. */
private[cells] object ArrayLines {

  def read(session: Session, lines: TextLines, header: MatrixMarketHeader): Dataset = {
    // Counted and then placed: kept between, so that the source is read once.
    val values = lines.blocks(session, Format).persist(StorageLevel.MEMORY_AND_DISK)
    try lines.located(Format) {
        val found = values.mapPartitions(part => Iterator.single(part.map(_.rows).sum)).collect()
        if (found.sum != header.entries) {
          throw Errors.data(s"'${lines.name}' announces ${header.entries} entries and has ${found.sum}", "the file may have been cut short: make it anew")
        }
        val starts = found.scanLeft(0L)(_ + _)
        val (rows, symmetry) = (header.rows, header.symmetry)
        val cells = values.mapPartitionsWithIndex((index, part) => new CellsOfArray(part, starts(index), rows, symmetry))
        CellSource.dataset(lines.name, cells, Size(Some(header.rows), Some(header.cols)), symmetry, mayBeDense = true)
      }
    finally values.unpersist(blocking = false)
  }

  private val Format = Json.bytes(Json.newObject().put("kind", "values"))
}

/**
 * Values with their places; zeros are left out.
 *
 * @param parts columns of values
 * @param before how many values stand before these
 */
private final class CellsOfArray(parts: Iterator[Blocks], before: Long, rows: Long, symmetry: Symmetry) extends Iterator[Blocks] {
  // From 0, until a value is there.
  private var (row, col) = {
    var (left, col) = (before, 0L)
    while (left > 0 && left >= rows - symmetry.firstRow(col)) {
      left -= rows - symmetry.firstRow(col)
      col += 1
    }
    (symmetry.firstRow(col) + left, col)
  }

  override def hasNext: Boolean = parts.hasNext

  override def next(): Blocks = Cells.built { put =>
    parts.next().read(_.foreach { view =>
      for (at <- 0 until view.rows) {
        val value = view.value(at.toLong)
        while (row >= rows) {
          col += 1
          row = symmetry.firstRow(col)
        }
        if (value != 0.0) put(row + 1, col + 1, value)
        row += 1
      }
    })
  }
}
