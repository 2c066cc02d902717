package io.fulgurite.mlcontext

import com.fasterxml.jackson.databind.JsonNode
import io.fulgurite.spark.{Errors, Json}

/** Scalars between Scala and native code. */
private[mlcontext] object Literals {

  /** The JSON of a scalar; none if the value is no scalar. Long stays long, a Float keeps the digits it shows. */
  def toJson(value: Any): Option[JsonNode] = {
    val json = Json.newObject()
    value match {
      case number: Int => Some(json.put("type", "int").put("value", number))
      case number: Long => Some(json.put("type", "int").put("value", number))
      case number: Short => Some(json.put("type", "int").put("value", number.toInt))
      case number: Byte => Some(json.put("type", "int").put("value", number.toInt))
      case number: Float => toJson(number.toString.toDouble)
      case number: Double if number.isNaN || number.isInfinite => Some(json.put("type", "double").put("value", number.toString))
      case number: Double => Some(json.put("type", "double").put("value", number))
      case number: java.math.BigDecimal => toJson(number.doubleValue)
      case number: BigDecimal => toJson(number.toDouble)
      case truth: Boolean => Some(json.put("type", "boolean").put("value", truth))
      case text: String => Some(json.put("type", "string").put("value", text))
      case _ => None
    }
  }

  /** Long, Double, Boolean or String. */
  def fromJson(json: JsonNode): Any = json.path("type").asText match {
    case "int" => json.get("value").asLong
    case "double" => if (json.get("value").isTextual) json.get("value").asText.toDouble else json.get("value").asDouble
    case "boolean" => json.get("value").asBoolean
    case "string" => json.get("value").asText
    case other => throw Errors.internal(s"a scalar of type '$other'")
  }

  /** The text of a `$`-argument. */
  def argument(name: String, value: Any): String = value match {
    case truth: Boolean => if (truth) "TRUE" else "FALSE"
    case text: String => text
    case number if toJson(number).isDefined => number.toString
    case other =>
      throw Errors.argument(s"argument '$name' is a ${other.getClass.getName}", "arguments are numbers, booleans and strings; bind data to variables, without '$'")
  }
}
