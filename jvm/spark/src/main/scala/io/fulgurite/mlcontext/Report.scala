package io.fulgurite.mlcontext

import com.fasterxml.jackson.databind.JsonNode
import io.fulgurite.spark.{Counts, Event, Json}

/** How one operator ran. `location` is `local` or `spark`; `plan` is the plan of a fused operator. */
final case class OperatorReport(label: String, location: String, count: Long, seconds: Double, plan: Option[String])

/** What an execution did: the account of the control program, and what Spark's executors say. */
final class Report(native: JsonNode, counts: Counts) {
  def operators: Seq[OperatorReport] = Json.elements(native.path("operators")).map { operator =>
    OperatorReport(
      operator.path("label").asText, operator.path("location").asText, operator.path("count").asLong,
      operator.path("seconds").asDouble, Option(operator.get("plan")).filterNot(_.isNull).map(_.asText))
  }

  /** Native tasks that executors ran: by operator, then by executor. */
  def nativeTasks: Map[String, Map[String, Long]] =
    of(Event.NativeTask).groupBy(_._1.label).map { case (label, events) =>
      label -> events.map { case (event, count) => event.executor -> count }.toMap
    }

  /** How many partitions of each distributed input were read from its source. */
  def partitionsRead: Map[String, Long] =
    of(Event.SourcePartition).groupBy(_._1.label).map { case (name, events) => name -> events.map(_._2).sum }

  /** Executors that ran native tasks. */
  def executors: Set[String] = of(Event.NativeTask).map(_._1.executor).toSet

  /** Everything the control program reports, as JSON. */
  def json: String = Json.pretty(native)

  override def toString: String = {
    val text = new StringBuilder(f"${"seconds"}%10s  ${"count"}%8s  ${"where"}%-8s  operator%n")
    operators.foreach(operator => text.append(f"${operator.seconds}%10.4f  ${operator.count}%8d  ${operator.location}%-8s  ${operator.label}%n"))
    def number(name: String) = native.path(name).asLong
    text.append(f"total ${native.path("totalSeconds").asDouble}%.3f s; planned ${number("blockPlans")} blocks in " +
      f"${native.path("planningMilliseconds").asDouble}%.1f ms; compiled ${number("planCacheMisses")} fused operators in " +
      f"${native.path("compileMilliseconds").asDouble}%.1f ms, ${number("planCacheHits")} from the cache")
    for ((label, byExecutor) <- nativeTasks.toSeq.sortBy(_._1)) {
      text.append(byExecutor.toSeq.sorted.map { case (executor, count) => s"$count on $executor" }.mkString(s"\nnative tasks of $label: ", ", ", ""))
    }
    for ((name, count) <- partitionsRead.toSeq.sorted) text.append(s"\n$count partitions of $name read")
    text.result()
  }

  private def of(kind: String): Seq[(Event, Long)] = counts.value.toSeq.filter(_._1.kind == kind)
}
