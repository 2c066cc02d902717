package io.fulgurite.spark

import io.fulgurite.Failures
import io.fulgurite.core.{Native, NativeHandle, NativeLibrary}
import io.fulgurite.spark.arrow.{ArrowMemory, BlockBatch, BlockSchema, BlockView, Crossing, CsrBuilder, DenseBuilder, GrowingBuffer}
import io.fulgurite.spark.arrow.BlockBatch.Items
import io.fulgurite.spark.primitives.{Assembly, Wire}
import org.apache.arrow.vector.{Float8Vector, VectorSchemaRoot}
import org.apache.arrow.vector.complex.LargeListVector
import org.scalatest.BeforeAndAfterAll
import org.scalatest.funsuite.AnyFunSuite

/** Blocks between Java and native code, without Spark. */
final class CrossingSuite extends AnyFunSuite with BeforeAndAfterAll {
  override def beforeAll(): Unit = NativeLibrary.load()

  private def dense(rows: Int, cols: Int)(cell: (Int, Int) => Double): Blocks = {
    val builder = new DenseBuilder(cols)
    for (row <- 0 until rows) {
      for (col <- 0 until cols) builder.put(cell(row, col))
      builder.endRow()
    }
    Blocks.built(builder, 0)
  }

  private def csr(rows: Int, cols: Int)(cell: (Int, Int) => Double): Blocks = {
    val builder = new CsrBuilder(cols)
    for (row <- 0 until rows) {
      for (col <- 0 until cols) builder.put(col, cell(row, col))
      builder.endRow()
    }
    Blocks.built(builder, 0)
  }

  /** With a cell in every other row, the second one first. */
  private def coordinates(rows: Int, cols: Int): Blocks = {
    val filled = (1 until rows by 2).toArray
    val (values, numbers, indices) = (new GrowingBuffer(0), new GrowingBuffer(0), new GrowingBuffer(0))
    try {
      for (row <- filled) {
        values.putDouble(row + 0.5)
        numbers.putLong(row.toLong)
        indices.putInt(row % cols)
      }
      val stored = filled.length.toLong
      val batch = BlockBatch(
        0, rows.toLong, cols.toLong, stored, BlockSchema.Coordinate, Items(values.buffer, stored), Items(numbers.buffer, stored), Items(indices.buffer, stored))
      try Blocks.fromArrow(batch)
      finally batch.close()
    } finally Seq(values, numbers, indices).foreach(_.close())
  }

  private def cells(blocks: Blocks): Seq[Seq[Double]] = blocks.read(_.flatMap(view => (0 until view.rows).map(view.denseRow(_).toSeq)))
  private def sparse(row: Int, col: Int): Double = if ((row + col) % 5 == 0) row + col + 1.0 else 0.0
  /** Where Java sees the values of a batch with one block. */
  private def addressOfValues(batch: VectorSchemaRoot): Long = {
    val values = batch.getVector("values").asInstanceOf[LargeListVector]
    values.getDataVector.getDataBuffer.memoryAddress + values.getOffsetBuffer.getLong(0) * 8
  }

  test("blocks may take more memory than the JVM has for direct buffers") {
    // Nothing is written: the system gives no pages for it.
    val bytes = 2 * Runtime.getRuntime.maxMemory
    val buffer = ArrowMemory.allocator.buffer(bytes)
    try {
      buffer.setDouble(0, 1.5)
      buffer.setDouble(bytes - 8, 2.5)
      assert(buffer.getDouble(0) == 1.5 && buffer.getDouble(bytes - 8) == 2.5)
    } finally buffer.close()
    assert(ArrowMemory.allocator.getAllocatedMemory < bytes)
  }

  test("values cross in both directions without a copy") {
    val builder = new DenseBuilder(4)
    for (cell <- 0 until 8) {
      builder.put(cell.toDouble)
      if (cell % 4 == 3) builder.endRow()
    }
    val batch = builder.finish(0)
    val before = addressOfValues(batch)
    val handle = Crossing.toNative(batch)
    val back = Crossing.toJava(handle)
    assert(addressOfValues(back) == before)
    assert(handle.`with`[Long](address => BlockView.all(Native.look(address)).head.valueAddress) == before)
    Seq(back, handle, batch, builder).foreach(_.close())
  }

