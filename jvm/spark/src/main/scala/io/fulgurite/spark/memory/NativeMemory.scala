package io.fulgurite.spark.memory

import java.lang.management.ManagementFactory
import java.util.concurrent.atomic.{AtomicBoolean, AtomicLong}

import io.fulgurite.mlcontext.Settings
import org.apache.spark.{SparkConf, SparkEnv, TaskContext}
import org.apache.spark.fulgurite.SparkMemory

/**
 * Native memory of this process. Some is owned by tasks, which is charged to them ([[TaskMemory]]); some is Spark's storage's, which
 * knows the size of each block. The rest is garbage: blocks that Spark has evicted, or read from disk without room to keep
 * them. The collector does not see how large it is, and so is called once it is as much as tasks may own, or the heap.
 */
private[fulgurite] object NativeMemory {
  private val all = new AtomicLong
  private val ofTasks = new AtomicLong
  private val collecting = new AtomicBoolean
  @volatile private var tolerated = 0L
  @volatile private var current: Bound = _

  /** Bytes of all blocks in this process. */
  def held: Long = all.get

  /** Bytes that running tasks own. */
  def owned: Long = ofTasks.get

  def took(bytes: Long): Unit = {
    all.addAndGet(bytes)
    if (TaskContext.get() != null) collectGarbage()
  }

  def gave(bytes: Long): Unit = all.addAndGet(-bytes)

  def account(context: TaskContext): Account = {
    val account = if (bound.ofSpark) new OffHeapAccount(SparkMemory.offHeap(context)) else new PoolAccount(bound.pool, context)
    new Account {
      override def acquire(bytes: Long): Unit = {
        account.acquire(bytes)
        ofTasks.addAndGet(bytes)
      }
      override def release(bytes: Long): Unit = {
        ofTasks.addAndGet(-bytes)
        account.release(bytes)
      }
    }
  }

  /** What native calls of tasks go through. */
  private[spark] def gate: Gate = bound.gate

  /** Where the bound comes from, and what is left of it. */
  private final class Bound(val environment: SparkEnv) {
    val ofSpark: Boolean = environment.conf.getBoolean("spark.memory.offHeap.enabled", defaultValue = false)
    val bytes: Long = limit(environment.conf, environment.executorId == DriverId)
    val pool = new OverheadPool(bytes)
    val gate = new Gate(besideHeap(environment.conf, environment.executorId == DriverId))
    val garbage: Long = math.min(bytes, Runtime.getRuntime.maxMemory)
  }

  /** What tasks may own together in an executor, or in local mode in this process. */
  private[spark] def limit(conf: SparkConf, local: Boolean): Long =
    if (conf.getBoolean("spark.memory.offHeap.enabled", defaultValue = false)) conf.getSizeAsBytes("spark.memory.offHeap.size", "0")
    else besideHeap(conf, local)

  /** A share of what there is beside the heap: for what tasks own, unless that is off-heap memory, and as much again for operators that run. */
  private def besideHeap(conf: SparkConf, local: Boolean): Long = {
    val key = s"spark.${Settings.TaskMemory}"
    conf.getOption(key).filter(_ != "auto").map(Settings.bytes(key, _)).getOrElse((if (local) physical else overhead(conf)) / 2)
  }

  /** Memory of an executor's container beyond its heap, as Spark's resource managers reckon it. */
  private def overhead(conf: SparkConf): Long = {
    val executor = conf.getSizeAsMb("spark.executor.memory", "1g")
    val least = conf.getSizeAsMb("spark.executor.minMemoryOverhead", "384m")
    val usual = math.max((executor * conf.getDouble("spark.executor.memoryOverheadFactor", 0.1)).toLong, least)
    conf.getOption("spark.executor.memoryOverhead").fold(usual)(_ => conf.getSizeAsMb("spark.executor.memoryOverhead")) << 20
  }

  /** Of the machine, or of the container where it has a limit. */
  private def physical: Long = ManagementFactory.getOperatingSystemMXBean match {
    case system: com.sun.management.OperatingSystemMXBean => system.getTotalMemorySize
    case _ => Runtime.getRuntime.maxMemory
  }

  private def bound: Bound = {
    val environment = SparkEnv.get
    // Another session, in this process, may be configured otherwise.
    if (current == null || (current.environment ne environment)) synchronized {
      if (current == null || (current.environment ne environment)) {
        current = new Bound(environment)
        tolerated = 0
      }
    }
    current
  }

  private def garbage: Long = held - owned - SparkMemory.stored

  private def collectGarbage(): Unit = {
    val now = garbage
    if (now < tolerated) tolerated = math.max(0, now)
    if (now > bound.garbage + tolerated && collecting.compareAndSet(false, true)) {
      try {
        System.gc()
        // Handles are freed by a thread of their own.
        Thread.sleep(CleanerMilliseconds)
        // What is left is in use, if unknown to Spark: not a reason to collect again.
        tolerated = math.max(0, garbage)
      } finally collecting.set(false)
    }
  }

  /** What Spark calls the one executor of local mode. */
  private val DriverId = "driver"
  private val CleanerMilliseconds = 20L
}
