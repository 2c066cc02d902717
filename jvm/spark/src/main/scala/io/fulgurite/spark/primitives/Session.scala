package io.fulgurite.spark.primitives

import io.fulgurite.spark.{Counts, Errors}
import org.apache.spark.SparkContext
import org.apache.spark.sql.SparkSession

/** What the primitives of one execution share. */
final class Session(val spark: SparkSession) {
  val context: SparkContext = spark.sparkContext

  /** What ran where during this execution. */
  val counts: Counts = {
    val counts = new Counts
    context.register(counts)
    counts
  }

  /** Runs jobs under a name that the Spark UI shows; errors of tasks come out as they were thrown. */
  def named[A](description: String)(work: => A): A = {
    if (context.isStopped) throw Errors.stopped()
    val before = context.getLocalProperty(Session.JobDescription)
    context.setJobDescription(description)
    try Errors.ofSpark(work)
    finally context.setLocalProperty(Session.JobDescription, before)
  }
}

object Session {
  private val JobDescription = "spark.job.description"
}
