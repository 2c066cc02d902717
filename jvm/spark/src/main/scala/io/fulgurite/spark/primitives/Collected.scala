package io.fulgurite.spark.primitives

import io.fulgurite.spark.{Blocks, Errors}
import io.fulgurite.spark.memory.InProcess
import org.apache.hadoop.fs.{FSDataInputStream, FSDataOutputStream}
import org.apache.spark.{TaskContext, TaskKilledException}
import org.apache.spark.rdd.RDD

/**
 * The stripes of a dataset, as the tasks that computed them gave them to the driver: as a part of their results, where there are few, else in
 * files, which only the stripes' places are the results of; or, where driver and executors share no folder, a few partitions at a time.
 * Closing it deletes the files.
 */
private[spark] final class Collected private (stripes: Vector[CollectedStripe], scratch: Option[Scratch]) extends AutoCloseable {
  private var opened = Option.empty[(String, FSDataInputStream)]
  /** What is here and was not read yet. */
  private var unread: Set[Blocks] = stripes.map(_.place).collect { case Here(blocks) => blocks }.toSet

  /** One block of all stripes, in the order of rows, at the top. They are read one at a time. */
  def concatenated: Blocks = stripes.sortBy(_.rowOffset) match {
    case Vector(only) => read(only).placeAt(0)
    case inOrder =>
      val cols = inOrder.lastOption.fold(0)(_.cols)
      val builder = Assembly.builder(
        cols, inOrder.map(_.rows.toLong).sum, inOrder.map(_.stored).sum, inOrder.map(_.layout))
      try {
        for (stripe <- inOrder) {
          val blocks = read(stripe)
          try blocks.read(views => builder.append(views.head, 0, views.head.rows))
          finally blocks.close()
        }
      } catch {
        case failure: Throwable =>
          builder.close()
          throw failure
      }
      Blocks.built(builder, 0)
  }

  private def read(stripe: CollectedStripe): Blocks = stripe.place match {
    case InResult(bytes) => Wire.read(bytes)
    case Here(blocks) =>
      unread -= blocks
      blocks
    case Handed(_) => throw Errors.internal("a stripe was handed over, and not taken")
    case InFile(path, position) =>
      val folder = scratch.getOrElse(throw Errors.internal(s"'$path' lies in no folder"))
      folder.reading {
        val file = opened.collect { case (`path`, file) => file }.getOrElse {
          closeFile()
          val file = folder.open(path)
          opened = Some((path, file))
          file
        }
        if (file.getPos != position) file.seek(position)
        Blocks.readFrom(file)
      }
  }

  private def closeFile(): Unit = {
    opened.foreach(_._2.close())
    opened = None
  }

  override def close(): Unit =
    try closeFile()
    finally {
      unread.foreach(_.close())
      scratch.foreach(_.close())
    }
}

/** A stripe that a task gave the driver. */
private final case class CollectedStripe(rowOffset: Long, rows: Int, cols: Int, stored: Long, layout: Byte, place: Place) {
  /** What it takes of the heap. */
  def bytesOfHeap: Long = place match {
    case InResult(bytes) => bytes.length.toLong
    case _ => 0
  }

  /** The stripe in native memory, if it came in a task's result. */
  def imported: CollectedStripe = place match {
    case InResult(bytes) => copy(place = Here(Wire.read(bytes)))
    case _ => this
  }

  /** The stripe as the driver's, if it was handed over. */
  def taken(from: Option[InProcess.Collection]): CollectedStripe = place match {
    case Handed(number) => from.fold(this)(collection => copy(place = Here(collection.take(number))))
    case _ => this
  }
}

private sealed trait Place
/** In this process: see [[InProcess]]. */
private final case class Handed(number: Long) extends Place
private final case class InResult(bytes: Array[Byte]) extends Place
/** In the driver's native memory. */
private final case class Here(blocks: Blocks) extends Place
private final case class InFile(path: String, position: Long) extends Place

