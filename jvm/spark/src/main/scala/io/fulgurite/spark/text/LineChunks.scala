package io.fulgurite.spark.text

import java.util.Arrays

import io.fulgurite.spark.Errors
import org.apache.hadoop.io.Text

/** Whole lines, each of which ends with a line feed; what lies beyond `length` is none of them. Valid until the next chunk is asked for. */
private[spark] final class Chunk(val bytes: Array[Byte], val length: Int) extends Serializable {
  def copy: Chunk = new Chunk(Arrays.copyOf(bytes, length), length)
}

/**
 * Lines as chunks of at most so many bytes, or of one line that is longer. All share an array.
 *
 * @param lines each is valid until the next one is asked for
 */
private[spark] final class LineChunks(lines: Iterator[Text], most: Int) extends Iterator[Chunk] {
  private var bytes = new Array[Byte](math.min(LineChunks.Initial, most))
  /** The line that comes next, if it is known. */
  private var waiting = Option.empty[Text]

  override def hasNext: Boolean = {
    if (waiting.isEmpty && lines.hasNext) waiting = Some(lines.next())
    waiting.nonEmpty
  }

  override def next(): Chunk = {
    if (!hasNext) throw new NoSuchElementException
    var length = 0
    while (hasNext && hasRoom(length, waiting.get.getLength)) {
      val line = waiting.get
      System.arraycopy(line.getBytes, 0, bytes, length, line.getLength)
      length += line.getLength
      bytes(length) = '\n'
      length += 1
      waiting = None
    }
    new Chunk(bytes, length)
  }

  /** Whether a line goes behind so many bytes; makes room where there may be some. */
  private def hasRoom(length: Int, line: Int): Boolean = {
    val needed = length.toLong + line + 1
    if (needed > bytes.length && (length == 0 || needed <= most)) {
      if (needed > LineChunks.Longest) {
        throw Errors.data(s"a line has $line bytes", s"a line has ${LineChunks.Longest} at most: see whether the file is what it is taken for")
      }
      bytes = Arrays.copyOf(bytes, math.max(needed, math.min(most.toLong, 2L * bytes.length)).toInt)
    }
    needed <= bytes.length
  }
}

private[spark] object LineChunks {
  /** About as much as a stripe of numbers takes. */
  val Bytes: Int = 8 << 20
  private val Initial = 1 << 16
  /** That the JVM has arrays for. */
  private val Longest = Int.MaxValue - 8L
}
