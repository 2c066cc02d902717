package io.fulgurite.spark.sql

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.{AggregateExpression, DeclarativeAggregate}
import org.apache.spark.sql.types.DataType

/** The same step by Spark's own expressions, for chunks where a result of native code might differ from Spark's, or be an error. */
private[sql] sealed trait SparkStep extends Serializable {
  def rows(input: Iterator[InternalRow], attributes: Seq[Attribute], partition: Int): Iterator[InternalRow]

  protected def kept(input: Iterator[InternalRow], conditions: Seq[Expression], attributes: Seq[Attribute], partition: Int): Iterator[InternalRow] =
    conditions.foldLeft(input) { (rows, condition) =>
      val predicate = Predicate.create(condition, attributes)
      predicate.initialize(partition)
      rows.filter(predicate.eval)
    }
}

private[sql] final case class SparkProjection(conditions: Seq[Expression], outputs: Seq[Expression]) extends SparkStep {
  override def rows(input: Iterator[InternalRow], attributes: Seq[Attribute], partition: Int): Iterator[InternalRow] = {
    val project = UnsafeProjection.create(outputs, attributes)
    project.initialize(partition)
    kept(input, conditions, attributes, partition).map(project)
  }
}

/** Partial aggregates of one row each, unless there are no keys: Spark's final aggregate merges them as it merges those of partitions. */
private[sql] final case class SparkAggregation(
    conditions: Seq[Expression], keys: Seq[Expression], aggregates: Seq[AggregateExpression], types: Seq[DataType]) extends SparkStep {

  override def rows(input: Iterator[InternalRow], attributes: Seq[Attribute], partition: Int): Iterator[InternalRow] = {
    val functions = aggregates.map(_.aggregateFunction.asInstanceOf[DeclarativeAggregate])
    val buffers = functions.flatMap(_.aggBufferAttributes)
    val initial = UnsafeProjection.create(functions.flatMap(_.initialValues), Nil)
    val update = UnsafeProjection.create(functions.flatMap(_.updateExpressions), buffers ++ attributes)
    val key = UnsafeProjection.create(keys, attributes)
    val result = UnsafeProjection.create(types.toArray)
    val joined = new JoinedRow
    val rows = kept(input, conditions, attributes, partition)
    if (keys.isEmpty) {
      var buffer = initial(InternalRow.empty).copy()
      rows.foreach(row => buffer = update(joined(buffer, row)).copy())
      Iterator(result(joined(InternalRow.empty, buffer)))
    } else {
      val nothing = initial(InternalRow.empty).copy()
      rows.map { row =>
        val updated = update(joined(nothing, row))
        result(joined(key(row), updated))
      }
    }
  }
}
