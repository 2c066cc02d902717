package io.fulgurite.spark

import java.util.{Collections, Map => JMap}

import io.fulgurite.core.FulguriteException
import io.fulgurite.spark.arrow.Library
import org.apache.spark.SparkContext
import org.apache.spark.api.plugin.{DriverPlugin, ExecutorPlugin, PluginContext, SparkPlugin}
import org.apache.spark.fulgurite.Internals
import org.slf4j.LoggerFactory

/**
 * Loads the native library when an executor starts, so that no task waits for it and what is wrong stands at the top of
 * the executor's log; and lets results of tasks up to 8 MB come directly, unless `spark.task.maxDirectResultSize` is set: through the block
 * manager, where Spark sends what is larger than 1 MB, the columns that a loop collects take several times as long. Not needed: without it
 * the first task loads the library. Set by `spark.plugins`.
 */
final class FulguriteSparkPlugin extends SparkPlugin {
  override def driverPlugin(): DriverPlugin = new DriverPlugin {
    override def init(context: SparkContext, plugin: PluginContext): JMap[String, String] = {
      try Internals.setDefault(context, FulguriteSparkPlugin.DirectResults, "8m")
      catch { case _: LinkageError => () } // A jar for another Spark, which the session refuses in words.
      Collections.emptyMap()
    }
  }

  override def executorPlugin(): ExecutorPlugin = new ExecutorPlugin {
    override def init(context: PluginContext, extra: JMap[String, String]): Unit =
      try Library.ensureLoaded()
      catch {
        // Not the end of the executor, which may serve others: a task that needs the library tries again, and fails with this error.
        case failure: FulguriteException => LoggerFactory.getLogger(getClass).error("the native library cannot be loaded", failure)
      }
  }
}

private object FulguriteSparkPlugin {
  private val DirectResults = "spark.task.maxDirectResultSize"
}
