package io.fulgurite.spark.primitives

/**
 * How matrices travel between the driver and the executors.
 *
 * @param heap bytes of a matrix that may come through the driver's heap; larger ones come through files
 * @param piece bytes of the pieces that are broadcast
 * @param scratch the folder for files, if it is configured
 */
final case class TransferLimits(heap: Long, piece: Int, scratch: Option[String])
