package io.fulgurite.spark.cells

import java.util.StringTokenizer

import io.fulgurite.spark.{Errors, Event}
import io.fulgurite.spark.dataset.Dataset
import io.fulgurite.spark.primitives.{BadLine, Number, Session}
import org.apache.spark.SparkEnv
import org.apache.spark.rdd.RDD
import org.apache.spark.storage.StorageLevel

/** MatrixMarket arrays as datasets. Values stand column by column; where each belongs follows from how many stand before it. */
private object ArrayLines {

  def read(session: Session, lines: RDD[String], name: String, header: MatrixMarketHeader): Dataset = {
    val counts = session.counts
    // Counted and then placed: kept between, so that the source is read once.
    val values = lines.mapPartitions { part =>
      counts.add(Event(Event.SourcePartition, name, SparkEnv.get.executorId))
      new ValuesOfLines(part, name)
    }.persist(StorageLevel.MEMORY_AND_DISK)
    try BadLine.located(lines, name, header.lines.toLong, Help)(line => words(line).map(problem).collectFirst { case Some(reason) => reason }) {
        val found = values.mapPartitions(part => Iterator.single(part.map(_.length.toLong).sum)).collect()
        if (found.sum != header.entries) {
          throw Errors.data(s"'$name' announces ${header.entries} entries and has ${found.sum}", "the file may have been cut short: make it anew")
        }
        val starts = found.scanLeft(0L)(_ + _)
        val (rows, symmetry) = (header.rows, header.symmetry)
        val cells = values.mapPartitionsWithIndex((index, part) => new CellsOfArray(part, starts(index), rows, symmetry))
        CellSource.dataset(name, cells, Size(Some(header.rows), Some(header.cols)), symmetry, mayBeDense = true)
      }
    finally values.unpersist(blocking = false)
  }

  /** The numbers of a line, as text; a comment has none. */
  def words(line: String): Iterator[String] =
    if (line.startsWith("%")) Iterator.empty
    else {
      val words = new StringTokenizer(line)
      Iterator.continually(words).takeWhile(_.hasMoreTokens).map(_.nextToken())
    }

  def problem(word: String): Option[String] = if (Number.parse(word).isEmpty) Some(s"'$word' is not a number") else None

  val Help = "the lines of an array have the values, column by column"
}

/** Values in the order of the file, some at a time. */
private final class ValuesOfLines(lines: Iterator[String], name: String) extends Iterator[Array[Double]] {
  override def hasNext: Boolean = lines.hasNext

  override def next(): Array[Double] = {
    val values = Array.newBuilder[Double]
    var count = 0
    while (lines.hasNext && count < CellsOfLines.AtATime) {
      val line = lines.next()
      for (word <- ArrayLines.words(line)) {
        def bad = BadLine(s"line in '$name'", line, ArrayLines.problem(word).getOrElse(""), ArrayLines.Help)
        values += Number.parse(word).getOrElse(throw bad)
        count += 1
      }
    }
    values.result()
  }
}

/**
 * Values with their places; zeros are left out.
 *
 * @param before how many values stand before these
 */
private final class CellsOfArray(parts: Iterator[Array[Double]], before: Long, rows: Long, symmetry: Symmetry) extends Iterator[Cells] {
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

  override def next(): Cells = {
    val buffer = new CellBuffer
    for (value <- parts.next()) {
      while (row >= rows) {
        col += 1
        row = symmetry.firstRow(col)
      }
      if (value != 0.0) buffer.add(row + 1, Math.toIntExact(col + 1), value)
      row += 1
    }
    buffer.take()
  }
}
