package io.fulgurite.spark.primitives

import java.util.regex.Pattern

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
    val counts = session.counts
    val stripes = lines.mapPartitions { part =>
      counts.add(Event(Event.SourcePartition, name, SparkEnv.get.executorId))
      // A header stands at the top of each file, and so at the top of a partition.
      val rows = header.fold(part)(text => part.dropWhile(_ == text)).filter(_.nonEmpty)
      new StripesOfLines(rows, name, cols, format.separator)
    }
    Dataset.fromOrdered(stripes)
  }

  private[primitives] def split(line: String, separator: String): Array[String] = line.split(Pattern.quote(separator), -1)
}

private final class StripesOfLines(lines: Iterator[String], name: String, cols: Int, separator: String) extends Iterator[Blocks] {
  private val rowsPerStripe = Striping.rows(cols)

  override def hasNext: Boolean = lines.hasNext

  override def next(): Blocks = {
    val builder = new DenseBuilder(cols, 0)
    try while (lines.hasNext && builder.rows < rowsPerStripe) append(builder, lines.next())
    catch {
      case failure: Throwable =>
        builder.close()
        throw failure
    }
    Blocks.built(builder, 0)
  }

  private def append(builder: DenseBuilder, line: String): Unit = {
    val cells = CsvSource.split(line, separator)
    if (cells.length != cols) {
      throw bad(line, s"it has ${cells.length} values, not $cols")
    }
    var col = 0
    while (col < cols) {
      builder.put(number(cells(col).trim).getOrElse(throw bad(line, s"'${cells(col)}' in column ${col + 1} is not a number")))
      col += 1
    }
    builder.endRow()
  }

  private def number(text: String): Option[Double] =
    if (text.isEmpty) Some(0.0)
    // Java would read '1d' and '1f'.
    else if (text.last.isLetter && !text.endsWith("NaN") && !text.endsWith("Infinity")) None
    else text.toDoubleOption

  private def bad(line: String, reason: String): FulguriteException =
    Errors.data(s"bad line in '$name': $reason\n   | ${line.take(200)}", "correct the line, or name the right separator and header")
}

/** How many rows go into a stripe. */
object Striping {
  private val TargetBytes = 8L << 20

  /** As many rows as fill about 8 MB when dense, at least one. */
  def rows(cols: Int): Int = math.max(1L, math.min(TargetBytes / (8L * math.max(cols, 1)), 1L << 20)).toInt
}
