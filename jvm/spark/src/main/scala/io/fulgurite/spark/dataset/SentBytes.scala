package io.fulgurite.spark.dataset

import java.io.{ByteArrayInputStream, InputStream, OutputStream, SequenceInputStream}
import java.util.{Arrays, Enumeration}

import org.apache.spark.SparkContext
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.fulgurite.Internals

/**
 * Any number of bytes, sent to whoever reads them, as broadcasts of at most so many: neither side has more than one of them in an array, and
 * Spark moves those that its memory has no room for to disk.
 */
private[spark] final class SentBytes private (val pieces: Vector[Broadcast[Array[Byte]]]) extends Serializable {

  /** What was written; a piece is fetched when it is reached. */
  def open(): InputStream = {
    val left = pieces.iterator
    new SequenceInputStream(new Enumeration[InputStream] {
      override def hasMoreElements: Boolean = left.hasNext
      override def nextElement(): InputStream = new ByteArrayInputStream(left.next().value)
    })
  }

  def unpersist(): Unit = pieces.foreach(_.unpersist(blocking = false))
  def destroy(): Unit = pieces.foreach(_.destroy())
}

private[spark] object SentBytes {

  /** Sends what `write` writes. */
  def apply(context: SparkContext, bytesPerPiece: Int)(write: OutputStream => Unit): SentBytes = {
    val pieces = Vector.newBuilder[Broadcast[Array[Byte]]]
    try {
      val out = new Cut(bytesPerPiece, piece => pieces += Internals.broadcastSerialized(context, piece))
      write(out)
      out.close()
      new SentBytes(pieces.result())
    } catch {
      case failure: Throwable =>
        pieces.result().foreach(_.destroy())
        throw failure
    }
  }

  /** Cuts what is written into arrays of so many bytes, which are sent as they are: a copy of each would not fit beside it. */
  private final class Cut(size: Int, send: Array[Byte] => Unit) extends OutputStream {
    private var piece = Array.emptyByteArray
    private var used = 0
    private var sentOne = false

    override def write(byte: Int): Unit = write(Array(byte.toByte), 0, 1)

    override def write(bytes: Array[Byte], from: Int, count: Int): Unit = {
      var (at, left) = (from, count)
      while (left > 0) {
        if (used == piece.length) grow()
        val fitting = math.min(left, piece.length - used)
        System.arraycopy(bytes, at, piece, used, fitting)
        used += fitting
        at += fitting
        left -= fitting
        if (used == size) emit(piece)
      }
    }

    override def close(): Unit = if (used > 0) emit(Arrays.copyOf(piece, used))

    /** The first piece grows as it is filled; when there are several, all are full, but for the last. */
    private def grow(): Unit = {
      val most = if (sentOne) size else math.min(size.toLong, math.max(FirstBytes, 2L * piece.length)).toInt
      piece = Arrays.copyOf(piece, most)
    }

    private def emit(full: Array[Byte]): Unit = {
      piece = Array.emptyByteArray
      used = 0
      sentOne = true
      send(full)
    }
  }

  private val FirstBytes = 1L << 16
}
