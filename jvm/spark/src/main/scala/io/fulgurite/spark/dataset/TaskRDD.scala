package io.fulgurite.spark.dataset

import java.io.ByteArrayOutputStream
import java.nio.charset.StandardCharsets.UTF_8

import io.fulgurite.core.Native
import io.fulgurite.spark.{Blocks, Errors, NativeRuns}
import io.fulgurite.spark.arrow.Library
import io.fulgurite.spark.memory.NativeMemory
import io.fulgurite.spark.metrics.{NativeWork, WorkCounter}
import org.apache.spark.{OneToOneDependency, Partition, SparkEnv, TaskContext}
import org.apache.spark.rdd.RDD
import org.apache.spark.storage.StorageLevel

/** A task as executors get it: the native side's JSON, and what it reads beside its stripes. */
final class NativeTask(val json: Array[Byte], val label: String, val broadcasts: Seq[SentMatrix], work: WorkCounter)
    extends Serializable {
  /** Held by the task: Spark would let go of those that it has no room for, and fetch them again for the next stripe. */
  @transient private lazy val sides: Seq[Shared] = broadcasts.map(_.broadcast.value)

  /** On the stripes of each run, which are not empty: a result for each. */
  def run(runs: Seq[Seq[Blocks]]): Seq[Blocks] =
    counted(runs, Native.taskMemory(json, false, _, _))((run, stripes, sides) => Native.runTask(run, json, stripes, sides).toSeq.map(Blocks.owning))

  /**
   * On the stripes of each run, of which there are some: one result, which begins with that of the runs before.
   *
   * @param over the stripe of the dataset that the task goes over, if it goes over one
   */
  def runCombined(runs: Seq[Seq[Blocks]], combine: Array[Byte], before: Option[Blocks], over: Option[Blocks] = None): Blocks =
    counted(runs, Native.taskMemory(json, true, _, _), over, again = over.nonEmpty && before.nonEmpty) { (run, stripes, sides) =>
      def from(before: Long) = Seq(Blocks.owning(Native.runCombined(run, json, combine, before, stripes, sides)))
      before.fold(from(0))(_.withHandle(from))
    }.head

  /** On a range of iterations of the loop that this task is; those of a stripe, if there is one. The range is as long as there is memory for. */
  def runRange(range: Array[Byte], stripe: Option[Blocks]): Blocks = {
    val task = new ByteArrayOutputStream(json.length + range.length + 20)
    for (part <- Seq("{\"range\":".getBytes(UTF_8), range, ",\"loop\":".getBytes(UTF_8), json, "}".getBytes(UTF_8))) task.write(part)
    counted(Seq(stripe.toSeq), (_, _) => 0)((run, stripes, sides) => Native.runTask(run, task.toByteArray, stripes, sides).toSeq.map(Blocks.owning)).head
  }

  /** @param taken what `native` takes at most with the same arguments */
  private def counted(runs: Seq[Seq[Blocks]], taken: (Array[Long], Array[Long]) => Long, over: Option[Blocks] = None, again: Boolean = false)(
      native: (Long, Array[Long], Array[Long]) => Seq[Blocks]): Seq[Blocks] = {
    Library.ensureLoaded()
    val stripes = runs.flatten
    val (results, nanoseconds) = Blocks.withHandles(stripes) { addresses =>
      Blocks.withHandles(sides.map(_.blocks) ++ over) { sides =>
        NativeMemory.gate.within(taken(addresses, sides)) {
          val started = System.nanoTime
          (NativeRuns.ofTask(native(_, addresses, sides)), System.nanoTime - started)
        }
      }
    }
    val spent = results.headOption.map(_.sizes)
    // Stripes that wait for the next one of what is gone over were counted with the first one.
    val first = if (again) Seq.empty else runs
    work.add(NativeWork(
      Map(SparkEnv.get.executorId -> first.size.toLong), nanoseconds, spent.fold(0L)(_.operatorNanoseconds),
      spent.fold(0L)(_.compileNanoseconds), spent.fold(0L)(_.compiled), first.flatMap(_.headOption).map(_.rows).sum,
      first.flatten.map(NativeTask.nonZeros).sum, (first.flatten ++ over).map(_.bytes).sum, if (again) 0 else results.map(_.bytes).sum))
    results
  }
}

