package io.fulgurite.spark.version

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.classic.Dataset
import org.apache.spark.sql.execution.QueryExecution

/** Ways into a DataFrame that differ between Spark versions. */
object Frames {

  def execution(frame: DataFrame): QueryExecution = frame match {
    case classic: Dataset[_] => classic.queryExecution
    case other =>
      throw new UnsupportedOperationException(
        s"a DataFrame of ${other.getClass.getName} (Spark Connect) has no rows on this side: use a classic session")
  }
}
