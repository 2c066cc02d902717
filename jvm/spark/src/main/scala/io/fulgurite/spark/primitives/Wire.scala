package io.fulgurite.spark.primitives

import java.io.{ByteArrayInputStream, ByteArrayOutputStream, ObjectInputStream, ObjectOutputStream}

import io.fulgurite.spark.Blocks

/** Blocks as bytes, for results of jobs: a task's own blocks are closed before Spark would serialise its result. */
object Wire {
  def write(blocks: Blocks): Array[Byte] = {
    val bytes = new ByteArrayOutputStream()
    val out = new ObjectOutputStream(bytes)
    blocks.writeExternal(out)
    out.close()
    bytes.toByteArray
  }

  def read(bytes: Array[Byte]): Blocks = {
    val blocks = new Blocks()
    blocks.readExternal(new ObjectInputStream(new ByteArrayInputStream(bytes)))
    blocks
  }
}
