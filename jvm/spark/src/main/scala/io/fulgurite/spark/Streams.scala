package io.fulgurite.spark

import java.io.{InputStream, ObjectInput, ObjectOutput, OutputStream}

/** Java serialisation's interfaces as streams. */
private[spark] object Streams {
  def of(out: ObjectOutput): OutputStream = new OutputStream {
    override def write(byte: Int): Unit = out.write(byte)
    override def write(bytes: Array[Byte], from: Int, count: Int): Unit = out.write(bytes, from, count)
  }

  def of(in: ObjectInput): InputStream = new InputStream {
    override def read(): Int = in.read()
    override def read(bytes: Array[Byte], from: Int, count: Int): Int = in.read(bytes, from, count)
  }
}
