package io.fulgurite.spark.memory

import java.util.concurrent.atomic.{AtomicInteger, AtomicLong}

/**
 * Native memory that blocks hold, for this process' account, which is exact: run when a handle is freed, however that
 * happens. Blocks that share their values share this too.
 */
private[spark] final class Held extends Runnable {
  private val holders = new AtomicInteger(1)
  private val bytes = new AtomicLong

  /** For another handle of the same memory. */
  def shared(): Held = { holders.incrementAndGet(); this }

  /** Says how much it is; the first time counts. */
  def are(size: Long): Unit = if (bytes.compareAndSet(0, size)) NativeMemory.took(size)

  override def run(): Unit = if (holders.decrementAndGet() == 0) NativeMemory.gave(bytes.get)
}
