package io.fulgurite.spark.memory

import java.util.concurrent.{CountDownLatch, TimeUnit}

import org.apache.spark.SparkConf
import org.scalatest.funsuite.AnyFunSuite

/** The share of an executor's overhead that tasks own. */
final class OverheadPoolSuite extends AnyFunSuite {
  private def acquire(pool: OverheadPool, task: Long, bytes: Long) = pool.acquire(task, bytes)(fail("it waits"))

  test("what is acquired is there again when it is released") {
    val pool = new OverheadPool(100)
    assert(acquire(pool, 1, 60).isEmpty && acquire(pool, 1, 40).isEmpty)
    assert(acquire(pool, 1, 1).contains(0L))
    pool.release(1, 40)
    assert(acquire(pool, 1, 41).contains(40L) && acquire(pool, 1, 40).isEmpty && pool.of(1) == 100)
    pool.release(1, 100)
    assert(pool.of(1) == 0)
    intercept[IllegalArgumentException](pool.release(1, 1))
  }

  test("a task with less than its share waits for one with more") {
    val pool = new OverheadPool(100)
    assert(acquire(pool, 1, 90).isEmpty)
    val (waits, done) = (new CountDownLatch(1), new CountDownLatch(1))
    val other = new Thread(() => {
      assert(pool.acquire(2, 50)(waits.countDown()).isEmpty)
      done.countDown()
    })
    other.start()
    assert(waits.await(60, TimeUnit.SECONDS))
    // The one with more does not wait: both might, forever.
    assert(acquire(pool, 1, 20).contains(10L))
    assert(done.getCount == 1)
    pool.release(1, 90)
    assert(done.await(60, TimeUnit.SECONDS) && pool.of(2) == 50)
    other.join()
  }

  test("a task that is killed while it waits ends") {
    val pool = new OverheadPool(100)
    assert(acquire(pool, 1, 90).isEmpty)
    intercept[IllegalStateException](pool.acquire(2, 50)(throw new IllegalStateException("killed")))
    assert(pool.of(2) == 0)
  }

  test("the bound is Spark's off-heap memory, or half of the overhead, or what is said") {
    def limit(settings: (String, String)*) = NativeMemory.limit(new SparkConf(false).setAll(settings), local = false)
    val mega = 1L << 20
    assert(limit() == 192 * mega)
    assert(limit("spark.executor.memory" -> "20g") == 1024 * mega)
    assert(limit("spark.executor.memory" -> "20g", "spark.executor.memoryOverheadFactor" -> "0.2") == 2048 * mega)
    assert(limit("spark.executor.memoryOverhead" -> "3g") == 1536 * mega && limit("spark.executor.memoryOverhead" -> "1000") == 500 * mega)
    assert(limit("spark.fulgurite.memory.tasks" -> "700m") == 700 * mega && limit("spark.fulgurite.memory.tasks" -> "auto") == 192 * mega)
    assert(limit("spark.memory.offHeap.enabled" -> "true", "spark.memory.offHeap.size" -> "2g", "spark.fulgurite.memory.tasks" -> "1m") == 2048 * mega)
  }
}