private[spark] object Collected {

  /**
   * Runs the dataset.
   *
   * @param largest what it takes at most, where that is known
   */
  def of(stripes: RDD[Blocks], limits: TransferLimits, largest: Option[Long]): Collected = {
    val fits = largest.exists(_ <= limits.heap)
    val scratch = if (fits) None else Scratch.make(stripes.sparkContext, limits.scratch)
    if (!fits && scratch.isEmpty) return inTurns(stripes, limits)
    val share = if (fits) Long.MaxValue else limits.heap / math.max(1, stripes.partitions.length)
    val handed = if (InProcess.isWhole(stripes.sparkContext)) Some(new InProcess.Collection) else None
    try {
      val parts = stripes.sparkContext.runJob(stripes, new Give(share, scratch, handed.map(_.number)), stripes.partitions.indices)
      new Collected(parts.iterator.flatten.map(_.taken(handed)).toVector, scratch)
    } catch {
      case failure: Throwable =>
        scratch.foreach(_.close())
        throw failure
    } finally handed.foreach(_.close())
  }

  /**
   * A job for one partition, then for as many as the heap has room for if they are like the largest one so far, but at most twice as many as
   * before. What a job gives goes to native memory before the next one starts.
   */
  private[spark] def inTurns(stripes: RDD[Blocks], limits: TransferLimits): Collected = {
    val partitions = stripes.partitions.length
    var (arrived, from, largest) = (Vector.empty[CollectedStripe], 0, 1L)
    try {
      while (from < partitions) {
        val count = math.max(1L, math.min(limits.heap / largest, 2L * from)).toInt
        val until = math.min(partitions, from + count)
        for (given <- stripes.sparkContext.runJob(stripes, new Give(limits.heap, None, None), from until until)) {
          largest = math.max(largest, given.iterator.map(_.bytesOfHeap).sum)
          for (stripe <- given) arrived :+= stripe.imported
        }
        from = until
      }
      new Collected(arrived, None)
    } catch {
      case failure: Throwable =>
        new Collected(arrived, None).close()
        throw failure
    }
  }

  /** What a task gives. A class: Spark analyses the byte code of a lambda before each job. */
  private final class Give(share: Long, scratch: Option[Scratch], collection: Option[Long])
      extends ((TaskContext, Iterator[Blocks]) => Array[CollectedStripe]) with Serializable {
    override def apply(task: TaskContext, part: Iterator[Blocks]): Array[CollectedStripe] = give(task, part, share, scratch, collection)
  }

  /** Stripes up to `share` bytes in a task's result, or handed over, the others in a file. */
  private def give(
      task: TaskContext, part: Iterator[Blocks], share: Long, scratch: Option[Scratch], collection: Option[Long]): Array[CollectedStripe] = {
    var (inResult, file) = (0L, Option.empty[StripeFile])
    def place(blocks: Blocks): Place =
      if (file.isEmpty && inResult + blocks.bytes <= share) {
        inResult += blocks.bytes
        collection.fold[Place](InResult(Wire.write(blocks)))(number => Handed(InProcess.put(number, blocks)))
      } else {
        val opened = file.getOrElse(new StripeFile(scratch.getOrElse(throw nowhere(share)), s"${task.partitionId()}-${task.taskAttemptId()}"))
        file = Some(opened)
        opened.append(blocks)
      }
    try {
      val found = Assembly.joined(part, math.min(share, Assembly.JoinedBytes)).map { blocks =>
        try {
          if (task.isInterrupted()) throw new TaskKilledException("the task was killed while it gave the driver its stripes")
          val found = blocks.sizes
          CollectedStripe(found.rowOffset, Math.toIntExact(found.rows), Math.toIntExact(found.cols), found.stored, found.layout, place(blocks))
        } finally blocks.closeIfEphemeral()
      }.toArray
      file.foreach(_.close())
      found
    } catch {
      case failure: Throwable =>
        file.foreach(_.abandon())
        throw failure
    }
  }

  private def nowhere(share: Long) = Errors.io(
    s"a partition has more than the $share bytes that may come in its task's result, and there is no folder that driver and executors share",
    Scratch.Advice)
}

/** Stripes one after the other, in a file that is there as a whole or not at all. */
private final class StripeFile(scratch: Scratch, name: String) extends AutoCloseable {
  private val (path, out): (String, FSDataOutputStream) = scratch.create(name)

  def append(blocks: Blocks): InFile = scratch.writing {
    val position = out.getPos
    blocks.writeTo(out)
    InFile(path, position)
  }

  override def close(): Unit = scratch.writing(out.close())

  /** Closes and deletes it, for a reason that is worth more than what goes wrong here. */
  def abandon(): Unit = {
    try out.close()
    catch { case _: java.io.IOException | _: org.apache.hadoop.fs.FSError => }
    scratch.delete(path)
  }
}
