package io.fulgurite.spark.arrow

import java.util.{ArrayList => JList}

import org.apache.arrow.memory.ArrowBuf
import org.apache.arrow.vector.{VectorLoader, VectorSchemaRoot}
import org.apache.arrow.vector.ipc.message.{ArrowFieldNode, ArrowRecordBatch}

/** Batches with one block, put together from their buffers. */
object BlockBatch {

  /** The number of non-zeros where nobody counted. */
  val NotCounted: Long = -1

  /** Items of one list column. */
  final case class Items(buffer: ArrowBuf, count: Long)

  /** A batch that shares the buffers; the caller closes both. `nnz` may be [[NotCounted]]. */
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

  private def load(record: ArrowRecordBatch): VectorSchemaRoot = {
    val batch = VectorSchemaRoot.create(BlockSchema.schema, ArrowMemory.allocator)
    try new VectorLoader(batch).load(record)
    finally record.close()
    batch
  }
}
