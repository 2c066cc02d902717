package io.fulgurite.faults

import java.nio.file.{Files, NoSuchFileException, Path, StandardCopyOption}
import java.util.{Map => JMap}

import scala.collection.mutable

import io.fulgurite.Once
import org.apache.spark.{FetchFailed, SparkContext, TaskContext}
import org.apache.spark.api.plugin.{DriverPlugin, ExecutorPlugin, PluginContext, SparkPlugin}
import org.apache.spark.fulgurite.{Disk, Jobs}
import org.apache.spark.scheduler.{SparkListener, SparkListenerJobStart, SparkListenerTaskEnd}

/** What becomes of the output of a shuffle's map side that an executor has, when it starts the first task that is to read it. */
sealed abstract class ShuffleFault(val name: String)
object ShuffleFault {
  case object DiskIsLost extends ShuffleFault("disk")
  case object ExecutorHalts extends ShuffleFault("halts")

  val all: Seq[ShuffleFault] = Seq(DiskIsLost, ExecutorHalts)
}

/**
 * Faults between the two sides of shuffles, once for each stage name that has one of `names` in it and the shuffles that such a stage
 * reads. Driver and executors talk through files, since a task may start before a listener has heard of its stage.
 */
final class ShuffleFaults(context: SparkContext, folder: Path, fault: ShuffleFault, names: Seq[String]) extends AutoCloseable {
  private val stages = mutable.Map.empty[Int, String]
  private val failed = mutable.Set.empty[String]
  private val armed = folder.resolve(ShuffleFaults.Armed)
  private val listener = new SparkListener {
    override def onJobStart(job: SparkListenerJobStart): Unit = for (stage <- job.stageInfos) {
      synchronized(stages(stage.stageId) = stage.name)
      val read = if (names.exists(stage.name.contains)) Disk.shufflesReadBy(stage, job.stageInfos) else Set.empty[Int]
      val told = if (read.isEmpty) "" else read.mkString("", ",", s" ${stage.name}")
      ShuffleFaults.put(folder.resolve(stage.stageId.toString), told)
    }
    override def onTaskEnd(task: SparkListenerTaskEnd): Unit = task.reason match {
      case _: FetchFailed => synchronized(failed += stages(task.stageId))
      case _ =>
    }
  }
  context.addSparkListener(listener)
  ShuffleFaults.put(armed, s"${fault.name} ${Files.createTempDirectory("fulgurite-shuffles")}")

  /** The stages of which tasks have not found what they were to read. */
  def met: Set[String] = {
    Jobs.awaitEvents(context)
    synchronized(failed.toSet)
  }

  override def close(): Unit = {
    Files.delete(armed)
    context.removeSparkListener(listener)
  }
}

object ShuffleFaults {
  /** Names the folder, in Spark's configuration. */
  val Folder = "spark.fulgurite-faults.shuffles"
  private val Armed = "armed"

  private[faults] def armed(folder: Path): Option[(Option[ShuffleFault], Once)] = text(folder.resolve(Armed)).map { armed =>
    val said = armed.split(' ')
    (ShuffleFault.all.find(_.name == said.head), new Once(said.last))
  }

  /** The numbers of the shuffles that the stage reads, and a name for these and the stage, if it is to meet a fault. */
  private[faults] def stage(folder: Path, id: Int): Option[(Set[Int], String)] =
    Iterator.continually { Thread.sleep(5); text(folder.resolve(id.toString)) }.take(2000).collectFirst { case Some(told) => told }.filter(_.nonEmpty).map { told =>
      (told.takeWhile(_ != ' ').split(',').map(_.toInt).toSet, told)
    }

  private def text(file: Path): Option[String] =
    try Some(Files.readString(file))
    catch { case _: NoSuchFileException => None }

  /** Whoever reads it, reads all of it. */
  private def put(file: Path, text: String): Unit = {
    val written = Files.writeString(Files.createTempFile(file.getParent, "new", ""), text)
    Files.move(written, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING)
    ()
  }
}

/** The executors' side of [[ShuffleFaults]]. */
final class ShuffleFaultPlugin extends SparkPlugin {
  override def driverPlugin(): DriverPlugin = null

  override def executorPlugin(): ExecutorPlugin = new ExecutorPlugin {
    @volatile private var folder = Option.empty[Path]

    override def init(context: PluginContext, extra: JMap[String, String]): Unit = folder = Some(Path.of(context.conf.get(ShuffleFaults.Folder)))

    override def onTaskStart(): Unit = {
      val task = TaskContext.get()
      for {
        folder <- folder
        (said, once) <- ShuffleFaults.armed(folder)
        fault <- said
        (shuffles, stage) <- ShuffleFaults.stage(folder, task.stageId()) if task.stageAttemptNumber() == 0
        files = Disk.ofShuffles(shuffles) if files.nonEmpty && once.first(stage.replaceAll("\\W", "_"))
      } fault match {
        case ShuffleFault.DiskIsLost => files.foreach(_.delete())
        case ShuffleFault.ExecutorHalts => Runtime.getRuntime.halt(1)
      }
    }
  }
}
