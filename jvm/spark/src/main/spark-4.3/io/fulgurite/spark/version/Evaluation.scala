package io.fulgurite.spark.version

import org.apache.spark.sql.catalyst.expressions.{BinaryArithmetic, EvalMode}
import org.apache.spark.sql.catalyst.expressions.aggregate.Sum

/** How expressions treat overflow. */
object Evaluation {
  def mode(operation: BinaryArithmetic): EvalMode.Value = operation.evalContext.evalMode
  def mode(sum: Sum): EvalMode.Value = sum.evalContext.evalMode
}
