package io.fulgurite.spark.primitives

import com.fasterxml.jackson.databind.JsonNode
import io.fulgurite.spark.Json
import io.fulgurite.spark.memory.NativeMemory

/** What tasks the executors that are there now have room for. */
object Capacity {
  def of(session: Session): JsonNode = {
    val (context, conf) = (session.context, session.context.getConf)
    val cores = math.max(1, conf.getInt("spark.task.cpus", 1))
    val tasks = math.max(1, context.defaultParallelism / cores)
    // The driver is among them.
    val executors = if (context.isLocal) 1 else math.max(1, context.statusTracker.getExecutorInfos.length - 1)
    val inEach = (tasks + executors - 1) / executors
    Json.newObject()
      .put("tasks", tasks).put("cores", cores).put("bytes", NativeMemory.limit(conf, context.isLocal) / inEach)
      .put("resultBytes", session.limits.heap).put("isHere", context.isLocal)
  }
}
