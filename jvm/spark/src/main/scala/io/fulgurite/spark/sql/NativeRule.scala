package io.fulgurite.spark.sql

import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{ColumnarRule, FilterExec, ProjectExec, SparkPlan}
import org.apache.spark.sql.execution.aggregate.HashAggregateExec

/** Takes over what native code computes exactly as Spark does: partial aggregates, filters and projections above a scan of columns. */
private[spark] object NativeRule extends ColumnarRule {
  val Enabled = "spark.fulgurite.sql.enabled"

  override def preColumnarTransitions: Rule[SparkPlan] = TakeOver

  private object TakeOver extends Rule[SparkPlan] {
    override def apply(plan: SparkPlan): SparkPlan =
      if (conf.getConfString(Enabled, "true").toBoolean) over(plan) else plan

    private def over(plan: SparkPlan): SparkPlan = plan match {
      case aggregate: HashAggregateExec if Fusion.isPartial(aggregate) =>
        val fusion = Fusion.of(aggregate.child)
        taken(aggregate, fusion)(FulguriteAggregateExec(aggregate, fusion, NativeStep.aggregation(aggregate, fusion), fusion.source))
      case _: FilterExec | _: ProjectExec =>
        val fusion = Fusion.of(plan)
        if (computes(plan)) taken(plan, fusion)(FulguriteProjectExec(plan, fusion, NativeStep.projection(plan, fusion), fusion.source))
        else below(plan)
      case _: FulguriteExec | _: LeftToSparkExec => plan
      case other => below(other)
    }

    private def taken(plan: SparkPlan, fusion: Fusion)(native: => SparkPlan): SparkPlan = Source.of(fusion.source) match {
      case None => below(plan)
      case Some(Left(reason)) => LeftToSparkExec(reason, plan)
      case Some(Right(_)) =>
        try native
        catch { case refused: Refused => LeftToSparkExec(refused.reason, below(plan)) }
    }

    private def below(plan: SparkPlan): SparkPlan = plan.withNewChildren(plan.children.map(over))

    /** Not if it only leaves columns out. */
    private def computes(plan: SparkPlan): Boolean = plan match {
      case project: ProjectExec => project.projectList.exists(!_.isInstanceOf[Attribute]) || computes(project.child)
      case _: FilterExec => true
      case _ => false
    }
  }
}
