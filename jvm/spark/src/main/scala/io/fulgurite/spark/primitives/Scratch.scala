package io.fulgurite.spark.primitives

import java.io.{File, IOException}
import java.nio.file.{FileSystemException, Files, Path => LocalPath}
import java.nio.file.attribute.PosixFilePermissions
import java.util.UUID

import scala.util.Try
import scala.util.control.NonFatal

import io.fulgurite.core.Shown
import io.fulgurite.mlcontext.Settings
import io.fulgurite.spark.Errors
import org.apache.hadoop.fs.{FSDataInputStream, FSDataOutputStream, FSError, FileSystem, Path}
import org.apache.hadoop.fs.permission.FsPermission
import org.apache.spark.SparkContext
import org.apache.spark.fulgurite.Internals
import org.apache.spark.util.SerializableConfiguration
import org.slf4j.LoggerFactory

/** A folder for files that executors write and the driver reads, for one use. Closing it deletes it with all that is in it. */
private[spark] final class Scratch private (folder: String, configuration: SerializableConfiguration) extends AutoCloseable with Serializable {
  def path: String = folder

  /** A new file, and its path. Not after the folder is gone: who writes then is a task that nobody waits for. */
  def create(name: String): (String, FSDataOutputStream) = writing {
    val path = new Path(folder, name)
    (path.toString, files.createFile(path).overwrite(false).build())
  }

  def open(path: String): FSDataInputStream = reading(files.open(new Path(path)))

  def delete(path: String): Unit = attempt(files.delete(new Path(path), false))

  def writing[A](work: => A): A = Scratch.named(s"cannot write to '$folder'")(work)
  def reading[A](work: => A): A = Scratch.named(s"cannot read what executors wrote to '$folder'")(work)

  override def close(): Unit = attempt {
    val path = new Path(folder)
    files.delete(path, true)
    files.cancelDeleteOnExit(path)
  }

  private def files: FileSystem = new Path(folder).getFileSystem(configuration.value)

  /** What cannot be deleted is deleted when the process exits. */
  private def attempt(work: => Any): Unit =
    try { work; () }
    catch { case NonFatal(failure) => LoggerFactory.getLogger(getClass).warn(Shown.text(s"files in '$folder' are not deleted yet: $failure")) }
}

private[spark] object Scratch {

  /** A new folder; none where nobody has said which file system the driver and the executors share. */
  def make(context: SparkContext, configured: Option[String]): Option[Scratch] =
    configured.map(new Path(_)).orElse(default(context)).map { base =>
      named(s"cannot make a folder in '$base'") {
        val configuration = context.hadoopConfiguration
        val files = base.getFileSystem(configuration)
        val folder = files.makeQualified(new Path(base, newName()))
        // Hadoop would start a process for the permissions.
        if (folder.toUri.getScheme == "file") makeLocal(LocalPath.of(folder.toUri))
        else if (!FileSystem.mkdirs(files, folder, new FsPermission("700"))) throw new IOException("the file system refuses")
        files.deleteOnExit(folder)
        new Scratch(folder.toString, new SerializableConfiguration(configuration))
      }
    }

  /** A new folder of the driver's machine, for one file on its way to or from another file system. Whoever asks deletes it. */
  def here(context: SparkContext): LocalPath = {
    val base = new File(Internals.localFolders(context.getConf).head)
    named(s"cannot make a folder in '$base'") {
      val folder = base.toPath.toAbsolutePath.resolve(newName())
      makeLocal(folder)
      folder
    }
  }

  /** What to do about a matrix that takes more than may come in the results of tasks. */
  val Advice: String =
    s"let spark.${Settings.Scratch} name a folder with room for the matrix, to which the driver and all executors can write; or raise " +
      s"spark.${Settings.TransferMemory} (and spark.driver.maxResultSize to twice that), up to which matrices come through the driver's heap"

  private def default(context: SparkContext): Option[Path] = {
    val shared = FileSystem.get(context.hadoopConfiguration)
    if (context.master.startsWith("local")) {
      val base = new File(Internals.localFolders(context.getConf).head)
      sweep(base)
      Some(new Path(base.toURI))
    } else if (shared.getUri.getScheme == "file") None
    else Some(new Path(shared.getHomeDirectory, ".fulgurite"))
  }

  /** Deletes folders that killed drivers of this machine have left. A process id may be another container's: they have to be old, too. */
  private[spark] def sweep(base: File): Unit = {
    val longAgo = System.currentTimeMillis - LeftAfterMilliseconds
    for (folder <- Option(base.listFiles).toSeq.flatten if folder.lastModified < longAgo && folder.isDirectory) folder.getName match {
      case Left(process) if Try(!ProcessHandle.of(process.toLong).isPresent).getOrElse(false) => delete(folder)
      case _ =>
    }
  }

  private[primitives] def delete(file: File): Unit = {
    if (file.isDirectory && !Files.isSymbolicLink(file.toPath)) Option(file.listFiles).toSeq.flatten.foreach(delete)
    file.delete()
  }

  private def makeLocal(folder: LocalPath): Unit = {
    Files.createDirectories(folder.getParent)
    Files.createDirectory(folder, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")))
  }

  /** Hadoop's local file system reports a full disk as an Error. */
  private def named[A](what: String)(work: => A): A =
    try work
    catch {
      case failure @ (_: IOException | _: FSError) =>
        throw Errors.find(failure).getOrElse(Errors.io(s"$what: ${reason(failure)}", Advice))
    }

  private def reason(failure: Throwable): String = failure match {
    // Its message is the path alone.
    case bare: FileSystemException => s"${bare.getClass.getSimpleName}: ${bare.getMessage}"
    case other => Errors.reason(other)
  }

  private def newName(): String = s"$Prefix${ProcessHandle.current.pid}-${UUID.randomUUID}"

  private val Prefix = "fulgurite-transfer-"
  private val Left = s"$Prefix(\\d+)-.*".r
  private val LeftAfterMilliseconds = 24L * 60 * 60 * 1000
}
