package io.fulgurite.spark.frames

import io.fulgurite.spark.version.Frames
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.{ColumnarToRowExec, InputAdapter, SparkPlan, WholeStageCodegenExec}
import org.apache.spark.sql.vectorized.ColumnarBatch

/** The rows of a DataFrame as Spark computes them, without an object for each row and cell. A row is only valid until the next one. */
private[spark] object FrameRDD {

  /** Where the last step would be to copy batches of columns (from files, or cached) to rows, these are views of the batches. */
  def rows(frame: DataFrame): RDD[InternalRow] = {
    val execution = Frames.execution(frame)
    batches(execution.executedPlan) match {
      case Some(plan) => plan.executeColumnar().mapPartitions(new BatchRows(_))
      case None => execution.toRdd
    }
  }

  private def batches(plan: SparkPlan): Option[SparkPlan] = plan match {
    case WholeStageCodegenExec(last) => batches(last)
    case ColumnarToRowExec(InputAdapter(child)) => Some(child)
    case ColumnarToRowExec(child) => Some(child)
    case _ => None
  }

  private final class BatchRows(batches: Iterator[ColumnarBatch]) extends Iterator[InternalRow] {
    private var rows: java.util.Iterator[InternalRow] = java.util.Collections.emptyIterator()

    override def hasNext: Boolean = {
      while (!rows.hasNext && batches.hasNext) rows = batches.next().rowIterator()
      rows.hasNext
    }

    override def next(): InternalRow = {
      if (!hasNext) throw new NoSuchElementException("the last row was read")
      rows.next()
    }
  }
}
