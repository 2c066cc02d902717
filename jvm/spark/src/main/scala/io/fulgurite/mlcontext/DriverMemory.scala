package io.fulgurite.mlcontext

import java.lang.management.ManagementFactory

import com.sun.management.OperatingSystemMXBean

/** What the driver's process has for matrices, which lie outside of its heap. */
private[fulgurite] object DriverMemory {

  /** Bytes that an operator may take here, inputs and output together. */
  def forMatrices: Long = forMatrices(physical, Runtime.getRuntime.maxMemory)

  /**
   * A share of what the heap leaves of the memory, if it gets as large as it may. Where it may get as large as the memory, it will not: then
   * there is a little for matrices all the same.
   */
  def forMatrices(physical: Long, heap: Long): Long = math.max(physical - heap, physical / LeastPart) / 10 * Tenths

  /** Of the container, where it has a limit. */
  private def physical: Long = ManagementFactory.getPlatformMXBean(classOf[OperatingSystemMXBean]).getTotalMemorySize

  /** As SystemML has it: the rest is for what operators take beside matrices. */
  private val Tenths = 7
  private val LeastPart = 8
}
