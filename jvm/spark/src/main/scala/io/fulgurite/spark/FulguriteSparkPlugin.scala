package io.fulgurite.spark

import java.util.{Map => JMap}

import io.fulgurite.core.FulguriteException
import io.fulgurite.spark.arrow.Library
import org.apache.spark.api.plugin.{DriverPlugin, ExecutorPlugin, PluginContext, SparkPlugin}
import org.slf4j.LoggerFactory

/**
 * Loads the native library when an executor starts, so that no task waits for it and what is wrong stands at the top of
 * the executor's log. Not needed: without it the first task loads the library. Set by `spark.plugins`.
 */
final class FulguriteSparkPlugin extends SparkPlugin {
  override def driverPlugin(): DriverPlugin = null

  override def executorPlugin(): ExecutorPlugin = new ExecutorPlugin {
    override def init(context: PluginContext, extra: JMap[String, String]): Unit =
      try Library.ensureLoaded()
      catch {
        // Not the end of the executor, which may serve others: a task that needs the library tries again, and fails with this error.
        case failure: FulguriteException => LoggerFactory.getLogger(getClass).error("the native library cannot be loaded", failure)
      }
  }
}
