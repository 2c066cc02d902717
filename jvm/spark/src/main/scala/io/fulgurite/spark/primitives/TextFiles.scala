package io.fulgurite.spark.primitives

import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.hadoop.io.{LongWritable, Text}
import org.apache.hadoop.mapred.{FileInputFormat, FileSplit, JobConf, TextInputFormat}
import org.apache.spark.rdd.{HadoopRDD, RDD}

/** Files, and folders of part files, in the order of their names: no file system promises one. */
object TextFiles {

  /** The files that the path (a file, a folder or a pattern) names; hidden ones, and those that begin with `_`, are no data. */
  def parts(session: Session, path: String): Vector[Path] = {
    val parts = found(session, path)
    if (parts.isEmpty) throw new FileProblem(s"'$path' has no files", "name a file, or a folder of part files")
    parts.map(_.getPath)
  }

  /** As [[parts]], but there may be none in a folder. */
  def found(session: Session, path: String): Vector[FileStatus] = statuses(session, path).flatMap { status =>
    if (status.isDirectory) list(session, status.getPath).filter(_.isFile) else Vector(status)
  }

  /** Folders within the folders that the path names: a partitioned table. */
  def hasFolders(session: Session, path: String): Boolean =
    statuses(session, path).exists(status => status.isDirectory && list(session, status.getPath).exists(_.isDirectory))

  def lines(session: Session, path: String): RDD[String] = lines(session, parts(session, path), 0)

  /** The lines of files, one after the other; those of the first file from a byte on. */
  def lines(session: Session, parts: Seq[Path], from: Long): RDD[String] = {
    val job = new JobConf(session.context.hadoopConfiguration)
    FileInputFormat.setInputPaths(job, parts: _*)
    val records = session.context.hadoopRDD(job, classOf[TextInputFormat], classOf[LongWritable], classOf[Text], session.context.defaultMinPartitions)
    val first = parts.head.toUri.getPath
    records match {
      case files: HadoopRDD[LongWritable, Text] if from > 0 =>
        files.mapPartitionsWithInputSplit { (split, part) =>
          val inFirst = split.asInstanceOf[FileSplit].getPath.toUri.getPath == first
          part.collect { case (offset, line) if !inFirst || offset.get >= from => line.toString }
        }
      case all => all.map { case (_, line) => line.toString }
    }
  }

  private def statuses(session: Session, path: String): Vector[FileStatus] = {
    val pattern = new Path(path)
    val found = Option(pattern.getFileSystem(session.context.hadoopConfiguration).globStatus(pattern)).fold(Vector.empty[FileStatus])(_.toVector)
    if (found.isEmpty) throw FileProblem.missing(path)
    found.sortBy(_.getPath.toString)
  }

  private def list(session: Session, folder: Path): Vector[FileStatus] =
    folder.getFileSystem(session.context.hadoopConfiguration).listStatus(folder).toVector
      .filterNot(status => isHidden(status.getPath))
      .sortBy(_.getPath.getName)

  def isHidden(path: Path): Boolean = path.getName.startsWith(".") || path.getName.startsWith("_")
}
