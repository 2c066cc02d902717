package io.fulgurite.spark.memory

import java.util.concurrent.{CountDownLatch, TimeUnit}

import io.fulgurite.{Failures, Faults, SparkSessions}
import io.fulgurite.mlcontext.{FaultsSuite, ScriptFactory}
import io.fulgurite.spark.{Blocks, Counts}
import io.fulgurite.spark.arrow.DenseBuilder
import io.fulgurite.spark.dataset.{Dataset, ScannedRDD}
import io.fulgurite.spark.primitives.{Align, Concatenate, Session, Transfer}
import org.apache.spark.TaskContext
import org.apache.spark.storage.StorageLevel
import org.scalatest.funsuite.AnyFunSuite

/** Native memory of tasks: exact while they run, gone when they end, and bounded. */
abstract class TaskMemorySuite(setting: String) extends AnyFunSuite with SparkSessions {
  import TaskMemorySuite._

  private lazy val session = new Session(spark)

  /** A dataset of 2 x 250 rows in stripes of so many. */
  private def stripes(rows: Int): Dataset = Dataset.fromOrdered(spark.sparkContext.parallelize(0 until 2, 2).flatMap { _ =>
    (0 until 250 by rows).map(from => dense(math.min(rows, 250 - from), 20))
  })

  /** No more than there was: what former tests left to the garbage collector may have gone meanwhile. */
  private def endsWith(held: Long): Unit = {
    // A job that fails ends before the last of its tasks does, which may be making a block that nobody owns yet.
    FaultsSuite.await(NativeMemory.owned == 0 && NativeMemory.held <= held)
    assert(NativeMemory.owned == 0 && NativeMemory.held <= held)
  }

  test("what a task owns is charged until it is closed, or until the task ends") {
    val seen = spark.sparkContext.parallelize(Seq(1000), 1).mapPartitions { part =>
      val rows = part.next()
      val (first, second) = (dense(rows, 10).markEphemeral(), dense(rows, 10).markEphemeral())
      val both = NativeMemory.owned
      val shared = first.at(5).markEphemeral()
      first.close()
      first.close()
      val after = NativeMemory.owned
      shared.close()
      Iterator((first.bytes, both, after, NativeMemory.owned, second.isClosed))
    }.collect().head
    assert(seen == ((80000L, 160000L, 160000L, 80000L, false)))
    assert(NativeMemory.owned == 0)
  }

  test("a task that fails, and one that is not read to its end, leave nothing") {
    val before = NativeMemory.held
    def stripes = spark.sparkContext.parallelize(1 to 20, 2).map(_ => dense(100, 10).markEphemeral())
    assert(stripes.mapPartitions(_.take(3).map(_.rows)).collect().sum == 600)
    intercept[Exception](stripes.map(_ => throw new IllegalStateException("injected")).collect())
    endsWith(before)
  }

  test("shuffles leave nothing but what is cached") {
    val (left, right) = (stripes(70), stripes(130))
    // Placed by now.
    Seq(left, right).foreach(Transfer.collect(_).close())
    val before = NativeMemory.held
    for (_ <- 1 to 3) {
      Transfer.collect(Align.run(session, left, right)).close()
      Transfer.collect(Concatenate.run(session, Seq(Concatenate.Part(left, 3, 400), Concatenate.Part(right, 0, 77)))).close()
    }
    endsWith(before)
    Seq(left, right).foreach(_.release())
  }

  test("a task that needs more than there is says so, and the session goes on") {
    val before = NativeMemory.held
    val failure = Failures.of("memory")(session.named("greedy") {
      spark.sparkContext.parallelize(1 to 1000, 2).mapPartitions { part =>
        val taken = part.map(_ => dense(1000, 125).markEphemeral()).toVector
        Iterator(taken.size)
      }.collect()
    })
    assert(failure.getMessage.contains("needs 1000000 more") && failure.getMessage.contains(setting), failure.getMessage)
    endsWith(before)
  }

  test("stripes that storage has no room for belong to the task that reads them") {
    for ((level, isOwn) <- Seq(StorageLevel.MEMORY_AND_DISK -> false, StorageLevel.DISK_ONLY -> true)) {
      val kept = spark.sparkContext.parallelize(1 to 2, 2).flatMap(_ => Iterator.fill(3)(dense(100, 10))).persist(level)
      kept.count()
      val counts = new Counts
      spark.sparkContext.register(counts)
      val before = NativeMemory.held
      for (pass <- 1 to 3) {
        val seen = new ScannedRDD(kept, "X", counts).mapPartitions(_.map(blocks => (blocks.isEphemeral, NativeMemory.owned > 0))).collect()
        assert(seen.toSeq == Seq.fill(6)((isOwn, isOwn)), s"pass $pass, $level")
      }
      assert(counts.value.values.sum == 6)
      endsWith(before)
      kept.unpersist(blocking = true)
    }
  }

