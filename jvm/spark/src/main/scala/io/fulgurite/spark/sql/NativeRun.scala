package io.fulgurite.spark.sql

import io.fulgurite.core.FulguriteException
import io.fulgurite.spark.Errors
import io.fulgurite.spark.arrow.Crossing
import io.fulgurite.spark.memory.NativeMemory
import org.apache.arrow.vector.{BitVector, FieldVector, VectorSchemaRoot}
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
  private var open: Seq[AutoCloseable] = Nil
  private var charged = 0L
  context.addTaskCompletionListener[Unit](_ => release())

  def rows(chunks: Iterator[Chunk]): Iterator[InternalRow] = {
    val some = chunks.hasNext
    val results = chunks.flatMap(of) ++ Iterator(()).flatMap { _ => release(); Iterator.empty }
    // Aggregates without keys have a row where there is none.
    val all = if (some) results else step.spark.rows(Iterator.empty, step.inputs, partition)
    all.map { row => metrics.rows += 1; row }
  }

  private def of(chunk: Chunk): Iterator[InternalRow] = {
    release()
    open = Seq(chunk)
    charged = chunk.bytes
    account.acquire(charged)
    metrics.chunks += 1
    val start = System.nanoTime()
    val result =
      try {
        if (step.guard.exists(says(_, chunk))) None
        else {
          val result = Crossing.relate(step.plan, chunk.table, chunk.dictionaries)
          open = Seq(chunk, result)
          if (step.guarded && isTrueSomewhere(result)) None else Some(result)
        }
      } catch {
        // Strings that are not UTF-8, for instance, which Spark takes as they are.
        case failure: FulguriteException if failure.kind == "data" => None
      } finally metrics.nanoseconds += System.nanoTime() - start
    result match {
      case Some(table) => rowsOf(vectors(table).take(types.length).map(new ArrowColumnVector(_)), table.getRowCount).map(toRow)
      case None =>
        metrics.left += 1
        step.spark.rows(rowsOf(chunk.columns.take(step.inputs.length), chunk.table.getRowCount), step.inputs, partition)
    }
  }

  private def says(guard: Array[Byte], chunk: Chunk): Boolean = {
    val answer = Crossing.relate(guard, chunk.table, chunk.dictionaries)
    try isTrueSomewhere(answer)
    finally answer.close()
  }

  /** Whether the last column is. */
  private def isTrueSomewhere(table: VectorSchemaRoot): Boolean = vectors(table).last match {
    case bits: BitVector => (0 until table.getRowCount).exists(row => !bits.isNull(row) && bits.get(row) != 0)
    case other => throw Errors.internal(s"a guard is of type ${other.getField.getType}")
  }

  private def rowsOf(columns: Seq[ColumnVector], count: Int): Iterator[InternalRow] = {
    val rows = new ColumnarBatch(columns.toArray, count).rowIterator
    new Iterator[InternalRow] {
      override def hasNext: Boolean = rows.hasNext
      override def next(): InternalRow = rows.next()
    }
  }

  private def vectors(table: VectorSchemaRoot): Seq[FieldVector] = (0 until table.getFieldVectors.size).map(table.getFieldVectors.get(_))

  private def release(): Unit = {
    open.foreach(_.close())
    open = Nil
    account.release(charged)
    charged = 0
  }
}
