package io.fulgurite.spark.cells

import java.util.StringTokenizer

import io.fulgurite.core.FulguriteException
import io.fulgurite.spark.{Errors, Event}
import io.fulgurite.spark.dataset.Dataset
import io.fulgurite.spark.primitives.{BadLine, Number, Session, TextFiles}
import org.apache.spark.SparkEnv
import org.apache.spark.rdd.RDD

/** Lines of row, column and value as datasets: text files, MatrixMarket files, lines of an RDD. */
private[fulgurite] object CellLines {

  /** A text file, or a folder of them. */
  def text(session: Session, path: String, rows: Long, cols: Long): Dataset =
    read(session, TextFiles.lines(session, path), path, Size(Some(rows), Some(cols)))

  /** Lines in any order, of a matrix of which the size need not be known. */
  def lines(session: Session, lines: RDD[String], name: String, rows: Option[Long], cols: Option[Long]): Dataset =
    read(session, lines, name, Size(rows, cols))

  def matrixMarket(session: Session, path: String): Dataset = {
    val parts = TextFiles.parts(session, path)
    val header = MatrixMarketHeader.read(parts.head, parts.head.getFileSystem(session.context.hadoopConfiguration))
    val lines = TextFiles.lines(session, parts, header.bytes)
    if (header.array) ArrayLines.read(session, lines, path, header)
    else read(
      session, lines, path, Size(Some(header.rows), Some(header.cols)), header.pattern, header.symmetry, Some(header.entries),
      header.lines.toLong)
  }

  private def read(
      session: Session, lines: RDD[String], name: String, size: Size, pattern: Boolean = false, symmetry: Symmetry = Symmetry.General,
      promised: Option[Long] = None, before: Long = 0): Dataset = {
    val counts = session.counts
    val form = new CellLine(size, pattern, symmetry)
    val cells = lines.mapPartitions { part =>
      counts.add(Event(Event.SourcePartition, name, SparkEnv.get.executorId))
      new CellsOfLines(part, name, form)
    }
    try BadLine.located(lines, name, before, CellLine.Help)(form.problem)(CellSource.dataset(name, cells, size, symmetry, promised))
    catch {
      case failure: TwiceException => throw twice(lines, name, before, form, failure.row, failure.col).getOrElse(failure)
    }
  }

  /** The lines of a cell that stands twice. */
  private def twice(lines: RDD[String], name: String, before: Long, form: CellLine, row: Long, col: Long): Option[FulguriteException] =
    lines.zipWithIndex().filter { case (line, _) => form.isOf(line, row, col) }.map(_._2 + before + 1).take(2) match {
      case Array(first, second) =>
        Some(Errors.data(s"line $second of '$name': cell ($row, $col) stands in line $first, too", "let each cell stand once"))
      case _ => None
    }
}

/** What a line of a cell has to be. */
private final class CellLine(size: Size, pattern: Boolean, symmetry: Symmetry) extends Serializable {

  /** Calls `cell`, unless the line is blank, a comment or the placeholder `0 0 0` of a matrix without non-zeros; what is wrong, if anything is. */
  def read(line: String)(cell: (Long, Int, Double) => Unit): Option[String] = {
    val words = new StringTokenizer(line)
    if (!words.hasMoreTokens || line.charAt(0) == '%') None
    else {
      val found =
        try {
          val (row, col) = (words.nextToken().toLong, words.nextToken().toLong)
          val value = if (pattern) Some(1.0) else Number.parse(words.nextToken())
          if (words.hasMoreTokens) None else value.map((row, col, _))
        } catch { case _: NumberFormatException | _: NoSuchElementException => None }
      found match {
        case None => Some(if (pattern) "it is not 'row column'" else "it is not 'row column value'")
        case Some((0, 0, 0.0)) => None
        case Some((row, col, value)) =>
          val problem =
            if (symmetry == Symmetry.Skew && row == col) Some(s"cell ($row, $col) is on the diagonal of a skew-symmetric matrix")
            else CellSource.problem(row, col, size)
          if (problem.isEmpty) cell(row, col.toInt, value)
          problem
      }
    }
  }

  def problem(line: String): Option[String] = read(line)((_, _, _) => ())

  /** Whether the line gives this cell, or, where the matrix is symmetric, the one across the diagonal. */
  def isOf(line: String, row: Long, col: Long): Boolean = {
    var found = false
    read(line) { (ofRow, ofCol, _) =>
      found = (ofRow == row && ofCol == col) || (symmetry != Symmetry.General && ofRow == col && ofCol == row)
    }
    found
  }
}

private object CellLine {
  val Help = "a line is 'row column value', with rows and columns from 1"
}

private final class CellsOfLines(lines: Iterator[String], name: String, form: CellLine) extends Iterator[Cells] {
  override def hasNext: Boolean = lines.hasNext

  override def next(): Cells = {
    val buffer = new CellBuffer
    while (lines.hasNext && buffer.size < CellsOfLines.AtATime) {
      val line = lines.next()
      for (reason <- form.read(line)(buffer.add)) throw BadLine(s"line in '$name'", line, reason, CellLine.Help)
    }
    buffer.take()
  }
}

private[cells] object CellsOfLines {
  val AtATime: Int = 1 << 16
}
