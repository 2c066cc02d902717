package io.fulgurite.spark.dataset

import io.fulgurite.spark.{Blocks, Errors}

/**
 * The stripes of co-partitioned inputs, as many runs of a task at a time as take [[StripeGroups.Bytes]] together, with their
 * results if there is one for each: a native call costs as much as some ten thousand cells. A run larger than that stands alone.
 */
private[spark] final class StripeGroups(parts: Seq[Iterator[Blocks]], label: String) extends Iterator[Vector[Seq[Blocks]]] {
  private val left = StripeGroups.runs(parts, label)
  /** Of the results of a run; the first one tells. */
  private var largestResult = StripeGroups.Bytes

  override def hasNext: Boolean = left.hasNext

  override def next(): Vector[Seq[Blocks]] = {
    var (runs, bytes, largest) = (Vector.empty[Seq[Blocks]], 0L, 0L)
    while (runs.isEmpty || (runs.size < StripeGroups.Runs && bytes + largest + largestResult <= StripeGroups.Bytes && hasNext)) {
      val stripes = left.next()
      val size = stripes.map(_.bytes).sum
      runs :+= stripes
      bytes += size + largestResult
      largest = math.max(largest, size)
    }
    runs
  }

  /** Says what the last group gave, for each run. */
  def gave(results: Seq[Blocks]): Unit = {
    val largest = results.iterator.map(_.bytes).foldLeft(0L)(math.max)
    largestResult = if (largestResult == StripeGroups.Bytes) largest else math.max(largestResult, largest)
  }

  /** Says that runs give nothing that stays. */
  def combining(): this.type = {
    largestResult = 0
    this
  }
}

private[spark] object StripeGroups {
  /** That a task may hold more than without groups. */
  val Bytes: Long = 8L << 20
  val Runs = 256

  /** The stripes of co-partitioned inputs that stand side by side. */
  def runs(parts: Seq[Iterator[Blocks]], label: String): Iterator[Seq[Blocks]] = new Iterator[Seq[Blocks]] {
    override def hasNext: Boolean = {
      val more = parts.map(_.hasNext)
      if (more.distinct.size > 1) throw Errors.internal(s"inputs of '$label' have different numbers of stripes")
      more.head
    }

    override def next(): Seq[Blocks] = parts.map(_.next())
  }
}
