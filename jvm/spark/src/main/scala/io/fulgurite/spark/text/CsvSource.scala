package io.fulgurite.spark.text

import io.fulgurite.spark.{Errors, Json}
import io.fulgurite.spark.dataset.Dataset
import io.fulgurite.spark.primitives.{Session, Striping, TextFiles}
import org.apache.spark.rdd.RDD

/**
 * What is said of a csv file or folder.
 *
 * @param empty what an empty cell is, as text; an error where it is nothing
 * @param missing texts that stand for NaN
 * @param warnsOfEmpty whether a warning says how many cells are empty
 */
final case class CsvFormat(
    separator: String, header: Boolean, columns: Option[Int], empty: Option[String] = Some("0"), missing: Seq[String] = Seq.empty,
    warnsOfEmpty: Boolean = false)

/** Csv files, or any lines of csv, as datasets: native code parses them where they are. */
object CsvSource {

  def read(session: Session, path: String, format: CsvFormat): Dataset =
    fromLines(session, TextLines.ofFiles(session, path, TextFiles.parts(session, path), header = format.header), format)

  /** Lines that are elements, of which none is a header. */
  def fromElements(session: Session, elements: RDD[_], name: String, format: CsvFormat): Dataset =
    fromLines(session, TextLines.ofElements(elements, name), format)

  private def fromLines(session: Session, lines: TextLines, format: CsvFormat): Dataset = {
    val cols = format.columns.orElse(Errors.ofSpark(lines.first(native(format, None))(_.columns)).map(Math.toIntExact))
    val notes = new LineNotes(session.context)
    val stripes = cols.map(native(format, _)).map(each => lines.located(each)(Dataset.fromSource(lines.blocks(session, each, Some(notes)), lines.name)))
    if (format.warnsOfEmpty) notes.warnOfEmptyCells(lines.name)
    TextSource.withRows(stripes, lines.name)
  }

  private def native(format: CsvFormat, cols: Int): Array[Byte] = native(format, Some(cols))

  private def native(format: CsvFormat, cols: Option[Int]): Array[Byte] = {
    val json = Json.newObject().put("kind", "csv").put("separator", format.separator)
      .put("fill", format.empty.nonEmpty).put("default", format.empty.getOrElse("0")).put("mostRows", cols.fold(1)(Striping.rows))
    cols.foreach(json.put("columns", _))
    val missing = json.putArray("naStrings")
    format.missing.foreach(missing.add)
    Json.bytes(json)
  }
}
