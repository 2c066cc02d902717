package io.fulgurite.mlcontext

import java.nio.ByteOrder
import java.nio.channels.FileChannel
import java.nio.file.{Path, StandardOpenOption}
import java.util.concurrent.ConcurrentLinkedQueue

import io.fulgurite.core.FulguriteException
import io.fulgurite.spark.Blocks
import io.fulgurite.spark.arrow.{ArrowMemory, BlockBatch, BlockSchema}
import io.fulgurite.spark.arrow.BlockBatch.Items
import org.apache.arrow.memory.ArrowBuf
import org.apache.spark.sql.{DataFrame, SparkSession}

/**
 * What the Python package calls. Arrays travel as files of raw numbers, in native byte order, not through the gateway.
 *
 * It has to load where Scala is another one than the jar's, which is an error of its constructor: nothing here matches sequences.
 */
final class PythonBridge(spark: SparkSession) {
  private val lines = new ConcurrentLinkedQueue[String]()
  val context: MLContext = new MLContext(spark).setPrintSink(line => { lines.add(line); () })

  def script(name: String, text: String): Script = new Script(text).setName(name)
  def bind(script: Script, name: String, value: Any): Unit = { script.in(name, value); () }
  def bindLong(script: Script, name: String, value: String): Unit = bind(script, name, value.toLong)

  /** Lines that scripts have printed since the last call, with line ends; empty if there are none. */
  def takeOutput(): String = {
    val text = new StringBuilder
    Iterator.continually(lines.poll()).takeWhile(_ != null).foreach(line => text.append(line).append('\n'))
    text.result()
  }

  /** A file of `rows * cols` doubles, row by row. */
  def dense(path: String, rows: Long, cols: Long): Matrix = reading(path) { file =>
    val values = file.take(rows * cols * 8)
    val none = Items(ArrowMemory.allocator.getEmpty, 0)
    BlockBatch(0, rows, cols, -1, BlockSchema.Dense, Items(values, rows * cols), none, none)
  }

  /** A file of `rows + 1` pointers (int64), `stored` values (double) and as many column numbers (int32). */
  def csr(path: String, rows: Long, cols: Long, stored: Long): Matrix = reading(path) { file =>
    val (pointers, values, indices) = (file.take((rows + 1) * 8), file.take(stored * 8), file.take(stored * 4))
    BlockBatch(
      0, rows, cols, stored, BlockSchema.Csr, Items(values, stored), Items(pointers, rows + 1), Items(indices, stored))
  }

  /** Writes the cells as [[dense]] reads them. */
  def writeDense(matrix: Matrix, path: String): Unit = matrix.onDriver(_.read { views =>
    val file = FileChannel.open(Path.of(path), StandardOpenOption.WRITE, StandardOpenOption.CREATE, StandardOpenOption.TRUNCATE_EXISTING)
    try views.foreach { view =>
      if (view.isDense) {
        FileMemory.write(view.valueAddress, view.stored * 8, file)
      } else {
        val row = ArrowMemory.allocator.buffer(math.max(view.cols.toLong * 8, 1))
        try for (at <- 0 until view.rows) {
          row.setZero(0, view.cols.toLong * 8)
          view.foreachStored(at)((col, value) => row.setDouble(col.toLong * 8, value))
          FileMemory.write(row.memoryAddress, view.cols.toLong * 8, file)
        } finally row.close()
      }
    } finally file.close()
  })

  /** Writes the cells as [[csr]] reads them; how many are stored. */
  def writeCsr(matrix: Matrix, path: String): Long = CsrFile.write(matrix, path)

  /** A DataFrame of row, column and value; sizes are -1 where the largest indices tell. */
  def cells(frame: DataFrame, rows: Long, cols: Long): Matrix = context.matrix(frame, MatrixMetadata(MatrixFormat.IJV, rows, cols))

  /** Of an exception as the gateway shows it: kind, message, file, line, column; nulls where it has none. */
  def describe(failure: Throwable): Array[String] = failure match {
    case ours: FulguriteException =>
      Array(ours.kind, ours.getMessage, ours.file, Option(ours.line).fold[String](null)(_.toString), Option(ours.column).fold[String](null)(_.toString))
    case other => Array("internal", s"internal error: $other", null, null, null)
  }

  private def reading(path: String)(batch: FileMemory => org.apache.arrow.vector.VectorSchemaRoot): Matrix = {
    val file = new FileMemory(path)
    try {
      val root = batch(file)
      try new Matrix(Local(Blocks.fromArrow(root)), spark)
      finally root.close()
    } finally file.close()
  }
}

/** Copies parts of a file, one after the other, to memory. */
private final class FileMemory(path: String) extends AutoCloseable {
  private val file = FileChannel.open(Path.of(path), StandardOpenOption.READ)
  private var at = 0L
  private var taken = List.empty[ArrowBuf]

  def take(bytes: Long): ArrowBuf = {
    val memory = ArrowMemory.allocator.buffer(math.max(bytes, 1))
    taken ::= memory
    var done = 0L
    while (done < bytes) {
      val count = math.min(bytes - done, FileMemory.Window)
      memory.setBytes(done, file.map(FileChannel.MapMode.READ_ONLY, at + done, count).order(ByteOrder.nativeOrder()))
      done += count
    }
    at += bytes
    memory
  }

  override def close(): Unit = {
    taken.foreach(_.close())
    file.close()
  }
}

private object FileMemory {
  /** A mapping is shorter than 2 GB. */
  private val Window = 1L << 30

  def write(address: Long, bytes: Long, file: FileChannel): Unit = {
    var done = 0L
    while (done < bytes) {
      val window = ArrowMemory.at(address + done, math.min(bytes - done, Window))
      while (window.hasRemaining) done += file.write(window)
    }
  }
}
