package io.fulgurite.spark.primitives

import java.util.concurrent.atomic.AtomicLong

import scala.collection.mutable

import io.fulgurite.mlcontext.Settings
import io.fulgurite.spark.{Counts, Errors}
import io.fulgurite.spark.metrics.{Figures, NativeWork, Traffic, WorkCounter}
import org.apache.spark.SparkContext
import org.apache.spark.fulgurite.TaskEvents
import org.apache.spark.sql.SparkSession

/**
 * What the primitives of one execution share.
 *
 * @param observed whether Spark's events are counted, from the first job to [[close]]
 */
final class Session(val spark: SparkSession, settings: Settings, observed: Boolean = false) extends AutoCloseable {
  def this(spark: SparkSession) = this(spark, new Settings(spark.sparkContext.getConf))

  val context: SparkContext = spark.sparkContext

  def limits: TransferLimits = settings.transfers

  /** What stands for null; without it a null is an error. */
  def fill: Option[Double] = settings.fill

  /** What was read where during this execution. */
  val counts: Counts = {
    val counts = new Counts
    context.register(counts)
    counts
  }

  private val number = Session.next.incrementAndGet().toString
  private val operators = mutable.LinkedHashMap.empty[String, WorkCounter]
  private val inputs = mutable.LinkedHashMap.empty[String, Int]
  private var events = Option.empty[TaskEvents]
  private var moved = Traffic()
  @volatile private var interrupted = false
  /** The operator of the script for which primitives run on this thread, or nothing. */
  private val operator = ThreadLocal.withInitial[String](() => "")

  /** Where native tasks of an operator say what they did. */
  def work(operator: String): WorkCounter = synchronized(operators.getOrElseUpdate(operator, {
    val counter = new WorkCounter
    context.register(counter, operator)
    counter
  }))

  /** A distributed input has so many partitions. */
  def input(name: String, partitions: Int): Unit = synchronized(inputs.update(name, partitions))

  /** A matrix that goes to the executors, by the primitive that sends it. */
  def sends(primitive: String, bytes: Long): Unit = synchronized {
    moved =
      if (primitive == "broadcast") moved.copy(broadcast = moved.broadcast + bytes)
      else moved.copy(spread = moved.spread + bytes)
  }

  def collects(bytes: Long): Unit = synchronized { moved = moved.copy(collected = moved.collected + bytes) }

  def figures: Figures = synchronized {
    val work: Map[String, NativeWork] = operators.map { case (name, counter) => name -> counter.value }.toMap
    Figures(work, counts.value, inputs.toMap, moved.copy(ofTasks = events.fold(moved.ofTasks)(_.totals)))
  }

  /** Runs a primitive for an operator of the script: stages and RDDs bear its name. */
  def onBehalf[A](of: String)(primitive: => A): A = {
    val before = operator.get
    operator.set(of)
    try if (of.isEmpty) primitive else withProperties(Session.StageName -> of)(primitive)
    finally operator.set(before)
  }

  /**
   * Runs jobs under a name that the Spark UI shows, with the operator that they are for; errors of tasks come out as they were
   * thrown.
   */
  def named[A](what: String)(work: => A): A = {
    if (interrupted) throw Errors.interrupted()
    if (context.isStopped) throw Errors.stopped()
    synchronized { if (observed && events.isEmpty) events = Some(new TaskEvents(context, number)) }
    val asking = operator.get
    val description = if (asking.isEmpty || asking == what) what else s"$what for $asking"
    withProperties(
      Session.JobDescription -> description, Session.StageName -> description, TaskEvents.Execution -> number,
      TaskEvents.Purpose -> Session.next.incrementAndGet().toString)(Errors.ofSpark(work))
  }

  /**
   * Does what a thread of iterations does, in a scheduler pool of its own, unless the caller of the execution has chosen one. With
   * `spark.scheduler.mode` FAIR, jobs of several threads then share the executors. [[cancel]] ends its jobs.
   */
  def iterating[A](callers: Long, thread: Int)(work: => A): A = {
    val pool = Option(context.getLocalProperty(Session.Pool)) match {
      case None => s"${Session.OwnPools}$thread"
      case Some(around) if around.startsWith(Session.OwnPools) => s"$around.$thread"
      case Some(chosen) => chosen
    }
    context.addJobTag(tag(callers, thread))
    try withProperties(Session.Pool -> pool)(work)
    finally context.removeJobTag(tag(callers, thread))
  }

  /** Runs work whose jobs [[interrupt]] ends, on this thread and on those that it starts. */
  def interruptible[A](work: => A): A = {
    context.addJobTag(wholeTag)
    try work
    finally context.removeJobTag(wholeTag)
  }

  /** Ends all jobs of [[interruptible]] work; no more begin. From any thread. */
  def interrupt(): Unit = {
    interrupted = true
    if (!context.isStopped) context.cancelJobsWithTag(wholeTag)
  }

  private def wholeTag = s"fulgurite-$number"

  /** Ends the jobs that a thread of iterations waits for. */
  def cancel(callers: Long, thread: Int): Unit = if (!context.isStopped) context.cancelJobsWithTag(tag(callers, thread))

  private def tag(callers: Long, thread: Int): String = s"fulgurite-$number-$callers-$thread"

  /** Waits for tasks that go on after their jobs have ended: those of the primitive that this thread runs. */
  def awaitTasks(): Unit = for (events <- synchronized(events); purpose <- Option(context.getLocalProperty(TaskEvents.Purpose))) events.awaitTasks(purpose)

  /** Ends the count of Spark's events. */
  override def close(): Unit = synchronized(events).foreach(_.finish())

  /** Local properties of the context, which jobs take with them; what the caller had set is there again afterwards. */
  private def withProperties[A](properties: (String, String)*)(work: => A): A = {
    val before = properties.map { case (key, _) => key -> context.getLocalProperty(key) }
    properties.foreach { case (key, value) => context.setLocalProperty(key, value) }
    try work
    finally before.foreach { case (key, value) => context.setLocalProperty(key, value) }
  }
}

object Session {
  private val JobDescription = "spark.job.description"
  /** The short form of a call site, which Spark makes the name of stages, and RDDs remember. */
  private[spark] val StageName = "callSite.short"
  private val Pool = "spark.scheduler.pool"
  private val OwnPools = "fulgurite-"
  private val next = new AtomicLong
}
