package io.fulgurite.spark

import java.io.{Externalizable, InputStream, ObjectInput, ObjectOutput, OutputStream}
import java.nio.channels.Channels

import com.esotericsoftware.kryo.{Kryo, KryoSerializable}
import com.esotericsoftware.kryo.io.{Input, Output}
import io.fulgurite.core.{Native, NativeHandle}
import io.fulgurite.spark.arrow.{ArrowMemory, BlockView, Crossing}
import org.apache.spark.fulgurite.KnownSize
import org.apache.arrow.vector.VectorSchemaRoot
import org.apache.arrow.vector.ipc.{ArrowStreamReader, ArrowStreamWriter}

/**
 * Blocks of a matrix in native memory: the elements of datasets, where each is one row stripe.
 *
 * Serialised (shuffles, broadcasts, disk) as an Arrow IPC stream. The memory is freed by [[close]] or, at the latest,
 * when this object is garbage. Blocks that a task makes for its own use ([[isEphemeral]]) are closed by who consumes
 * them; all others may be shared through Spark's storage and are left to the garbage collector.
 */
final class Blocks private (private var handle: NativeHandle) extends Externalizable with KryoSerializable with KnownSize {
  @transient private var ephemeral = false
  @volatile @transient private var known: Description = _

  /** For deserialisation only. */
  def this() = this(null)

  /** Calls `use` with the address of the blocks, which live until it returns. */
  def withHandle[A](use: Long => A): A = current.`with`[A](address => use(address))

  /** Gives the handle away; this object is closed then. */
  def detach(): Long = current.detach()

  /** Calls `use` with the blocks as Arrow sees them, in place. */
  def read[A](use: Seq[BlockView] => A): A = {
    val batch = Crossing.toJava(current)
    try use((0 until batch.getRowCount).map(new BlockView(batch, _)))
    finally batch.close()
  }

  def description: Description = {
    if (known == null) known = withHandle(address => Description.parse(Native.describe(address)))
    known
  }

  def rowOffset: Long = description.rowOffset
  def rows: Long = description.rows
  def cols: Long = description.cols
  def nnz: Long = description.nnz
  def bytes: Long = description.bytes
  override def estimatedSize: Long = bytes + 64

  /** Moves a stripe; its values stay where they are. A stripe of a persisted dataset is moved once, for good. */
  def placeAt(rowOffset: Long): this.type = synchronized {
    if (description.rowOffset != rowOffset) {
      // A task may be reading through the former handle: it stays open until it is garbage.
      handle = at(rowOffset).current
      known = known.copy(rowOffset = rowOffset)
    }
    this
  }

  /** The same stripe at another place; shares its values, and may outlive it. */
  def at(rowOffset: Long): Blocks = {
    val batch = Crossing.toJava(current)
    try {
      val moved = arrow.BlockBatch.withRowOffset(batch, rowOffset)
      try Blocks.fromArrow(moved)
      finally moved.close()
    } finally batch.close()
  }

  /** Marks the blocks as owned by the task that made them: whoever consumes them closes them. */
  def markEphemeral(): this.type = { ephemeral = true; this }
  def isEphemeral: Boolean = ephemeral
  def closeIfEphemeral(): Unit = if (ephemeral) close()

  def close(): Unit = current.close()
  def isClosed: Boolean = current.isClosed

  private def current: NativeHandle = synchronized(handle)

  override def writeExternal(out: ObjectOutput): Unit = writeStream(Streams.of(out))
  override def readExternal(in: ObjectInput): Unit = readStream(Streams.of(in))
  override def write(kryo: Kryo, output: Output): Unit = writeStream(output)
  override def read(kryo: Kryo, input: Input): Unit = readStream(input)

  private def writeStream(out: OutputStream): Unit = {
    val batch = Crossing.toJava(current)
    try {
      val writer = new ArrowStreamWriter(batch, null, Channels.newChannel(out))
      writer.start()
      writer.writeBatch()
      writer.end()
    } finally batch.close()
  }

  private def readStream(in: InputStream): Unit = {
    val reader = new ArrowStreamReader(in, ArrowMemory.allocator)
    try {
      reader.loadNextBatch()
      handle = Crossing.toNative(reader.getVectorSchemaRoot)
      // Reads the end marker, so that what follows in the stream is the next object's.
      reader.loadNextBatch()
    } finally reader.close(false)
  }
}

object Blocks {

  /** Takes ownership of a handle. */
  def owning(handle: Long): Blocks = new Blocks(new NativeHandle(handle))

  /** Shares the batch's buffers; the batch stays the caller's to close. */
  def fromArrow(batch: VectorSchemaRoot): Blocks = new Blocks(Crossing.toNative(batch))

  /** What a builder holds; closes it. */
  def built(builder: arrow.BlockBuilder, rowOffset: Long): Blocks =
    try {
      val batch = builder.finish(rowOffset)
      try fromArrow(batch)
      finally batch.close()
    } finally builder.close()
}

/** Sizes of blocks; `rows` and `cols` span all of them. */
final case class Description(rows: Long, cols: Long, nnz: Long, bytes: Long, rowOffset: Long)

object Description {
  def parse(json: Array[Byte]): Description = {
    val node = Json.parse(json)
    val first = node.path("blocks").path(0)
    Description(
      node.get("rows").asLong, node.get("cols").asLong, node.get("nnz").asLong, node.get("bytes").asLong,
      first.path("rowOffset").asLong)
  }
}
