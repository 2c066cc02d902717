package io.fulgurite.spark.version

object ThisJar {
  /** The Spark versions that this jar is for. */
  val SparkMinor = "4.3"

  /** The last Java that this Spark runs on, if any is too new. */
  val LastJava: Option[Int] = None
}
