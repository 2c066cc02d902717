package io.fulgurite

import com.fasterxml.jackson.core.JsonProcessingException
import com.fasterxml.jackson.databind.JsonNode
import io.fulgurite.mlcontext.{MLContext, MLResults}
import io.fulgurite.spark.{Errors, Json}

/** Runs what other front ends hand over: DAGs of high-level operators as JSON. */
object Fulgurite {

  /**
   * Executes a HOP DAG on the active [[MLContext]].
   *
   * @param hopDagJson the DAG; its `TWrite`s are the outputs
   * @param blocks its `TRead`s by name: anything that is an input of a script
   */
  def execute(hopDagJson: String, blocks: Map[String, Any]): MLResults = {
    val dag =
      try Json.parse(hopDagJson)
      catch { case bad: JsonProcessingException => throw Errors.syntax(s"HOP JSON: ${bad.getOriginalMessage}", "docs/hop-json.md describes the format") }
    MLContext.active.executeDag(dag, blocks.toSeq.map { case (name, value) => (name, value, None) }, outputs(dag))
  }

  def execute(hopDagJson: String, blocks: java.util.Map[String, Any]): MLResults = {
    val named = Map.newBuilder[String, Any]
    blocks.forEach((name, value) => named += name -> value)
    execute(hopDagJson, named.result())
  }

  /** Names after `TWrite`, in the order of the text. What is wrong with the DAG is native code's to say. */
  private def outputs(dag: JsonNode): Seq[String] =
    Json.elements(dag.path("hops")).map(_.path("op").asText).filter(_.startsWith(Write)).map(_.stripPrefix(Write)).distinct

  private val Write = "TWrite "
}
