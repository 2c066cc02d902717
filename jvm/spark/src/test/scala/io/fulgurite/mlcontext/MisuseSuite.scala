package io.fulgurite.mlcontext

import java.nio.file.{Files, Path}

import io.fulgurite.{Failures, Faults, Once, SparkSessions}
import io.fulgurite.core.NativeLibrary
import io.fulgurite.spark.Blocks
import io.fulgurite.spark.arrow.DenseBuilder
import io.fulgurite.spark.dataset.Dataset
import io.fulgurite.spark.primitives.{FileSink, Session, TextFormat}
import io.fulgurite.spark.memory.NativeMemory
import org.apache.spark.sql.Row
import org.scalatest.funsuite.AnyFunSuite

/** Surroundings that fail: one clear error on the driver, and nothing half done. */
final class MisuseSuite extends AnyFunSuite with SparkSessions {
  private val cells = Faults.cells(2000, 20)
  private def sum = ScriptFactory.dml("s = sum(X ^ 2)").in("X", Faults.frame(spark, cells, 4)((_, rows) => rows)).out("s")

  private def distributed[A](work: => A): A = {
    ml.setConfigProperty("fulgurite.memory.local", "50k")
    try work
    finally ml.resetConfig()
  }

  test("a file whose writing fails is what it was before") {
    val folder = Files.createTempDirectory("fulgurite-sink")
    val target = Files.createDirectory(folder.resolve("out"))
    Files.writeString(target.resolve("part-00000"), "1,2\n")
    val stripes = spark.sparkContext.parallelize(0 until 4, 4).map { partition =>
      if (partition == 2) throw new IllegalStateException("injected")
      val builder = new DenseBuilder(1)
      builder.put(partition.toDouble)
      builder.endRow()
      Blocks.built(builder, partition.toLong)
    }
    val dataset = Dataset.placed(stripes, Vector.empty)
    val failure = Failures.of("io")(FileSink.write(new Session(spark), dataset, target.toString, TextFormat.Csv(",", header = false), Some("{}")))
    assert(failure.getMessage.contains("injected"), failure.getMessage)
    assert(folder.toFile.list.toSeq == Seq("out") && target.toFile.list.toSeq == Seq("part-00000"))
    assert(Files.readString(target.resolve("part-00000")) == "1,2\n")
  }

  for ((how, disturb) <- Seq[(String, Iterator[Row] => Iterator[Row])](
      ("fewer", rows => rows.drop(1)), ("fewer", _ => Iterator.empty), ("more", rows => rows.flatMap(row => Iterator(row, row))))) {
    test(s"a source that has $how rows when it is read again (${disturb(Iterator(Row(), Row())).size} of 2) is an error") {
      val once = new Once
      val X = Faults.frame(spark, cells, 4)((partition, rows) => if (once.first(s"read $partition")) rows else disturb(rows))
      val script = ScriptFactory.dml("v = matrix(1, ncol(X), 1)\nfor (i in 1:3) { v = t(X) %*% (X %*% v) / 1000000\nprint(i) }").in("X", X).out("v")
      // As if all executors were lost after an iteration.
      ml.setPrintSink(_ => spark.sparkContext.getPersistentRDDs.values.foreach(_.unpersist(blocking = true)))
      val failure =
        try Failures.of("data")(distributed(ml.execute(script)))
        finally ml.setPrintSink(line => Console.out.println(line))
      assert(failure.getMessage.contains(s"was lost, and has $how rows now that it is read again"), failure.getMessage)
      FaultsSuite.await(NativeMemory.owned == 0)
      assert(NativeMemory.owned == 0 && spark.sparkContext.getPersistentRDDs.isEmpty)
    }
  }

  // The last two: they leave the session unusable.
  test("a spill disk that cannot be written to is an error that names it") {
    val folders = Path.of(org.apache.spark.fulgurite.Disk.folder)
    org.apache.spark.fulgurite.Disk.replaceByFile()
    val script = ScriptFactory.dml("Y = t(X) + 1\ns = sum(Y)").in("X", Faults.frame(spark, cells, 4)((_, rows) => rows)).out("s")
    val failure = Failures.of("backend")(distributed(ml.execute(script)))
    assert(failure.getMessage.contains(folders.getFileName.toString), failure.getMessage)
  }

  test("a stopped SparkContext is an error that says so") {
    val script = sum
    spark.stop()
    val failure = Failures.of("backend")(distributed(ml.execute(script)))
    assert(failure.getMessage.contains("stopped SparkContext"), failure.getMessage)
    // Local work needs no Spark.
    assert(ml.execute(ScriptFactory.dml("s = 1 + 1").out("s")).getLong("s") == 2)
  }
}

/** Executors that cannot load the native library, which the driver has. */
final class ExecutorLibrarySuite extends AnyFunSuite with SparkSessions {
  override def master: String = "local-cluster[1,1,1024]"
  override def configuration: Map[String, String] = Map("spark.fulgurite.native.path" -> "/no/such/library.so")

  override def beforeAll(): Unit = {
    NativeLibrary.load()
    super.beforeAll()
  }

  test("a library that executors cannot load is an error that names it") {
    ml.setConfigProperty("fulgurite.memory.local", "50k")
    val X = Faults.frame(spark, Faults.cells(2000, 20), 2)((_, rows) => rows)
    val failure = Failures.of("argument")(ml.execute(ScriptFactory.dml("s = sum(X ^ 2)").in("X", X).out("s")))
    assert(failure.getMessage.contains("'/no/such/library.so', which is not a file"), failure.getMessage)
  }
}
