package io.fulgurite.spark.arrow

import java.util.{ArrayList => JList}

import org.apache.arrow.memory.ArrowBuf
import org.apache.arrow.vector.{VectorLoader, VectorSchemaRoot, VectorUnloader}
import org.apache.arrow.vector.ipc.message.{ArrowFieldNode, ArrowRecordBatch}

/** Batches with one block, put together from their buffers. */
object BlockBatch {

  /** Items of one list column. */
  final case class Items(buffer: ArrowBuf, count: Long)

  /** A batch that shares the buffers; the caller closes both. `nnz` is -1 where nobody counted. */
  def apply(
      rowOffset: Long, rows: Long, cols: Long, nnz: Long, layout: Byte,
      values: Items, pointers: Items, indices: Items): VectorSchemaRoot = {
    val allocator = ArrowMemory.allocator
    val nodes = new JList[ArrowFieldNode]()
    val buffers = new JList[ArrowBuf]()
    val owned = new JList[ArrowBuf]()
    val none = allocator.getEmpty
    def fixed(bytes: Long)(write: ArrowBuf => Unit): Unit = {
      val buffer = allocator.buffer(bytes)
      owned.add(buffer)
      write(buffer)
      nodes.add(new ArrowFieldNode(1, 0))
      buffers.add(none)
      buffers.add(buffer)
    }
    def list(items: Items): Unit = {
      fixed(16) { offsets =>
        offsets.setLong(0, 0)
        offsets.setLong(8, items.count)
      }
      nodes.add(new ArrowFieldNode(items.count, 0))
      buffers.add(none)
      buffers.add(items.buffer)
    }
    try {
      for (number <- Seq(rowOffset, 0L, rows, cols, nnz)) fixed(8)(_.setLong(0, number))
      fixed(1)(_.setByte(0, layout.toInt))
      Seq(values, pointers, indices).foreach(list)
      load(new ArrowRecordBatch(1, nodes, buffers))
    } finally owned.forEach(_.close())
  }

  /** The same block at another row offset; shares all else. */
  def withRowOffset(batch: VectorSchemaRoot, rowOffset: Long): VectorSchemaRoot = {
    require(batch.getRowCount == 1, "a stripe is one block")
    val record = new VectorUnloader(batch).getRecordBatch
    val place = ArrowMemory.allocator.buffer(8)
    try {
      place.setLong(0, rowOffset)
      val buffers = new JList[ArrowBuf](record.getBuffers)
      // The first field is row_offset: its validity, then its data.
      buffers.set(1, place)
      load(new ArrowRecordBatch(record.getLength, record.getNodes, buffers))
    } finally {
      place.close()
      record.close()
    }
  }

  private def load(record: ArrowRecordBatch): VectorSchemaRoot = {
    val batch = VectorSchemaRoot.create(BlockSchema.schema, ArrowMemory.allocator)
    try new VectorLoader(batch).load(record)
    finally record.close()
    batch
  }
}
