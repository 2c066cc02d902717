package io.fulgurite.spark

import scala.collection.mutable

import org.apache.spark.util.AccumulatorV2

/** Something that happened on an executor: a partition was read, of a source or of what it was made into. */
final case class Event(kind: String, label: String, executor: String)

object Event {
  val SourcePartition = "source"
  val InputPartition = "input"
}

/** How often what happened where; executors add, the driver reads. */
final class Counts extends AccumulatorV2[Event, Map[Event, Long]] {
  private val counts = mutable.LinkedHashMap.empty[Event, Long]

  override def isZero: Boolean = synchronized(counts.isEmpty)
  override def reset(): Unit = synchronized(counts.clear())
  override def add(event: Event): Unit = add(event, 1)
  override def value: Map[Event, Long] = synchronized(counts.toMap)

  override def copy(): Counts = {
    val other = new Counts
    value.foreach { case (event, count) => other.add(event, count) }
    other
  }

  override def merge(other: AccumulatorV2[Event, Map[Event, Long]]): Unit =
    other.value.foreach { case (event, count) => add(event, count) }

  private def add(event: Event, count: Long): Unit =
    synchronized(counts.update(event, counts.getOrElse(event, 0L) + count))
}
