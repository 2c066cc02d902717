package io.fulgurite.spark.sql

import java.util.{HashMap => JMap}

import io.fulgurite.spark.arrow.ColumnBuilder
import org.apache.arrow.vector.{IntVector, VarCharVector, VectorSchemaRoot}
import org.apache.arrow.vector.dictionary.Dictionary
import org.apache.arrow.vector.dictionary.DictionaryProvider.MapDictionaryProvider
import org.apache.arrow.vector.types.pojo.{ArrowType, DictionaryEncoding, Field, FieldType}
import org.apache.spark.sql.types.StringType
import org.apache.spark.sql.vectorized.{ArrowColumnVector, ColumnVector, ColumnarArray, ColumnarMap}
import org.apache.spark.sql.types.Decimal
import org.apache.spark.unsafe.types.UTF8String

/** Rows of a partition in native memory. */
private[sql] final class Chunk(val table: VectorSchemaRoot, val dictionaries: MapDictionaryProvider) extends AutoCloseable {
  def vectors: Seq[org.apache.arrow.vector.FieldVector] = (0 until table.getFieldVectors.size).map(table.getFieldVectors.get(_))

  /** The columns as Spark's expressions read them. */
  def columns: Seq[ColumnVector] = vectors.map { vector =>
    (vector, Option(vector.getField.getDictionary)) match {
      case (codes: IntVector, Some(encoding)) => new CodedColumn(codes, words(encoding))
      case _ => new ArrowColumnVector(vector)
    }
  }

  def bytes: Long = vectors.map(_.getBufferSize.toLong).sum

  private def words(encoding: DictionaryEncoding) = dictionaries.lookup(encoding.getId).getVector.asInstanceOf[VarCharVector]

  override def close(): Unit = {
    vectors.flatMap(vector => Option(vector.getField.getDictionary)).foreach(words(_).close())
    table.close()
  }
}

/** A column of a chunk while it is put together. */
private[sql] sealed trait ChunkBuilder extends AutoCloseable {
  /** Where its values, or their codes, are. */
  def rooms: ColumnBuilder
  def field(number: Long): Field
  def dictionary(number: Long): Option[Dictionary]
  def bytes: Long = rooms.bytes
}

private[sql] final class FixedBuilder(of: Field, width: Int) extends ChunkBuilder {
  override val rooms: ColumnBuilder = new ColumnBuilder(width)
  override def field(number: Long): Field = of
  override def dictionary(number: Long): Option[Dictionary] = None
  override def close(): Unit = rooms.close()
}

/** Strings: codes of words as long as Spark has them so, then plain ones. */
private[sql] final class TextBuilder(name: String) extends ChunkBuilder {
  private var codes = new ColumnBuilder(4)
  private var plain: ColumnBuilder = _
  private val words = new ColumnBuilder(ColumnBuilder.Text)
  private val known = new JMap[UTF8String, Integer]

  def isCoded: Boolean = plain == null
  override def rooms: ColumnBuilder = if (isCoded) codes else plain

  /** The code of a word. */
  def code(bytes: Array[Byte], from: Int, length: Int): Int = {
    val word = UTF8String.fromBytes(bytes, from, length)
    val code = known.get(word)
    if (code != null) code
    else {
      val next = words.rows
      words.reserveText(1, length.toLong)
      words.putText(word.getBaseObject, word.getBaseOffset, length)
      known.put(word, next)
      next
    }
  }

  /** Whether there are so many words that codes are of no use. */
  def hasManyWords: Boolean = words.rows > TextBuilder.MostWords

  /** The column as plain strings, from here on. */
  def asPlain: ColumnBuilder = {
    if (isCoded) {
      plain = new ColumnBuilder(ColumnBuilder.Text)
      var row = 0
      while (row < codes.rows) {
        if (codes.isNull(row)) {
          plain.reserveText(1, 0)
          plain.putNoText()
          plain.setNull(row)
        } else plain.putText(words, codes.int(row))
        row += 1
      }
      codes.close()
      codes = null
    }
    plain
  }

  override def field(number: Long): Field = {
    val kind = if (isCoded) new FieldType(true, new ArrowType.Int(32, true), encoding(number)) else FieldType.nullable(new ArrowType.Utf8)
    new Field(name, kind, null)
  }

  override def dictionary(number: Long): Option[Dictionary] =
    if (!isCoded) None
    else {
      val field = new Field("words", FieldType.nullable(new ArrowType.Utf8), null)
      Some(new Dictionary(Chunks.loaded(words.rows, Seq(field), Seq(words)).getVector(0), encoding(number)))
    }

  private def encoding(number: Long) = new DictionaryEncoding(number, false, new ArrowType.Int(32, true))

  override def close(): Unit = Seq(codes, plain, words).filter(_ != null).foreach(_.close())
}

private object TextBuilder {
  val MostWords: Int = 1 << 16
}

/** Strings that are codes of words. */
private final class CodedColumn(codes: IntVector, words: VarCharVector) extends ColumnVector(StringType) {
  private val texts = new ArrowColumnVector(words)

  override def hasNull: Boolean = codes.getNullCount > 0
  override def numNulls: Int = codes.getNullCount
  override def isNullAt(row: Int): Boolean = codes.isNull(row)
  override def getUTF8String(row: Int): UTF8String = texts.getUTF8String(codes.get(row))
  override def close(): Unit = ()

  private def none = throw new UnsupportedOperationException("a column of strings")
  override def getBoolean(row: Int): Boolean = none
  override def getByte(row: Int): Byte = none
  override def getShort(row: Int): Short = none
  override def getInt(row: Int): Int = none
  override def getLong(row: Int): Long = none
  override def getFloat(row: Int): Float = none
  override def getDouble(row: Int): Double = none
  override def getArray(row: Int): ColumnarArray = none
  override def getMap(row: Int): ColumnarMap = none
  override def getDecimal(row: Int, precision: Int, scale: Int): Decimal = none
  override def getBinary(row: Int): Array[Byte] = none
  override def getChild(ordinal: Int): ColumnVector = none
}
