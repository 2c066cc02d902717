package io.fulgurite.spark.arrow

import java.util.Arrays.asList
import java.util.Collections.{emptyList, singletonList, singletonMap}

import org.apache.arrow.vector.types.FloatingPointPrecision
import org.apache.arrow.vector.types.pojo.{ArrowType, Field, FieldType, Schema}

/** The schema of a batch of blocks, as the native side declares it: a row is a block, nothing is null. */
object BlockSchema {
  val Dense: Byte = 0
  val Csr: Byte = 1
  val Coordinate: Byte = 2
  private[spark] val Sparsest: Byte = Coordinate

  /** The layout that suits blocks in both: codes ascend with sparsity. */
  private[spark] def widest(one: Byte, other: Byte): Byte = if (one < other) one else other

  val schema: Schema = {
    val int64 = new ArrowType.Int(64, true)
    val scalars = asList("row_offset", "column_offset", "rows", "cols", "nnz").stream().map[Field](field(_, int64))
    val lists = java.util.stream.Stream.of(
      field("layout", new ArrowType.Int(8, true)),
      list("values", new ArrowType.FloatingPoint(FloatingPointPrecision.DOUBLE)),
      list("pointers", int64),
      list("indices", new ArrowType.Int(32, true)))
    val fields = java.util.stream.Stream.concat(scalars, lists).toList
    new Schema(fields, singletonMap("fulgurite.blocks", "1"))
  }

  private def field(name: String, kind: ArrowType): Field = new Field(name, FieldType.notNullable(kind), emptyList())

  private def list(name: String, item: ArrowType): Field =
    new Field(name, FieldType.notNullable(new ArrowType.LargeList()), singletonList(field("item", item)))
}
