package io.fulgurite.mlcontext

import io.fulgurite.core.FulguriteException
import io.fulgurite.spark.Errors
import org.apache.spark.api.java.JavaRDD
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.DataFrame

/** The outputs of an execution, by name. Getters of a type refuse values that are not of it. */
final class MLResults private[fulgurite] (values: Map[String, Any], val script: Option[Script], reportNow: () => Report, val printed: Seq[String]) {

  /** Long, Double, Boolean, String or [[Matrix]]. */
  def get(name: String): Any = values.getOrElse(
    name,
    throw Errors.argument(
      s"there is no output '$name'", if (values.isEmpty) "register it with out" else s"the outputs are ${names.mkString(", ")}; register others with out"))

  def names: Seq[String] = script.fold(values.keys.toSeq.sorted)(_.outputs)

  /** A number, or a 1 x 1 matrix. */
  def getDouble(name: String): Double = get(name) match {
    case number: Double => number
    case number: Long => number.toDouble
    case matrix: Matrix if matrix.rows == 1 && matrix.cols == 1 => matrix.to2DDoubleArray.head.head
    case other => throw wrong(name, other, "a number")
  }

  /** A whole number, or a 1 x 1 matrix of one. */
  def getLong(name: String): Long = {
    def whole(number: Double): Long = if (number == number.toLong.toDouble) number.toLong else throw wrong(name, number, "a whole number")
    get(name) match {
      case number: Long => number
      case number: Double => whole(number)
      case _: Matrix => whole(getDouble(name))
      case other => throw wrong(name, other, "a whole number")
    }
  }

  def getBoolean(name: String): Boolean = get(name) match {
    case truth: Boolean => truth
    case other => throw wrong(name, other, "a boolean")
  }

  def getString(name: String): String = get(name) match {
    case text: String => text
    case other => throw wrong(name, other, "a string")
  }

  def getMatrix(name: String): Matrix = get(name) match {
    case matrix: Matrix => matrix
    case other => throw wrong(name, other, "a matrix")
  }

  def getMatrixAs2DDoubleArray(name: String): Array[Array[Double]] = getMatrix(name).to2DDoubleArray
  def getDataFrame(name: String): DataFrame = getMatrix(name).toDF()
  def getDataFrame(name: String, isVector: Boolean): DataFrame = if (isVector) getDataFrameVectorWithIDColumn(name) else getDataFrame(name)
  def getDataFrameDoubleWithIDColumn(name: String): DataFrame = getMatrix(name).toDFDoubleWithIDColumn()
  def getDataFrameDoubleNoIDColumn(name: String): DataFrame = getMatrix(name).toDFDoubleNoIDColumn()
  def getDataFrameVectorWithIDColumn(name: String): DataFrame = getMatrix(name).toDFVectorWithIDColumn()
  def getDataFrameVectorNoIDColumn(name: String): DataFrame = getMatrix(name).toDFVectorNoIDColumn()
  def getDataFrameIJV(name: String): DataFrame = getMatrix(name).toDFIJV()
  def getRDDStringCSV(name: String): RDD[String] = getMatrix(name).toRDDStringCSV
  def getRDDStringIJV(name: String): RDD[String] = getMatrix(name).toRDDStringIJV
  def getJavaRDDStringCSV(name: String): JavaRDD[String] = getMatrix(name).toJavaRDDStringCSV
  def getJavaRDDStringIJV(name: String): JavaRDD[String] = getMatrix(name).toJavaRDDStringIJV

  def getTuple[A, B](a: String, b: String): (A, B) = (as[A](a), as[B](b))
  def getTuple[A, B, C](a: String, b: String, c: String): (A, B, C) = (as[A](a), as[B](b), as[C](c))
  def getTuple[A, B, C, D](a: String, b: String, c: String, d: String): (A, B, C, D) = (as[A](a), as[B](b), as[C](c), as[D](d))

  /** What ran where, how often and how long; counts of executors as they are now. */
  def report: Report = reportNow()

  override def toString: String = names.zipWithIndex.map { case (name, at) =>
    val value = get(name)
    s"  [${at + 1}] (${value.getClass.getSimpleName}) $name: $value"
  }.mkString("Outputs:\n", "\n", "\n")

  private def as[A](name: String): A = get(name).asInstanceOf[A]

  private def wrong(name: String, value: Any, wanted: String): FulguriteException = {
    val found = value match {
      case matrix: Matrix => s"a ${matrix.rows} x ${matrix.cols} matrix"
      case text: String => s"the string '$text'"
      case truth: Boolean => s"the boolean ${if (truth) "TRUE" else "FALSE"}"
      case other => s"the number $other"
    }
    Errors.argument(s"output '$name' is $found, not $wanted", "use get, or the getter for its type")
  }
}
