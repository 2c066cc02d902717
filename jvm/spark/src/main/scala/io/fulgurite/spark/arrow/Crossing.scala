package io.fulgurite.spark.arrow

import io.fulgurite.core.{Native, NativeHandle}
import org.apache.arrow.c.{ArrowArray, ArrowSchema, Data}
import org.apache.arrow.vector.VectorSchemaRoot
import org.apache.arrow.vector.dictionary.DictionaryProvider

/** Carries batches of blocks between Java and native code through the Arrow C Data Interface: buffers are shared, never copied. */
object Crossing {

  /**
   * Native code's view of a batch. The batch stays the caller's to close; its buffers live until both sides let go.
   *
   * @param freed runs when native code has let go
   */
  def toNative(batch: VectorSchemaRoot, freed: Runnable = () => ()): NativeHandle = {
    Library.ensureLoaded()
    val allocator = ArrowMemory.allocator
    val array = ArrowArray.allocateNew(allocator)
    val schema = ArrowSchema.allocateNew(allocator)
    try {
      Data.exportVectorSchemaRoot(allocator, batch, null, array, schema)
      new NativeHandle(Native.importBlocks(array.memoryAddress, schema.memoryAddress), freed)
    } finally {
      array.close()
      schema.close()
    }
  }

  /**
   * Runs a relational plan on a table.
   *
   * @param table stays the caller's, with its dictionaries; its buffers live until both sides let go
   * @return the result, which the caller closes
   */
  def relate(plan: Array[Byte], table: VectorSchemaRoot, dictionaries: DictionaryProvider): VectorSchemaRoot = {
    Library.ensureLoaded()
    val allocator = ArrowMemory.allocator
    val (array, schema) = (ArrowArray.allocateNew(allocator), ArrowSchema.allocateNew(allocator))
    val (resultArray, resultSchema) = (ArrowArray.allocateNew(allocator), ArrowSchema.allocateNew(allocator))
    try {
      Data.exportVectorSchemaRoot(allocator, table, dictionaries, array, schema)
      Native.relate(plan, array.memoryAddress, schema.memoryAddress, resultArray.memoryAddress, resultSchema.memoryAddress)
      Data.importVectorSchemaRoot(allocator, resultArray, resultSchema, null)
    } finally Seq(array, schema, resultArray, resultSchema).foreach(_.close())
  }

  /** Java's view of native blocks; the caller closes it. It may outlive the handle. */
  def toJava(handle: NativeHandle): VectorSchemaRoot = {
    val allocator = ArrowMemory.allocator
    val array = ArrowArray.allocateNew(allocator)
    val schema = ArrowSchema.allocateNew(allocator)
    try {
      handle.`with`[Unit](address => Native.exportBlocks(address, array.memoryAddress, schema.memoryAddress))
      Data.importVectorSchemaRoot(allocator, array, schema, null)
    } finally {
      array.close()
      schema.close()
    }
  }
}
