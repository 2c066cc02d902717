package io.fulgurite.spark.cells

import io.fulgurite.core.FulguriteException
import io.fulgurite.spark.{Errors, Json}
import io.fulgurite.spark.dataset.Dataset
import io.fulgurite.spark.primitives.{Session, TextFiles}
import io.fulgurite.spark.text.{Chunk, ParsedText, TextLines}
import org.apache.spark.rdd.RDD

/** Lines of row, column and value as datasets: text files, MatrixMarket files, lines of an RDD. */
private[fulgurite] object CellLines {

  /** A text file, or a folder of them. */
  def text(session: Session, path: String, rows: Long, cols: Long): Dataset =
    read(session, TextLines.ofFiles(session, path, TextFiles.parts(session, path)), CellForm(Size(Some(rows), Some(cols))))

  /** Lines in any order, of a matrix of which the size need not be known. */
  def lines(session: Session, elements: RDD[_], name: String, rows: Option[Long], cols: Option[Long]): Dataset =
    read(session, TextLines.ofElements(elements, name), CellForm(Size(rows, cols)))

  def matrixMarket(session: Session, path: String): Dataset = {
    val parts = TextFiles.parts(session, path)
    val header = MatrixMarketHeader.read(parts.head, parts.head.getFileSystem(session.context.hadoopConfiguration))
    val lines = TextLines.ofFiles(session, path, parts, header.bytes)
    if (header.array) ArrayLines.read(session, lines, header)
    else read(session, lines, CellForm(Size(Some(header.rows), Some(header.cols)), header.pattern, header.symmetry), Some(header.entries))
  }

  private def read(session: Session, lines: TextLines, form: CellForm, promised: Option[Long] = None): Dataset = {
    val format = form.native
    val cells = lines.blocks(session, format)
    try lines.located(format)(CellSource.dataset(lines.name, cells, form.size, form.symmetry, promised))
    catch {
      case failure: TwiceException => throw twice(lines, form, failure.row, failure.col).getOrElse(failure)
    }
  }

  /** The lines of a cell that stands twice. */
  private def twice(lines: TextLines, form: CellForm, row: Long, col: Long): Option[FulguriteException] = {
    val format = form.native
    def gives(chunk: Chunk): Boolean = {
      val parsed = ParsedText(chunk, format).blocks
      try parsed.exists(Cells.have(_, row, col, form.symmetry))
      finally parsed.foreach(_.close())
    }
    Errors.ofSpark(lines.numbers(2)(gives)) match {
      case Seq(first, second) =>
        Some(Errors.data(s"line $second of '${lines.name}': cell ($row, $col) stands in line $first, too", "let each cell stand once"))
      case _ => None
    }
  }
}

/** What a line of a cell has to be. */
private final case class CellForm(size: Size, pattern: Boolean = false, symmetry: Symmetry = Symmetry.General) {

  /** As native code takes it. */
  def native: Array[Byte] = {
    val json = Json.newObject().put("kind", "cells").put("pattern", pattern).put("symmetry", symmetry.name)
    size.rows.foreach(json.put("rows", _))
    size.cols.foreach(json.put("cols", _))
    Json.bytes(json)
  }
}
