package io.fulgurite.spark.sql

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.{AggregateExpression, Partial}
import org.apache.spark.sql.execution.{FilterExec, ProjectExec, SparkPlan}
import org.apache.spark.sql.execution.aggregate.HashAggregateExec

/**
 * Filters and projections above a scan as one step: the conditions, and what each output is, in terms of the scan's columns.
 *
 * @param source the node below
 * @param conditions in the order in which rows meet them
 * @param values of attributes that projections name
 */
private[sql] final case class Fusion(source: SparkPlan, conditions: Seq[Expression], values: Map[ExprId, Expression]) {

  /** The expression in terms of the scan's columns. */
  def inlined(expression: Expression): Expression = expression.transform {
    case attribute: Attribute => values.getOrElse(attribute.exprId, attribute)
  }
}

private[sql] object Fusion {
  def of(plan: SparkPlan): Fusion = plan match {
    case filter: FilterExec =>
      val below = of(filter.child)
      below.copy(conditions = below.conditions :+ below.inlined(filter.condition))
    case project: ProjectExec =>
      val below = of(project.child)
      val named = project.projectList.collect { case alias: Alias => alias.exprId -> below.inlined(alias.child) }
      below.copy(values = below.values ++ named)
    case other => Fusion(other, Nil, Map.empty)
  }

  /** Whether Spark computes the aggregate in each partition, for another one to merge. */
  def isPartial(aggregate: HashAggregateExec): Boolean =
    aggregate.aggregateExpressions.forall((each: AggregateExpression) => each.mode == Partial) &&
      aggregate.requiredChildDistributionExpressions.isEmpty && !aggregate.isStreaming
}
