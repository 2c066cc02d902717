package io.fulgurite.faults

import java.nio.file.Files
import java.util.{Map => JMap}

import io.fulgurite.Once
import org.apache.spark.{SparkContext, TaskContext}
import org.apache.spark.api.plugin.{DriverPlugin, ExecutorPlugin, PluginContext, SparkPlugin}

/** What becomes of one task of jobs that a thread of the driver starts, when the task does. */
sealed abstract class TaskFault(val name: String)
object TaskFault {
  /** The second task to start ends its executor. */
  case object ExecutorHalts extends TaskFault("halts")
  /** The first partition's task does nothing before it is killed. */
  case object AwaitsKill extends TaskFault("awaits-kill")

  private val Property = "fulgurite-faults.task"

  /** What runs while the fault is to happen, once. */
  def during[A](context: SparkContext, fault: TaskFault)(work: => A): A = {
    context.setLocalProperty(Property, s"${fault.name} ${Files.createTempDirectory("fulgurite-task")}")
    try work
    finally context.setLocalProperty(Property, null)
  }

  private[faults] def of(task: TaskContext): Option[(TaskFault, Once)] = Option(task.getLocalProperty(Property)).flatMap { said =>
    val (name, folder) = said.splitAt(said.indexOf(' '))
    Seq(ExecutorHalts, AwaitsKill).find(_.name == name).map((_, new Once(folder.trim)))
  }
}

/** The executors' side of [[TaskFault]]. */
final class TaskFaultPlugin extends SparkPlugin {
  override def driverPlugin(): DriverPlugin = null

  override def executorPlugin(): ExecutorPlugin = new ExecutorPlugin {
    override def init(context: PluginContext, extra: JMap[String, String]): Unit = ()

    override def onTaskStart(): Unit = {
      val task = TaskContext.get()
      TaskFault.of(task).foreach {
        case (TaskFault.ExecutorHalts, once) => if (!once.first("first") && once.first("halted")) Runtime.getRuntime.halt(1)
        case (TaskFault.AwaitsKill, _) => if (task.partitionId() == 0 && task.attemptNumber() == 0) {
          val latest = System.nanoTime + 60000000000L
          while (!task.isInterrupted() && System.nanoTime < latest) Thread.sleep(5)
        }
      }
    }
  }
}
