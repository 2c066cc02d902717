package io.fulgurite.spark.binary

import java.io.{ByteArrayInputStream, InputStream, SequenceInputStream}
import java.util.Collections.enumeration
import java.util.Arrays.asList

import io.fulgurite.core.FulguriteException
import io.fulgurite.spark.{Blocks, Counts, Errors, Event}
import io.fulgurite.spark.dataset.Dataset
import io.fulgurite.spark.primitives.{Session, TextFiles}
import org.apache.hadoop.fs.{FSDataInputStream, Path}
import org.apache.spark.{Partition, SparkContext, SparkEnv, TaskContext}
import org.apache.spark.fulgurite.Internals
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.util.SerializableConfiguration

/** Files of blocks as datasets: native code reads them as they are. */
private[spark] object BinarySource {

  def read(session: Session, path: String): Dataset = {
    val configuration = session.context.hadoopConfiguration
    val blocks = TextFiles.parts(session, path).flatMap(file => BatchIndex.of(file, file.getFileSystem(configuration))).sortBy(_.rowOffset)
    if (blocks.isEmpty) throw Errors.data(s"'$path' has no blocks", "a matrix needs at least one row")
    val dataset = Dataset.fromOrdered(new BlockFilesRDD(session.context, partitions(session, blocks), path, session.counts))
    try {
      for ((stripe, block) <- dataset.layout.flatten.zip(blocks) if stripe.rowOffset != block.rowOffset) {
        throw Errors.data(
          s"'${block.path}': a stripe of rows begins at row ${block.rowOffset + 1}, not ${stripe.rowOffset + 1}",
          "all files of a folder are parts of one matrix, and none is missing")
      }
      dataset
    } catch {
      case failure: FulguriteException =>
        dataset.release()
        throw failure
    }
  }

  /**
   * About as large as `spark.sql.files.maxPartitionBytes` says, or twice as large as it is by default: in an iterative algorithm a task of native
   * code takes less time than Spark around it. In even parts, as many for each core as for the others, so that none waits for the last one.
   */
  private def partitions(session: Session, blocks: Vector[BlockPlace]): Vector[Vector[BlockPlace]] = {
    val configuration = session.spark.sessionState.conf
    val isChosen = configuration.contains(SQLConf.FILES_MAX_PARTITION_BYTES.key)
    val about = if (isChosen) configuration.filesMaxPartitionBytes else 2 * configuration.filesMaxPartitionBytes
    val cores = math.max(1, session.context.defaultParallelism)
    val total = blocks.map(_.length).sum
    val rounds = math.max(1L, math.round(total.toDouble / about / cores))
    val count = math.max(1L, math.min(rounds * cores, blocks.size.toLong))
    val starts = blocks.scanLeft(0L)(_ + _.length)
    val parts = blocks.zip(starts).groupBy { case (_, start) => (start.toDouble * count / math.max(1L, total)).toLong }
    parts.toVector.sortBy(_._1).map { case (_, part) => part.map(_._1) }
  }
}

private final class BlockFilesRDD(context: SparkContext, @transient private val blocks: Vector[Vector[BlockPlace]], input: String, counts: Counts)
    extends RDD[Blocks](context, Nil) {
  private val configuration = context.broadcast(new SerializableConfiguration(context.hadoopConfiguration))

  override def getPartitions: Array[Partition] =
    blocks.iterator.zipWithIndex.map { case (places, index) => new BlockFilesPartition(index, places.toArray) }.toArray

  /** Where the first block lies. */
  override def getPreferredLocations(split: Partition): Seq[String] = {
    val first = split.asInstanceOf[BlockFilesPartition].blocks.head
    val path = new Path(first.path)
    val files = path.getFileSystem(sparkContext.hadoopConfiguration)
    files.getFileBlockLocations(path, first.offset, first.length).headOption.fold(Seq.empty[String])(_.getHosts.toSeq.filter(_ != "localhost"))
  }

  override def compute(split: Partition, context: TaskContext): Iterator[Blocks] = {
    counts.add(Event(Event.SourcePartition, input, SparkEnv.get.executorId))
    new BlocksOfFiles(split.asInstanceOf[BlockFilesPartition].blocks.iterator, configuration.value, context)
  }
}

private final class BlockFilesPartition(override val index: Int, val blocks: Array[BlockPlace]) extends Partition

/** One file is open at a time. */
private final class BlocksOfFiles(places: Iterator[BlockPlace], configuration: SerializableConfiguration, task: TaskContext) extends Iterator[Blocks] {
  private var opened = Option.empty[(String, FSDataInputStream)]
  task.addTaskCompletionListener[Unit](_ => close())

  override def hasNext: Boolean = places.hasNext

  override def next(): Blocks = {
    val place = places.next()
    val in = open(place.path)
    in.seek(place.offset)
    val parts = Seq[InputStream](new ByteArrayInputStream(place.head), new Bounded(in, place.length), new ByteArrayInputStream(BatchIndex.End))
    Internals.countInput(task, place.length)
    try Blocks.readFrom(new SequenceInputStream(enumeration(asList(parts: _*))))
    catch { case bad: FulguriteException if bad.kind == "data" => throw BatchIndex.noStream(new Path(place.path)) }
  }

  private def open(path: String): FSDataInputStream = opened.collect { case (`path`, in) => in }.getOrElse {
    close()
    val file = new Path(path)
    val in = file.getFileSystem(configuration.value).open(file)
    opened = Some((path, in))
    in
  }

  private def close(): Unit = {
    opened.foreach(_._2.close())
    opened = None
  }
}

/** The next so many bytes of a stream, which it does not close. */
private final class Bounded(in: InputStream, length: Long) extends InputStream {
  private var left = length

  override def read(): Int = if (left == 0) -1 else { left -= 1; in.read() }

  override def read(bytes: Array[Byte], from: Int, count: Int): Int =
    if (left == 0) -1
    else {
      val found = in.read(bytes, from, math.min(left, count.toLong).toInt)
      if (found > 0) left -= found
      found
    }
}
