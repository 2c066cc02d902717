package io.fulgurite.spark.text

import com.fasterxml.jackson.databind.JsonNode
import io.fulgurite.core.{FulguriteException, Native}
import io.fulgurite.spark.{Blocks, Errors, Json}
import io.fulgurite.spark.arrow.Library

/** What native code says of some lines: see [[Native.parseText]]. */
private[spark] final class ParsedText(reply: JsonNode) {
  def lines: Long = reply.get("lines").asLong

  /** Of csv: cells that were empty and became the default. */
  def emptyCells: Long = reply.path("emptyCells").asLong

  /** Of libsvm: entries that are left out. */
  def queryIds: Long = reply.path("queryIds").asLong

  /** One for each handle, in the order of lines; they belong to the task. */
  val blocks: Seq[Blocks] = Blocks.ofTask(Option(reply.get("handles")).toSeq.flatMap(Json.elements).map(_.asLong))
  def columns: Option[Long] = Option(reply.get("columns")).map(_.asLong)
  def header: Option[JsonNode] = Option(reply.get("header"))
  def problem: Option[LineProblem] = Option(reply.get("problem")).map { found =>
    LineProblem(found.get("line").asLong, found.get("reason").asText, found.get("text").asText, found.get("help").asText)
  }
}

private[spark] object ParsedText {
  def apply(chunk: Chunk, format: Array[Byte]): ParsedText = {
    Library.ensureLoaded()
    new ParsedText(Json.parse(Native.parseText(format, chunk.bytes, chunk.length)))
  }
}

/**
 * What is wrong with a line.
 *
 * @param line from 1
 */
private[spark] final case class LineProblem(line: Long, reason: String, text: String, help: String) {

  /** The error of a task, which does not know how many lines stand before its own. */
  def in(name: String): FulguriteException = at(s"line in '$name'")

  def error(name: String): FulguriteException = at(s"line $line of '$name'")

  private def at(place: String) = Errors.data(s"bad $place: $reason\n   | ${text.take(200)}", help)
}
