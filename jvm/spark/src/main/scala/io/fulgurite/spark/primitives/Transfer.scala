package io.fulgurite.spark.primitives

import io.fulgurite.mlcontext.Settings
import io.fulgurite.spark.Blocks
import io.fulgurite.spark.dataset.{Characteristics, Dataset, LocalRDD, Stripe}
import org.apache.spark.rdd.RDD

/** Matrices between the driver and the executors. */
object Transfer {

  /**
   * All stripes as one block, in the order of rows.
   *
   * @param largest what it takes at most, where the caller knows
   */
  def collect(dataset: Dataset, limits: TransferLimits, largest: Option[Long] = None): Blocks = {
    val collected = Collected.of(dataset.stripes, limits, dataset.knownBytes.orElse(largest))
    try collected.concatenated
    finally collected.close()
  }

  /** As the session is configured. */
  def collect(dataset: Dataset): Blocks = collect(dataset, new Settings(dataset.stripes.sparkContext.getConf).transfers)

  /** Cuts a local matrix into stripes of at most so many rows and spreads them over the executors. */
  def parallelize(session: Session, matrix: Blocks, stripeRows: Long): Dataset = {
    val (stripes, layout) = spread(session, matrix, stripeRows)
    val dataset = Dataset(stripes, Characteristics(layout, matrix.cols, matrix.nnz, matrix.bytes))
    dataset.persist()
    dataset
  }

  /** A local matrix as stripes on the executors, for conversions. */
  def stripes(session: Session, matrix: Blocks): RDD[Blocks] =
    spread(session, matrix, Striping.rows(matrix.cols.toInt).toLong)._1

  /** Stripes of at most so many rows, spread evenly over partitions. There is one at a time beside the matrix. */
  private def spread(session: Session, matrix: Blocks, stripeRows: Long): (RDD[Blocks], Dataset.Layout) = matrix.read { views =>
    val view = views.head
    val step = math.max(1L, math.min(stripeRows, Int.MaxValue.toLong)).toInt
    val starts = 0 until view.rows by step
    val count = math.max(1, math.min(starts.size, session.context.defaultParallelism))
    def share(index: Int): Int = (index * starts.size.toLong / count).toInt
    val parts = Vector.tabulate(count)(index => starts.slice(share(index), share(index + 1)).toVector)
    def until(from: Int): Int = math.min(from.toLong + step, view.rows.toLong).toInt
    val layout = parts.map(_.map(from => Stripe(view.rowOffset + from, (until(from) - from).toLong)))
    val stripes = parts.map(_.iterator.map(from => Assembly.slice(view, from, until(from))))
    (LocalRDD(session.context, stripes, session.limits.piece), layout)
  }
}
