package io.fulgurite.spark

import java.io.{EOFException, Externalizable, InputStream, ObjectInput, ObjectOutput, OutputStream}
import java.nio.channels.Channels

import com.fasterxml.jackson.databind.JsonNode
import com.esotericsoftware.kryo.{Kryo, KryoSerializable}
import com.esotericsoftware.kryo.io.{Input, Output}
import io.fulgurite.core.{Native, NativeHandle}
import io.fulgurite.spark.arrow.{ArrowMemory, BlockView, Crossing}
import io.fulgurite.spark.memory.{Held, TaskMemory}
import org.apache.spark.fulgurite.KnownSize
import org.apache.arrow.vector.VectorSchemaRoot
import org.apache.arrow.vector.ipc.{ArrowStreamReader, ArrowStreamWriter}

/**
 * Blocks of a matrix in native memory: the elements of datasets, where each is one row stripe.
 *
 * Serialised (shuffles, broadcasts, disk) as an Arrow IPC stream. The memory is freed by [[close]] or, at the latest,
 * when this object is garbage. Blocks that a task makes for its own use ([[isEphemeral]]) are charged to it, and closed by
 * who consumes them or by the end of the task; all others may be shared through Spark's storage, which accounts for them, and
 * are left to the garbage collector.
 */
final class Blocks private (private var handle: NativeHandle, private var held: Held)
    extends Externalizable with KryoSerializable with KnownSize {
  @transient private var ephemeral = false
  @transient private var owner: Option[TaskMemory] = None
  @volatile @transient private var known: Description = _
  if (handle != null) count()

  /** For deserialisation only. */
  def this() = this(null, null)

  /** Calls `use` with the address of the blocks, which live until it returns. */
  def withHandle[A](use: Long => A): A = current.`with`[A](address => use(address))

  /** Gives the handle away; this object is closed then. */
  def detach(): Long = {
    val address = current.detach()
    disowned()
    address
  }

  /** Calls `use` with the blocks as Arrow sees them, in place. */
  def read[A](use: Seq[BlockView] => A): A = {
    val batch = Crossing.toJava(current)
    try use((0 until batch.getRowCount).map(new BlockView(batch, _)))
    finally batch.close()
  }

  def description: Description = known

  def rowOffset: Long = description.rowOffset
  def rows: Long = description.rows
  def cols: Long = description.cols
  def nnz: Long = description.nnz
  def bytes: Long = description.bytes
  override def estimatedSize: Long = bytes + 64

  /** Moves a stripe that nobody else has yet; its values stay where they are. */
  def placeAt(rowOffset: Long): this.type = {
    place(rowOffset).foreach(_.close())
    this
  }

  /** Moves a stripe of a persisted dataset, once, for good. A task may be reading through the former handle: it stays open until it is garbage. */
  def placeStoredAt(rowOffset: Long): this.type = {
    place(rowOffset)
    this
  }

  /** The former handle, if there is a new one. */
  private def place(rowOffset: Long): Option[NativeHandle] = synchronized {
    if (description.rowOffset == rowOffset) None
    else {
      val former = handle
      handle = at(rowOffset).current
      known = known.copy(rowOffset = rowOffset)
      Some(former)
    }
  }

  /** The same stripe at another place; shares its values, and may outlive it. */
  def at(rowOffset: Long): Blocks = {
    val batch = Crossing.toJava(current)
    try {
      val moved = arrow.BlockBatch.withRowOffset(batch, rowOffset)
      try Blocks.fromArrow(moved, held.shared())
      finally moved.close()
    } finally batch.close()
  }

  /**
   * Marks the blocks as owned by the task that made them: whoever consumes them closes them.
   *
   * @throws io.fulgurite.core.FulguriteException of kind `memory` if the task may not have so much; they are closed then
   */
  def markEphemeral(): this.type = {
    if (!ephemeral) {
      ephemeral = true
      owner = TaskMemory.current
      try owner.foreach(_.own(this))
      catch {
        case failure: Throwable =>
          owner = None
          close()
          throw failure
      }
    }
    this
  }
  def isEphemeral: Boolean = ephemeral
  def closeIfEphemeral(): Unit = if (ephemeral) close()

  def close(): Unit = {
    current.close()
    disowned()
  }
  def isClosed: Boolean = current.isClosed

  private def current: NativeHandle = synchronized(handle)

  private def disowned(): Unit = owner.foreach(_.disown(this))

  private def count(): Unit = {
    known = withHandle(address => Description.parse(Native.describe(address)))
    held.are(known.bytes)
  }

  override def writeExternal(out: ObjectOutput): Unit = writeTo(Streams.of(out))
  override def readExternal(in: ObjectInput): Unit = readStream(Streams.of(in))
  override def write(kryo: Kryo, output: Output): Unit = writeTo(output)
  override def read(kryo: Kryo, input: Input): Unit = readStream(input)

  private[spark] def writeTo(out: OutputStream): Unit = {
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
      if (!reader.loadNextBatch()) throw new EOFException("blocks end before they begin")
      held = new Held
      handle = Crossing.toNative(reader.getVectorSchemaRoot, held)
      count()
      // Reads the end marker, so that what follows in the stream is the next object's.
      reader.loadNextBatch()
    } finally reader.close(false)
  }
}

object Blocks {

  /** What [[Blocks.writeTo]] wrote, to its last byte and not further. */
  private[spark] def readFrom(in: InputStream): Blocks = {
    val blocks = new Blocks()
    blocks.readStream(in)
    blocks
  }

  /** Takes ownership of a handle. */
  def owning(handle: Long): Blocks = {
    val held = new Held
    new Blocks(new NativeHandle(handle, held), held)
  }

  /** Shares the batch's buffers; the batch stays the caller's to close. */
  def fromArrow(batch: VectorSchemaRoot): Blocks = fromArrow(batch, new Held)

  private def fromArrow(batch: VectorSchemaRoot, held: Held): Blocks = new Blocks(Crossing.toNative(batch, held), held)

  /** What a builder holds; closes it. */
  def built(builder: arrow.BlockBuilder, rowOffset: Long): Blocks =
    try {
      val batch = builder.finish(rowOffset)
      try fromArrow(batch)
      finally batch.close()
    } finally builder.close()
}

/**
 * Sizes of blocks; `rows` and `cols` span all of them.
 *
 * @param compiled fused operators that were compiled for them, where they are a task's results
 * @param account what happened in a range of iterations that gave them
 */
final case class Description(
    rows: Long, cols: Long, nnz: Long, bytes: Long, rowOffset: Long, compiled: Long = 0, compileNanoseconds: Long = 0,
    account: Option[JsonNode] = None)

object Description {
  def parse(json: Array[Byte]): Description = {
    val node = Json.parse(json)
    val first = node.path("blocks").path(0)
    Description(
      node.get("rows").asLong, node.get("cols").asLong, node.get("nnz").asLong, node.get("bytes").asLong,
      first.path("rowOffset").asLong, node.path("compiled").path("plans").asLong, node.path("compiled").path("nanoseconds").asLong,
      Option(node.get("account")))
  }
}
