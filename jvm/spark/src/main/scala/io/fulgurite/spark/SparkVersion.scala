package io.fulgurite.spark

import io.fulgurite.spark.version.ThisJar

/** A jar for another Spark version would fail somewhere in the middle, by a method that is not there. */
private[fulgurite] object SparkVersion {
  def check(running: String): Unit =
    if (!running.startsWith(s"${ThisJar.SparkMinor}.")) {
      throw Errors.unsupported(
        s"this jar of Fulgurite is for Spark ${ThisJar.SparkMinor}, and this is Spark $running", "jars name their Spark and Scala versions: take the one that fits")
    }
}
