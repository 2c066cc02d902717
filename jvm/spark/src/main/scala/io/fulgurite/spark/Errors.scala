package io.fulgurite.spark

import io.fulgurite.core.FulguriteException
import io.fulgurite.spark.dataset.Cuts

/** Makes errors of this side, and finds ours in what Spark throws. */
private[fulgurite] object Errors {
  def argument(message: String, help: String): FulguriteException = error("argument", message, help)
  def data(message: String, help: String): FulguriteException = error("data", message, help)
  def syntax(message: String, help: String): FulguriteException = error("syntax", message, help)
  def io(message: String, help: String): FulguriteException = error("io", message, help)
  def memory(message: String, help: String): FulguriteException = error("memory", message, help)
  def unsupported(message: String, help: String): FulguriteException = error("unsupported", message, help)
  def internal(message: String): FulguriteException = new FulguriteException("internal", s"internal error: $message", null)

  private def error(kind: String, message: String, help: String) =
    new FulguriteException(kind, s"$kind error: $message\n   = help: $help", null)

  /** Runs Spark work; a task's FulguriteException comes out as itself, anything else as kind `backend`. */
  def ofSpark[A](work: => A): A =
    try work
    catch {
      case failure: Exception => throw find(failure).orElse(lostCheckpoint(failure)).getOrElse(
          new FulguriteException("backend", s"backend error: Spark failed: ${reason(failure)}\n   = help: the cause is in Spark's log", failure))
    }

  /** Of a matrix whose lineage was cut where there was no folder: see [[io.fulgurite.spark.dataset.Cuts]]. */
  private def lostCheckpoint(failure: Throwable): Option[FulguriteException] =
    if (causes(failure).exists(cause => String.valueOf(cause.getMessage).contains("Checkpoint block rdd_"))) {
      Some(error("backend", "an executor was lost, and with it a part of a matrix that a loop carries", Cuts.Advice))
    } else None

  def stopped(): FulguriteException =
    error("backend", "the stopped SparkContext runs nothing any more", "make a new SparkSession and, with it, a new MLContext")

  def interrupted(): FulguriteException = new FulguriteException(Interrupted, s"$Interrupted: the run was interrupted", null)

  val Interrupted = "interrupted"

  /** Errors in the data of an input name it. */
  def naming[A](input: String)(work: => A): A =
    try work
    catch {
      case bad: FulguriteException if bad.kind == "data" && !bad.getMessage.contains(s"'$input'") =>
        throw new FulguriteException("data", s"data error: input '$input': ${withoutHeading(bad)}", null)
    }

  /** The message of an error without its kind and code. */
  def withoutHeading(bad: FulguriteException): String = bad.getMessage.replaceFirst("^[a-z]+ error(\\[E\\d+\\])?: ", "")

  /** The FulguriteException among the causes. */
  def find(failure: Throwable): Option[FulguriteException] = causes(failure).collectFirst { case ours: FulguriteException => ours }

  /** What Spark says, and what the deepest cause says where Spark does not tell. */
  def reason(failure: Throwable): String = {
    val (said, deepest) = (firstLine(failure), firstLine(causes(failure).reduce((_, cause) => cause)))
    if (said.contains(deepest)) said else s"$said: $deepest"
  }

  def causes(failure: Throwable): Iterator[Throwable] =
    Iterator.iterate(failure)(_.getCause).takeWhile(_ != null).take(DeepestCause)

  private val DeepestCause = 32

  private def firstLine(failure: Throwable): String =
    Option(failure.getMessage).flatMap(_.linesIterator.take(1).toList.headOption).getOrElse(failure.getClass.getName)
}
