package io.fulgurite.spark.primitives

import java.io.IOException
import java.nio.charset.StandardCharsets.UTF_8
import java.util.UUID

import io.fulgurite.spark.{Blocks, Errors}
import io.fulgurite.spark.binary.BlocksOutputFormat
import io.fulgurite.spark.dataset.Dataset
import org.apache.hadoop.fs.{ChecksumFileSystem, FileSystem, Path}
import org.apache.hadoop.io.NullWritable
import org.apache.spark.SparkException
import org.apache.spark.rdd.RDD

/** What a dataset is written as. */
sealed trait WrittenFormat

object WrittenFormat {
  final case class Csv(separator: String, header: Boolean) extends WrittenFormat

  /** Lines of row, column and value. */
  case object Cells extends WrittenFormat
  case object MatrixMarket extends WrittenFormat
  case object Libsvm extends WrittenFormat

  /** Blocks as Arrow IPC streams. */
  case object Binary extends WrittenFormat
}

/** Datasets as folders of part files: complete or not there. */
object FileSink {

  /** @param metadata the text of the `.mtd` file beside the folder; without it there is none afterwards */
  def write(session: Session, dataset: Dataset, path: String, format: WrittenFormat, metadata: Option[String] = None): Unit = {
    val target = new Path(path)
    val files = target.getFileSystem(session.context.hadoopConfiguration)
    val (temporary, described) = (aside(target), new Path(target.getParent, s"${target.getName}.mtd"))
    val description = aside(described)
    try {
      // Its header says how many cells there are: counted, and kept for the writing.
      if (format == WrittenFormat.MatrixMarket) dataset.persist()
      val header = format match {
        case WrittenFormat.MatrixMarket =>
          val size = dataset.characteristics
          Some(s"%%MatrixMarket matrix coordinate real general\n${size.rows} ${size.cols} ${size.nnz}\n")
        case _ => None
      }
      lines(dataset, format) match {
        case Some(text) => text.saveAsTextFile(temporary.toString)
        case None =>
          dataset.stripes.map(blocks => (NullWritable.get, blocks)).saveAsNewAPIHadoopFile(
            temporary.toString, classOf[NullWritable], classOf[Blocks], classOf[BlocksOutputFormat], session.context.hadoopConfiguration)
      }
      header.foreach(put(files, new Path(temporary, Header), _))
      val plain = withoutChecksums(files)
      metadata.foreach(put(plain, description, _))
      files.delete(target, true)
      rename(files, temporary, target)
      plain.delete(described, false)
      if (metadata.nonEmpty) rename(plain, description, described)
    } catch {
      case failure @ (_: IOException | _: SparkException) =>
        // A task that still writes would make the temporary folder again.
        session.awaitTasks()
        throw Errors.find(failure).getOrElse(Errors.io(s"cannot write '$path': ${Errors.reason(failure)}", "check that its folder can be written to"))
    } finally {
      files.delete(temporary, true)
      files.delete(description, false)
    }
  }

  /** Sorts before Spark's part files. */
  private val Header = "header"

  /** None where it becomes no text. */
  private def lines(dataset: Dataset, format: WrittenFormat): Option[RDD[String]] = format match {
    case WrittenFormat.Csv(separator, header) =>
      val rows = Lines.csv(dataset.stripes, separator)
      Some(if (header) rows.mapPartitions(withHeader(_, separator)) else rows)
    case WrittenFormat.Cells | WrittenFormat.MatrixMarket => Some(Lines.cells(dataset.stripes))
    case WrittenFormat.Libsvm => Some(Lines.libsvm(dataset.stripes))
    case WrittenFormat.Binary => None
  }

  private def withHeader(lines: Iterator[String], separator: String): Iterator[String] = {
    val rows = lines.buffered
    if (rows.isEmpty) rows
    else {
      val cols = rows.head.split(java.util.regex.Pattern.quote(separator), -1).length
      Iterator.single((1 to cols).map(col => s"C$col").mkString(separator)) ++ rows
    }
  }

  private def aside(path: Path): Path = new Path(path.getParent, s".${path.getName}.${UUID.randomUUID}")

  private def put(files: FileSystem, path: Path, text: String): Unit = {
    val out = files.create(path)
    try out.write(text.getBytes(UTF_8))
    finally out.close()
  }

  private def rename(files: FileSystem, from: Path, to: Path): Unit =
    if (!files.rename(from, to)) throw new IOException(s"'$from' could not be renamed")

  /** Native code, which knows of no checksum files, may replace an `.mtd` file later. */
  private def withoutChecksums(files: FileSystem): FileSystem = files match {
    case checked: ChecksumFileSystem => checked.getRawFileSystem
    case other => other
  }
}
