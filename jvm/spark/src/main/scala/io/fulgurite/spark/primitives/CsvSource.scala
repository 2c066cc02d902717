package io.fulgurite.spark.primitives

import java.util.regex.Pattern

import scala.util.Try

import io.fulgurite.core.FulguriteException
import io.fulgurite.spark.{Blocks, Errors, Event}
import io.fulgurite.spark.arrow.DenseBuilder
import io.fulgurite.spark.dataset.Dataset
import org.apache.hadoop.fs.Path
import org.apache.spark.SparkEnv
import org.apache.spark.rdd.RDD

/** What is said of a csv file or folder. */
final case class CsvFormat(separator: String, header: Boolean, columns: Option[Int])

/** Csv files, or any lines of csv, as datasets: parsed where the lines are. */
object CsvSource {

  def read(session: Session, path: String, format: CsvFormat): Dataset = {
    val hadoopPath = new Path(path)
    val files = hadoopPath.getFileSystem(session.context.hadoopConfiguration)
    if (files.globStatus(hadoopPath) == null || files.globStatus(hadoopPath).isEmpty) {
      throw Errors.io(s"'$path' is not there", "check the path; the executors need to see it, too")
    }
    fromLines(session, session.context.textFile(path), path, format)
  }

  def fromLines(session: Session, lines: RDD[String], name: String, format: CsvFormat): Dataset = {
    val first = lines.filter(_.nonEmpty).take(1).headOption.getOrElse {
      throw Errors.data(s"'$name' has no lines", "a matrix needs at least one row")
    }
    val cols = format.columns.getOrElse(split(first, format.separator).length)
    val header = if (format.header) Some(first) else None
    val (counts, form) = (session.counts, new CsvLine(cols, format.separator))
    val stripes = lines.mapPartitions { part =>
      counts.add(Event(Event.SourcePartition, name, SparkEnv.get.executorId))
      // A header stands at the top of each file, and so at the top of a partition.
      val rows = header.fold(part)(text => part.dropWhile(_ == text)).filter(_.nonEmpty)
      new StripesOfLines(rows, name, form)
    }
    try Dataset.fromOrdered(stripes)
    catch {
      case bad: FulguriteException if bad.kind == "data" => throw located(lines, name, form, header).getOrElse(bad)
    }
  }

  /** Tasks know a bad line, but not how many lines stand before their partition: only an error is worth finding that out. */
  private def located(lines: RDD[String], name: String, form: CsvLine, header: Option[String]): Option[FulguriteException] =
    lines.zipWithIndex().filter { case (line, _) => line.nonEmpty && !header.contains(line) && form.problem(line).nonEmpty }
      .take(1).headOption.map { case (line, index) => CsvLine.bad(s"line ${index + 1} of '$name'", line, form.problem(line).getOrElse("")) }

  private def split(line: String, separator: String): Array[String] = line.split(Pattern.quote(separator), -1)
}

/** What a line of csv has to be: so many numbers. An empty cell is 0. */
private final class CsvLine(val cols: Int, separator: String) extends Serializable {
  private val pattern = Pattern.quote(separator)

  /** Why this is no such line. */
  def problem(line: String): Option[String] = {
    val cells = split(line)
    if (cells.length != cols) Some(s"it has ${cells.length} values, not $cols")
    else cells.indexWhere(number(_).isEmpty) match {
      case -1 => None
      case col => Some(s"'${cells(col)}' in column ${col + 1} is not a number")
    }
  }

  def split(line: String): Array[String] = line.split(pattern, -1)

  def number(cell: String): Option[Double] = cell.trim match {
    case "" => Some(0.0)
    // Java would read '1d' and '1f'.
    case text if text.last.isLetter && !text.endsWith("NaN") && !text.endsWith("Infinity") => None
    case text => Try(text.toDouble).toOption
  }
}

private object CsvLine {
  def bad(place: String, line: String, reason: String): FulguriteException =
    Errors.data(s"bad $place: $reason\n   | ${line.take(200)}", "correct the line, or name the right separator and header")
}

private final class StripesOfLines(lines: Iterator[String], name: String, form: CsvLine) extends Iterator[Blocks] {
  private val rowsPerStripe = Striping.rows(form.cols)

  override def hasNext: Boolean = lines.hasNext

  override def next(): Blocks = {
    val builder = new DenseBuilder(form.cols)
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
    def bad = CsvLine.bad(s"line in '$name'", line, form.problem(line).getOrElse(""))
    if (cells.length != form.cols) throw bad
    cells.foreach(cell => builder.put(form.number(cell).getOrElse(throw bad)))
    builder.endRow()
  }
}

/** How many rows go into a stripe. */
object Striping {
  private val TargetBytes = 8L << 20

  /** As many rows as fill about 8 MB when dense, at least one. */
  def rows(cols: Int): Int = math.max(1L, math.min(TargetBytes / (8L * math.max(cols, 1)), 1L << 20)).toInt
}
