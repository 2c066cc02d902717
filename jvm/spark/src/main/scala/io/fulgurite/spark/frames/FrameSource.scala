package io.fulgurite.spark.frames

import io.fulgurite.spark.Event
import io.fulgurite.spark.dataset.Dataset
import io.fulgurite.spark.primitives.Session
import io.fulgurite.spark.version.Frames
import org.apache.spark.SparkEnv
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.DataFrame

/** DataFrames as datasets. The frame is computed once; the stripes it becomes are persisted. */
object FrameSource {

  /** @param fill what stands for null; without it a null is an error */
  def read(session: Session, name: String, frame: DataFrame, fill: Option[Double]): Dataset =
    session.named(s"read $name") {
      val prepared = Columns.prepare(frame)
      val stripes = readStripes(session, name, prepared, fill)
      if (prepared.indexed) RowOrder.dataset(stripes) else Dataset.fromOrdered(stripes.map(_.blocks))
    }

  private def readStripes(session: Session, name: String, prepared: Prepared, fill: Option[Double]): RDD[ReadStripe] = {
    val (counts, columns, indexed) = (session.counts, prepared.columns, prepared.indexed)
    Frames.rows(prepared.frame).mapPartitions { rows =>
      counts.add(Event(Event.SourcePartition, name, SparkEnv.get.executorId))
      new StripeReader(rows, columns, indexed, fill)
    }
  }
}
