package io.fulgurite.spark.sql

import io.fulgurite.spark.arrow.ColumnBuilder
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.Platform

/**
 * Columns of Spark's cached tables, as `DefaultCachedBatch` has them: the number of nulls and their rows, a number of 4 bytes that names a
 * compression, and values of the other rows.
 *
 * Values are decoded into native memory. Spark itself decodes numbers only, and gives tables with dates or strings as rows.
 */
private[sql] object CachedColumn {

  def append(bytes: Array[Byte], rows: Int, dataType: DataType, builder: ChunkBuilder): Unit = {
    val nulls = Platform.getInt(bytes, start(0))
    val first = builder.rooms.rows
    val from = 4 + 4 * nulls
    def isNull(number: Int) = Platform.getInt(bytes, start(4 + 4 * number))
    val scheme = Platform.getInt(bytes, start(from))
    val data = from + 4

    def fixed(width: Int): Unit = {
      val address = builder.rooms.reserve(rows)
      decode(bytes, scheme, data, rows - nulls, width, address)
      moveToRows(address, width)
    }

    def moveToRows(address: Long, width: Int): Unit = {
      // From the last one on, so that no value is overwritten before it has moved.
      var (row, value, null_) = (rows - 1, rows - nulls - 1, nulls - 1)
      while (null_ >= 0) {
        if (isNull(null_) == row) {
          Platform.setMemory(null, address + row.toLong * width, width.toLong, 0)
          null_ -= 1
        } else {
          Platform.copyMemory(null, address + value.toLong * width, null, address + row.toLong * width, width.toLong)
          value -= 1
        }
        row -= 1
      }
    }

    builder match {
      case text: TextBuilder if text.isCoded && !text.hasManyWords && (scheme == Dictionary || scheme == RunLengths) =>
        val address = text.rooms.reserve(rows)
        codes(bytes, scheme, data, rows - nulls, text, address)
        moveToRows(address, 4)
      case text: TextBuilder => texts(bytes, scheme, data, rows, nulls, text.asPlain)
      case _ => dataType match {
        case BooleanType => builder.rooms.putBits(spread(booleans(bytes, scheme, data, rows - nulls), bytes, nulls, rows), rows)
        case ByteType => fixed(1)
        case ShortType => fixed(2)
        case IntegerType | FloatType | DateType => fixed(4)
        case _ => fixed(8)
      }
    }
    val to = builder.rooms
    var number = 0
    while (number < nulls) {
      to.setNull(first + isNull(number))
      number += 1
    }
  }

  /** Values of a fixed width, one after the other. */
  private def decode(bytes: Array[Byte], scheme: Int, data: Int, count: Int, width: Int, address: Long): Unit = scheme match {
    case PassThrough => Platform.copyMemory(bytes, start(data), null, address, count.toLong * width)
    case RunLengths =>
      var (at, done) = (data, 0)
      while (done < count) {
        val run = Platform.getInt(bytes, start(at + width))
        var number = 0
        while (number < run) {
          put(bytes, at, width, address + (done + number).toLong * width)
          number += 1
        }
        done += run
        at += width + 4
      }
    case Dictionary =>
      val words = data + 4
      val codes = words + Platform.getInt(bytes, start(data)) * width
      var number = 0
      while (number < count) {
        put(bytes, words + Platform.getShort(bytes, start(codes + 2 * number)) * width, width, address + number.toLong * width)
        number += 1
      }
    case IntDeltas =>
      var (at, value, number) = (data, 0, 0)
      while (number < count) {
        val delta = bytes(at)
        at += 1
        if (delta == Byte.MinValue) {
          value = Platform.getInt(bytes, start(at))
          at += 4
        } else value += delta
        Platform.putInt(null, address + number * 4L, value)
        number += 1
      }
    case LongDeltas =>
      var (at, value, number) = (data, 0L, 0)
      while (number < count) {
        val delta = bytes(at)
        at += 1
        if (delta == Byte.MinValue) {
          value = Platform.getLong(bytes, start(at))
          at += 8
        } else value += delta
        Platform.putLong(null, address + number * 8L, value)
        number += 1
      }
    case other => throw unknown(other)
  }

  private def put(bytes: Array[Byte], at: Int, width: Int, address: Long): Unit = width match {
    case 8 => Platform.putLong(null, address, Platform.getLong(bytes, start(at)))
    case 4 => Platform.putInt(null, address, Platform.getInt(bytes, start(at)))
    case 2 => Platform.putShort(null, address, Platform.getShort(bytes, start(at)))
    case _ => Platform.putByte(null, address, bytes(at))
  }

  private def booleans(bytes: Array[Byte], scheme: Int, data: Int, count: Int): Array[Byte] = scheme match {
    case BitSet =>
      // After their number come words of 64 values, the first one in the lowest bit.
      Array.tabulate(count)(number => ((Platform.getLong(bytes, start(data + 4 + (number >> 6) * 8)) >>> (number & 63)) & 1).toByte)
    case _ =>
      val values = new Array[Byte](count)
      if (scheme == PassThrough) System.arraycopy(bytes, data, values, 0, count)
      else if (scheme == RunLengths) {
        var (at, done) = (data, 0)
        while (done < count) {
          val run = Platform.getInt(bytes, start(at + 1))
          java.util.Arrays.fill(values, done, done + run, bytes(at))
          done += run
          at += 5
        }
      } else throw unknown(scheme)
      values
  }

  /** Values at their rows, where `nulls` rows have none. */
  private def spread(values: Array[Byte], bytes: Array[Byte], nulls: Int, rows: Int): Array[Byte] =
    if (nulls == 0) values
    else {
      val all = new Array[Byte](rows)
      var (row, value, number) = (0, 0, 0)
      while (row < rows) {
        if (number < nulls && Platform.getInt(bytes, start(4 + 4 * number)) == row) number += 1
        else {
          all(row) = values(value)
          value += 1
        }
        row += 1
      }
      all
    }

  /** Codes of strings, one after the other. */
  private def codes(bytes: Array[Byte], scheme: Int, data: Int, count: Int, to: TextBuilder, address: Long): Unit =
    if (scheme == Dictionary) {
      val words = new Array[Int](Platform.getInt(bytes, start(data)))
      var at = data + 4
      words.indices.foreach { word =>
        val length = Platform.getInt(bytes, start(at))
        words(word) = to.code(bytes, at + 4, length)
        at += 4 + length
      }
      var number = 0
      while (number < count) {
        Platform.putInt(null, address + number * 4L, words(Platform.getShort(bytes, start(at + 2 * number)).toInt))
        number += 1
      }
    } else {
      var (at, done) = (data, 0)
      while (done < count) {
        val length = Platform.getInt(bytes, start(at))
        val run = Platform.getInt(bytes, start(at + 4 + length))
        val code = to.code(bytes, at + 4, length)
        var number = 0
        while (number < run) {
          Platform.putInt(null, address + (done + number) * 4L, code)
          number += 1
        }
        done += run
        at += 8 + length
      }
    }

  private def texts(bytes: Array[Byte], scheme: Int, data: Int, rows: Int, nulls: Int, to: ColumnBuilder): Unit = {
    var (row, number) = (0, 0)
    var nextNull = if (nulls > 0) Platform.getInt(bytes, start(4)) else -1
    def skipNulls(): Unit = while (row == nextNull) {
      to.putNoText()
      row += 1
      number += 1
      nextNull = if (number < nulls) Platform.getInt(bytes, start(4 + 4 * number)) else -1
    }
    def put(at: Int): Unit = {
      skipNulls()
      to.putText(bytes, start(at + 4), Platform.getInt(bytes, start(at)))
      row += 1
    }
    scheme match {
      case PassThrough =>
        to.reserveText(rows, bytes.length.toLong)
        var (at, left) = (data, rows - nulls)
        while (left > 0) {
          put(at)
          at += 4 + Platform.getInt(bytes, start(at))
          left -= 1
        }
      case RunLengths =>
        var (at, left, room) = (data, rows - nulls, 0L)
        while (left > 0) {
          val length = Platform.getInt(bytes, start(at))
          val run = Platform.getInt(bytes, start(at + 4 + length))
          room += length.toLong * run
          left -= run
          at += 8 + length
        }
        to.reserveText(rows, room)
        at = data
        left = rows - nulls
        while (left > 0) {
          val length = Platform.getInt(bytes, start(at))
          val run = Platform.getInt(bytes, start(at + 4 + length))
          var times = 0
          while (times < run) {
            put(at)
            times += 1
          }
          left -= run
          at += 8 + length
        }
      case Dictionary =>
        val words = new Array[Int](Platform.getInt(bytes, start(data)))
        var (at, longest) = (data + 4, 0)
        words.indices.foreach { word =>
          words(word) = at
          val length = Platform.getInt(bytes, start(at))
          longest = math.max(longest, length)
          at += 4 + length
        }
        to.reserveText(rows, longest.toLong * rows)
        var done = 0
        while (done < rows - nulls) {
          put(words(Platform.getShort(bytes, start(at + 2 * done)).toInt))
          done += 1
        }
      case other => throw unknown(other)
    }
    skipNulls()
  }

  private def unknown(scheme: Int) = new IllegalStateException(s"a cached column is compressed in a way that Fulgurite does not know: $scheme")

  private def start(offset: Int): Long = Platform.BYTE_ARRAY_OFFSET.toLong + offset

  // Numbers in Spark's org.apache.spark.sql.execution.columnar.compression.
  private val PassThrough = 0
  private val RunLengths = 1
  private val Dictionary = 2
  private val BitSet = 3
  private val IntDeltas = 4
  private val LongDeltas = 5
}
