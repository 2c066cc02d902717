package io.fulgurite.spark.primitives

import io.fulgurite.core.Native
import io.fulgurite.spark.{Blocks, Errors}
import io.fulgurite.spark.dataset.{CombinedRDD, TaskRDD}
import org.apache.spark.{HashPartitioner, TaskContext}
import org.apache.spark.rdd.RDD

/**
 * Combines partial results pairwise, in the order of rows whatever finishes first: the same data in the same partitions
 * gives the same bits. Many partitions are combined in two steps, so that not all partial results meet on the driver.
 */
object Aggregate {
  private val MostPartialsOnDriver = 32

  def run(partials: TaskRDD, combine: Array[Byte]): Blocks = {
    val perPartition = new CombinedRDD(partials, combine)
    val partitions = partials.partitions.indices
    val results =
      if (partitions.size > MostPartialsOnDriver) inGroups(perPartition, combine).collect().toSeq.sortBy(_._1).map(_._2)
      else partials.sparkContext.runJob(perPartition, new Written, partitions).toSeq.flatten
    results.map(Wire.read).reduceOption(combined(combine)).getOrElse {
      throw Errors.data("an aggregate of a matrix without rows has no value", "check that the input is not empty")
    }
  }

  /** Of a partition, what it has. A class: Spark analyses the byte code of a lambda before each job. */
  private final class Written extends ((TaskContext, Iterator[Blocks]) => Option[Array[Byte]]) with Serializable {
    override def apply(task: TaskContext, part: Iterator[Blocks]): Option[Array[Byte]] = part.map(write).toSeq.headOption
  }

  private def write(blocks: Blocks): Array[Byte] =
    try Wire.write(blocks)
    finally blocks.closeIfEphemeral()

  private def inGroups(partials: CombinedRDD, combine: Array[Byte]): RDD[(Int, Array[Byte])] = {
    val size = math.ceil(math.sqrt(partials.partitions.length.toDouble)).toInt
    partials
      .mapPartitionsWithIndex((index, part) => part.map(blocks => (index / size, (index, write(blocks)))))
      .partitionBy(new HashPartitioner(size))
      .mapPartitions { part =>
        part.toVector.groupBy(_._1).toVector.sortBy(_._1).iterator.map { case (group, members) =>
          val blocks = members.map(_._2).sortBy(_._1).map { case (_, bytes) => Wire.read(bytes) }.reduce(combined(combine))
          val bytes = Wire.write(blocks)
          blocks.close()
          (group, bytes)
        }
      }
  }

  private def combined(combine: Array[Byte])(left: Blocks, right: Blocks): Blocks = {
    val result = left.withHandle(l => right.withHandle(r => Blocks.owning(Native.combine(combine, l, r))))
    left.close()
    right.close()
    result.markEphemeral()
  }
}
