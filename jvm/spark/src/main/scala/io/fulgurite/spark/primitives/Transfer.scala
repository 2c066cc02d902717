package io.fulgurite.spark.primitives

import io.fulgurite.spark.Blocks
import io.fulgurite.spark.dataset.{Characteristics, Dataset, LocalRDD, Stripe}
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
    val partitions = cut(session, matrix, stripeRows)
    val layout = partitions.map(_.map(stripe => Stripe(stripe.rowOffset, stripe.rows)))
    val dataset = Dataset(LocalRDD(session.context, partitions), Characteristics(layout, matrix.cols, matrix.nnz, matrix.bytes))
    dataset.persist()
    dataset
  }

  /** A local matrix as stripes on the executors, for conversions. */
  def stripes(session: Session, matrix: Blocks): RDD[Blocks] =
    LocalRDD(session.context, cut(session, matrix, Striping.rows(matrix.cols.toInt).toLong))

  /** Stripes of at most so many rows, spread evenly over partitions. */
  private def cut(session: Session, matrix: Blocks, stripeRows: Long): Vector[Vector[Blocks]] = matrix.read { views =>
    val view = views.head
    val step = math.max(1L, math.min(stripeRows, Int.MaxValue.toLong)).toInt
    val stripes = (0 until view.rows by step).map(from => Assembly.slice(view, from, math.min(from.toLong + step, view.rows.toLong).toInt))
    val partitions = math.max(1, math.min(stripes.size, session.context.defaultParallelism))
    Vector.tabulate(partitions) { index =>
      stripes.slice((index * stripes.size.toLong / partitions).toInt, ((index + 1) * stripes.size.toLong / partitions).toInt).toVector
    }
  }
}
