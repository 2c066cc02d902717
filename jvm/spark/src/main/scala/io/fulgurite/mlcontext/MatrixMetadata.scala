package io.fulgurite.mlcontext

/** How text or a DataFrame is a matrix; found out where it is not said. */
sealed trait MatrixFormat

object MatrixFormat {
  case object CSV extends MatrixFormat

  /** Lines, or columns of a DataFrame, of row, column (from 1) and value, in any order; what is not there is 0. */
  case object IJV extends MatrixFormat
}

/** What is said of an input. Sizes are -1 where nobody knows them. */
final case class MatrixMetadata(format: MatrixFormat = MatrixFormat.CSV, rows: Long = -1, cols: Long = -1, nnz: Long = -1) {
  def this(rows: Long, cols: Long) = this(MatrixFormat.CSV, rows, cols, -1)
  def this(rows: Long, cols: Long, nnz: Long) = this(MatrixFormat.CSV, rows, cols, nnz)

  def getNumRows: Long = rows
  def getNumColumns: Long = cols
  def getNumNonZeros: Long = nnz
}
