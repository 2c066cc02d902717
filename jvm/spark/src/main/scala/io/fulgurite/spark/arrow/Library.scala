package io.fulgurite.spark.arrow

import io.fulgurite.core.NativeLibrary
import org.apache.spark.SparkEnv

/** Loads the native library on first use in a process, configured by Spark's configuration or system properties. */
object Library {
  def ensureLoaded(): Unit =
    if (!NativeLibrary.isLoaded) NativeLibrary.load(setting _)

  private def setting(key: String): String = {
    val ofSpark = Option(SparkEnv.get).flatMap(_.conf.getOption(s"spark.$key"))
    ofSpark.getOrElse(System.getProperty(key))
  }
}
