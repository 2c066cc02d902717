package io.fulgurite.spark

import java.io.{Externalizable, File, InputStream, ObjectInput, ObjectOutput, OutputStream}
import java.nio.charset.StandardCharsets.UTF_8

import com.fasterxml.jackson.databind.JsonNode
import com.esotericsoftware.kryo.{Kryo, KryoSerializable}
import com.esotericsoftware.kryo.io.{Input, Output}
import io.fulgurite.core.{Native, NativeHandle}
import io.fulgurite.spark.arrow.{BlockSchema, BlockView, Crossing, Library}
import io.fulgurite.spark.memory.{Held, TaskMemory}
import org.apache.spark.fulgurite.KnownSize
import org.apache.arrow.vector.VectorSchemaRoot

/**
 * Blocks of a matrix in native memory: the elements of datasets, where each is one row stripe.
 *
 * Serialised (shuffles, broadcasts, disk) as an Arrow IPC stream, by native code. The memory is freed by [[close]] or, at the latest,
 * when this object is garbage. Blocks that a task makes for its own use ([[isEphemeral]]) are charged to it, and closed by
 * who consumes them or by the end of the task; all others may be shared through Spark's storage, which accounts for them, and
 * are left to the garbage collector.
 */
final class Blocks private (private var handle: NativeHandle, private var held: Held)
    extends Externalizable with KryoSerializable with KnownSize {
  @transient private var ephemeral = false
  @transient private var fromStream = false
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

  /** Calls `use` with the blocks in place; views are not valid after it has returned. */
  def read[A](use: Seq[BlockView] => A): A = withHandle(address => use(BlockView.all(Native.look(address))))

  /** With non-zeros, which are counted the first time: a pass over the values. */
  def description: Description = {
    val sizes = known
    if (sizes.isCounted) sizes
    else {
      val nonZeros = withHandle(Native.nonZeros)
      synchronized {
        known = known.copy(nnz = nonZeros)
        known
      }
    }
  }

  /** Without non-zeros, unless somebody has counted them. */
  def sizes: Description = known

  /** Of the results of a range of iterations: what each block is, and what else happened. */
  def account: Option[JsonNode] = withHandle(address => Option(Json.parse(Native.describe(address)).get("account")))

  def rowOffset: Long = sizes.rowOffset
  def rows: Long = sizes.rows
  def cols: Long = sizes.cols
  def nnz: Long = description.nnz
  def bytes: Long = sizes.bytes
  override def estimatedSize: Long = bytes + 64

  /** Moves a stripe that nobody else has yet; its values stay where they are. */
  def placeAt(rowOffset: Long): this.type = {
    place(rowOffset).foreach(_.close())
    this
  }

  /**
   * Moves a stripe of a persisted dataset, once, for good. A task may be reading through the former handle, unless the stripe is this task's own:
   * it stays open until it is garbage.
   */
  def placeStoredAt(rowOffset: Long): this.type = {
    val former = place(rowOffset)
    if (ephemeral) former.foreach(_.close())
    this
  }

  /** The former handle, if there is a new one. */
  private def place(rowOffset: Long): Option[NativeHandle] = synchronized {
    if (known.rowOffset == rowOffset) None
    else {
      val former = handle
      handle = at(rowOffset).current
      known = known.copy(rowOffset = rowOffset)
      Some(former)
    }
  }

  /** The same stripe at another place; shares its values, and may outlive it. */
  def at(rowOffset: Long): Blocks = withHandle { address =>
    val shared = held.shared()
    val placed = new Blocks(new NativeHandle(Native.place(address, rowOffset), shared), shared)
    placed.known = placed.known.copy(nnz = known.nnz)
    placed
  }

  /** The blocks `from until until` of these, which share their values, and may outlive them. */
  def part(from: Int, until: Int): Blocks = withHandle(address => Blocks.owning(Native.part(address, from.toLong, until.toLong)))

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

  /** As [[markEphemeral]], for blocks that the task has to read: where it may not have so much, it is not charged. */
  def markRead(): this.type = {
    if (!ephemeral) {
      ephemeral = true
      owner = TaskMemory.current
      owner.foreach(_.ownRead(this))
    }
    this
  }

  def isEphemeral: Boolean = ephemeral

  /** Whether they were serialised: what Spark read from its disk, or from elsewhere. */
  def isFromStream: Boolean = fromStream

  /** Whether somebody else may be expected to hold the blocks, so that they take no memory here: Spark's storage, or a file that they stay in. */
  def isStored: Boolean = !ephemeral && !fromStream

  /** The blocks as Spark's storage may have them: those that belong to a task are closed, and live on under another handle. */
  def shared: Blocks =
    if (!ephemeral) this
    else {
      val own = at(rowOffset)
      close()
      own
    }

  def closeIfEphemeral(): Unit = if (ephemeral) close()

  def close(): Unit = {
    current.close()
    disowned()
  }
  def isClosed: Boolean = current.isClosed

  private def current: NativeHandle = synchronized(handle)

  private def disowned(): Unit = owner.foreach(_.disown(this))

  private def count(): Unit = {
    known = withHandle(address => Description.of(Native.look(address)))
    held.are(known.bytes)
  }

  override def writeExternal(out: ObjectOutput): Unit = writeTo(Streams.of(out))
  override def readExternal(in: ObjectInput): Unit = readStream(Streams.of(in))
  override def write(kryo: Kryo, output: Output): Unit = writeTo(output)
  override def read(kryo: Kryo, input: Input): Unit = readStream(input)

  private[spark] def writeTo(out: OutputStream): Unit = withHandle(Native.write(_, out))

  private def readStream(in: InputStream): Unit = {
    Library.ensureLoaded()
    fromStream = true
    held = new Held
    handle = new NativeHandle(Native.read(in), held)
    count()
  }
}

