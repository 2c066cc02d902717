package io.fulgurite.spark.primitives

import io.fulgurite.core.Native
import io.fulgurite.spark.{Blocks, Errors}
import io.fulgurite.spark.dataset.TaskRDD
import org.apache.spark.HashPartitioner
import org.apache.spark.rdd.RDD

/**
 * Combines partial results pairwise, in the order of rows whatever finishes first: the same data in the same partitions
 * gives the same bits. Many partitions are combined in two steps, so that not all partial results meet on the driver.
 */
object Aggregate {
  private val MostPartialsOnDriver = 32

  def run(partials: TaskRDD, combine: Array[Byte]): Blocks = {
    val perPartition = partials.mapPartitionsWithIndex { (index, part) =>
      part.reduceOption(combined(combine)).map { blocks =>
        val bytes = Wire.write(blocks)
        blocks.closeIfEphemeral()
        (index, bytes)
      }.iterator
    }
    val onDriver = if (partials.partitions.length > MostPartialsOnDriver) inGroups(perPartition, combine) else perPartition
    val results = onDriver.collect().sortBy(_._1).map { case (_, bytes) => Wire.read(bytes) }
    results.reduceOption(combined(combine)).getOrElse {
      throw Errors.data("an aggregate of a matrix without rows has no value", "check that the input is not empty")
    }
  }

  private def inGroups(partials: RDD[(Int, Array[Byte])], combine: Array[Byte]): RDD[(Int, Array[Byte])] = {
    val size = math.ceil(math.sqrt(partials.partitions.length.toDouble)).toInt
    partials
      .map { case (index, bytes) => (index / size, (index, bytes)) }
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