private object NativeTask {
  /** Of a stripe; to count those of one that only the next task reads would take as long as some of the operators do. */
  def nonZeros(stripe: Blocks): Long = if (stripe.isEphemeral && !stripe.sizes.isCounted) stripe.sizes.stored else stripe.nnz
}

/**
 * Runs a native task for each stripe of co-partitioned inputs. Lazy. Unless it is persisted, its stripes live from one
 * operator to the next: the consumer closes them, and the end of the task closes what is left.
 */
final class TaskRDD(inputs: Seq[RDD[Blocks]], private var native: NativeTask)
    extends RDD[Blocks](inputs.head.sparkContext, inputs.map(new OneToOneDependency(_))) {

  private[spark] def task: NativeTask = native

  /** The task goes, too: with it the broadcasts that it reads, which may be destroyed, would be sent to whoever computes from this. */
  override protected def clearDependencies(): Unit = {
    super.clearDependencies()
    native = null
  }

  override def getPartitions: Array[Partition] = {
    // The inputs are known by Spark's list alone, which a cut of the lineage empties: what they were computed from is garbage then.
    TaskRDD.partitions(firstParents, task.label)
  }

  override def compute(split: Partition, context: TaskContext): Iterator[Blocks] = {
    val groups = stripes(split, context)
    val kept = getStorageLevel != StorageLevel.NONE
    groups.flatMap { runs =>
      val results =
        try task.run(runs)
        finally closeUnneeded(runs)
      groups.gave(results)
      if (kept) results else results.map(_.markEphemeral())
    }
  }

  /** The results of a partition as one, combined in the order of rows, where the first of them stands; nothing, where there are no stripes. */
  private[dataset] def combined(split: Partition, context: TaskContext, combine: Array[Byte]): Option[Blocks] =
    stripes(split, context).combining().foldLeft(Option.empty[Blocks]) { (before, runs) =>
      val start = before.fold(runs.head.head.rowOffset)(_.rowOffset)
      try Some(task.runCombined(runs, combine, before).markEphemeral().placeAt(start))
      finally {
        before.foreach(_.close())
        closeUnneeded(runs)
      }
    }

  private def stripes(split: Partition, context: TaskContext): StripeGroups =
    new StripeGroups(
      firstParents.zip(split.asInstanceOf[TaskPartition].parents).map { case (rdd, part) => Kept.iterator(rdd, part, context)(identity) }, task.label)

  private def closeUnneeded(runs: Seq[Seq[Blocks]]): Unit = runs.foreach(_.foreach(_.closeIfEphemeral()))

  private def firstParents: Seq[RDD[Blocks]] = dependencies.map(_.rdd.asInstanceOf[RDD[Blocks]])
}

private[dataset] object TaskRDD {

  /** Of a task on co-partitioned inputs. */
  def partitions(inputs: Seq[RDD[Blocks]], label: String): Array[Partition] = {
    val counts = inputs.map(_.partitions.length)
    if (counts.distinct.size > 1) {
      throw Errors.internal(s"inputs of '$label' are not co-partitioned: ${counts.mkString(", ")} partitions")
    }
    Array.tabulate(counts.head)(index => new TaskPartition(index, inputs.map(_.partitions(index))))
  }
}

private final class TaskPartition(override val index: Int, val parents: Seq[Partition]) extends Partition

/** The results of a native task, one for each partition that has stripes: see [[TaskRDD]]. */
private[spark] final class CombinedRDD(tasks: TaskRDD, combine: Array[Byte]) extends RDD[Blocks](tasks) {
  override def getPartitions: Array[Partition] = firstParent[Blocks].partitions

  override def compute(split: Partition, context: TaskContext): Iterator[Blocks] =
    firstParent[Blocks].asInstanceOf[TaskRDD].combined(split, context, combine).iterator
}
