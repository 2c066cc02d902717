package io.fulgurite.mlcontext

import io.fulgurite.{Faults, SparkSessions}
import io.fulgurite.spark.{Blocks, GuardedTransferSuite}
import io.fulgurite.spark.dataset.{SentMatrix, Shared}
import io.fulgurite.spark.memory.NativeMemory
import io.fulgurite.spark.primitives.Wire
import org.apache.spark.SparkEnv
import org.apache.spark.fulgurite.Used
import org.scalatest.funsuite.AnyFunSuite

/** Matrices that are sent to all executors in pieces. */
abstract class BroadcastPiecesSuite(serializer: String) extends AnyFunSuite with SparkSessions {
  import BroadcastPiecesSuite._

  // Two tasks at a time in each executor: they share what it was sent.
  override def master: String = "local-cluster[2,2,1024]"
  override def configuration: Map[String, String] = Map(
    "spark.serializer" -> serializer, "spark.fulgurite.memory.local" -> "100k", "spark.fulgurite.broadcast.piece" -> "7k")

  private def held(): Seq[Long] =
    spark.sparkContext.parallelize(0 until 16, 16).map(_ => SparkEnv.get.executorId -> NativeMemory.held).collect().toMap.toSeq.sorted.map(_._2)

  override def beforeAll(): Unit = {
    super.beforeAll()
    FaultsSuite.await(held().size == 2)
  }

  test("executors give results up to 8 MB directly, as the plugin has it") {
    val found = spark.sparkContext.parallelize(0 until 16, 16).map(_ => SparkEnv.get.conf.get("spark.task.maxDirectResultSize", "")).collect()
    assert(found.distinct.toSeq == Seq("8m"))
  }

  test("a matrix in pieces is the same matrix, made once in each process, and gone when it is destroyed") {
    val context = spark.sparkContext
    for (make <- Seq[() => Blocks](() => GuardedTransferSuite.dense(3000, 20), () => GuardedTransferSuite.sparse(3000, 50))) {
      val matrix = make()
      val (expected, size, before) = (bits(matrix), matrix.bytes, held())
      val sent = SentMatrix(context, matrix, 100000)
      val broadcast = sent.broadcast
      val found = context.parallelize(0 until 8, 8).map { _ =>
        val blocks = broadcast.value.blocks
        Thread.sleep(100)
        (SparkEnv.get.executorId, System.identityHashCode(blocks), bits(blocks) == expected)
      }.collect()
      assert(found.forall(_._3))
      assert(found.map(_._1).distinct.length == 2 && found.map { case (executor, identity, _) => (executor, identity) }.distinct.length == 2, found.mkString(", "))
      assert(held().zip(before).forall { case (after, earlier) => after - earlier == size }, s"${held()} after $before")
      sent.destroy()
      FaultsSuite.await {
        context.parallelize(0 until 8, 8).foreach(_ => System.gc())
        held() == before
      }
      assert(held() == before && matrix.isClosed)
    }
  }

  test("a matrix in pieces can be written while it is put together, by who makes room for it") {
    val sent = SentMatrix(spark.sparkContext, GuardedTransferSuite.dense(3000, 20), 100000)
    val broadcast = sent.broadcast
    val (waited, written, rows) = spark.sparkContext.parallelize(0 until 1, 1).map { _ =>
      val shared = broadcast.value
      val assembler = new Thread(() => { shared.blocks; () })
      val writer = new Thread(() => { SparkEnv.get.serializer.newInstance().serialize(shared); () })
      val (waited, written) = Used.withMemoryLocked {
        assembler.start()
        val end = System.nanoTime + 10000000000L
        while (assembler.getState != Thread.State.BLOCKED && System.nanoTime < end) Thread.sleep(1)
        val waited = assembler.getState == Thread.State.BLOCKED
        writer.start()
        writer.join(10000)
        (waited, !writer.isAlive)
      }
      Seq(assembler, writer).foreach(_.join())
      (waited, written, shared.blocks.rows)
    }.collect().head
    assert(waited && written && rows == 3000)
    sent.destroy()
  }

  test("a small matrix is sent whole") {
    val sent = SentMatrix(spark.sparkContext, GuardedTransferSuite.dense(10, 10), 100000)
    val broadcast = sent.broadcast
    assert(spark.sparkContext.parallelize(0 until 4, 4).map(_ => broadcast.value.blocks.rows).collect().toSeq == Seq(10, 10, 10, 10))
    sent.destroy()
  }

  test("what was evicted is made of the pieces again") {
    val sent = SentMatrix(spark.sparkContext, GuardedTransferSuite.dense(3000, 20), 100000)
    val instance = SparkEnv.get.serializer.newInstance()
    val copy = instance.deserialize[Shared](instance.serialize(sent.broadcast.value))
    assert(bits(copy.blocks) == bits(sent.broadcast.value.blocks) && copy.estimatedSize == 480064)
    // Only where the pieces are is written.
    assert(instance.serialize(copy).limit() < 10000)
    copy.blocks.close()
    sent.destroy()
  }

  test("a script has the bits that it has without pieces") {
    val script = ScriptFactory.dml("Y = X %*% V\nv = t(colSums(Y)) / 1000\ns = sum(Y * (Y > 0)) + sum(X %*% (V %*% v))").in(
      "X", Faults.frame(spark, Faults.cells(2000, 40), 4)((_, rows) => rows)).in("V", Faults.cells(40, 30)).out("v", "s")
    def run(piece: String): (Seq[Seq[Long]], Double) = {
      ml.setConfigProperty("fulgurite.broadcast.piece", piece)
      try {
        val results = ml.execute(script)
        assert(results.report.executors.size == 2)
        (Faults.bits(results.getMatrixAs2DDoubleArray("v")), results.getDouble("s"))
      } finally ml.resetConfig()
    }
    assert(run("1k") == run("1g"))
  }
}

final class JavaBroadcastPiecesSuite extends BroadcastPiecesSuite("org.apache.spark.serializer.JavaSerializer")

final class KryoBroadcastPiecesSuite extends BroadcastPiecesSuite("org.apache.spark.serializer.KryoSerializer")

private object BroadcastPiecesSuite {
  def bits(blocks: Blocks): Seq[Byte] = Wire.write(blocks).toSeq
}
