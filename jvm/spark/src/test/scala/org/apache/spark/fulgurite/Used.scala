package org.apache.spark.fulgurite

import org.apache.spark.TaskContext

/** What Spark's accounts say, to packages of Spark's only. */
object Used {
  def offHeap(context: TaskContext): Long = context.taskMemoryManager().getMemoryConsumptionForThisTask
}
