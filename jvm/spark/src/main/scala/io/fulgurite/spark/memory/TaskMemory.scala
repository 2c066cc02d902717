package io.fulgurite.spark.memory

import java.util.IdentityHashMap
import java.util.concurrent.ConcurrentHashMap

import io.fulgurite.core.FulguriteException
import io.fulgurite.spark.{Blocks, Errors}
import org.apache.spark.TaskContext

/** The blocks that one task made for its own use: each is charged until it is closed, and none outlives the task. */
private[spark] final class TaskMemory private (account: Account) {
  private val open = new IdentityHashMap[Blocks, Long]
  private var ended = false

  def own(blocks: Blocks): Unit = synchronized {
    if (ended) throw Errors.internal("blocks were made for a task that has ended")
    account.acquire(blocks.bytes)
    open.put(blocks, blocks.bytes)
  }

  /** Blocks that are there already: the task has them even if it may not have so much, and is not charged then. */
  def ownRead(blocks: Blocks): Unit =
    try own(blocks)
    catch {
      case failure: FulguriteException if failure.kind == "memory" =>
        synchronized(open.put(blocks, 0L))
        ()
    }

  def disown(blocks: Blocks): Unit = synchronized {
    if (open.containsKey(blocks)) account.release(open.remove(blocks))
  }

  private def end(): Unit = {
    val left = synchronized {
      ended = true
      open.keySet.toArray(Array.empty[Blocks])
    }
    left.foreach(_.close())
  }
}

private[spark] object TaskMemory {
  private val running = new ConcurrentHashMap[Long, TaskMemory]

  /** Of the task that this thread works for; none on the driver. */
  def current: Option[TaskMemory] = Option(TaskContext.get()).map { context =>
    val known = running.get(context.taskAttemptId())
    if (known != null) known else start(context)
  }

  private def start(context: TaskContext): TaskMemory = {
    val task = context.taskAttemptId()
    val memory = new TaskMemory(NativeMemory.account(context))
    val before = running.putIfAbsent(task, memory)
    if (before != null) before
    else {
      context.addTaskCompletionListener[Unit] { _ =>
        running.remove(task)
        memory.end()
      }
      memory
    }
  }
}
