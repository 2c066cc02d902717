package io.fulgurite.spark.binary

import java.io.{ByteArrayInputStream, InputStream, SequenceInputStream}
import java.util.Collections.enumeration
import java.util.Arrays.asList

import io.fulgurite.core.{FulguriteException, Shown}
import io.fulgurite.spark.{Blocks, Counts, Errors, Event}
import io.fulgurite.spark.dataset.Dataset
import io.fulgurite.spark.primitives.{Session, TextFiles}
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FSDataInputStream, LocalFileSystem, Path, RawLocalFileSystem}
import org.apache.spark.{Partition, SparkContext, SparkEnv, TaskContext}
import org.apache.spark.fulgurite.Internals
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.util.SerializableConfiguration

/** Files of blocks as datasets: native code reads them as they are. */
private[spark] object BinarySource {

  /** @param mapped whether values may stay in files on local disks */
  def read(session: Session, path: String, mapped: Boolean): Dataset = {
    val configuration = session.context.hadoopConfiguration
    val blocks = TextFiles.parts(session, path).flatMap(file => BatchIndex.of(file, file.getFileSystem(configuration))).sortBy(_.rowOffset)
    if (blocks.isEmpty) throw Errors.data(s"'$path' has no blocks", "a matrix needs at least one row")
    val files = new BlockFiles(partitions(session, blocks), new SerializableConfiguration(configuration), mapped)
    val dataset = Dataset.fromOrdered(new BlockFilesRDD(session.context, files, path, session.counts))
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
   * As large as `spark.sql.files.maxPartitionBytes` says, or up to four times as large as it is by default, if storage has room for several on
   * each core: in an iterative algorithm a task of native code takes less time than Spark around it. In even parts, as many for each core as for the
   * others, so that none waits for the last one.
   */
  private def partitions(session: Session, blocks: Vector[BlockPlace]): Vector[Vector[BlockPlace]] = {
    val configuration = session.spark.sessionState.conf
    val cores = math.max(1, session.context.defaultParallelism)
    val about = configuration.filesMaxPartitionBytes match {
      case chosen if configuration.contains(SQLConf.FILES_MAX_PARTITION_BYTES.key) => chosen
      case least => math.max(least, math.min(4 * least, storage(session) / cores / 4))
    }
    val total = blocks.map(_.length).sum
    val rounds = math.max(1L, math.round(total.toDouble / about / cores))
    val count = math.max(1L, math.min(rounds * cores, blocks.size.toLong))
    val starts = blocks.scanLeft(0L)(_ + _.length)
    val parts = blocks.zip(starts).groupBy { case (_, start) => (start.toDouble * count / math.max(1L, total)).toLong }
    parts.toVector.sortBy(_._1).map { case (_, part) => part.map(_._1) }
  }

  /** Bytes that Spark may keep on all executors that are there. */
  private def storage(session: Session): Long = session.context.getExecutorMemoryStatus.valuesIterator.map(_._1).sum
}

/** What tasks read, by partition. */
private final class BlockFiles(val partitions: Vector[Vector[BlockPlace]], configuration: SerializableConfiguration, mapped: Boolean) extends Serializable {
  def read(partition: Int, task: TaskContext): Iterator[Blocks] =
    new BlocksOfFiles(partitions(partition).iterator, configuration.value, mapped, task)
}

/** Tasks get the number of their partition alone: places of blocks, of which there are many, would be sent again with each task that scans them. */
private final class BlockFilesRDD(context: SparkContext, @transient private val files: BlockFiles, input: String, counts: Counts)
    extends RDD[Blocks](context, Nil) {
  private val sent = context.broadcast(files)

  override def getPartitions: Array[Partition] = Array.tabulate(files.partitions.length)(new BlockFilesPartition(_))

  /** Where the first block lies. */
  override def getPreferredLocations(split: Partition): Seq[String] = {
    val first = files.partitions(split.index).head
    val path = new Path(first.path)
    val found = path.getFileSystem(sparkContext.hadoopConfiguration).getFileBlockLocations(path, first.offset, first.length)
    found.headOption.fold(Seq.empty[String])(_.getHosts.toSeq.filter(_ != "localhost"))
  }

  override def compute(split: Partition, context: TaskContext): Iterator[Blocks] = {
    counts.add(Event(Event.SourcePartition, Shown.text(input), SparkEnv.get.executorId))
    sent.value.read(split.index, context)
  }
}

private final class BlockFilesPartition(override val index: Int) extends Partition

/** One file is open at a time. */
private final class BlocksOfFiles(places: Iterator[BlockPlace], configuration: Configuration, mapped: Boolean, task: TaskContext) extends Iterator[Blocks] {
  private var opened = Option.empty[OpenFile]
  task.addTaskCompletionListener[Unit](_ => close())

  override def hasNext: Boolean = places.hasNext

  override def next(): Blocks = {
    val place = places.next()
    val file = open(place.path)
    Internals.countInput(task, place.length)
    try file.mapped(place).getOrElse(file.read(place))
    catch { case bad: FulguriteException if bad.kind == "data" => throw BatchIndex.noStream(new Path(place.path)) }
  }

  private def open(path: String): OpenFile = opened.filter(_.path == path).getOrElse {
    close()
    val file = new OpenFile(path, configuration, mapped)
    opened = Some(file)
    file
  }

  private def close(): Unit = {
    opened.foreach(_.close())
    opened = None
  }
}

/** A file that blocks are taken from: left where they are, or read from its stream, which is opened when it is needed. */
private final class OpenFile(val path: String, configuration: Configuration, mapped: Boolean) {
  private val files = new Path(path).getFileSystem(configuration)
  /** As this machine knows it. A file with a checksum is read, because mapping would not look at that. */
  private var local = if (!mapped) None else files match {
    case checked: LocalFileSystem if checked.exists(checked.getChecksumFile(new Path(path))) => None
    case checked: LocalFileSystem => Some(checked.pathToFile(new Path(path)))
    case raw: RawLocalFileSystem => Some(raw.pathToFile(new Path(path)))
    case _ => None
  }
  private var stream = Option.empty[FSDataInputStream]

  def mapped(place: BlockPlace): Option[Blocks] = local.filter(_.isFile).flatMap { file =>
    val blocks = Blocks.mapped(file, place.head, place.offset, place.length)
    if (blocks.isEmpty) local = None
    blocks
  }

  def read(place: BlockPlace): Blocks = {
    val in = stream.getOrElse {
      val in = files.open(new Path(path))
      stream = Some(in)
      in
    }
    in.seek(place.offset)
    val parts = Seq[InputStream](new ByteArrayInputStream(place.head), new Bounded(in, place.length), new ByteArrayInputStream(BatchIndex.End))
    Blocks.readFrom(new SequenceInputStream(enumeration(asList(parts: _*))))
  }

  def close(): Unit = stream.foreach(_.close())
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
