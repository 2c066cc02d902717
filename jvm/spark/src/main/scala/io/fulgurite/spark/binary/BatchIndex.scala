package io.fulgurite.spark.binary

import java.io.EOFException
import java.nio.{ByteBuffer, ByteOrder}

import io.fulgurite.core.FulguriteException
import io.fulgurite.spark.Errors
import org.apache.arrow.flatbuf.{Message, MessageHeader, RecordBatch}
import org.apache.hadoop.fs.{FSDataInputStream, FileSystem, Path}

/**
 * A block of a file: `head` is what an Arrow IPC stream begins with, its schema; `length` bytes from `offset` on are the block.
 *
 * @param rowOffset where its first row stands in the matrix, from 0
 */
private[binary] final case class BlockPlace(path: String, head: Array[Byte], offset: Long, length: Long, rowOffset: Long)

/** Where the blocks of a file lie: found from message to message, without their values. */
private[binary] object BatchIndex {

  def of(path: Path, files: FileSystem): Vector[BlockPlace] = {
    val in = files.open(path)
    try blocks(path, in)
    catch { case _: EOFException | _: IndexOutOfBoundsException | _: IllegalArgumentException => throw noStream(path) }
    finally in.close()
  }

  private def blocks(path: Path, in: FSDataInputStream): Vector[BlockPlace] = {
    val schema = message(path, in).filter(_.metadata.headerType == MessageHeader.Schema).getOrElse(throw noStream(path))
    val head = new Array[Byte](schema.length.toInt)
    in.readFully(0, head)
    in.seek(head.length.toLong)
    val found = Vector.newBuilder[BlockPlace]
    var (offset, next) = (head.length.toLong, message(path, in))
    while (next.nonEmpty) {
      for (batch <- next) {
        // The first field is row_offset: its validity, then its data.
        val fields = batch.metadata.header(new RecordBatch()).asInstanceOf[RecordBatch]
        if (fields == null || fields.buffersLength < 2) throw noStream(path)
        val row = new Array[Byte](8)
        in.readFully(offset + batch.head + fields.buffers(1).offset, row)
        found += BlockPlace(path.toString, head, offset, batch.length, little(row).getLong())
        offset += batch.length
        in.seek(offset)
      }
      next = message(path, in)
    }
    found.result()
  }

  /** @param head bytes before its body */
  private final case class Framed(metadata: Message, head: Int) {
    def length: Long = head + metadata.bodyLength
  }

  /** The next message; none at the end marker. */
  private def message(path: Path, in: FSDataInputStream): Option[Framed] = {
    val prefix = new Array[Byte](8)
    in.readFully(prefix)
    val numbers = little(prefix)
    if (numbers.getInt() != Continuation) throw noStream(path)
    numbers.getInt() match {
      case 0 => None
      case length if length < 0 || length > MostMetadata => throw noStream(path)
      case length =>
        val metadata = new Array[Byte](length)
        in.readFully(metadata)
        Some(Framed(Message.getRootAsMessage(little(metadata)), prefix.length + length))
    }
  }

  private def little(bytes: Array[Byte]): ByteBuffer = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN)

  def noStream(path: Path): FulguriteException =
    Errors.data(s"'$path' is not a whole stream of blocks", "name a file that was written with format=\"binary\"; this one may have been cut off")

  private val Continuation = -1
  private val MostMetadata = 1 << 20

  /** What a stream ends with. */
  val End: Array[Byte] = little(new Array[Byte](8)).putInt(Continuation).putInt(0).array
}
