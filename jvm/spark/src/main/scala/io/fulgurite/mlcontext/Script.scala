package io.fulgurite.mlcontext

import scala.collection.mutable

import io.fulgurite.spark.Errors

/**
 * A script, its inputs and the names of its outputs. Names that begin with `$` are arguments of the script, all others
 * are variables: reads into them and writes of registered outputs do not touch files. Inputs stay as they are over any
 * number of executions.
 */
final class Script(val text: String) {
  private var scriptName = "script.dml"
  private val bound = mutable.LinkedHashMap.empty[String, (Any, Option[MatrixMetadata])]
  private var wanted = Vector.empty[String]
  private var last: Option[MLResults] = None

  def in(name: String, value: Any): Script = bind(name, value, None)
  def in(name: String, value: Any, metadata: MatrixMetadata): Script = bind(name, value, Some(metadata))

  def in(values: scala.collection.Map[String, Any]): Script = { values.foreach { case (name, value) => in(name, value) }; this }
  def in(values: java.util.Map[String, Any]): Script = { values.forEach((name, value) => in(name, value)); this }

  /** Pairs of name and value, or triples with metadata. */
  def in(values: Seq[Product]): Script = {
    values.foreach {
      case (name: String, value) => in(name, value)
      case (name: String, value, metadata: MatrixMetadata) => in(name, value, metadata)
      case other => throw Errors.argument(s"'$other' is no input", "give pairs of name and value, or triples with MatrixMetadata")
    }
    this
  }

  @scala.annotation.varargs
  def out(names: String*): Script = {
    wanted = (wanted ++ names).distinct
    this
  }

  def out(names: java.util.List[String]): Script = out(names.toArray(Array.empty[String]).toSeq: _*)

  /** What messages call the script. */
  def setName(name: String): Script = { scriptName = name; this }
  def name: String = scriptName

  def inputs: Map[String, Any] = bound.collect { case (name, (value, _)) if !name.startsWith("$") => name -> value }.toMap
  def arguments: Map[String, Any] = bound.collect { case (name, (value, _)) if name.startsWith("$") => name -> value }.toMap
  def outputs: Seq[String] = wanted

  def clearInputs(): Script = { bound.clear(); this }
  def clearOutputs(): Script = { wanted = Vector.empty; this }
  def clearIO(): Script = clearInputs().clearOutputs()
  def clearAll(): Script = { last = None; clearIO() }

  /** Runs on the active [[MLContext]]. */
  def execute(): MLResults = MLContext.active.execute(this)

  /** Of the last execution. */
  def results(): MLResults = last.getOrElse(throw Errors.argument("the script has not been executed", "call execute first"))

  def info: String = toString

  override def toString: String = {
    def lines(title: String, names: Iterable[String]) =
      if (names.isEmpty) s"$title:\nNone\n" else names.zipWithIndex.map { case (name, at) => s"  [${at + 1}] $name" }.mkString(s"$title:\n", "\n", "\n")
    lines("Inputs", bound.map { case (name, (value, _)) => s"(${value.getClass.getSimpleName}) $name" }) + lines("Outputs", wanted)
  }

  private[mlcontext] def bindings: Seq[(String, Any, Option[MatrixMetadata])] =
    bound.toSeq.map { case (name, (value, metadata)) => (name, value, metadata) }

  private[mlcontext] def executed(results: MLResults): Unit = last = Some(results)

  private def bind(name: String, value: Any, metadata: Option[MatrixMetadata]): Script = {
    if (name == null || name.stripPrefix("$").isEmpty) throw Errors.argument("an input has no name", "name it")
    if (value == null) throw Errors.argument(s"input '$name' is null", "pass a value, or leave the input out")
    bound(name) = (value, metadata)
    this
  }
}
