package io.fulgurite.spark.primitives

import java.util.regex.Pattern

import io.fulgurite.spark.{Blocks, Errors, Event}
import io.fulgurite.spark.arrow.DenseBuilder
import io.fulgurite.spark.dataset.Dataset
import org.apache.spark.SparkEnv
import org.apache.spark.rdd.RDD

/**
 * What is said of a csv file or folder.
 *
 * @param empty what an empty cell is; an error where it is nothing
 * @param missing texts that stand for NaN
 */
final case class CsvFormat(
    separator: String, header: Boolean, columns: Option[Int], empty: Option[Double] = Some(0.0), missing: Set[String] = Set.empty)

/** Csv files, or any lines of csv, as datasets: parsed where the lines are. */
object CsvSource {

  def read(session: Session, path: String, format: CsvFormat): Dataset = fromLines(session, TextFiles.lines(session, path), path, format)

  def fromLines(session: Session, lines: RDD[String], name: String, format: CsvFormat): Dataset = {
    val first = lines.filter(_.nonEmpty).take(1).headOption.getOrElse {
      throw Errors.data(s"'$name' has no lines", "a matrix needs at least one row")
    }
    val cols = format.columns.getOrElse(split(first, format.separator).length)
    val header = if (format.header) Some(first) else None
    val (counts, form) = (session.counts, new CsvLine(cols, format))
    val stripes = lines.mapPartitions { part =>
      counts.add(Event(Event.SourcePartition, name, SparkEnv.get.executorId))
      // A header stands at the top of each file, and so at the top of a partition.
      val rows = header.fold(part)(text => part.dropWhile(_ == text)).filter(_.nonEmpty)
      new StripesOfLines(rows, name, form)
    }
    def problem(line: String): Option[String] = if (line.isEmpty || header.contains(line)) None else form.problem(line)
    BadLine.located(lines, name, 0, CsvLine.Help)(problem)(Dataset.fromSource(stripes, name))
  }

  private def split(line: String, separator: String): Array[String] = line.split(Pattern.quote(separator), -1)
}

/** What a line of csv has to be: so many numbers. */
private final class CsvLine(val cols: Int, format: CsvFormat) extends Serializable {
  private val pattern = Pattern.quote(format.separator)

  /** Why this is no such line. */
  def problem(line: String): Option[String] = {
    val cells = split(line)
    if (cells.length != cols) Some(s"it has ${cells.length} values, not $cols")
    else cells.indexWhere(number(_).isEmpty) match {
      case -1 => None
      case col if cells(col).trim.isEmpty => Some(s"the cell in column ${col + 1} is empty")
      case col => Some(s"'${cells(col)}' in column ${col + 1} is not a number")
    }
  }

  def split(line: String): Array[String] = line.split(pattern, -1)

  def number(cell: String): Option[Double] = cell.trim match {
    case "" => format.empty
    case text => Number.parse(text).orElse(if (format.missing(text)) Some(Double.NaN) else None)
  }
}

private object CsvLine {
  val Help = "correct the line, or name the right separator and header"
}

private final class StripesOfLines(lines: Iterator[String], name: String, form: CsvLine) extends Iterator[Blocks] {
  private val rowsPerStripe = Striping.rows(form.cols)

  override def hasNext: Boolean = lines.hasNext

  override def next(): Blocks = {
    val builder = new DenseBuilder(form.cols, rowsPerStripe.toLong)
    try while (lines.hasNext && builder.rows < rowsPerStripe) append(builder, lines.next())
    catch {
      case failure: Throwable =>
        builder.close()
        throw failure
    }
    Blocks.built(builder, 0)
  }

  private def append(builder: DenseBuilder, line: String): Unit = {
    val cells = form.split(line)
    def bad = BadLine(s"line in '$name'", line, form.problem(line).getOrElse(""), CsvLine.Help)
    if (cells.length != form.cols) throw bad
    cells.foreach(cell => builder.put(form.number(cell).getOrElse(throw bad)))
    builder.endRow()
  }
}
