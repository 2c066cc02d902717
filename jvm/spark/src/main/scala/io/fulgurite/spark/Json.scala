package io.fulgurite.spark

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import com.fasterxml.jackson.databind.node.{ArrayNode, ObjectNode}

/** JSON, as it crosses to native code: UTF-8 bytes. */
private[fulgurite] object Json {
  private val mapper = new ObjectMapper()

  def parse(bytes: Array[Byte]): JsonNode = mapper.readTree(bytes)
  def parse(text: String): JsonNode = mapper.readTree(text)
  def bytes(node: JsonNode): Array[Byte] = mapper.writeValueAsBytes(node)
  def pretty(node: JsonNode): String = mapper.writerWithDefaultPrettyPrinter().writeValueAsString(node)
  def newObject(): ObjectNode = mapper.createObjectNode()
  def newArray(): ArrayNode = mapper.createArrayNode()

  def elements(node: JsonNode): Seq[JsonNode] = (0 until node.size).map(node.get)
}
