package io.fulgurite.spark.sql

import org.apache.arrow.vector.types.{DateUnit, FloatingPointPrecision}
import org.apache.arrow.vector.types.pojo.ArrowType
import org.apache.spark.sql.types._

/** The types of columns that native code takes. */
private[sql] object Types {
  /** What the plan language calls the type; nothing for a type that stays Spark's. */
  def name(of: DataType): Option[String] = of match {
    case BooleanType => Some("boolean")
    case ByteType => Some("int8")
    case ShortType => Some("int16")
    case IntegerType => Some("int32")
    case LongType => Some("int64")
    case FloatType => Some("float32")
    case DoubleType => Some("float64")
    case DateType => Some("date")
    // Equal only if bytes decide about order and equality: not with a collation.
    case text if text == StringType => Some("string")
    case _ => None
  }

  def taken(of: DataType): String = name(of).getOrElse(throw new Refused(s"type ${of.simpleString}"))

  def isInteger(of: DataType): Boolean = integerBits(of).isDefined

  def integerBits(of: DataType): Option[Int] = of match {
    case ByteType => Some(8)
    case ShortType => Some(16)
    case IntegerType => Some(32)
    case LongType => Some(64)
    case _ => None
  }

  def isFloating(of: DataType): Boolean = of == FloatType || of == DoubleType

  def arrow(of: DataType): ArrowType = of match {
    case BooleanType => new ArrowType.Bool
    case FloatType => new ArrowType.FloatingPoint(FloatingPointPrecision.SINGLE)
    case DoubleType => new ArrowType.FloatingPoint(FloatingPointPrecision.DOUBLE)
    case DateType => new ArrowType.Date(DateUnit.DAY)
    case text if text == StringType => new ArrowType.Utf8
    case other => new ArrowType.Int(integerBits(other).getOrElse(throw new Refused(s"type ${other.simpleString}")), true)
  }
}

/** Why a part of a plan stays Spark's. */
private[sql] final class Refused(val reason: String) extends RuntimeException(reason, null, false, false)
