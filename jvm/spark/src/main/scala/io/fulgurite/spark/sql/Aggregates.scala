package io.fulgurite.spark.sql

import com.fasterxml.jackson.databind.JsonNode
import io.fulgurite.spark.version.Evaluation
import org.apache.spark.sql.catalyst.expressions.{EvalMode, Expression}
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.types._

/**
 * The buffer of one of Spark's aggregate functions.
 *
 * @param aggregates what native code computes for each group, by name
 * @param buffers the columns of Spark's buffer, of these
 * @param guard as in [[Translated]]
 */
private[sql] final case class PartialAggregate(aggregates: Seq[(String, JsonNode)], buffers: Seq[JsonNode], guard: Option[JsonNode])

/** Partial aggregates in native code: what Spark's final aggregate would have got from its own. */
private[sql] object Aggregates {
  import Plans._

  /** @param number tells the names of one aggregate from those of others */
  def translate(expression: AggregateExpression, number: Int): PartialAggregate = {
    if (expression.isDistinct) throw new Refused(s"DISTINCT in $expression")
    if (expression.filter.isDefined) throw new Refused(s"FILTER in $expression")
    expression.aggregateFunction match {
      case sum: Sum => summed(sum, number)
      case average: Average =>
        if (!isNumber(average.child.dataType)) throw new Refused(s"type ${average.child.dataType.simpleString} in $average")
        val of = asDouble(average.child)
        val (total, count) = (s"sum $number", s"count $number")
        PartialAggregate(
          Seq(total -> aggregate("sum", Some(of.value)), count -> aggregate("count", Some(of.value))),
          Seq(column(total), cast("int64", column(count))),
          of.guard)
      case count: Count => counted(count, number)
      case least: Min => extreme("min", least.child, number)
      case greatest: Max => extreme("max", greatest.child, number)
      case other => throw new Refused(s"aggregate $other")
    }
  }

  private def isNumber(of: DataType) = Types.isInteger(of) || Types.isFloating(of)

  private def asDouble(child: Expression): Translated = {
    val of = Expressions.translate(child)
    if (child.dataType == DoubleType) of else of.copy(value = cast("float64", of.value))
  }

  private def summed(sum: Sum, number: Int): PartialAggregate = {
    if (Evaluation.mode(sum) == EvalMode.TRY || !isNumber(sum.child.dataType)) {
      throw new Refused(s"type ${sum.child.dataType.simpleString} in $sum")
    }
    val (of, guard) =
      if (sum.dataType == DoubleType) {
        val of = asDouble(sum.child)
        (of.value, of.guard)
      } else {
        val of = Expressions.translate(sum.child)
        // The integers of a chunk that are not outside do not overflow, whatever their order.
        val overflow = Some(Expressions.outside(of.value, -LargestSummand, LargestSummand))
          .filter(_ => sum.child.dataType == LongType && Evaluation.mode(sum) == EvalMode.ANSI)
        (cast("int64", of.value), Expressions.or(of.guard, overflow))
      }
    val (total, count) = (s"sum $number", s"count $number")
    // Spark's sum of nothing is null.
    val missing = cast(Types.taken(sum.dataType), literal("null")(_.putNull("lit")))
    PartialAggregate(
      Seq(total -> aggregate("sum", Some(of)), count -> aggregate("count", Some(of))),
      Seq(call("if_else", call("gt", column(count), integer(0)), column(total), missing)),
      guard)
  }

  private def counted(count: Count, number: Int): PartialAggregate = {
    val name = s"count $number"
    val (value, guard) = count.children.filter(_.nullable) match {
      case Seq() => (aggregate("len", None), None)
      case Seq(only) =>
        val of = Expressions.translate(only)
        (aggregate("count", Some(of.value)), of.guard)
      case _ => throw new Refused(s"several columns in $count")
    }
    PartialAggregate(Seq(name -> value), Seq(cast("int64", column(name))), guard)
  }

  private def extreme(function: String, child: Expression, number: Int): PartialAggregate = {
    if (!isNumber(child.dataType) && child.dataType != DateType) throw new Refused(s"type ${child.dataType.simpleString} in $function")
    val of = Expressions.translate(child)
    // NaN is Spark's greatest number, and of zeros of both signs it keeps the first.
    val special =
      if (!Types.isFloating(child.dataType)) None
      else Some(call("or", call("is_nan", of.value), call("eq", call("div", Plans.number(1), of.value), Plans.number(Double.NegativeInfinity))))
    val name = s"$function $number"
    PartialAggregate(Seq(name -> aggregate(function, Some(of.value))), Seq(column(name)), Expressions.or(of.guard, special))
  }

  /** As many of these as a chunk may have rows do not overflow. */
  private val LargestSummand = Long.MaxValue / Chunks.MostRows
}
