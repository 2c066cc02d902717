package io.fulgurite.spark.version

object ThisJar {
  /** The Spark versions that this jar is for. */
  val SparkMinor = "3.5"

  /** The last Java that this Spark runs on: the Arrow that it brings does not know the buffers of newer ones. */
  val LastJava: Option[Int] = Some(20)
}
