package io.fulgurite

import scala.jdk.CollectionConverters._

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
  def execute(hopDagJson: String, blocks: Map[String, Any]): MLResults =
    MLContext.active.executeDag(hopDagJson, blocks.toSeq.map { case (name, value) => (name, value, None) }, outputs(hopDagJson))

  def execute(hopDagJson: String, blocks: java.util.Map[String, Any]): MLResults = execute(hopDagJson, blocks.asScala.toMap)

  /** Names after `TWrite`, in the order of the text. What is wrong with the DAG is native code's to say. */
  private def outputs(json: String): Seq[String] =
    try {
      Json.elements(Json.parse(json).findValue("nodes") match { case null => Json.newArray(); case nodes => nodes })
        .map(_.path("op").asText)
        .collect { case s"TWrite $name" => name }
        .distinct
    } catch {
      case bad: com.fasterxml.jackson.core.JsonProcessingException =>
        throw Errors.plan(s"the HOP DAG is no JSON: ${bad.getOriginalMessage}", "see docs/architecture.md for the format")
    }
}
