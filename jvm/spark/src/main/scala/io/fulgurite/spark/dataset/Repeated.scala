package io.fulgurite.spark.dataset

import io.fulgurite.core.FulguriteException
import io.fulgurite.spark.{Blocks, Errors}

/** Partitions of a source that are read a second time, because Spark lost them: they have to be what they were. */
private[spark] object Repeated {

  /** Passes the stripes on; an error where there are not the same numbers of rows and columns as the first time. */
  def check[A](stripes: Iterator[A], rows: Array[Long], cols: Long, number: Int)(blocksOf: A => Blocks): Iterator[A] = new Iterator[A] {
    private var position = 0

    override def hasNext: Boolean = {
      val more = stripes.hasNext
      if (!more && position < rows.length) throw differs("fewer", number)
      more
    }

    override def next(): A = {
      val stripe = stripes.next()
      if (position >= rows.length) throw differs("more", number)
      val blocks = blocksOf(stripe)
      if (blocks.rows != rows(position)) throw differs(if (blocks.rows < rows(position)) "fewer" else "more", number)
      if (blocks.cols != cols) throw differs(if (blocks.cols < cols) "shorter" else "longer", number)
      position += 1
      stripe
    }
  }

  def hasOtherValues(input: String, number: Int): FulguriteException =
    Errors.data(s"partition $number of '$input' was lost, and has other values now that it is read again", Help)

  private def differs(how: String, number: Int): FulguriteException =
    Errors.data(s"partition $number of the input was lost, and has $how rows now that it is read again", Help)

  private val Help = "let the input be the same whenever it is computed: checkpoint it or write it to a file first, if it is random or changes"
}
