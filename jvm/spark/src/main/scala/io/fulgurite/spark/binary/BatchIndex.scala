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
    try blocks(path, in, files.getFileStatus(path).getLen)
    catch {
      case ours: FulguriteException => throw ours
      // Metadata are not verified before they are read: whatever reading them throws, they are damaged.
      case _: EOFException | _: RuntimeException => throw noStream(path)
    } finally in.close()
  }

  private def blocks(path: Path, in: FSDataInputStream, bytes: Long): Vector[BlockPlace] = {
    val schema = message(path, in).filter(found => found.metadata.headerType == MessageHeader.Schema && found.length <= MostMetadata)
      .getOrElse(throw noStream(path))
    val head = new Array[Byte](schema.length.toInt)
    in.readFully(0, head)
    in.seek(head.length.toLong)
    val found = Vector.newBuilder[BlockPlace]
    var (offset, next) = (head.length.toLong, message(path, in))
    while (next.nonEmpty) {
      for (batch <- next) {
        if (batch.length > bytes - offset) throw noStream(path)
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
        val message = Message.getRootAsMessage(little(metadata))
        // Less would lead back into what was read.
        if (message.bodyLength < 0 || message.bodyLength > Long.MaxValue - MostMetadata * 2) throw noStream(path)
        Some(Framed(message, prefix.length + length))
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
