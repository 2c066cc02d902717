package io.fulgurite.spark.primitives

/** How many rows go into a stripe. */
object Striping {
  val TargetBytes: Long = 8L << 20
  private val MostRows = 1L << 20

  /** Of wide sparse matrices: as many as a block of SystemML has. */
  private val SparseRows = 1000L

  /** As many rows as fill about 8 MB when dense, at least one. */
  def rows(cols: Int): Int = math.max(1L, math.min(TargetBytes / (8L * math.max(cols, 1)), MostRows)).toInt

  /** As many rows as fill about 8 MB in CSR, and no more than the dense matrix could have, or 1000 if that is more. */
  def sparseRows(cols: Int, bytesPerRow: Double): Int =
    math.max(1L, math.min(TargetBytes / math.max(bytesPerRow, 1.0), mostSparseRows(cols).toDouble).toLong).toInt

  /** Whether a stripe in CSR has all the rows that it should have. */
  def isFull(cols: Int, rows: Int, bytes: Long): Boolean = bytes >= TargetBytes || rows >= mostSparseRows(cols)

  /** No more rows than the dense matrix could have, or 1000 if that is more. */
  def mostSparseRows(cols: Int): Int = math.max(rows(cols).toLong, SparseRows).toInt
}
