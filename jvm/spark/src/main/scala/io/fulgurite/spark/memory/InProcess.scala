package io.fulgurite.spark.memory

import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicLong

import io.fulgurite.spark.{Blocks, Errors}
import org.apache.spark.{SparkContext, TaskKilledException}

/**
 * Matrices that pass between the driver and tasks of its own process, which there are in Spark's local mode: by a number, where they would be
 * written, copied and read several times.
 */
object InProcess {
  private val sent = new ConcurrentHashMap[Long, Blocks]
  private val collections = new ConcurrentHashMap[Long, Collection]
  private val next = new AtomicLong

  def isWhole(context: SparkContext): Boolean = context.isLocal

  /** Lets tasks find a matrix until it is withdrawn; it stays the caller's. */
  def send(matrix: Blocks): Long = {
    val number = next.incrementAndGet()
    sent.put(number, matrix)
    number
  }

  def find(number: Long): Blocks =
    Option(sent.get(number)).getOrElse(throw Errors.internal("a task reads a matrix that the driver has destroyed"))

  /** The matrices that tasks find now, with their bytes. */
  def sizes: Map[Long, Long] = {
    val found = Map.newBuilder[Long, Long]
    sent.forEach((number, blocks) => found += number -> blocks.bytes)
    found.result()
  }

  def withdraw(number: Long): Unit = sent.remove(number)

  /** Where the tasks of a job put blocks. To be closed, with which what nobody took is freed: that of failed and of needless attempts. */
  final class Collection extends AutoCloseable {
    val number: Long = next.incrementAndGet()
    private var blocks = Map.empty[Long, Blocks]
    private var closed = false
    collections.put(number, this)

    def take(of: Long): Blocks = synchronized {
      val taken = blocks.getOrElse(of, throw Errors.internal("a task's result is not there, or not any more"))
      blocks -= of
      taken
    }

    private[InProcess] def put(handed: Blocks): Option[Long] = synchronized {
      if (closed) None
      else {
        val number = next.incrementAndGet()
        blocks += number -> handed
        Some(number)
      }
    }

    override def close(): Unit = {
      collections.remove(number)
      val left = synchronized {
        closed = true
        val left = blocks
        blocks = Map.empty
        left.values
      }
      left.foreach(_.close())
    }
  }

  /** Hands a task's blocks over, which belong to the collection then unless others share them; gives their number there. */
  def put(collection: Long, blocks: Blocks): Long = {
    val handed = if (blocks.isEphemeral) Blocks.owning(blocks.detach()) else blocks.at(blocks.rowOffset)
    Option(collections.get(collection)).flatMap(_.put(handed)).getOrElse {
      handed.close()
      throw new TaskKilledException("nobody waits for what the task gives")
    }
  }
}
