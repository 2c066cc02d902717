package io.fulgurite.spark.primitives

import java.io.{ByteArrayInputStream, ByteArrayOutputStream}

import io.fulgurite.spark.Blocks

/** Blocks as bytes, for results of jobs: a task's own blocks are closed before Spark would serialise its result. */
object Wire {
  def write(blocks: Blocks): Array[Byte] = {
    val bytes = new ByteArrayOutputStream(math.min(blocks.bytes + FramingBytes, Int.MaxValue / 2).toInt)
    blocks.writeTo(bytes)
    bytes.toByteArray
  }

  /** Of a block, what is not values. */
  private val FramingBytes = 4096L

  def read(bytes: Array[Byte]): Blocks = Blocks.readFrom(new ByteArrayInputStream(bytes))
}
