package org.apache.spark.fulgurite

import org.apache.spark.{SparkEnv, TaskContext}

/** What Spark's accounts say, to packages of Spark's only. */
object Used {
  /** While nobody gets memory of Spark's, as while it makes room. */
  def withMemoryLocked[A](work: => A): A = SparkEnv.get.memoryManager.synchronized(work)

  def offHeap(context: TaskContext): Long = context.taskMemoryManager().getMemoryConsumptionForThisTask
}
