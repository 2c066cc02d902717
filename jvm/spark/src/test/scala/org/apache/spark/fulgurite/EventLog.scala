package org.apache.spark.fulgurite

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}

import scala.collection.mutable

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import org.apache.spark.SparkContext

/**
 * The event log that Spark writes of an application, as the history server would read it, as far as it has been written. The session needs
 * [[EventLog.settings]].
 */
final class EventLog(context: SparkContext) {
  private val file: Path = {
    val folder = Path.of(context.eventLogDir.getOrElse(throw new IllegalStateException("the session writes no event log")))
    folder.resolve(folder.toFile.list.find(_.startsWith(context.applicationId)).getOrElse(throw new IllegalStateException(s"no event log in $folder")))
  }

  /** Where the log ends now. */
  def end: Int = text.length

  /** What `work` gives, and the events of its time. */
  def during[A](work: => A): (A, LoggedEvents) = {
    val before = end
    val result = work
    (result, from(before))
  }

  /** The events since the log ended there. */
  def from(start: Int): LoggedEvents =
    new LoggedEvents(new String(text.drop(start), UTF_8).linesIterator.map(EventLog.mapper.readTree(_: String)).toVector)

  /** Whole lines: somebody may be writing the last one. */
  private def text: Array[Byte] = {
    context.listenerBus.waitUntilEmpty()
    val bytes = Files.readAllBytes(file)
    bytes.take(bytes.lastIndexOf('\n'.toByte) + 1)
  }
}

object EventLog {
  private val mapper = new ObjectMapper

  /** A session with these has a log that can be read while it is written: one file, as plain text, with the blocks that are stored. */
  def settings(folder: Path): Map[String, String] = Map(
    "spark.eventLog.enabled" -> "true",
    "spark.eventLog.dir" -> folder.toUri.toString,
    "spark.eventLog.compress" -> "false",
    "spark.eventLog.rolling.enabled" -> "false",
    "spark.eventLog.logBlockUpdates.enabled" -> "true")
}

/**
 * A stage that was completed, with what its successful tasks say.
 *
 * @param inputBytes that tasks read: of files, and of what is cached
 * @param inputRecords lines of files, and stripes that are cached
 */
final case class LoggedStage(id: Int, name: String, tasks: Int, inputBytes: Long, inputRecords: Long, shuffleWritten: Long)

/** A block that a process has stored or, without bytes, let go of. */
final case class LoggedBlock(process: String, block: String, bytes: Long)

final class LoggedEvents(events: Seq[JsonNode]) {
  def jobs: Int = of("SparkListenerJobStart").size

  def stages: Seq[LoggedStage] = {
    val tasks = of("SparkListenerTaskEnd").filter(_.path("Task End Reason").path("Reason").asText == "Success").groupBy(_.path("Stage ID").asInt)
    of("SparkListenerStageCompleted").map(_.path("Stage Info")).map { stage =>
      val metrics = tasks.getOrElse(stage.path("Stage ID").asInt, Seq.empty).map(_.path("Task Metrics"))
      def sum(group: String, metric: String) = metrics.map(_.path(group).path(metric).asLong).sum
      LoggedStage(
        stage.path("Stage ID").asInt, stage.path("Stage Name").asText, stage.path("Number of Tasks").asInt,
        sum("Input Metrics", "Bytes Read"), sum("Input Metrics", "Records Read"), sum("Shuffle Write Metrics", "Shuffle Bytes Written"))
    }
  }

  /** In the order in which they were stored or removed. */
  def blocks: Seq[LoggedBlock] = of("SparkListenerBlockUpdated").map(block)

  /** The blocks that are stored after these events, in whichever process. */
  def stored: Seq[LoggedBlock] = {
    val latest = mutable.LinkedHashMap.empty[(String, String), LoggedBlock]
    for (event <- events) event.path("Event").asText match {
      case "SparkListenerBlockUpdated" =>
        val found = block(event)
        latest((found.process, found.block)) = found
      // Spark tells of the RDD, not of its blocks.
      case "SparkListenerUnpersistRDD" =>
        val prefix = s"rdd_${event.path("RDD ID").asInt}_"
        latest.keys.filter(_._2.startsWith(prefix)).toVector.foreach(latest.remove)
      case _ =>
    }
    latest.values.filter(_.bytes > 0).toSeq
  }

  private def block(event: JsonNode): LoggedBlock = {
    val update = event.path("Block Updated Info")
    val level = update.path("Storage Level")
    // What was removed has the level that it had, without replicas.
    val isStored = level.path("Replication").asInt > 0 && (level.path("Use Memory").asBoolean || level.path("Use Disk").asBoolean)
    LoggedBlock(
      update.path("Block Manager ID").path("Executor ID").asText, update.path("Block ID").asText,
      if (isStored) update.path("Memory Size").asLong + update.path("Disk Size").asLong else 0)
  }

  private def of(kind: String): Seq[JsonNode] = events.filter(_.path("Event").asText == kind)
}