  test("a stripe that was read and is larger than the task's share is closed all the same") {
    // Two of 12 MB do not fit 20.
    bothHaveRead = new CountDownLatch(2)
    val kept = spark.sparkContext.parallelize(1 to 2, 2).map(_ => dense(1500, 1000)).persist(StorageLevel.DISK_ONLY)
    kept.count()
    val counts = new Counts
    spark.sparkContext.register(counts)
    val before = NativeMemory.held
    val seen = new ScannedRDD(kept, "X", counts).mapPartitions { part =>
      val read = part.toVector
      bothHaveRead.countDown()
      bothHaveRead.await(60, TimeUnit.SECONDS)
      read.iterator.map(blocks => (blocks.isEphemeral, blocks.rows, NativeMemory.owned))
    }.collect()
    assert(seen.map(found => (found._1, found._2)).toSeq == Seq((true, 1500), (true, 1500)))
    assert(seen.forall(_._3 <= (20L << 20)))
    endsWith(before)
    kept.unpersist(blocking = true)
  }

  test("an operator waits until there is memory for it") {
    import scala.concurrent.{Await, Future, TimeoutException}
    import scala.concurrent.ExecutionContext.Implicits.global
    import scala.concurrent.duration._
    // 1.6 MB for each of two stripes, of which only sums are left.
    val script = ScriptFactory.dml("X = rand(rows=200, cols=10, seed=1)\nW = rand(rows=10, cols=2000, seed=2)\ns = sum(X %*% W != 0)").out("s")
    ml.setConfigProperty("fulgurite.memory.local", "100k").setConfigProperty("fulgurite.fusion.policy", "none")
    try {
      def sum() = ml.execute(script).getDouble("s")
      assert(sum() == 400000)
      val waiting = NativeMemory.gate.within(Long.MaxValue) {
        val waiting = Future(sum())
        intercept[TimeoutException](Await.result(waiting, 3.seconds))
        waiting
      }
      assert(Await.result(waiting, 60.seconds) == 400000)
    } finally ml.resetConfig()
  }

  test("a script whose shuffle needs more than there is says so, and the next one runs") {
    ml.setConfigProperty("fulgurite.memory.local", "1500k")
    try {
      def ordered(rows: Int) = {
        val X = Faults.frame(spark, Faults.cells(rows, 100), 2)((_, rows) => rows)
        ml.execute(ScriptFactory.dml("Y = order(target=X * 2, by=3)").in("X", X).out("Y")).getMatrix("Y").close()
      }
      val failure = Failures.of("memory")(ordered(40000))
      assert(failure.getMessage.contains(setting), failure.getMessage)
      FaultsSuite.await(NativeMemory.owned == 0)
      ordered(4000)
      assert(NativeMemory.owned == 0)
    } finally ml.resetConfig()
  }
}

private object TaskMemorySuite {
  /** For tasks in this process. */
  @volatile var bothHaveRead = new CountDownLatch(2)

  def dense(rows: Int, cols: Int): Blocks = {
    val builder = new DenseBuilder(cols, rows.toLong)
    for (row <- 0 until rows) {
      for (col <- 0 until cols) builder.put(row * 100.0 + col)
      builder.endRow()
    }
    Blocks.built(builder, 0)
  }
}

final class OverheadTaskMemorySuite extends TaskMemorySuite("spark.fulgurite.memory.tasks") {
  override def configuration: Map[String, String] = Map("spark.fulgurite.memory.tasks" -> "20m")
}

final class OffHeapTaskMemorySuite extends TaskMemorySuite("spark.memory.offHeap.size") {
  override def configuration: Map[String, String] = Map("spark.memory.offHeap.enabled" -> "true", "spark.memory.offHeap.size" -> "20m")

  test("what a task owns is Spark's to account for") {
    val used = spark.sparkContext.parallelize(1 to 1, 1).map { _ =>
      val blocks = TaskMemorySuite.dense(1000, 10).markEphemeral()
      val manager = org.apache.spark.fulgurite.Used.offHeap(TaskContext.get())
      (blocks.bytes, manager)
    }.collect().head
    assert(used._1 == used._2)
  }
}
