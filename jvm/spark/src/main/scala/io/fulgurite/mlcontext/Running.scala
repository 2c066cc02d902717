package io.fulgurite.mlcontext

import java.lang.ref.WeakReference
import java.util.ArrayList
import java.util.concurrent.ConcurrentHashMap

import scala.annotation.tailrec
import scala.util.control.NonFatal

import io.fulgurite.core.FulguriteException
import io.fulgurite.spark.Errors
import org.apache.spark.SparkContext
import org.apache.spark.scheduler.{SparkListener, SparkListenerApplicationEnd}

/** Something that runs on a Spark context and can be told to stop, from any thread. */
private[fulgurite] trait Interruptible {
  val sparkContext: SparkContext

  /** May be called many times: jobs that began after one call end with the next one. */
  protected def stop(): Unit

  @volatile private var isInterrupted = false
  private val thread = Thread.currentThread

  final def interrupt(): Unit = {
    isInterrupted = true
    stop()
  }

  final def wantsLines: Boolean = !isInterrupted
  final def isOnThisThread: Boolean = thread eq Thread.currentThread

  /** Whatever ends an interrupted run, it was the interruption. */
  final def watched[A](work: => A): A = {
    val wasStopped = sparkContext.isStopped
    // Jobs may fail before the listener of a context hears that it was stopped.
    def isStoppedSince = !wasStopped && sparkContext.isStopped
    try work
    catch {
      case ours: FulguriteException if ours.kind == Errors.Interrupted => throw ours
      case NonFatal(_) if isInterrupted || isStoppedSince => throw Errors.interrupted()
    }
  }
}

/** What an [[MLContext]] runs at the moment. */
private[fulgurite] final class Running {
  private val now = ConcurrentHashMap.newKeySet[Interruptible]()
  @volatile private var closed = false

  def apply[R <: Interruptible, A](starts: => R)(work: R => A): A = {
    if (closed) throw Running.closed()
    val run = starts
    Running.endWith(run.sparkContext)
    now.add(run)
    Running.everywhere.add(run)
    try {
      if (closed) throw Running.closed()
      run.watched(work(run))
    } finally {
      Running.everywhere.remove(run)
      now.remove(run)
    }
  }

  /** Ends all that runs and waits until it has ended, for some seconds at most; not for what runs on this thread. */
  def interrupt(): Unit = {
    val asked = now.toArray(Array.empty[Interruptible])
    val until = System.nanoTime + Running.Patience
    @tailrec def wait(left: Seq[Interruptible]): Unit = if (left.nonEmpty && System.nanoTime < until) {
      Thread.sleep(Running.Pause)
      left.foreach(_.interrupt())
      wait(left.filter(now.contains))
    }
    asked.foreach(_.interrupt())
    wait(asked.toSeq.filter(run => !run.isOnThisThread && now.contains(run)))
  }

  /** Nothing begins any more. */
  def close(): Unit = {
    closed = true
    interrupt()
  }
}

private object Running {
  private val Pause = 10L
  private val Patience = 5000000000L

  private val everywhere = ConcurrentHashMap.newKeySet[Interruptible]()
  private val followed = new ArrayList[WeakReference[SparkContext]]

  private def closed() = Errors.argument("this MLContext is closed", "make a new one: new MLContext(spark)")

  /** Has what runs end with the context. */
  private def endWith(context: SparkContext): Unit = synchronized {
    followed.removeIf(_.get == null)
    if (!followed.stream.anyMatch(_.get eq context) && !context.isStopped) {
      followed.add(new WeakReference(context))
      context.addSparkListener(new SparkListener {
        override def onApplicationEnd(end: SparkListenerApplicationEnd): Unit =
          everywhere.forEach(run => if (run.sparkContext eq context) run.interrupt())
      })
    }
  }
}
