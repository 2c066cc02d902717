package io.fulgurite.spark.frames

import io.fulgurite.spark.arrow.{CsrBuilder, DenseBuilder}
import org.apache.spark.ml.linalg.{DenseVector, SparseVector, Vector}
import org.apache.spark.mllib.linalg.{Vector => OldVector}
import org.apache.spark.sql.catalyst.InternalRow

/** The cells of a vector: all of them, or those at ascending indices. */
private[frames] final class VectorCells private (val size: Int, val isDense: Boolean, indices: Array[Int], values: Array[Double]) {

  /** As the next row, with its zeros. */
  def appendTo(builder: DenseBuilder): Unit = {
    if (isDense) builder.put(values)
    else {
      val cells = new Array[Double](size)
      for (at <- values.indices) cells(indices(at)) = values(at)
      builder.put(cells)
    }
    builder.endRow()
  }

  /** As the next row. */
  def appendTo(builder: CsrBuilder): Unit = {
    if (isDense) for (col <- values.indices) builder.put(col, values(col))
    else builder.put(indices, values)
    builder.endRow()
  }
}

private[frames] object VectorCells {

  /** A vector as SQL stores it: kind (0 sparse, 1 dense), size, indices, values. */
  def ofStruct(struct: InternalRow): VectorCells = {
    val values = struct.getArray(3).toDoubleArray()
    if (struct.getByte(0) == 1) dense(values) else new VectorCells(struct.getInt(1), false, struct.getArray(2).toIntArray(), values)
  }

  /** A vector of spark.ml or of the older spark.mllib, or an array; none of anything else. */
  def of(row: Any): Option[VectorCells] = row match {
    case vector: DenseVector => Some(dense(vector.values))
    case vector: SparseVector => Some(new VectorCells(vector.size, false, vector.indices, vector.values))
    case vector: OldVector => of(vector.asML: Vector)
    case values: Array[Double] => Some(dense(values))
    case _ => None
  }

  private def dense(values: Array[Double]): VectorCells = new VectorCells(values.length, true, Array.emptyIntArray, values)
}
