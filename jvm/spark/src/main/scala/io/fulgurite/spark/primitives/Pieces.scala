package io.fulgurite.spark.primitives

import java.util.Locale

import io.fulgurite.spark.Blocks
import org.apache.spark.{SparkConf, SparkEnv}

/** Pieces of stripes that a task makes for a shuffle. */
private[spark] object Pieces {

  /**
   * Closes each piece when the shuffle has written it: at once where Spark writes to a file for each target, otherwise, since
   * Spark sorts them first, at the end of the task.
   *
   * @param blocks the piece in an element; it belongs to the task
   */
  def closedWhenWritten[A](pieces: Iterator[A], targets: Int)(blocks: A => Blocks): Iterator[A] =
    if (!writesAtOnce(SparkEnv.get.conf, targets)) pieces
    else new Iterator[A] {
      private var written = Option.empty[Blocks]

      override def hasNext: Boolean = {
        close()
        pieces.hasNext
      }

      override def next(): A = {
        close()
        val piece = pieces.next()
        written = Some(blocks(piece))
        piece
      }

      private def close(): Unit = {
        written.foreach(_.close())
        written = None
      }
    }

  private def writesAtOnce(conf: SparkConf, targets: Int): Boolean =
    Set("sort", "tungsten-sort")(conf.get("spark.shuffle.manager", "sort").toLowerCase(Locale.ROOT)) &&
      targets <= conf.getInt("spark.shuffle.sort.bypassMergeThreshold", 200)
}
