package io.fulgurite.spark.version

import org.apache.spark.sql.catalyst.expressions.{Add, BinaryArithmetic, Divide, EvalMode, Multiply, Subtract}
import org.apache.spark.sql.catalyst.expressions.aggregate.Sum

/** How expressions treat overflow. */
object Evaluation {
  def mode(operation: BinaryArithmetic): EvalMode.Value = operation match {
    case sum: Add => sum.evalMode
    case difference: Subtract => difference.evalMode
    case product: Multiply => product.evalMode
    case quotient: Divide => quotient.evalMode
    case _ => EvalMode.TRY
  }

  def mode(sum: Sum): EvalMode.Value = sum.evalMode
}