  test("memory lives as long as either side needs it") {
    val blocks = dense(100, 10)((row, col) => row * 10.0 + col)
    val handle = new NativeHandle(blocks.detach())
    val batch = Crossing.toJava(handle)
    handle.close()
    assert(batch.getVector("values").asInstanceOf[LargeListVector].getDataVector.asInstanceOf[Float8Vector].get(999) == 999.0)
    batch.close()
  }

  test("dense and CSR blocks survive serialisation") {
    for (blocks <- Seq(dense(7, 3)(sparse), csr(7, 3)(sparse), dense(0, 3)(sparse))) {
      val copy = Wire.read(Wire.write(blocks))
      assert(cells(copy) == cells(blocks))
      assert(copy.description == blocks.description)
    }
  }

  test("a stripe moves without its values") {
    val blocks = csr(6, 4)(sparse)
    val before = blocks.read(_.head.valueAddress)
    blocks.placeAt(1000)
    assert(blocks.description.rowOffset == 1000 && blocks.read(_.head.valueAddress) == before)
    assert(cells(blocks) == cells(csr(6, 4)(sparse)))
  }

  test("cut and put together, a matrix is what it was") {
    // Coordinates of as many rows with cells are better off with row pointers.
    val kinds = Seq(dense(11, 3)(sparse) -> BlockSchema.Dense, csr(11, 3)(sparse) -> BlockSchema.Csr, coordinates(11, 3) -> BlockSchema.Csr)
    for ((whole, layout) <- kinds) {
      val pieces = Seq(0 -> 4, 4 -> 5, 5 -> 11).map { case (from, until) => whole.read(views => Assembly.slice(views.head, from, until)) }
      assert(pieces.map(_.description.rowOffset) == Seq(0, 4, 5))
      val together = Assembly.concatenate(pieces)
      assert(cells(together) == cells(whole))
      assert(together.description.layout == layout && together.description.nnz == whole.description.nnz)
    }
  }

  test("cells of coordinates are found by row") {
    val blocks = coordinates(7, 4)
    assert(cells(blocks) == Seq.tabulate(7, 4)((row, col) => if (row % 2 == 1 && col == row % 4) row + 0.5 else 0.0))
    assert(blocks.read(_.head.pointer(7)) == 3 && blocks.description.bytes == 60)
  }

  test("CSR stripes and coordinates make a CSR matrix") {
    val (upper, lower) = (csr(4, 3)(sparse), coordinates(5, 3).placeAt(4))
    val together = Assembly.concatenate(Seq(upper, lower))
    assert(cells(together) == cells(upper) ++ cells(lower) && together.description.layout == BlockSchema.Csr)
  }

  test("dense and CSR stripes make a dense matrix") {
    val (upper, lower) = (csr(4, 3)(sparse), dense(5, 3)(sparse).placeAt(4))
    assert(cells(Assembly.concatenate(Seq(upper, lower))) == cells(upper) ++ cells(lower))
  }

  test("a batch whose buffers are shorter than it says is refused") {
    val none = Items(ArrowMemory.allocator.getEmpty, 0)
    val values = ArrowMemory.allocator.buffer(64)
    val batch = BlockBatch(0, 1000, 1000, -1, BlockSchema.Dense, Items(values, 8), none, none)
    assert(Failures.of("data")(Crossing.toNative(batch)).getMessage.contains("values"))
    batch.close()
    values.close()
  }

  test("a thousand crossings leave memory as it was") {
    def live: (Long, Long) =
      (Json.parse(Native.handshake(shim)).get("liveHandles").asLong, ArrowMemory.allocator.getAllocatedMemory)
    def once(): Unit = {
      val blocks = dense(100, 100)((row, col) => row.toDouble - col)
      val copy = Wire.read(Wire.write(blocks))
      val handle = new NativeHandle(blocks.detach())
      Crossing.toJava(handle).close()
      handle.close()
      copy.close()
    }
    once()
    val before = live
    for (_ <- 1 to 1000) once()
    val after = live
    // What former tests left to the garbage collector may have gone meanwhile.
    assert(after._1 <= before._1 && after._2 <= before._2)
  }

  private def shim: Array[Byte] = {
    val build = new java.util.Properties()
    build.load(classOf[NativeLibrary].getResourceAsStream("build.properties"))
    Json.bytes(Json.newObject().put("version", build.getProperty("version")).put("build", build.getProperty("build")))
  }
}
