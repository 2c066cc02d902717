package io.fulgurite.spark.text

import io.fulgurite.core.{FulguriteException, Shown}
import io.fulgurite.spark.{Blocks, Errors, Event}
import io.fulgurite.spark.primitives.Session
import org.apache.hadoop.fs.Path
import org.apache.hadoop.io.{LongWritable, Text}
import org.apache.hadoop.mapred.{FileInputFormat, FileSplit, JobConf, TextInputFormat}
import org.apache.spark.SparkEnv
import org.apache.spark.rdd.{HadoopRDD, RDD}

/**
 * Lines of text in the order of their source, in chunks that native code parses. Lines that are no data are marked, so that all are counted.
 *
 * @param name what errors call the source
 * @param inChunks of so many bytes
 */
private[spark] final class TextLines private (val name: String, inChunks: Int => RDD[Chunk]) {

  def chunks: RDD[Chunk] = inChunks(LineChunks.Bytes)

  /** What `of` says of the first lines of which it says something. */
  def first[A](format: Array[Byte])(of: ParsedText => Option[A]): Option[A] =
    inChunks(TextLines.Look).mapPartitions(_.flatMap(chunk => of(ParsedText(chunk, format))).map(found => Seq(found))).take(1).headOption.map(_.head)

  /** The lines, kept in chunks until `use` is done: they are read once. */
  def kept[A](level: org.apache.spark.storage.StorageLevel)(use: TextLines => A): A = {
    val kept = chunks.map(_.copy).persist(level)
    try use(new TextLines(name, _ => kept))
    finally kept.unpersist(blocking = false)
  }

  /** What the lines become. */
  def blocks(session: Session, format: Array[Byte], notes: Option[LineNotes] = None): RDD[Blocks] = {
    val (counts, name) = (session.counts, this.name)
    chunks.mapPartitions { part =>
      counts.add(Event(Event.SourcePartition, Shown.text(name), SparkEnv.get.executorId))
      new BlocksOfLines(part, name, format, notes)
    }
  }

  /** Runs `work`; where it fails because of a line, says which one it is. Tasks do not know: only an error is worth counting the lines before. */
  def located[A](format: Array[Byte])(work: => A): A =
    try Errors.ofSpark(work)
    catch {
      case bad: FulguriteException if bad.kind == "data" => throw Errors.ofSpark(problem(format)).fold(bad)(_.error(name))
    }

  /** The first line that is wrong. */
  private def problem(format: Array[Byte]): Option[LineProblem] = {
    val parts = chunks.mapPartitions { part =>
      var (lines, problem) = (0L, Option.empty[LineProblem])
      while (problem.isEmpty && part.hasNext) {
        val parsed = ParsedText(part.next(), format)
        parsed.blocks.foreach(_.close())
        problem = parsed.problem.map(found => found.copy(line = lines + found.line))
        lines += parsed.lines
      }
      Iterator.single((lines, problem))
    }.collect()
    val before = parts.scanLeft(0L)(_ + _._1)
    parts.zip(before).collectFirst { case ((_, Some(found)), lines) => found.copy(line = lines + found.line) }
  }

  /** The numbers, from 1, of the first lines for which `gives` holds, which holds for a chunk if it does for one of its lines. */
  def numbers(most: Int)(gives: Chunk => Boolean): Seq[Long] = {
    val parts = chunks.mapPartitions { part =>
      var lines = 0L
      val found = Seq.newBuilder[Long]
      for (chunk <- part) {
        val each = TextLines.split(chunk)
        if (gives(chunk)) for ((line, index) <- each.zipWithIndex if gives(line)) found += lines + index + 1
        lines += each.size
      }
      Iterator.single((lines, found.result().take(most)))
    }.collect()
    val before = parts.scanLeft(0L)(_ + _._1)
    parts.toSeq.zip(before).flatMap { case ((_, found), lines) => found.map(_ + lines) }.take(most)
  }
}

private[spark] object TextLines {
  /** Bytes that a look at the first lines reads. */
  private val Look = 1 << 16

  /** Those of files, one after the other; of the first one those from a byte on. With a header, the first line of each that is that of the first one is no data. */
  def ofFiles(session: Session, name: String, parts: Seq[Path], from: Long = 0, header: Boolean = false): TextLines = {
    val job = new JobConf(session.context.hadoopConfiguration)
    // Another delimiter would make records of several lines.
    job.unset("textinputformat.record.delimiter")
    FileInputFormat.setInputPaths(job, parts: _*)
    val records = session.context.hadoopRDD(job, classOf[TextInputFormat], classOf[LongWritable], classOf[Text], session.context.defaultMinPartitions)
      .asInstanceOf[HadoopRDD[LongWritable, Text]]
    val first = parts.head.toUri.getPath
    val heading = if (header) Errors.ofSpark(records.map { case (_, line) => line.copyBytes }.take(1)).headOption else None
    new TextLines(name, most => records.mapPartitionsWithInputSplit { (split, part) =>
      val file = split.asInstanceOf[FileSplit]
      val inFirst = file.getPath.toUri.getPath == first
      def isHeading(offset: Long, line: Text) =
        offset == 0 && heading.exists(bytes => java.util.Arrays.equals(bytes, 0, bytes.length, line.getBytes, 0, line.getLength))
      new LineChunks(
        part.map { case (offset, line) => if ((inFirst && offset.get < from) || isHeading(offset.get, line)) NoData else line },
        most)
    })
  }

  /** Those that elements have as text, one each. */
  def ofElements(elements: RDD[_], name: String): TextLines =
    new TextLines(name, most => elements.mapPartitions { part =>
      val line = new Text
      new LineChunks(part.map { element => line.set(text(element, name)); line }, most)
    })

  private def text(element: Any, name: String): String = {
    if (element == null) throw Errors.data(s"an element of '$name' is null", "leave such elements out")
    val line = element.toString.stripLineEnd
    if (line.exists(character => character == '\n' || character == '\r')) {
      throw Errors.data(s"an element of '$name' has several lines: ${line.take(200)}", "make an element of each line: flatMap(_.linesIterator)")
    }
    line
  }

  /** Native code skips it, also where a blank line is a row. No line of a file or an element has a carriage return. */
  private def NoData: Text = new Text("\r")

  /** Each line as a chunk. */
  private def split(chunk: Chunk): Seq[Chunk] = {
    val lines = Seq.newBuilder[Chunk]
    var from = 0
    for (at <- 0 until chunk.length if chunk.bytes(at) == '\n') {
      lines += new Chunk(java.util.Arrays.copyOfRange(chunk.bytes, from, at + 1), at + 1 - from)
      from = at + 1
    }
    lines.result()
  }
}

/** What chunks become, chunk by chunk. What waits to be taken belongs to the task. */
private final class BlocksOfLines(chunks: Iterator[Chunk], name: String, format: Array[Byte], notes: Option[LineNotes]) extends Iterator[Blocks] {
  private var parsed = Seq.empty[Blocks]

  override def hasNext: Boolean = {
    while (parsed.isEmpty && chunks.hasNext) {
      val text = ParsedText(chunks.next(), format)
      for (problem <- text.problem) throw problem.in(name)
      notes.foreach(_.add(text))
      parsed = text.blocks
    }
    parsed.nonEmpty
  }

  override def next(): Blocks = {
    if (!hasNext) throw new NoSuchElementException
    val blocks = parsed.head
    parsed = parsed.tail
    blocks.shared
  }
}
