package io.fulgurite.spark.primitives

import org.apache.hadoop.fs.{FileStatus, Path}

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
