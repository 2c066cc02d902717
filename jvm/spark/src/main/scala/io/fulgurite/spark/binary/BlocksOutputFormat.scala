package io.fulgurite.spark.binary

import java.io.OutputStream

import io.fulgurite.spark.Blocks
import org.apache.hadoop.io.NullWritable
import org.apache.hadoop.mapreduce.{RecordWriter, TaskAttemptContext}
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat

/** The blocks of a partition as one file, an Arrow IPC stream; there is none where there are no blocks. */
private[spark] final class BlocksOutputFormat extends FileOutputFormat[NullWritable, Blocks] {
  override def getRecordWriter(context: TaskAttemptContext): RecordWriter[NullWritable, Blocks] = new RecordWriter[NullWritable, Blocks] {
    private lazy val out = {
      val path = getDefaultWorkFile(context, ".arrow")
      path.getFileSystem(context.getConfiguration).create(path, false)
    }
    private var stream = Option.empty[BlockStream]

    override def write(key: NullWritable, blocks: Blocks): Unit =
      try {
        if (stream.isEmpty) stream = Some(new BlockStream(out))
        stream.foreach(_.append(blocks))
      } finally blocks.closeIfEphemeral()

    override def close(context: TaskAttemptContext): Unit =
      if (stream.nonEmpty) {
        try stream.foreach(_.finish())
        finally out.close()
      }
  }
}

/** Blocks one after the other in one Arrow IPC stream: those of each but its end marker, and, but for the first one, its schema. */
private[binary] final class BlockStream(out: OutputStream) {
  private var head = Option.empty[Long]

  def append(blocks: Blocks): Unit = {
    val inner = new Inner(head.getOrElse(0))
    blocks.writeTo(inner)
    if (head.isEmpty) head = Some(inner.headLength)
  }

  def finish(): Unit = out.write(BatchIndex.End)

  /** Passes on what comes after `skipped` bytes and before the end marker. */
  private final class Inner(skipped: Long) extends OutputStream {
    private val prefix = new Array[Byte](8)
    private var seen = 0L
    private val held = new Array[Byte](BatchIndex.End.length)
    private var heldBytes = 0

    /** Bytes of the schema: it has a marker, the length of what follows, and that. */
    def headLength: Long = 8L + ((prefix(4) & 0xff) | (prefix(5) & 0xff) << 8 | (prefix(6) & 0xff) << 16 | (prefix(7) & 0xff) << 24)

    override def write(byte: Int): Unit = write(Array(byte.toByte), 0, 1)

    override def write(bytes: Array[Byte], from: Int, count: Int): Unit = {
      var at = 0
      while (seen + at < prefix.length && at < count) {
        prefix((seen + at).toInt) = bytes(from + at)
        at += 1
      }
      val drop = math.max(0L, math.min(skipped - seen, count.toLong)).toInt
      seen += count
      pass(bytes, from + drop, count - drop)
    }

    private def pass(bytes: Array[Byte], from: Int, count: Int): Unit =
      if (count >= held.length) {
        out.write(held, 0, heldBytes)
        out.write(bytes, from, count - held.length)
        System.arraycopy(bytes, from + count - held.length, held, 0, held.length)
        heldBytes = held.length
      } else {
        val over = math.max(0, heldBytes + count - held.length)
        out.write(held, 0, over)
        System.arraycopy(held, over, held, 0, heldBytes - over)
        System.arraycopy(bytes, from, held, heldBytes - over, count)
        heldBytes += count - over
      }
  }
}
