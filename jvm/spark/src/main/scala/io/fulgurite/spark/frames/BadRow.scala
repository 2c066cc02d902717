package io.fulgurite.spark.frames

import io.fulgurite.core.FulguriteException
import io.fulgurite.spark.Errors
import org.apache.spark.rdd.RDD

/** Errors in rows. Tasks know a bad row, but not how many stand before their partition: only an error is worth finding that out. */
private[frames] object BadRow {

  /** Runs `work`; where it fails because of the data, says which row it is, from 1. `problem` says what is wrong with a row, if anything is. */
  def located[A, B](rows: => RDD[A])(problem: => A => Option[FulguriteException])(work: => B): B =
    try Errors.ofSpark(work)
    catch {
      case bad: FulguriteException if bad.kind == "data" =>
        val check = problem
        throw rows.map(check).zipWithIndex().filter(_._1.nonEmpty).take(1).headOption.fold(bad) {
          case (Some(reason), row) => at(row + 1, reason)
          case _ => bad
        }
    }

  /** As [[located]], for rows that are in this process. */
  def locatedHere[A, B](rows: Seq[A])(problem: A => Option[FulguriteException])(work: => B): B =
    try work
    catch {
      case bad: FulguriteException if bad.kind == "data" =>
        throw rows.iterator.map(problem).zipWithIndex.collectFirst { case (Some(reason), row) => at(row + 1L, reason) }.getOrElse(bad)
    }

  private def at(row: Long, reason: FulguriteException): FulguriteException = {
    val (message, help) = Errors.withoutHeading(reason).split("\n   = help: ", 2) match {
      case Array(message, help) => (message, help)
      case other => (other.mkString, "correct the row")
    }
    Errors.data(s"row $row: $message", help)
  }
}
