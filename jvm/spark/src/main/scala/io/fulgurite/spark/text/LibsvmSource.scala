package io.fulgurite.spark.text

import io.fulgurite.spark.{Errors, Json}
import io.fulgurite.spark.dataset.Dataset
import io.fulgurite.spark.primitives.{Session, Striping, TextFiles}
import org.apache.spark.storage.StorageLevel

/**
 * Files of lines `label index:value ...` as datasets, in the order of lines; the label is the last column. Spark's own reader sorts
 * files by size.
 */
object LibsvmSource {

  /** @param columns how many there are, with the label; otherwise the largest index tells */
  def read(session: Session, path: String, columns: Option[Long]): Dataset = {
    val lines = TextLines.ofFiles(session, path, TextFiles.parts(session, path))
    columns match {
      case Some(cols) => stripes(session, lines, cols)
      // Two passes over the text, which is read once.
      case None => lines.kept(StorageLevel.MEMORY_AND_DISK)(kept => stripes(session, kept, width(kept)))
    }
  }

  private def width(lines: TextLines): Long = {
    val format = native(None)
    Errors.ofSpark(lines.chunks.map(chunk => ParsedText(chunk, format).columns.getOrElse(1L)).fold(1)(math.max))
  }

  private def stripes(session: Session, lines: TextLines, cols: Long): Dataset = {
    val format = native(Some(Math.toIntExact(cols)))
    val notes = new LineNotes(session.context)
    val stripes = lines.located(format)(Dataset.fromSource(lines.blocks(session, format, Some(notes)), lines.name))
    notes.warnOfQueryIds(lines.name)
    TextSource.withRows(Some(stripes), lines.name)
  }

  private def native(cols: Option[Int]): Array[Byte] = {
    val json = Json.newObject().put("kind", "libsvm").put("mostRows", cols.fold(1)(Striping.mostSparseRows)).put("mostBytes", Striping.TargetBytes)
    cols.foreach(json.put("columns", _))
    Json.bytes(json)
  }
}
