package io.fulgurite.spark.dataset

import java.io.OutputStream

import io.fulgurite.spark.Blocks
import org.apache.spark.{Partition, SparkContext, TaskContext}
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.rdd.RDD
import org.apache.spark.storage.StorageLevel

/**
 * Stripes of a local matrix. A partition's are sent to an executor when it first computes the partition; Spark's own way of
 * making an RDD of local data sends them with every task.
 */
private[spark] final class LocalRDD private (context: SparkContext, @transient private val parts: Vector[SentStripes])
    extends RDD[Blocks](context, Nil) {

  def sent: Vector[Broadcast[_]] = parts.flatMap(_.bytes.pieces)

  override def getPartitions: Array[Partition] =
    parts.iterator.zipWithIndex.map { case (stripes, index) => new LocalPartition(index, stripes) }.toArray

  override def compute(split: Partition, context: TaskContext): Iterator[Blocks] = {
    val part = split.asInstanceOf[LocalPartition].stripes
    val in = part.bytes.open()
    val stripes = Iterator.range(0, part.count).map(_ => Blocks.readFrom(in))
    if (getStorageLevel == StorageLevel.NONE) stripes.map(_.markEphemeral()) else stripes
  }
}

/** So many stripes, one after the other. */
private final class SentStripes(val bytes: SentBytes, val count: Int) extends Serializable

private final class LocalPartition(override val index: Int, val stripes: SentStripes) extends Partition

private[spark] object LocalRDD {

  /** Spreads stripes over partitions, in their order. Each is made when its turn comes, and closed. */
  def apply(context: SparkContext, partitions: Vector[Iterator[Blocks]], bytesPerPiece: Int): LocalRDD = {
    val sent = Vector.newBuilder[SentStripes]
    def write(stripes: Iterator[Blocks], out: OutputStream): Int = {
      var count = 0
      for (stripe <- stripes) {
        try stripe.writeTo(out)
        finally stripe.close()
        count += 1
      }
      count
    }
    try {
      for (stripes <- partitions) {
        var count = 0
        val bytes = SentBytes(context, bytesPerPiece)(out => count = write(stripes, out))
        sent += new SentStripes(bytes, count)
      }
      new LocalRDD(context, sent.result())
    } catch {
      case failure: Throwable =>
        sent.result().foreach(_.bytes.destroy())
        throw failure
    }
  }
}
