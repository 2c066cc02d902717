package org.apache.spark.fulgurite

import org.apache.spark.SparkEnv
import org.apache.spark.storage.BlockId

/** What Spark keeps of broadcasts, in whichever process. */
object Stored {
  /** Broadcasts of Spark's own, tasks of stages, are among them until they are garbage. */
  def broadcasts: Seq[BlockId] =
    SparkEnv.get.blockManager.master.getMatchingBlockIds(_.isBroadcast, askStorageEndpoints = true)
}
