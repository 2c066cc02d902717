package io.fulgurite.spark.primitives

import java.io.IOException
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Paths}
import java.util.UUID

import scala.util.control.NonFatal

import io.fulgurite.mlcontext.MatrixFrames
import io.fulgurite.spark.Blocks
import io.fulgurite.spark.binary.BlocksOutputFormat
import io.fulgurite.spark.dataset.Dataset
import io.fulgurite.spark.text.WrittenLines
import org.apache.hadoop.fs.{ChecksumFileSystem, FileSystem, Path}
import org.apache.hadoop.io.NullWritable
import org.apache.hadoop.mapreduce.lib.output.FileOutputCommitter

/** What a dataset is written as. */
sealed trait WrittenFormat

object WrittenFormat {
  final case class Csv(separator: String, header: Boolean, sparse: Boolean = false) extends WrittenFormat

  /** Lines of row, column and value. */
  case object Cells extends WrittenFormat
  case object MatrixMarket extends WrittenFormat
  case object Libsvm extends WrittenFormat

  /** Blocks as Arrow IPC streams. */
  case object Binary extends WrittenFormat

  /** Columns of numbers. */
  case object Parquet extends WrittenFormat
}

/** Datasets as folders of part files: complete or not there. */
object FileSink {

  /** @param metadata the text of the `.mtd` file beside the folder; without it there is none afterwards */
  def write(session: Session, dataset: Dataset, path: String, format: WrittenFormat, metadata: Option[String] = None): Unit =
    replace(session, path, metadata) { (files, temporary) =>
      // What comes first says how many cells or columns there are: counted, and kept for the writing.
      if (format == WrittenFormat.MatrixMarket || format == WrittenFormat.Parquet) dataset.persist()
      val header = format match {
        case WrittenFormat.MatrixMarket =>
          val size = dataset.characteristics
          Some(s"%%MatrixMarket matrix coordinate real general\n${size.rows} ${size.cols} ${size.nnz}\n")
        case _ => None
      }
      def save(first: Array[Byte], others: Array[Byte]): Unit =
        WrittenLines.save(dataset.stripes, temporary.toString, first, others, session.context.hadoopConfiguration)
      format match {
        case WrittenFormat.Csv(separator, header, sparse) => save(WrittenLines.csv(separator, header, sparse), WrittenLines.csv(separator, sparse = sparse))
        case WrittenFormat.Cells | WrittenFormat.MatrixMarket => save(WrittenLines.cells, WrittenLines.cells)
        case WrittenFormat.Libsvm => save(WrittenLines.libsvm, WrittenLines.libsvm)
        case WrittenFormat.Binary =>
          dataset.stripes.map(blocks => (NullWritable.get, blocks)).saveAsNewAPIHadoopFile(
            temporary.toString, classOf[NullWritable], classOf[Blocks], classOf[BlocksOutputFormat], session.context.hadoopConfiguration)
        case WrittenFormat.Parquet =>
          val cols = Math.toIntExact(dataset.characteristics.cols)
          MatrixFrames.toFrame(session.spark, dataset.stripes, cols, vector = false, numbered = false).write.parquet(temporary.toString)
      }
      header.foreach(put(files, new Path(temporary, Header), _))
      // A task whose speculative copy was faster may go on, and begin a file where the copy's has become a part of the folder.
      session.awaitTasks()
      files.delete(new Path(temporary, Unfinished), true)
    }

  /**
   * Lets `make` make a file or folder, and gives it the path and its `.mtd` when it is complete.
   *
   * @param metadata the text of the `.mtd` file; without it there is none afterwards
   */
  def replace(session: Session, path: String, metadata: Option[String])(make: (FileSystem, Path) => Unit): Unit =
    FileProblem.named("write", path) {
      val named = new Path(path)
      val files = named.getFileSystem(session.context.hadoopConfiguration)
      val target = place(files, named)
      if (isTree(files, target)) throw new FileProblem(s"'$path' is a folder with folders in it", "name another path, or delete the folder first")
      val (temporary, described) = (aside(target), this.described(target))
      val description = aside(described)
      try {
        make(files, temporary)
        val plain = withoutChecksums(files)
        metadata.foreach(put(plain, description, _))
        exchange(Seq(new Replacement(files, target, Some(temporary)), new Replacement(plain, described, metadata.map(_ => description))))
      } catch {
        case NonFatal(failure) =>
          // A task that still writes would make the temporary folder again.
          session.awaitTasks()
          throw failure
      } finally {
        files.delete(temporary, true)
        files.delete(description, false)
      }
    }

  /** All of them, or none; one writer at a time, so that a folder and its `.mtd` are the same writer's. */
  private def exchange(replacements: Seq[Replacement]): Unit = synchronized {
    try replacements.foreach(_.replace())
    catch {
      case NonFatal(failure) =>
        for (replacement <- replacements.reverse) {
          try replacement.undo()
          catch { case NonFatal(other) => failure.addSuppressed(other) }
        }
        throw failure
    }
    replacements.foreach(_.finish())
  }

  /**
   * Gives a path to what was made elsewhere, or to nothing. No file system exchanges two folders at once: what has the path gets another name
   * first. Until the last of these renames nothing that was there is deleted, whatever fails, or whoever is killed.
   */
  private final class Replacement(files: FileSystem, path: Path, made: Option[Path]) {
    private val former = aside(path)
    private var (isMoved, isReplaced) = (false, false)

    def replace(): Unit = {
      if (files.exists(path)) {
        rename(files, path, former)
        isMoved = true
      }
      for (made <- made) {
        rename(files, made, path)
        isReplaced = true
      }
    }

    def undo(): Unit = {
      if (isReplaced) files.delete(path, true)
      if (isMoved) rename(files, former, path)
    }

    def finish(): Unit = if (isMoved) files.delete(former, true)
  }

  /** The `.mtd` file of a file or folder. */
  def described(path: Path): Path = new Path(path.getParent, s"${path.getName}.mtd")

  /** Where a file or folder of this machine is: links are followed. What is neither is not replaced. */
  private def place(files: FileSystem, path: Path): Path =
    if (files.getUri.getScheme != "file") path
    else {
      val local = Paths.get(files.makeQualified(path).toUri.getPath)
      if (Files.exists(local) && !Files.isRegularFile(local) && !Files.isDirectory(local)) {
        throw new FileProblem(s"'$path' is a pipe or a device, and the matrix is with the workers", "name a file or folder, or raise fulgurite.memory.local")
      }
      if (Files.isSymbolicLink(local) && Files.exists(local)) new Path(local.toRealPath().toUri) else path
    }

  /** What no run has written: more than a file or a folder of part files. */
  private def isTree(files: FileSystem, path: Path): Boolean =
    path.isRoot || (files.exists(path) && files.getFileStatus(path).isDirectory &&
      files.listStatus(path).exists(status => status.isDirectory && !TextFiles.isHidden(status.getPath)))

  /** Where Hadoop keeps what tasks have not finished. */
  private val Unfinished = FileOutputCommitter.PENDING_DIR_NAME

  /** Sorts before Spark's part files. */
  private val Header = "header"

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
