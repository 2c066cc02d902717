package io.fulgurite.spark

import io.fulgurite.spark.version.ThisJar

/** A jar for another Spark version, or on a Java that Spark does not know, would fail somewhere in the middle, by a method that is not there. */
private[fulgurite] object SparkVersion {
  def check(running: String, java: Int = Runtime.version.feature): Unit = {
    if (!running.startsWith(s"${ThisJar.SparkMinor}.")) {
      throw Errors.unsupported(
        s"this jar of Fulgurite is for Spark ${ThisJar.SparkMinor}, and this is Spark $running", "jars name their Spark and Scala versions: take the one that fits")
    }
    for (last <- ThisJar.LastJava if java > last) {
      throw Errors.unsupported(s"Spark ${ThisJar.SparkMinor} does not run on Java $java", "start it with Java 17 (JAVA_HOME), or take Spark 4")
    }
  }
}
