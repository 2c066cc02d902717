package io.fulgurite.spark.primitives

import io.fulgurite.spark.Blocks
import io.fulgurite.spark.arrow.{BlockView, CsrBuilder, DenseBuilder}

/** Cuts blocks by rows, and makes one block of several. */
object Assembly {

  /** One block of stripes in the order of rows; the result starts where the first one does. */
  def concatenate(stripes: Seq[Blocks], cols: Int): Blocks = {
    val dense = stripes.exists(_.read(_.exists(_.isDense)))
    val rows = stripes.iterator.map(_.rows).sum
    val builder = if (stripes.isEmpty || dense) new DenseBuilder(cols, rows) else new CsrBuilder(cols)
    try {
      stripes.foreach(_.read(_.foreach(view => builder.append(view, 0, view.rows))))
    } catch {
      case failure: Throwable =>
        builder.close()
        throw failure
    }
    Blocks.built(builder, stripes.headOption.fold(0L)(_.description.rowOffset))
  }

  /** The rows `from until until` of a block, counted within it. */
  def slice(view: BlockView, from: Int, until: Int): Blocks = {
    val builder = if (view.isDense) new DenseBuilder(view.cols, (until - from).toLong) else new CsrBuilder(view.cols)
    try builder.append(view, from, until)
    catch {
      case failure: Throwable =>
        builder.close()
        throw failure
    }
    Blocks.built(builder, view.rowOffset + from)
  }
}
