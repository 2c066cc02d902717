package io.fulgurite.spark.cells

import io.fulgurite.core.FulguriteException
import io.fulgurite.spark.{Blocks, Errors, Event}
import io.fulgurite.spark.dataset.Dataset
import io.fulgurite.spark.frames.Columns
import io.fulgurite.spark.primitives.Session
import io.fulgurite.spark.frames.FrameRDD
import org.apache.spark.SparkEnv
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.InternalRow

/** DataFrames of row, column (from 1) and value, in any order, as datasets. */
private[fulgurite] object CellFrames {

  /** @param fill what stands for a value that is null; without it a null is an error */
  def read(session: Session, name: String, frame: DataFrame, rows: Option[Long], cols: Option[Long], fill: Option[Double]): Dataset =
    session.named(s"read $name") {
      val prepared = Columns.prepareCells(frame)
      val (counts, form) = (session.counts, new CellRow(name, prepared.columns.names, Size(rows, cols), fill))
      val cells = FrameRDD.rows(prepared.frame).mapPartitions { part =>
        counts.add(Event(Event.SourcePartition, name, SparkEnv.get.executorId))
        new CellsOfRows(part, form)
      }
      CellSource.dataset(name, cells, Size(rows, cols))
    }
}

/** What a row of three columns has to be. */
private final class CellRow(name: String, columns: Seq[String], size: Size, fill: Option[Double]) extends Serializable {

  def read(row: InternalRow)(put: (Long, Long, Double) => Unit): Unit = {
    val (at, col) = (place(row, 0), place(row, 1))
    val value = if (!row.isNullAt(2)) row.getDouble(2) else fill.getOrElse(throw bad(s"the value of cell ($at, $col), in column '${columns(2)}', is null"))
    for (reason <- CellSource.problem(at, col, size)) throw bad(reason)
    put(at, col, value)
  }

  private def place(row: InternalRow, column: Int): Long = {
    if (row.isNullAt(column)) throw bad(s"column '${columns(column)}' holds a null")
    val number = row.getDouble(column)
    if (number != Math.rint(number)) throw bad(s"column '${columns(column)}' holds $number")
    number.toLong
  }

  private def bad(reason: String): FulguriteException =
    Errors.data(s"input '$name': $reason", "columns are row, column and value; rows and columns are whole numbers from 1")
}

private final class CellsOfRows(rows: Iterator[InternalRow], form: CellRow) extends Iterator[Blocks] {
  override def hasNext: Boolean = rows.hasNext

  override def next(): Blocks = Cells.built { put =>
    var count = 0
    while (rows.hasNext && count < CellsOfRows.AtATime) {
      form.read(rows.next())(put)
      count += 1
    }
  }
}

private object CellsOfRows {
  val AtATime: Int = 1 << 18
}
