package io.fulgurite.spark.version

object ThisJar {
  /** The Spark versions that this jar is for. */
  val SparkMinor = "4.3"
}
