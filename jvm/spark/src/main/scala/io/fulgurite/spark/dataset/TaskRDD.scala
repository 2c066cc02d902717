package io.fulgurite.spark.dataset

import java.io.ByteArrayOutputStream
import java.nio.charset.StandardCharsets.UTF_8

import io.fulgurite.core.Native
import io.fulgurite.spark.{Blocks, Errors}
import io.fulgurite.spark.arrow.Library
import io.fulgurite.spark.metrics.{NativeWork, WorkCounter}
import org.apache.spark.{OneToOneDependency, Partition, SparkEnv, TaskContext}
import org.apache.spark.rdd.RDD
import org.apache.spark.storage.StorageLevel

/** A task as executors get it: the native side's JSON, and what it reads beside its stripes. */
final class NativeTask(val json: Array[Byte], val label: String, val broadcasts: Seq[SentMatrix], work: WorkCounter)
    extends Serializable {
  /** Held by the task: Spark would let go of those that it has no room for, and fetch them again for the next stripe. */
  @transient private lazy val sides: Seq[Shared] = broadcasts.map(_.broadcast.value)

  /** On stripes, which are not empty. */
  def run(stripes: Seq[Blocks]): Blocks = run(json, stripes)

  /** On a range of iterations of the loop that this task is; those of a stripe, if there is one. */
  def runRange(range: Array[Byte], stripe: Option[Blocks]): Blocks = {
    val task = new ByteArrayOutputStream(json.length + range.length + 20)
    for (part <- Seq("{\"range\":".getBytes(UTF_8), range, ",\"loop\":".getBytes(UTF_8), json, "}".getBytes(UTF_8))) task.write(part)
    run(task.toByteArray, stripe.toSeq)
  }

  private def run(json: Array[Byte], stripes: Seq[Blocks]): Blocks = {
    Library.ensureLoaded()
    var nanoseconds = 0L
    // Nested, so that each handle is held until the native task has returned.
    def collect(left: List[Blocks], handles: List[Long]): Blocks = left match {
      case blocks :: others => blocks.withHandle(handle => collect(others, handle :: handles))
      case Nil =>
        val (stripeHandles, sideHandles) = handles.reverse.splitAt(stripes.size)
        val started = System.nanoTime
        val handle = Native.runTask(json, stripeHandles.toArray, sideHandles.toArray)
        nanoseconds = System.nanoTime - started
        Blocks.owning(handle)
    }
    val result = collect((stripes ++ sides.map(_.blocks)).toList, Nil)
    val found = result.description
    work.add(NativeWork(
      Map(SparkEnv.get.executorId -> 1L), nanoseconds, found.compileNanoseconds, found.compiled,
      stripes.headOption.fold(0L)(_.rows), stripes.map(_.nnz).sum, stripes.map(_.bytes).sum, found.bytes))
    result
  }
}

/**
 * Runs a native task once per stripe of co-partitioned inputs. Lazy. Unless it is persisted, its stripes live from one
 * operator to the next: the consumer closes them, and the end of the task closes what is left.
 */
final class TaskRDD(@transient private val inputs: Seq[RDD[Blocks]], private[spark] val task: NativeTask)
    extends RDD[Blocks](inputs.head.sparkContext, inputs.map(new OneToOneDependency(_))) {

  override def getPartitions: Array[Partition] = {
    val counts = inputs.map(_.partitions.length)
    if (counts.distinct.size > 1) {
      throw Errors.internal(s"inputs of '${task.label}' are not co-partitioned: ${counts.mkString(", ")} partitions")
    }
    Array.tabulate(counts.head)(index => new TaskPartition(index, inputs.map(_.partitions(index))))
  }

  override def compute(split: Partition, context: TaskContext): Iterator[Blocks] = {
    val parts = firstParents.zip(split.asInstanceOf[TaskPartition].parents).map { case (rdd, part) => rdd.iterator(part, context) }
    val kept = getStorageLevel != StorageLevel.NONE
    new Iterator[Blocks] {
      override def hasNext: Boolean = {
        val more = parts.map(_.hasNext)
        if (more.distinct.size > 1) throw Errors.internal(s"inputs of '${task.label}' have different numbers of stripes")
        more.head
      }

      override def next(): Blocks = {
        val stripes = parts.map(_.next())
        val result =
          try task.run(stripes)
          finally stripes.foreach(_.closeIfEphemeral())
        if (kept) result else result.markEphemeral()
      }
    }
  }

  private def firstParents: Seq[RDD[Blocks]] = dependencies.map(_.rdd.asInstanceOf[RDD[Blocks]])
}

private final class TaskPartition(override val index: Int, val parents: Seq[Partition]) extends Partition
