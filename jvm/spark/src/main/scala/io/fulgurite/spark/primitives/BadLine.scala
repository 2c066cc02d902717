package io.fulgurite.spark.primitives

import io.fulgurite.core.FulguriteException
import io.fulgurite.spark.Errors
import org.apache.spark.rdd.RDD

/** Errors in lines of text. Tasks know a bad line, but not how many stand before their partition: only an error is worth finding that out. */
private[spark] object BadLine {
  def apply(place: String, line: String, reason: String, help: String): FulguriteException =
    Errors.data(s"bad $place: $reason\n   | ${line.take(200)}", help)

  /**
   * Runs `work`; where it fails because of the data, says which line it is.
   *
   * @param before lines of the source that stand before these
   * @param problem what is wrong with a line, if anything is
   */
  def located[A](lines: RDD[String], name: String, before: Long, help: String)(problem: String => Option[String])(work: => A): A =
    try Errors.ofSpark(work)
    catch {
      case bad: FulguriteException if bad.kind == "data" =>
        val found = lines.zipWithIndex().filter { case (line, _) => problem(line).nonEmpty }.take(1).headOption
        throw found.fold(bad) { case (line, index) => apply(s"line ${before + index + 1} of '$name'", line, problem(line).getOrElse(""), help) }
    }
}
