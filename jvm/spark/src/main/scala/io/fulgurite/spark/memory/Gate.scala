package io.fulgurite.spark.memory

import java.util.concurrent.Semaphore

/**
 * Lets tasks into native code as long as what all of them take there at most is within a bound, since what a call takes is charged
 * only once it is there. Others wait, in their order; a call that takes more than the bound runs alone. Who waits here has
 * nothing that a task within needs: calls wait for nobody.
 */
private[spark] final class Gate(limit: Long) {
  private val all = math.max(1, math.min(limit >> Gate.UnitBits, Int.MaxValue.toLong)).toInt
  private val free = new Semaphore(all, true)

  /** @param bytes that `work` takes at most */
  def within[A](bytes: Long)(work: => A): A = {
    val units = math.min(all.toLong, bytes >> Gate.UnitBits).toInt
    if (units == 0) work
    else {
      free.acquire(units)
      try work
      finally free.release(units)
    }
  }
}

private object Gate {
  /** What takes less than a megabyte does not matter. */
  private val UnitBits = 20
}
