package io.fulgurite.spark.frames

import io.fulgurite.core.FulguriteException
import io.fulgurite.spark.{Errors, Event}
import io.fulgurite.spark.dataset.Dataset
import io.fulgurite.spark.primitives.Session
import org.apache.spark.SparkEnv
import org.apache.spark.rdd.RDD

/** RDDs of vectors or arrays as datasets: in their order, or by the numbers (from 1) of pairs of number and vector. */
private[fulgurite] object VectorSource {

  /** Whether an RDD with this element is one of rows. */
  def isRow(element: Any): Boolean = (isPair(element) && row(element) == null) || VectorCells.of(row(element)).nonEmpty

  def read(session: Session, name: String, elements: RDD[_], first: Any): Dataset = session.named(s"read $name") {
    val counts = session.counts
    val form = new VectorRow(name, isPair(first))
    val rows = elements.asInstanceOf[RDD[Any]]
    val read = rows.mapPartitions { part =>
      counts.add(Event(Event.SourcePartition, name, SparkEnv.get.executorId))
      new VectorStripes(part.map(form.read), s"input '$name'")
    }
    val size = form.size(first)
    BadRow.located(rows)(form.problem(_, size)) {
      if (form.numbered) RowOrder.dataset(read, name, s"the first of the pairs of input '$name'") else Dataset.fromSource(read.map(_.blocks), name)
    }
  }

  private[frames] def isPair(element: Any): Boolean = element match {
    case (_, _) => true
    // As pairs come from Python.
    case pair: Array[AnyRef] => pair.length == 2
    case _ => false
  }

  private[frames] def row(element: Any): Any = element match {
    case (_, row) => row
    case pair: Array[AnyRef] if isPair(pair) => pair(1)
    case row => row
  }

  private[frames] def number(element: Any): Any = element match {
    case (number, _) => number
    case pair: Array[AnyRef] if isPair(pair) => pair(0)
    case _ => null
  }
}

/** What an element has to be. */
private final class VectorRow(name: String, val numbered: Boolean) extends Serializable {

  def read(element: Any): NumberedVector = {
    if (element == null) throw isNull
    if (VectorSource.isPair(element) != numbered) throw Errors.data(s"input '$name' holds vectors and pairs", "let all elements be of one kind")
    val row = VectorSource.row(element)
    if (row == null) throw isNull
    val cells = VectorCells.of(row).getOrElse {
      throw Errors.data(s"input '$name' holds a ${row.getClass.getName} among vectors", "let all elements be vectors")
    }
    NumberedVector(cells, if (numbered) Some(number(VectorSource.number(element))) else None)
  }

  /** The elements of a vector, if it is one. */
  def size(element: Any): Option[Int] = VectorCells.of(VectorSource.row(element)).map(_.size)

  def problem(element: Any, size: Option[Int]): Option[FulguriteException] =
    try {
      val found = read(element).cells.size
      for (expected <- size if found != expected) throw VectorStripes.mixed(s"input '$name'", expected, found)
      None
    } catch { case bad: FulguriteException => Some(bad) }

  private def number(value: Any): Long = value match {
    case _: Long | _: Int | _: Short | _: Byte if value.asInstanceOf[java.lang.Number].longValue >= 1 => value.asInstanceOf[java.lang.Number].longValue
    case other => throw Errors.data(s"input '$name' holds the row number $other", "rows are numbered 1, 2, 3 ...")
  }

  private def isNull: FulguriteException = Errors.data(s"input '$name' holds a null", "leave such rows out, or put a vector there")
}
