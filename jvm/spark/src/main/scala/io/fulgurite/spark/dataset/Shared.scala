package io.fulgurite.spark.dataset

import java.io.{Externalizable, ObjectInput, ObjectOutput}
import java.nio.ByteBuffer

import com.esotericsoftware.kryo.{Kryo, KryoSerializable}
import com.esotericsoftware.kryo.io.{Input, Output}
import io.fulgurite.spark.Blocks
import io.fulgurite.spark.memory.InProcess
import org.apache.spark.{SparkContext, SparkEnv}
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.fulgurite.KnownSize

/**
 * What is broadcast: a wrapper, since Spark closes stored values that can be closed when it evicts them. A large matrix is sent in pieces of
 * its own, from which each process makes the matrix once. Where there is but one process, tasks find it by its number.
 */
final class Shared private[dataset] (@volatile private var matrix: Blocks, private var sent: Option[SentBytes], private var inProcess: Option[Long])
    extends Externalizable with KryoSerializable with KnownSize {
  private var size = if (matrix == null) 0L else matrix.bytes
  private var isWithdrawn = false
  /**
   * Who puts the pieces together asks Spark's storage for memory, and whoever makes room there, which holds all others off, may be writing this
   * very object to disk: which takes the lock of this object, but never this one.
   */
  private val assembling = new Object

  /** For deserialisation only. */
  def this() = this(null, None, None)

  def blocks: Blocks = {
    if (matrix == null) assembling.synchronized {
      for (bytes <- sent if matrix == null) matrix = Blocks.readFrom(bytes.open())
    }
    matrix
  }

  override def estimatedSize: Long = size + 64

  /** Frees the matrix, which nobody will ask for any more. The driver's storage may still hold this for a while, and write it to disk. */
  private[dataset] def withdraw(): Unit = synchronized {
    isWithdrawn = true
    matrix.close()
  }

  /** By which tasks find it in this process; 0 where they do not. */
  private def number: Long = if (isWithdrawn) Shared.Withdrawn else inProcess.getOrElse(0)

  override def writeExternal(out: ObjectOutput): Unit = synchronized {
    out.writeLong(size)
    out.writeLong(number)
    out.writeBoolean(sent.nonEmpty)
    if (number == 0) sent.fold(matrix.writeExternal(out)) { bytes =>
      val written = Shared.java.serialize(bytes).array
      out.writeInt(written.length)
      out.write(written)
    }
  }

  override def readExternal(in: ObjectInput): Unit = {
    size = in.readLong()
    inProcess = Some(in.readLong()).filter(_ != 0)
    val inPieces = in.readBoolean()
    if (inProcess.nonEmpty) matrix = InProcess.find(inProcess.get)
    else if (inPieces) {
      val written = new Array[Byte](in.readInt())
      in.readFully(written)
      sent = Some(Shared.read(written))
    } else {
      matrix = new Blocks
      matrix.readExternal(in)
    }
  }

  override def write(kryo: Kryo, output: Output): Unit = synchronized {
    output.writeLong(size)
    output.writeLong(number)
    output.writeBoolean(sent.nonEmpty)
    if (number == 0) sent.fold(matrix.write(kryo, output)) { bytes =>
      val written = Shared.java.serialize(bytes).array
      output.writeInt(written.length)
      output.writeBytes(written)
    }
  }

  override def read(kryo: Kryo, input: Input): Unit = {
    size = input.readLong()
    inProcess = Some(input.readLong()).filter(_ != 0)
    val inPieces = input.readBoolean()
    if (inProcess.nonEmpty) matrix = InProcess.find(inProcess.get)
    else if (inPieces) sent = Some(Shared.read(input.readBytes(input.readInt())))
    else {
      matrix = new Blocks
      matrix.read(kryo, input)
    }
  }
}

private object Shared {
  /** A number under which there is no matrix. */
  val Withdrawn: Long = -1

  /** Broadcasts know how Java serialises them, whatever the session's serializer is. */
  def java: org.apache.spark.serializer.SerializerInstance = SparkEnv.get.closureSerializer.newInstance()

  def read(written: Array[Byte]): SentBytes =
    java.deserialize[SentBytes](ByteBuffer.wrap(written), Thread.currentThread().getContextClassLoader)
}

/** A matrix that was sent to all executors, as the driver has it. Executors get the broadcast alone. */
final class SentMatrix private (
    @transient private val context: SparkContext, val broadcast: Broadcast[Shared], @transient private val shared: Shared,
    @transient private val pieces: Option[SentBytes], @transient private val inProcess: Option[Long])
    extends Serializable {
  def id: Long = broadcast.id

  /** Frees the executors' copies. */
  def unpersist(): Unit = if (!context.isStopped) {
    broadcast.unpersist(blocking = false)
    pieces.foreach(_.unpersist())
  }

  /** Frees all copies. Executors are told by Spark. */
  def destroy(): Unit = {
    inProcess.foreach(InProcess.withdraw)
    shared.withdraw()
    if (!context.isStopped) {
      broadcast.destroy()
      pieces.foreach(_.destroy())
    }
  }
}

object SentMatrix {

  /** Sends a matrix, which it owns from now on. */
  def apply(context: SparkContext, matrix: Blocks, bytesPerPiece: Int): SentMatrix = {
    val pieces = if (matrix.bytes > bytesPerPiece) Some(SentBytes(context, bytesPerPiece)(matrix.writeTo)) else None
    val inProcess = if (pieces.isEmpty && InProcess.isWhole(context)) Some(InProcess.send(matrix)) else None
    val shared = new Shared(matrix, pieces, inProcess)
    try new SentMatrix(context, context.broadcast(shared), shared, pieces, inProcess)
    catch {
      case failure: Throwable =>
        inProcess.foreach(InProcess.withdraw)
        pieces.foreach(_.destroy())
        throw failure
    }
  }
}
