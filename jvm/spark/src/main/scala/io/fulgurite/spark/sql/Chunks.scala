package io.fulgurite.spark.sql

import java.util.{ArrayList => JList}

import io.fulgurite.spark.arrow.{ArrowMemory, ColumnBuilder}
import org.apache.arrow.memory.ArrowBuf
import org.apache.arrow.vector.{VectorLoader, VectorSchemaRoot}
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
  def ofCached(batches: Iterator[CachedBatch], columns: Seq[ChunkColumn]): Iterator[VectorSchemaRoot] =
    made(batches.map(_.asInstanceOf[DefaultCachedBatch]), columns)(_.numRows) { case (batch, column, to) =>
      CachedColumn.append(batch.buffers(column.place), batch.numRows, column.dataType, to)
    }

  def ofColumnar(batches: Iterator[ColumnarBatch], columns: Seq[ChunkColumn]): Iterator[VectorSchemaRoot] =
    made(batches, columns)(_.numRows) { case (batch, column, to) => append(batch.column(column.place), batch.numRows, column.dataType, to) }

  private def made[B](batches: Iterator[B], columns: Seq[ChunkColumn])(rows: B => Int)(
      append: (B, ChunkColumn, ColumnBuilder) => Unit): Iterator[VectorSchemaRoot] = new Iterator[VectorSchemaRoot] {
    override def hasNext: Boolean = batches.hasNext

    override def next(): VectorSchemaRoot = {
      val builders = if (columns.isEmpty) Seq(new ColumnBuilder(NoColumn, 1)) else columns.map(builder)
      try {
        var count = 0
        while (batches.hasNext && count < EnoughRows && builders.map(_.bytes).sum < EnoughBytes) {
          val batch = batches.next()
          if (count + rows(batch) > MostRows) throw new IllegalStateException(s"a batch of more than ${MostRows - EnoughRows} rows")
          columns.zip(builders).foreach { case (column, to) => append(batch, column, to) }
          // Of no columns, a plan needs the number of rows.
          if (columns.isEmpty) builders.head.reserve(rows(batch))
          count += rows(batch)
        }
        table(builders, count)
      } finally builders.foreach(_.close())
    }
  }

  private def table(builders: Seq[ColumnBuilder], rows: Int): VectorSchemaRoot = {
    val (nodes, buffers, fields) = (new JList[ArrowFieldNode], new JList[ArrowBuf], new JList[Field])
    builders.foreach { builder =>
      builder.finish(nodes, buffers)
      fields.add(builder.field)
    }
    val record = new ArrowRecordBatch(rows, nodes, buffers)
    try {
      val table = VectorSchemaRoot.create(new Schema(fields), ArrowMemory.allocator)
      new VectorLoader(table).load(record)
      table
    } finally record.close()
  }

  private val NoColumn = new Field("", FieldType.notNullable(new ArrowType.Int(8, true)), null)

  private def builder(column: ChunkColumn): ColumnBuilder =
    new ColumnBuilder(new Field(column.name, FieldType.nullable(Types.arrow(column.dataType)), null), width(column.dataType))

  private def width(of: DataType): Int = of match {
    case BooleanType => 0
    case ByteType => 1
    case ShortType => 2
    case IntegerType | FloatType | DateType => 4
    case LongType | DoubleType => 8
    case _ => ColumnBuilder.Text
  }

  private def append(from: ColumnVector, rows: Int, dataType: DataType, to: ColumnBuilder): Unit = {
    val first = to.rows
    dataType match {
      case BooleanType => to.putBits(from.getBooleans(0, rows).map(value => if (value) 1.toByte else 0.toByte), rows)
      case ByteType => ColumnCopies.copy(from.getBytes(0, rows), to.reserve(rows))
      case ShortType => ColumnCopies.copy(from.getShorts(0, rows), to.reserve(rows))
      case IntegerType | DateType => ColumnCopies.copy(from.getInts(0, rows), to.reserve(rows))
      case LongType => ColumnCopies.copy(from.getLongs(0, rows), to.reserve(rows))
      case FloatType => ColumnCopies.copy(from.getFloats(0, rows), to.reserve(rows))
      case DoubleType => ColumnCopies.copy(from.getDoubles(0, rows), to.reserve(rows))
      case _ =>
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
    }
    if (from.hasNull) {
      var row = 0
      while (row < rows) {
        if (from.isNullAt(row)) to.setNull(first + row)
        row += 1
      }
    }
  }
}
