package io.fulgurite.spark.primitives

import java.util.StringTokenizer

import io.fulgurite.spark.{Blocks, Errors, Event}
import io.fulgurite.spark.arrow.CsrBuilder
import io.fulgurite.spark.dataset.Dataset
import org.apache.spark.SparkEnv
import org.apache.spark.storage.StorageLevel

/**
 * Files of lines `label index:value ...` as datasets, in the order of lines; the label is the last column. Spark's own reader sorts
 * files by size.
 */
object LibsvmSource {

  /** @param columns how many there are, with the label; otherwise the largest index tells */
  def read(session: Session, path: String, columns: Option[Long]): Dataset = {
    val lines = TextFiles.lines(session, path)
    BadLine.located(lines, path, 0, LibsvmLine.Help)(LibsvmLine.problem(columns.getOrElse(LibsvmLine.MostColumns))) {
      columns match {
        case Some(cols) => stripes(session, path, lines, Math.toIntExact(cols))
        case None =>
          // Two passes over the text; kept between them, so that the source is read once.
          lines.persist(StorageLevel.MEMORY_AND_DISK)
          try {
            val largest = lines.map(LibsvmLine.largest).fold(0)(math.max(_, _))
            stripes(session, path, lines, largest + 1)
          } finally lines.unpersist(blocking = false)
      }
    }
  }

  private def stripes(session: Session, path: String, lines: org.apache.spark.rdd.RDD[String], cols: Int): Dataset = {
    val counts = session.counts
    val read = lines.mapPartitions { part =>
      counts.add(Event(Event.SourcePartition, path, SparkEnv.get.executorId))
      new StripesOfLibsvm(part.filterNot(LibsvmLine.isEmpty), path, cols): Iterator[Blocks]
    }
    val found = Dataset.fromSource(read, path)
    if (found.characteristics.rows == 0) {
      found.release()
      throw Errors.data(s"'$path' has no lines", "a matrix needs at least one row")
    }
    found
  }
}

private object LibsvmLine {
  val Help = "a line is 'label index:value index:value ...', with indices from 1 that ascend"
  val MostColumns: Long = Int.MaxValue.toLong

  def isEmpty(line: String): Boolean = data(line).trim.isEmpty

  /** Calls `feature(column from 0, value)` for each feature; the label. A problem is thrown as an [[IllegalArgumentException]]. */
  def parse(line: String, cols: Long)(feature: (Int, Double) => Unit): Double = {
    val words = new StringTokenizer(data(line))
    val word = words.nextToken()
    val label = Number.parse(word).getOrElse(throw new IllegalArgumentException(s"the label '$word' is not a number"))
    var before = 0L
    while (words.hasMoreTokens) {
      val word = words.nextToken()
      val colon = word.indexOf(':')
      def bad = new IllegalArgumentException(s"'$word' is not 'index:value'")
      if (colon < 1) throw bad
      val index =
        try word.substring(0, colon).toLong
        catch { case _: NumberFormatException => throw bad }
      val value = Number.parse(word.substring(colon + 1)).getOrElse(throw bad)
      if (index < 1) throw new IllegalArgumentException(s"the index $index is less than 1")
      if (index <= before) throw new IllegalArgumentException(s"the index $index comes after $before")
      if (index >= cols) throw new IllegalArgumentException(s"the index $index is beyond the ${cols - 1} features")
      before = index
      feature((index - 1).toInt, value)
    }
    label
  }

  def problem(cols: Long)(line: String): Option[String] =
    try {
      if (!isEmpty(line)) parse(line, cols)((_, _) => ())
      None
    } catch { case bad: IllegalArgumentException => Some(bad.getMessage) }

  /** The largest index, from 1. What is no line is found when it is parsed. */
  def largest(line: String): Int = {
    var index = 0
    try if (!isEmpty(line)) parse(line, MostColumns)((col, _) => index = col + 1)
    catch { case _: IllegalArgumentException => }
    index
  }

  private def data(line: String): String = line.indexOf('#') match {
    case -1 => line
    case comment => line.substring(0, comment)
  }
}

private final class StripesOfLibsvm(lines: Iterator[String], name: String, cols: Int) extends Iterator[Blocks] {
  override def hasNext: Boolean = lines.hasNext

  override def next(): Blocks = {
    val builder = new CsrBuilder(cols)
    try while (lines.hasNext && !Striping.isFull(cols, builder.rows, builder.bytes)) append(builder, lines.next())
    catch {
      case failure: Throwable =>
        builder.close()
        throw failure
    }
    Blocks.built(builder, 0)
  }

  private def append(builder: CsrBuilder, line: String): Unit = {
    val label =
      try LibsvmLine.parse(line, cols.toLong)(builder.put)
      catch { case bad: IllegalArgumentException => throw BadLine(s"line in '$name'", line, bad.getMessage, LibsvmLine.Help) }
    builder.put(cols - 1, label)
    builder.endRow()
  }
}
