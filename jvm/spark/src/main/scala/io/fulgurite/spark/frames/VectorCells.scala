package io.fulgurite.spark.frames

import org.apache.spark.ml.linalg.{DenseVector, SparseVector, Vector}
import org.apache.spark.mllib.linalg.{Vector => OldVector}
import org.apache.spark.sql.catalyst.InternalRow

/** The cells of a vector: all of them, or those at ascending indices. */
private[frames] final class VectorCells private (val size: Int, val isDense: Boolean, indices: Array[Int], values: Array[Double]) {

  def foreachStored(use: (Int, Double) => Unit): Unit = {
    var at = 0
    while (at < values.length) {
      use(if (isDense) at else indices(at), values(at))
      at += 1
    }
  }

  def foreachCell(use: Double => Unit): Unit = {
    var next = 0
    foreachStored { (index, value) =>
      while (next < index) { use(0.0); next += 1 }
      use(value)
      next = index + 1
    }
    while (next < size) { use(0.0); next += 1 }
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
