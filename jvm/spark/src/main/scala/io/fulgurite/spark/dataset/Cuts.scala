package io.fulgurite.spark.dataset

import java.lang.ref.Cleaner

import scala.collection.mutable

import io.fulgurite.spark.memory.InProcess
import io.fulgurite.spark.primitives.{Scratch, Session}
import org.apache.spark.fulgurite.Checkpoints
import org.apache.spark.rdd.RDD
import org.slf4j.LoggerFactory

/**
 * Cuts the lineages of datasets that an execution keeps. A loop that carries a distributed matrix computes it from that of the iteration before,
 * so that the lineage is as long as the loop. Spark walks it by recursion, which ends with the thread's stack, and sends it with each stage;
 * and broadcasts of former iterations are needed as long as it names them.
 *
 * In local mode, what is kept is never lost, and so the lineage may go. In a cluster an executor may be lost with what it keeps: the stripes are
 * written to a folder that all executors see, from which they are read then. Where there is none, lineages get longer, which Spark's recursion
 * bears for a while; then the lineage goes, and the run ends if an executor is lost: it would end in any case.
 */
private[spark] final class Cuts(session: Session) {
  /** What deletes the folder of an RDD. */
  private val folders = mutable.LongMap.empty[Cleaner.Cleanable]
  @volatile private var nowhere = false

  /**
   * Cuts what the RDD, which is kept and was computed, is computed from, if that is deep. Not if one of `others` was made from it before: its
   * partitions name those that this one was computed from, and would be sent with broadcasts that nobody seems to need any more.
   */
  def cut(rdd: RDD[_], others: => Iterable[RDD[_]]): Unit =
    if (!rdd.isCheckpointed && Lineage.depth(rdd) >= (if (nowhere) Cuts.Deepest else Cuts.Depth) && !Lineage.of(others.filterNot(_ eq rdd))(rdd)) {
      if (nowhere || InProcess.isWhole(session.context)) Checkpoints.forget(rdd)
      else Scratch.make(session.context, session.context.getCheckpointDir.orElse(session.limits.scratch)) match {
        case Some(folder) => store(rdd, folder)
        case None =>
          nowhere = true
          LoggerFactory.getLogger(getClass).warn(
            s"A matrix is computed from itself for ${Cuts.Depth} iterations, and there is no folder to which it could be written: from iteration ${Cuts.Deepest} on " +
              s"the run ends if an executor is lost. ${Cuts.Advice}")
      }
    }

  private def store(rdd: RDD[_], folder: Scratch): Unit = {
    try folder.writing(session.named("store a matrix that a loop carries")(Checkpoints.store(rdd, folder.path)))
    catch {
      case failure: Throwable =>
        folder.close()
        throw failure
    }
    // Whoever computes from it holds it; an output of the script may outlive the execution.
    val deletes = Cuts.cleaner.register(rdd, () => folder.close())
    synchronized(folders(rdd.id) = deletes)
  }

  /** Whether there are files to delete once nobody needs them. */
  def isEmpty: Boolean = synchronized(folders.isEmpty)

  /** Deletes the files of RDDs that are in no lineage any more. */
  def deleteBut(needed: Set[RDD[_]]): Unit = {
    val ids = needed.map(_.id.toLong)
    val unneeded = synchronized {
      val found = folders.filterNot { case (id, _) => ids(id) }.toVector
      found.foreach { case (id, _) => folders.remove(id) }
      found.map(_._2)
    }
    unneeded.foreach(_.clean())
  }
}

private[fulgurite] object Cuts {
  /** Spark's recursion takes a few KB of the stack for an RDD, of which it has 512 and more; a cut costs as much as writing the matrix. */
  val Depth = 32
  /** Where there is nowhere to write it to. The recursion ends a stack of 512 KB after some hundred. */
  val Deepest = 128

  private val cleaner = Cleaner.create()

  val Advice: String = "Call SparkContext.setCheckpointDir, or let spark.fulgurite.scratch name a folder to which the driver and all executors can write"
}
