package io.fulgurite.spark.primitives

import java.io.FileNotFoundException
import java.net.UnknownHostException
import java.nio.file.AccessDeniedException

import scala.util.control.NonFatal

import io.fulgurite.core.FulguriteException
import io.fulgurite.spark.Errors
import org.apache.hadoop.fs.{Path, UnsupportedFileSystemException}
import org.apache.hadoop.security.AccessControlException

/** What is wrong with a file that the script names. It becomes an error of the statement that names it. */
private[spark] final class FileProblem(val reason: String, val help: String)
    extends FulguriteException("io", s"io error: $reason\n   = help: $help", null)

private[spark] object FileProblem {

  /** Runs what a file system does on the driver; whatever it throws becomes a problem with the file. */
  def named[A](action: String, path: String)(work: => A): A =
    try work
    catch { case NonFatal(failure) => throw Errors.find(failure).getOrElse(of(action, path, failure)) }

  /** Runs Spark work that reads the file: that tasks may not, or do not find it, becomes a problem with the file. */
  def reading[A](path: String)(work: => A): A =
    try work
    catch {
      case failure: FulguriteException if failure.kind == "backend" && Errors.causes(failure).exists(isOfFile) => throw of("read", path, failure)
    }

  private def isOfFile(cause: Throwable): Boolean = cause match {
    case _: AccessControlException | _: AccessDeniedException | _: FileNotFoundException => true
    case _ => false
  }

  private def of(action: String, path: String, failure: Throwable): FileProblem = {
    def because(cause: Throwable) = Errors.reason(cause)
    Errors.causes(failure).collectFirst {
      // Hadoop's defaults name classes of packages that need not be there.
      case cause @ (_: UnsupportedFileSystemException | _: ClassNotFoundException) =>
        val scheme = Option(new Path(path).toUri.getScheme).getOrElse("fs.defaultFS")
        new FileProblem(
          s"cannot $action '$path': Spark knows no file system for '$scheme' (${because(cause)})",
          s"give Spark the package that has it (hadoop-aws for s3a), or set spark.hadoop.fs.$scheme.impl")
      case cause: UnknownHostException =>
        new FileProblem(
          s"cannot $action '$path': no host is called '${because(cause)}'",
          "correct the host in the path, or fs.defaultFS in Hadoop's configuration")
      case cause @ (_: AccessControlException | _: AccessDeniedException) =>
        new FileProblem(
          s"cannot $action '$path': no permission: ${because(cause)}",
          "grant it to the user that Spark runs as, or give Spark the file system's credentials (spark.hadoop.fs.…)")
    }.getOrElse {
      new FileProblem(
        s"cannot $action '$path': ${because(failure)}",
        "check the path and Hadoop's configuration (spark.hadoop.…); the driver and the executors have to reach its file system")
    }
  }

  def missing(path: String): FileProblem = new FileProblem(s"'$path' is not there", "check the path; the executors need to see it, too")
}