object Blocks {

  /** Calls `use` with the addresses of blocks, which live until it returns. */
  def withHandles[A](blocks: Seq[Blocks])(use: Array[Long] => A): A = {
    val handles = new java.util.ArrayList[NativeHandle](blocks.size)
    blocks.foreach(each => handles.add(each.current))
    NativeHandle.withAll[A](handles, addresses => use(addresses))
  }

  /** What [[Blocks.writeTo]] wrote, to its last byte and not further. */
  private[spark] def readFrom(in: InputStream): Blocks = {
    val blocks = new Blocks()
    blocks.readStream(in)
    blocks
  }

  /** Blocks that stay in their file; nothing, where that lies on no local disk. See [[Native.map]]. */
  private[spark] def mapped(file: File, head: Array[Byte], offset: Long, length: Long): Option[Blocks] = {
    Library.ensureLoaded()
    Some(Native.map(file.getPath.getBytes(UTF_8), head, offset, length)).filter(_ != 0).map(owning)
  }

  /** Takes ownership of a handle. */
  def owning(handle: Long): Blocks = {
    val held = new Held
    new Blocks(new NativeHandle(handle, held), held)
  }

  /** Takes ownership of handles, for the task that this thread works for. */
  private[spark] def ofTask(handles: Seq[Long]): Seq[Blocks] = {
    val blocks = handles.map(owning)
    blocks.foreach(_.markEphemeral())
    blocks
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
 * @param nnz [[Description.Uncounted]] if nobody has counted them
 * @param stored cells in memory: all of dense blocks
 * @param layout of the blocks; where they differ, the one that suits them all
 * @param compiled fused operators that were compiled for them, where they are a task's results
 * @param operatorNanoseconds what operators took for them and for what else the task gave, compiling included, where they are a task's first results
 */
final case class Description(
    rows: Long, cols: Long, nnz: Long, bytes: Long, rowOffset: Long, stored: Long, layout: Byte, compiled: Long = 0, compileNanoseconds: Long = 0,
    operatorNanoseconds: Long = 0) {
  def isCounted: Boolean = nnz != Description.Uncounted
}

object Description {
  val Uncounted: Long = -1

  /** Of what [[Native.look]] found. */
  def of(found: Array[Long]): Description = {
    var (first, last, cols, bytes, stored, layout) = (Long.MaxValue, 0L, 0L, 0L, 0L, BlockSchema.Sparsest)
    var at = BlockView.Header
    while (at < found.length) {
      val view = new BlockView(found, at)
      first = math.min(first, view.rowOffset)
      last = math.max(last, view.rowOffset + view.rows)
      cols = math.max(cols, view.cols.toLong)
      bytes += view.bytes
      stored += view.stored
      layout = BlockSchema.widest(layout, view.layout)
      at += BlockView.Length
    }
    val rowOffset = if (first == Long.MaxValue) 0 else first
    Description(last - rowOffset, cols, Uncounted, bytes, rowOffset, stored, layout, found(0), found(1), found(2))
  }
}
