package io.fulgurite.spark.dataset

import io.fulgurite.spark.{Blocks, Errors}

/**
 * The stripes of co-partitioned inputs, as many runs of a task at a time as take [[StripeGroups.Bytes]] together, with their
 * results if there is one for each: a native call costs as much as some ten thousand cells. Stripes that Spark's storage holds anyway take
 * nothing, but they are [[StripeGroups.StoredBytes]] at most: a task that is to end does so between groups. A run larger than that stands alone.
 */
private[spark] final class StripeGroups(parts: Seq[Iterator[Blocks]], label: String) extends Iterator[Vector[Seq[Blocks]]] {
  private val left = StripeGroups.runs(parts, label)
  /** Of the results of a run; the first one tells. */
  private var largestResult = StripeGroups.Bytes

  override def hasNext: Boolean = left.hasNext

  override def next(): Vector[Seq[Blocks]] = {
    val runs = Vector.newBuilder[Seq[Blocks]]
    var (count, taken, all) = (0, 0L, 0L)
    // The next run is taken to be as large as the largest so far: to look at it is to make it.
    var (largestTaken, largest) = (0L, 0L)
    def fits = count < StripeGroups.Runs && taken + largestTaken + largestResult <= StripeGroups.Bytes && all + largest <= StripeGroups.StoredBytes
    while (count == 0 || (fits && hasNext)) {
      val stripes = left.next()
      val (own, size) = (stripes.iterator.filterNot(_.isStored).map(_.bytes).sum, stripes.iterator.map(_.bytes).sum)
      taken += own + largestResult
      all += size
      largestTaken = math.max(largestTaken, own)
      largest = math.max(largest, size)
      runs += stripes
      count += 1
    }
    runs.result()
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
  /** Of a group, whoever holds it. */
  val StoredBytes: Long = 64L << 20
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
