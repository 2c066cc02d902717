package io.fulgurite.spark.sql

import org.apache.spark.TaskContext
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet, SortOrder}
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.execution.{CodegenSupport, ColumnarToRowTransition, SparkPlan, UnaryExecNode}
import org.apache.spark.sql.execution.aggregate.HashAggregateExec
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}

/** Nodes of Spark above a scan that run as one step of native code. It takes columns, or what the cache has of them, and gives rows. */
private[sql] sealed trait FulguriteExec extends ColumnarToRowTransition {
  /** What Spark would have run, down to the scan. */
  def original: SparkPlan
  def fusion: Fusion
  def step: NativeStep

  override def output: Seq[Attribute] = original.output
  override def outputPartitioning: Partitioning = original.outputPartitioning
  override protected def doCanonicalize(): SparkPlan = original.canonicalized

  override lazy val metrics: Map[String, SQLMetric] = Map(
    "numOutputRows" -> SQLMetrics.createMetric(sparkContext, "number of output rows"),
    "chunks" -> SQLMetrics.createMetric(sparkContext, "number of chunks"),
    "chunksLeft" -> SQLMetrics.createMetric(sparkContext, "number of chunks left to Spark"),
    "nativeTime" -> SQLMetrics.createNanoTimingMetric(sparkContext, "time in native code"))

  override protected def doExecute(): RDD[InternalRow] = {
    val source = Source.of(child) match {
      case Some(Right(source)) => source
      case _ => throw new IllegalStateException(s"${child.nodeName} is no source of columns")
    }
    val (step, types) = (this.step, output.map(_.dataType).toArray)
    val counts = StepMetrics(longMetric("numOutputRows"), longMetric("chunks"), longMetric("chunksLeft"), longMetric("nativeTime"))
    source.chunks(step.inputs).mapPartitionsWithIndex { (partition, chunks) =>
      chunks.flatMap(each => new NativeRun(step, types, counts, partition, TaskContext.get()).rows(each))
    }
  }

  /** What the step does, from the scan on. */
  protected def does: Seq[String] = fusion.conditions.map(condition => s"filter $condition")

  override def simpleString(maxFields: Int): String = s"$nodeName ${does.mkString("; ")}"
  override def verboseStringWithOperatorId(): String = s"$formattedNodeName\n${does.map(part => s"Native: $part\n").mkString}"
}

private[sql] final case class FulguriteProjectExec(original: SparkPlan, fusion: Fusion, step: NativeStep, child: SparkPlan) extends FulguriteExec {
  override def nodeName: String = "FulguriteProject"
  override def outputOrdering: Seq[SortOrder] = original.outputOrdering
  override protected def does: Seq[String] = super.does :+ s"give ${original.output.map(fusion.inlined).mkString(", ")}"
  override protected def withNewChildInternal(newChild: SparkPlan): SparkPlan = copy(child = newChild)
}

private[sql] final case class FulguriteAggregateExec(original: HashAggregateExec, fusion: Fusion, step: NativeStep, child: SparkPlan)
    extends FulguriteExec {
  override def nodeName: String = "FulguriteAggregate"
  override protected def does: Seq[String] = {
    val keys = original.groupingExpressions.map(fusion.inlined).map(_.toString)
    val functions = original.aggregateExpressions.map(each => fusion.inlined(each.aggregateFunction).toString)
    super.does :+ ((if (keys.isEmpty) "" else s"group by ${keys.mkString(", ")}: ") + functions.mkString(", "))
  }
  override protected def withNewChildInternal(newChild: SparkPlan): SparkPlan = copy(child = newChild)
}

/** Says in Spark's explain output why the node below is Spark's. Costs nothing when it runs. */
private[sql] final case class LeftToSparkExec(reason: String, child: SparkPlan) extends UnaryExecNode with CodegenSupport {
  override def nodeName: String = "LeftToSpark"
  override def output: Seq[Attribute] = child.output
  override def outputPartitioning: Partitioning = child.outputPartitioning
  override def outputOrdering: Seq[SortOrder] = child.outputOrdering
  override protected def doCanonicalize(): SparkPlan = child.canonicalized
  override def simpleString(maxFields: Int): String = s"$nodeName: $reason"
  override def verboseStringWithOperatorId(): String = s"$formattedNodeName\nReason: $reason\n"

  override protected def doExecute(): RDD[InternalRow] = child.execute()
  override def supportCodegen: Boolean = child match {
    case codegen: CodegenSupport => codegen.supportCodegen
    case _ => false
  }
  override def inputRDDs(): Seq[RDD[InternalRow]] = child.asInstanceOf[CodegenSupport].inputRDDs()
  override def usedInputs: AttributeSet = AttributeSet.empty
  override protected def doProduce(ctx: CodegenContext): String = child.asInstanceOf[CodegenSupport].produce(ctx, this)
  override def doConsume(ctx: CodegenContext, input: Seq[ExprCode], row: ExprCode): String = consume(ctx, input)
  override protected def withNewChildInternal(newChild: SparkPlan): SparkPlan = copy(child = newChild)
}
