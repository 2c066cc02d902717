package io.fulgurite.spark.memory

import java.util.concurrent.{CountDownLatch, TimeUnit}
import java.util.concurrent.atomic.AtomicInteger

import org.scalatest.funsuite.AnyFunSuite

/** How many native calls run at a time. */
final class GateSuite extends AnyFunSuite {
  private val mega = 1L << 20

  /** Starts a thread that goes through the gate and stays within until it is let out. */
  private final class Caller(gate: Gate, bytes: Long, inside: AtomicInteger) {
    private val (entered, out) = (new CountDownLatch(1), new CountDownLatch(1))
    private val thread = new Thread(() => gate.within(bytes) {
      inside.incrementAndGet()
      entered.countDown()
      assert(out.await(60, TimeUnit.SECONDS))
      inside.decrementAndGet()
      ()
    })
    thread.start()

    def enters(): Boolean = entered.await(60, TimeUnit.SECONDS)

    /** It stands in the queue. */
    def waits(): Boolean = {
      val end = System.nanoTime + TimeUnit.SECONDS.toNanos(60)
      while (thread.getState != Thread.State.WAITING && System.nanoTime < end) Thread.sleep(1)
      entered.getCount == 1 && thread.getState == Thread.State.WAITING
    }

    def leave(): Unit = {
      out.countDown()
      thread.join()
    }
  }

  test("calls enter as long as there is room for them, and in their order") {
    val (gate, inside) = (new Gate(10 * mega), new AtomicInteger)
    val (first, second) = (new Caller(gate, 4 * mega, inside), new Caller(gate, 6 * mega, inside))
    assert(first.enters() && second.enters())
    val third = new Caller(gate, 8 * mega, inside)
    assert(third.waits())
    // There would be room for it, but the third one has waited for longer.
    first.leave()
    val fourth = new Caller(gate, 2 * mega, inside)
    assert(fourth.waits() && third.waits() && inside.get == 1)
    second.leave()
    assert(third.enters() && fourth.enters() && inside.get == 2)
    third.leave()
    fourth.leave()
  }

  test("a call of more than there is runs alone, and what is small or unknown does not wait") {
    val (gate, inside) = (new Gate(10 * mega), new AtomicInteger)
    val small = new Caller(gate, mega, inside)
    assert(small.enters())
    val large = new Caller(gate, 1000 * mega, inside)
    assert(large.waits())
    assert(gate.within(0)(1) == 1 && gate.within(mega - 1)(2) == 2)
    small.leave()
    assert(large.enters())
    val next = new Caller(gate, mega, inside)
    assert(next.waits())
    large.leave()
    assert(next.enters())
    next.leave()
  }

  test("a call that fails leaves, and a gate of less than a unit lets one call in") {
    val gate = new Gate(1000)
    intercept[IllegalStateException](gate.within(5 * mega)(throw new IllegalStateException("injected")))
    assert(gate.within(5 * mega)(3) == 3)
  }
}
