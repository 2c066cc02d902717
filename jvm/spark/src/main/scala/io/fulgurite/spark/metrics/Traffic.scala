package io.fulgurite.spark.metrics

import io.fulgurite.spark.Event
import org.apache.spark.fulgurite.TaskTotals

/**
 * What an execution moved between the driver and the executors, and among these. A script that needs no Spark job has none.
 *
 * @param broadcast bytes of matrices that were sent to every executor, each counted once
 * @param spread bytes of local matrices that were cut into stripes for the executors
 * @param collected bytes of matrices that operators brought to the driver
 * @param ofTasks what Spark says of the jobs of the execution, reading DataFrames and files included
 */
final case class Traffic(broadcast: Long = 0, spread: Long = 0, collected: Long = 0, ofTasks: TaskTotals = TaskTotals()) {
  def jobs: Long = ofTasks.jobs
  def tasks: Long = ofTasks.tasks
  /** That executors spent on all tasks together. */
  def taskSeconds: Double = ofTasks.milliseconds / 1e3
  def shuffleWritten: Long = ofTasks.shuffleWritten
  def shuffleRead: Long = ofTasks.shuffleRead
  /** Written to disk because it did not fit into memory. */
  def spilled: Long = ofTasks.spilled
  /** False if Spark took too long to deliver its events: there was more then. */
  def isComplete: Boolean = ofTasks.isComplete
}

/**
 * What the JVM side knows of an execution.
 *
 * @param work by operator
 * @param partitions of each distributed input
 */
final case class Figures(
    work: Map[String, NativeWork] = Map.empty, events: Map[Event, Long] = Map.empty, partitions: Map[String, Int] = Map.empty, traffic: Traffic = Traffic())
