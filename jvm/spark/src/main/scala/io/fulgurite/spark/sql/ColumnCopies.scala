package io.fulgurite.spark.sql

import org.apache.spark.unsafe.Platform

/** Arrays of Java in native memory that has room for them. */
private[sql] object ColumnCopies {
  def copy(values: Array[Byte], address: Long): Unit = copy(values, Platform.BYTE_ARRAY_OFFSET.toLong, address, values.length.toLong)
  def copy(values: Array[Short], address: Long): Unit = copy(values, Platform.SHORT_ARRAY_OFFSET.toLong, address, values.length * 2L)
  def copy(values: Array[Int], address: Long): Unit = copy(values, Platform.INT_ARRAY_OFFSET.toLong, address, values.length * 4L)
  def copy(values: Array[Long], address: Long): Unit = copy(values, Platform.LONG_ARRAY_OFFSET.toLong, address, values.length * 8L)
  def copy(values: Array[Float], address: Long): Unit = copy(values, Platform.FLOAT_ARRAY_OFFSET.toLong, address, values.length * 4L)
  def copy(values: Array[Double], address: Long): Unit = copy(values, Platform.DOUBLE_ARRAY_OFFSET.toLong, address, values.length * 8L)

  private def copy(values: AnyRef, offset: Long, address: Long, bytes: Long): Unit = Platform.copyMemory(values, offset, null, address, bytes)
}
