package io.fulgurite.spark.sql

import java.util.{ArrayList => JList}

import io.fulgurite.spark.arrow.{ArrowMemory, ColumnBuilder}
import org.apache.arrow.memory.ArrowBuf
import org.apache.arrow.vector.{VectorLoader, VectorSchemaRoot}
import org.apache.arrow.vector.dictionary.DictionaryProvider.MapDictionaryProvider
import org.apache.arrow.vector.ipc.message.{ArrowFieldNode, ArrowRecordBatch}
import org.apache.arrow.vector.types.pojo.{ArrowType, Field, FieldType, Schema}
import org.apache.spark.sql.columnar.CachedBatch
import org.apache.spark.sql.execution.columnar.DefaultCachedBatch
import org.apache.spark.sql.types._
import org.apache.spark.sql.vectorized.{ColumnVector, ColumnarBatch}

/** A column that native code needs: its place in a batch of the source, its name there, and its type. */
private[sql] final case class ChunkColumn(place: Int, name: String, dataType: DataType)

/** Batches of a partition as tables in native memory. Several batches become one chunk, since a call costs as much as thousands of rows. */
private[sql] object Chunks {
  /** A batch is never cut, so a chunk may have a batch more than this. */
  val EnoughRows: Int = 1 << 17
  val MostRows: Int = 1 << 24
  private val EnoughBytes = 64L << 20

  /** @param batches of Spark's own serializer */
  def ofCached(batches: Iterator[CachedBatch], columns: Seq[ChunkColumn]): Iterator[Chunk] =
    made(batches.map(_.asInstanceOf[DefaultCachedBatch]), columns)(_.numRows) { case (batch, column, to) =>
      CachedColumn.append(batch.buffers(column.place), batch.numRows, column.dataType, to)
    }

  def ofColumnar(batches: Iterator[ColumnarBatch], columns: Seq[ChunkColumn]): Iterator[Chunk] =
    made(batches, columns)(_.numRows) { case (batch, column, to) => append(batch.column(column.place), batch.numRows, column.dataType, to) }

  private def made[B](batches: Iterator[B], columns: Seq[ChunkColumn])(rows: B => Int)(
      append: (B, ChunkColumn, ChunkBuilder) => Unit): Iterator[Chunk] = new Iterator[Chunk] {
    override def hasNext: Boolean = batches.hasNext

    override def next(): Chunk = {
      val builders = if (columns.isEmpty) Seq(new FixedBuilder(NoColumn, 1)) else columns.map(builder)
      try {
        var count = 0
        while (batches.hasNext && count < EnoughRows && builders.map(_.bytes).sum < EnoughBytes) {
          val batch = batches.next()
          if (count + rows(batch) > MostRows) throw new IllegalStateException(s"a batch of more than ${MostRows - EnoughRows} rows")
          columns.zip(builders).foreach { case (column, to) => append(batch, column, to) }
          // Of no columns, a plan needs the number of rows.
          if (columns.isEmpty) builders.foreach(_.rooms.reserve(rows(batch)))
          count += rows(batch)
        }
        table(builders, count)
      } finally builders.foreach(_.close())
    }
  }

  private def table(builders: Seq[ChunkBuilder], rows: Int): Chunk = {
    val dictionaries = new MapDictionaryProvider
    builders.zipWithIndex.foreach { case (builder, number) => builder.dictionary(number.toLong).foreach(dictionaries.put) }
    val fields = builders.zipWithIndex.map { case (builder, number) => builder.field(number.toLong) }
    new Chunk(loaded(rows, fields, builders.map(_.rooms)), dictionaries)
  }

  /** The columns as a table that shares them. */
  private[sql] def loaded(rows: Int, fields: Seq[Field], columns: Seq[ColumnBuilder]): VectorSchemaRoot = {
    val (nodes, buffers, schema) = (new JList[ArrowFieldNode], new JList[ArrowBuf], new JList[Field])
    columns.foreach(_.finish(nodes, buffers))
    fields.foreach(schema.add)
    val record = new ArrowRecordBatch(rows, nodes, buffers)
    try {
      val table = VectorSchemaRoot.create(new Schema(schema), ArrowMemory.allocator)
      new VectorLoader(table).load(record)
      table
    } finally record.close()
  }

  private val NoColumn = new Field("", FieldType.notNullable(new ArrowType.Int(8, true)), null)

  private def builder(column: ChunkColumn): ChunkBuilder = {
    def fixed(width: Int) = new FixedBuilder(new Field(column.name, FieldType.nullable(Types.arrow(column.dataType)), null), width)
    column.dataType match {
      case BooleanType => fixed(0)
      case ByteType => fixed(1)
      case ShortType => fixed(2)
      case IntegerType | FloatType | DateType => fixed(4)
      case LongType | DoubleType => fixed(8)
      case _ => new TextBuilder(column.name)
    }
  }

  private def append(from: ColumnVector, rows: Int, dataType: DataType, builder: ChunkBuilder): Unit = builder match {
    case text: TextBuilder => appendText(from, rows, text.asPlain)
    case fixed: FixedBuilder =>
      val to = fixed.rooms
      val first = to.rows
      dataType match {
        case BooleanType => to.putBits(from.getBooleans(0, rows).map(value => if (value) 1.toByte else 0.toByte), rows)
        case ByteType => ColumnCopies.copy(from.getBytes(0, rows), to.reserve(rows))
        case ShortType => ColumnCopies.copy(from.getShorts(0, rows), to.reserve(rows))
        case IntegerType | DateType => ColumnCopies.copy(from.getInts(0, rows), to.reserve(rows))
        case LongType => ColumnCopies.copy(from.getLongs(0, rows), to.reserve(rows))
        case FloatType => ColumnCopies.copy(from.getFloats(0, rows), to.reserve(rows))
        case _ => ColumnCopies.copy(from.getDoubles(0, rows), to.reserve(rows))
      }
      setNulls(from, rows, first, to)
  }

  private def appendText(from: ColumnVector, rows: Int, to: ColumnBuilder): Unit = {
    val first = to.rows
    var row = 0
    while (row < rows) {
      if (from.isNullAt(row)) {
        to.reserveText(1, 0)
        to.putNoText()
      } else {
        val text = from.getUTF8String(row)
        to.reserveText(1, text.numBytes.toLong)
        to.putText(text.getBaseObject, text.getBaseOffset, text.numBytes)
      }
      row += 1
    }
    setNulls(from, rows, first, to)
  }

  private def setNulls(from: ColumnVector, rows: Int, first: Int, to: ColumnBuilder): Unit = if (from.hasNull) {
    var row = 0
    while (row < rows) {
      if (from.isNullAt(row)) to.setNull(first + row)
      row += 1
    }
  }
}
