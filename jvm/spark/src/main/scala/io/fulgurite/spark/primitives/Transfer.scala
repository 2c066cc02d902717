package io.fulgurite.spark.primitives

import io.fulgurite.spark.Blocks
import io.fulgurite.spark.dataset.{Characteristics, Dataset, Stripe}
import org.apache.spark.rdd.RDD

/** Matrices between the driver and the executors. */
object Transfer {

  /** All stripes as one block, in the order of rows. */
  def collect(dataset: Dataset): Blocks = {
    val parts = dataset.stripes.mapPartitions { part =>
      Iterator.single(part.map { blocks =>
        val bytes = Wire.write(blocks)
        blocks.closeIfEphemeral()
        bytes
      }.toArray)
    }.collect()
    val stripes = parts.iterator.flatten.map(Wire.read).toVector.sortBy(_.rowOffset)
    try stripes match {
      case Vector(only) => only.placeAt(0)
      case several => Assembly.concatenate(several).placeAt(0)
    } finally if (stripes.size > 1) stripes.foreach(_.close())
  }

  /** Cuts a local matrix into stripes of at most so many rows and spreads them over the executors. */
  def parallelize(session: Session, matrix: Blocks, stripeRows: Long): Dataset = {
    val stripes = cut(matrix, stripeRows)
    val partitions = math.max(1, math.min(stripes.size, session.context.defaultParallelism))
    val rdd = session.context.parallelize(stripes, partitions)
    // Spark cuts a sequence into slices of these bounds.
    val layout = Vector.tabulate(partitions) { index =>
      val (from, until) = ((index * stripes.size.toLong / partitions).toInt, ((index + 1) * stripes.size.toLong / partitions).toInt)
      stripes.slice(from, until).map(stripe => Stripe(stripe.rowOffset, stripe.rows)).toVector
    }
    val dataset = Dataset(rdd, Characteristics(layout, matrix.cols, matrix.nnz, matrix.bytes))
    dataset.persist()
    dataset
  }

  /** A local matrix as stripes on the executors, for conversions. */
  def stripes(session: Session, matrix: Blocks): RDD[Blocks] = {
    val stripes = cut(matrix, Striping.rows(matrix.cols.toInt).toLong)
    session.context.parallelize(stripes, math.max(1, math.min(stripes.size, session.context.defaultParallelism)))
  }

  private def cut(matrix: Blocks, stripeRows: Long): Seq[Blocks] = matrix.read { views =>
    val view = views.head
    val step = math.max(1L, math.min(stripeRows, Int.MaxValue.toLong)).toInt
    (0 until view.rows by step).map(from => Assembly.slice(view, from, math.min(from.toLong + step, view.rows.toLong).toInt))
  }
}
