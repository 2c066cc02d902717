package io.fulgurite.spark.sql

import scala.jdk.CollectionConverters._

import io.fulgurite.core.FulguriteException
import io.fulgurite.spark.Errors
import io.fulgurite.spark.arrow.Crossing
import io.fulgurite.spark.memory.NativeMemory
import org.apache.arrow.vector.{BitVector, VectorSchemaRoot}
import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.types.DataType
import org.apache.spark.sql.vectorized.{ArrowColumnVector, ColumnVector, ColumnarBatch}

/** What a step did, in the metrics of its node. */
private[sql] final case class StepMetrics(rows: SQLMetric, chunks: SQLMetric, left: SQLMetric, nanoseconds: SQLMetric)

/** Runs a step on the chunks of a partition. */
private[sql] final class NativeRun(step: NativeStep, types: Array[DataType], metrics: StepMetrics, partition: Int, context: TaskContext) {
  private val account = NativeMemory.account(context)
  private val toRow = UnsafeProjection.create(types)
  /** The chunk, and what came of it, until all rows have been taken. */
  private var open: Seq[VectorSchemaRoot] = Nil
  private var charged = 0L
  context.addTaskCompletionListener[Unit](_ => release())

  def rows(chunks: Iterator[VectorSchemaRoot]): Iterator[InternalRow] = {
    val some = chunks.hasNext
    val results = chunks.flatMap(of) ++ Iterator(()).flatMap { _ => release(); Iterator.empty }
    // Aggregates without keys have a row where there is none.
    val all = if (some) results else step.spark.rows(Iterator.empty, step.inputs, partition)
    all.map { row => metrics.rows += 1; row }
  }

  private def of(chunk: VectorSchemaRoot): Iterator[InternalRow] = {
    release()
    open = Seq(chunk)
    charged = chunk.getFieldVectors.asScala.map(_.getBufferSize.toLong).sum
    account.acquire(charged)
    metrics.chunks += 1
    val start = System.nanoTime()
    val result =
      try {
        if (step.guard.exists(says(_, chunk))) None
        else {
          val result = Crossing.relate(step.plan, chunk)
          open = Seq(chunk, result)
          if (step.guarded && isTrueSomewhere(result)) None else Some(result)
        }
      } catch {
        // Strings that are not UTF-8, for instance, which Spark takes as they are.
        case failure: FulguriteException if failure.kind == "data" => None
      } finally metrics.nanoseconds += System.nanoTime() - start
    result match {
      case Some(table) => rowsOf(table, types.length).map(toRow)
      case None =>
        metrics.left += 1
        step.spark.rows(rowsOf(chunk, step.inputs.length), step.inputs, partition)
    }
  }

  private def says(guard: Array[Byte], chunk: VectorSchemaRoot): Boolean = {
    val answer = Crossing.relate(guard, chunk)
    try isTrueSomewhere(answer)
    finally answer.close()
  }

  /** Whether the last column is. */
  private def isTrueSomewhere(table: VectorSchemaRoot): Boolean = table.getFieldVectors.get(table.getFieldVectors.size - 1) match {
    case bits: BitVector => (0 until table.getRowCount).exists(row => !bits.isNull(row) && bits.get(row) != 0)
    case other => throw Errors.internal(s"a guard is of type ${other.getField.getType}")
  }

  private def rowsOf(table: VectorSchemaRoot, columns: Int): Iterator[InternalRow] = {
    val vectors = table.getFieldVectors.asScala.take(columns).map(vector => new ArrowColumnVector(vector): ColumnVector)
    new ColumnarBatch(vectors.toArray, table.getRowCount).rowIterator.asScala
  }

  private def release(): Unit = {
    open.foreach(_.close())
    open = Nil
    account.release(charged)
    charged = 0
  }
}
