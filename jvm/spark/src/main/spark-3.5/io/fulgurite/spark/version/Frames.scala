package io.fulgurite.spark.version

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.QueryExecution

/** Ways into a DataFrame that differ between Spark versions. */
object Frames {

  def execution(frame: DataFrame): QueryExecution = frame.queryExecution
}
