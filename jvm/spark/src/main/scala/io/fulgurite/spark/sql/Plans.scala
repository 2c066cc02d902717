package io.fulgurite.spark.sql

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode
import io.fulgurite.spark.Json

/** The JSON of relational plans and expressions, as native code reads it. */
private[sql] object Plans {
  def column(name: String): JsonNode = Json.newObject().put("col", name)

  def literal(kind: String)(put: ObjectNode => Unit): JsonNode = {
    val node = Json.newObject()
    put(node)
    node.put("type", kind)
  }

  def integer(value: Long): JsonNode = literal("int")(_.put("lit", value))
  def boolean(value: Boolean): JsonNode = literal("boolean")(_.put("lit", value))

  def number(value: Double): JsonNode = literal("float") { node =>
    if (value.isNaN) node.put("lit", "NaN")
    else if (value.isInfinite) node.put("lit", if (value > 0) "inf" else "-inf")
    else node.put("lit", value)
    ()
  }

  def cast(to: String, from: JsonNode): JsonNode = Json.newObject().put("cast", to).set[ObjectNode]("arg", from)

  def call(function: String, arguments: JsonNode*): JsonNode = callWith(function, _ => (), arguments: _*)

  def callWith(function: String, options: ObjectNode => Unit, arguments: JsonNode*): JsonNode = {
    val node = Json.newObject().put("call", function)
    val list = Json.newArray()
    arguments.foreach(list.add)
    node.set[ObjectNode]("args", list)
    val chosen = Json.newObject()
    options(chosen)
    if (chosen.size > 0) node.set[ObjectNode]("options", chosen)
    node
  }

  def aggregate(name: String, argument: Option[JsonNode]): JsonNode = {
    val node = Json.newObject().put("agg", name)
    argument.foreach(node.set[ObjectNode]("arg", _))
    node
  }

  def any(conditions: Seq[JsonNode]): Option[JsonNode] = conditions.reduceOption(call("or", _, _))
  def all(conditions: Seq[JsonNode]): Option[JsonNode] = conditions.reduceOption(call("and", _, _))

  val scan: JsonNode = Json.newObject().put("scan", 0)

  def filter(input: JsonNode, condition: Option[JsonNode]): JsonNode = condition.fold(input) { predicate =>
    val node = Json.newObject()
    node.set[ObjectNode]("input", input)
    node.set[ObjectNode]("predicate", predicate)
    Json.newObject().set[ObjectNode]("filter", node)
  }

  def select(input: JsonNode, columns: Seq[(String, JsonNode)]): JsonNode = {
    val node = Json.newObject()
    node.set[ObjectNode]("input", input)
    node.set[ObjectNode]("exprs", named(columns))
    Json.newObject().set[ObjectNode]("select", node)
  }

  def groupBy(input: JsonNode, keys: Seq[(String, JsonNode)], aggregates: Seq[(String, JsonNode)]): JsonNode = {
    val node = Json.newObject()
    node.set[ObjectNode]("input", input)
    node.set[ObjectNode]("keys", named(keys))
    node.set[ObjectNode]("aggs", named(aggregates))
    // Spark promises no order of groups.
    node.put("maintain_order", false)
    Json.newObject().set[ObjectNode]("group_by", node)
  }

  private def named(columns: Seq[(String, JsonNode)]): JsonNode = {
    val list = Json.newArray()
    columns.foreach { case (name, expression) => list.add(Json.newObject().put("name", name).set[ObjectNode]("expr", expression)) }
    list
  }
}
