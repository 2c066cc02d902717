package io.fulgurite.mlcontext

import java.io.File
import java.nio.file.{Files, Path}

import io.fulgurite.{Once, SparkSessions}
import io.fulgurite.faults.{FaultyFileSystem, ShuffleFaultPlugin, ShuffleFaults}
import io.fulgurite.spark.memory.NativeMemory
import org.apache.spark.SparkEnv
import org.apache.spark.deploy.fulgurite.StandaloneCluster
import org.apache.spark.fulgurite.Stored
import org.scalatest.funsuite.AnyFunSuiteLike

/** A cluster of two workers where things go wrong, and storage has no room for more than small matrices. */
trait FaultyCluster extends AnyFunSuiteLike with SparkSessions {
  protected lazy val cluster = new StandaloneCluster(workers = 2, megabytes = 1024)
  protected lazy val shuffleFaults: Path = Files.createTempDirectory("fulgurite-shuffle-faults")
  protected lazy val writeFaults: Path = Files.createTempDirectory("fulgurite-write-faults")

  override def master: String = cluster.masterUrl
  override def configuration: Map[String, String] = Map(
    "spark.executor.memory" -> "1g",
    // As if there were so many cores: 40 partitions that are small stay.
    "spark.default.parallelism" -> "10",
    // Of which Spark reserves 300 MB: there is room for some 700 kB of blocks in each executor.
    "spark.memory.fraction" -> "0.001",
    "spark.speculation" -> "true",
    "spark.speculation.quantile" -> "0.5",
    "spark.speculation.multiplier" -> "1.1",
    // An executor that ended is not waited for.
    "spark.shuffle.io.maxRetries" -> "1",
    "spark.shuffle.io.retryWait" -> "100ms",
    "spark.plugins" -> s"io.fulgurite.spark.FulguriteSparkPlugin,${classOf[ShuffleFaultPlugin].getName}",
    ShuffleFaults.Folder -> shuffleFaults.toString,
    s"spark.hadoop.${FaultyFileSystem.Faults}" -> writeFaults.toString,
    s"spark.hadoop.fs.${FaultyFileSystem.Scheme}.impl" -> classOf[FaultyFileSystem].getName)

  override def afterAll(): Unit =
    try super.afterAll()
    finally cluster.close()

  /** What runs with these settings, and gets what the script prints. */
  protected def configured[A](settings: (String, String)*)(lines: String => Unit)(work: => A): A = {
    settings.foreach { case (key, value) => ml.setConfigProperty(key, value) }
    ml.setPrintSink(line => lines(line))
    try work
    finally {
      ml.resetConfig()
      ml.setPrintSink(line => Console.out.println(line))
    }
  }

  /** Ends an executor at once. Its worker starts a new one. */
  protected def halt(once: Once): Unit =
    spark.sparkContext.parallelize(0 until 2, 2).foreachPartition(_ => if (once.first("halted")) Runtime.getRuntime.halt(1))

  /** Ends the executors that there are. */
  protected def haltAll(): Unit = {
    val executors = spark.sparkContext.parallelize(0 until 8, 8).map(_ => SparkEnv.get.executorId).collect().toSet
    spark.sparkContext.parallelize(0 until 2, 2).foreachPartition(_ => if (executors(SparkEnv.get.executorId)) Runtime.getRuntime.halt(1))
  }

  /**
   * Nothing is stored, no task owns memory, and what is garbage is all that executors have: no block of a matrix, and no broadcast. No file is left
   * where driver and executors put those on their way.
   */
  protected def nothingIsLeft(): Unit = {
    assert(spark.sparkContext.getPersistentRDDs.isEmpty)
    tasksOwnNothing()
    def held = spark.sparkContext.parallelize(0 until 8, 8).map { _ =>
      System.gc()
      Thread.sleep(50)
      NativeMemory.held
    }.collect().toSeq
    FaultsSuite.await(held.forall(_ == 0))
    val left = held
    assert(left.forall(_ == 0), left.mkString(", "))
    // Spark's own, tasks of the jobs above, are garbage here.
    FaultsSuite.await {
      System.gc()
      Stored.broadcasts.isEmpty
    }
    assert(Stored.broadcasts.isEmpty, Stored.broadcasts.mkString(", "))
    val transfers = new File(System.getProperty("java.io.tmpdir")).list.filter(_.startsWith(s"fulgurite-transfer-${ProcessHandle.current.pid}-"))
    assert(transfers.isEmpty, transfers.mkString(", "))
  }
}
