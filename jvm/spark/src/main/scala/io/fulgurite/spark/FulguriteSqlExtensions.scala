package io.fulgurite.spark

import io.fulgurite.spark.sql.NativeRule
import org.apache.spark.sql.SparkSessionExtensions

/**
 * Runs filters, projections and partial aggregates of Spark SQL in native code:
 * `spark.sql.extensions=io.fulgurite.spark.FulguriteSqlExtensions`. Everything that [[io.fulgurite.spark.sql.NativeRule]] does not take
 * over stays Spark's.
 */
class FulguriteSqlExtensions extends (SparkSessionExtensions => Unit) {
  override def apply(extensions: SparkSessionExtensions): Unit = extensions.injectColumnar(_ => NativeRule)
}
