package io.fulgurite.spark.frames

import io.fulgurite.core.FulguriteException
import io.fulgurite.spark.Errors
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.util.{quoteIfNeeded => quoted}
import org.apache.spark.sql.functions.col
import org.apache.spark.sql.types._

/** How the columns of a DataFrame are the columns of a matrix. */
sealed trait Columns {
  def names: Seq[String]
}

/** One column of the matrix for each column of the frame. */
final case class Scalars(names: Seq[String]) extends Columns

/** The matrix stands in one column of ML vectors. */
final case class Vectors(name: String) extends Columns {
  override def names: Seq[String] = Seq(name)
}

/** A frame brought to the form that [[StripeReader]] reads: the matrix' columns, then the index if there is one. */
final case class Prepared(frame: DataFrame, columns: Columns, indexed: Boolean)

object Columns {

  /** A column of this name, anywhere, numbers the rows from 1 and orders them. */
  val Index = "__INDEX"

  def prepare(frame: DataFrame): Prepared = {
    val fields = frame.schema.fields.toSeq
    for (name <- fields.groupBy(_.name).collectFirst { case (name, several) if several.size > 1 => name }) {
      throw Errors.data(s"two columns of the DataFrame are called '$name'", "rename one of them")
    }
    val (index, cells) = fields.partition(_.name == Index)
    for (field <- index if !isNumber(field.dataType)) {
      throw Errors.data(s"column '$Index' is of type ${field.dataType.simpleString}", "row numbers are whole numbers from 1")
    }
    val columns = cells match {
      case Seq() => throw Errors.data("the DataFrame has no columns", "a matrix needs at least one")
      case Seq(only) if isVector(only.dataType) => Vectors(only.name)
      case several =>
        several.find(field => !isNumber(field.dataType)).foreach(field => throw refused(field))
        Scalars(several.map(_.name))
    }
    val selected = columns match {
      case Scalars(names) => names.map(name => col(quoted(name)).cast(DoubleType))
      case Vectors(name) => Seq(col(quoted(name)))
    }
    val indices = index.map(field => col(quoted(field.name)).cast(DoubleType))
    Prepared(frame.select(selected ++ indices: _*), columns, index.nonEmpty)
  }

  /** A frame of row, column and value, as doubles. */
  def prepareCells(frame: DataFrame): Prepared = {
    val fields = frame.schema.fields.toSeq
    if (fields.size != 3) {
      throw Errors.data(
        s"the DataFrame has ${fields.size} columns, cells have three: ${fields.map(_.name).mkString(", ")}", "select row, column and value, in this order")
    }
    fields.find(field => !isNumber(field.dataType)).foreach(field => throw refused(field))
    // By position: names may repeat.
    val cells = frame.toDF("row", "column", "value").select(Seq("row", "column", "value").map(col(_).cast(DoubleType)): _*)
    Prepared(cells, Scalars(fields.map(_.name)), indexed = false)
  }

  private def isNumber(kind: DataType): Boolean = kind match {
    case _: NumericType | BooleanType => true
    case _ => false
  }

  /** Vectors of spark.ml and of the older spark.mllib look alike inside. */
  private def isVector(kind: DataType): Boolean = kind match {
    case user: UserDefinedType[_] =>
      Set("org.apache.spark.ml.linalg.VectorUDT", "org.apache.spark.mllib.linalg.VectorUDT")(user.getClass.getName)
    case _ => false
  }

  private def refused(field: StructField): FulguriteException = {
    val help = field.dataType match {
      case StringType => "cast it to double, encode it as numbers, or leave it out with select"
      case kind if isVector(kind) => "a vector column has to be the only one beside __INDEX: assemble one vector, or select it alone"
      case _ => "columns are double, float, decimal, long, int, short, byte or boolean, or one ML vector"
    }
    Errors.data(s"column '${field.name}' is of type ${field.dataType.simpleString}, which is no number", help)
  }
}
