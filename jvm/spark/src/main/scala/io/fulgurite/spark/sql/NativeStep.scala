package io.fulgurite.spark.sql

import com.fasterxml.jackson.databind.JsonNode
import io.fulgurite.spark.Json
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.aggregate.HashAggregateExec

/**
 * What native code does with each chunk of a partition, and what Spark does with those that it leaves.
 *
 * @param inputs the columns of the chunks
 * @param guard a plan with one cell: whether Spark has to filter this chunk. None where it never has to
 * @param plan what native code runs; if it has [[NativeStep.Guard]], a last column of that name says the same of what is above the filter
 */
private[sql] final case class NativeStep(inputs: Seq[Attribute], guard: Option[Array[Byte]], plan: Array[Byte], guarded: Boolean, spark: SparkStep)

private[sql] object NativeStep {
  import Plans._

  val Guard = "left to Spark"

  /** Filters and projections; the outputs are those of `plan`. */
  def projection(plan: SparkPlan, fusion: Fusion): NativeStep = {
    val outputs = plan.output.map(fusion.inlined)
    val translated = outputs.map(Expressions.translate)
    val columns = plan.output.zip(translated).map { case (attribute, of) => Expressions.nameOf(attribute) -> of.value }
    val guard = Expressions.or(translated.map(_.guard): _*)
    make(fusion, outputs, guard.isDefined, SparkProjection(fusion.conditions, outputs)) { filtered =>
      select(filtered, columns ++ guard.map(Guard -> _))
    }
  }

  def aggregation(aggregate: HashAggregateExec, fusion: Fusion): NativeStep = {
    val keys = aggregate.groupingExpressions.map(fusion.inlined)
    val functions = aggregate.aggregateExpressions.map(each => each.transform {
      case attribute: Attribute => fusion.values.getOrElse(attribute.exprId, attribute)
    }.asInstanceOf[org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression])
    val translatedKeys = keys.map(Expressions.translate)
    val partial = functions.zipWithIndex.map { case (each, number) => Aggregates.translate(each, number) }
    val guard = Expressions.or(translatedKeys.map(_.guard) ++ partial.map(_.guard): _*)
    val named = translatedKeys.zipWithIndex.map { case (key, number) => s"key $number" -> key.value }
    val computed = partial.flatMap(_.aggregates) ++ guard.map(condition => Guard -> aggregateAny(condition))
    val results = (named.map { case (name, _) => column(name) } ++ partial.flatMap(_.buffers)).zip(aggregate.output).map {
      case (value, attribute) => Expressions.nameOf(attribute) -> value
    }
    if (results.length != aggregate.output.length) throw new Refused("buffers of an unknown form")
    val outputs = results ++ guard.map(_ => Guard -> column(Guard))
    val left = SparkAggregation(fusion.conditions, keys, functions, aggregate.output.map(_.dataType))
    make(fusion, keys ++ functions, guard.isDefined, left) { filtered =>
      // One row, if there are no keys, or else one for each group.
      val grouped = if (named.isEmpty) select(filtered, computed) else groupBy(filtered, named, computed)
      select(grouped, outputs)
    }
  }

  private def aggregateAny(condition: JsonNode) = aggregate("any", Some(condition))

  private def make(fusion: Fusion, outputs: Seq[Expression], guarded: Boolean, spark: SparkStep)(above: JsonNode => JsonNode): NativeStep = {
    val condition = Expressions.conjunction(fusion.conditions)
    val used = AttributeSet((fusion.conditions ++ outputs).flatMap(_.references))
    val inputs = fusion.source.output.filter(used.contains)
    inputs.foreach(attribute => Types.taken(attribute.dataType))
    val unsafe = condition.flatMap(_.guard).map(where => Json.bytes(select(scan, Seq(Guard -> aggregateAny(where)))))
    NativeStep(inputs, unsafe, Json.bytes(above(filter(scan, condition.map(_.value)))), guarded, spark)
  }
}
