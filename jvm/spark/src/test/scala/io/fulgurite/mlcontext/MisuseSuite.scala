package io.fulgurite.mlcontext

import java.nio.file.{Files, Path}

import io.fulgurite.{Failures, Faults, Once, SparkSessions}
import io.fulgurite.core.{FulguriteException, NativeLibrary}
import io.fulgurite.spark.Blocks
import io.fulgurite.spark.arrow.DenseBuilder
import io.fulgurite.spark.dataset.Dataset
import io.fulgurite.spark.primitives.{FileSink, Session, WrittenFormat}
import io.fulgurite.spark.memory.NativeMemory
import org.apache.hadoop.fs.{Path => HadoopPath, RawLocalFileSystem}
import org.apache.spark.ml.linalg.{Vector, Vectors}
import org.apache.spark.sql.functions.{col, lit, when}
import org.scalatest.Suite
import org.scalatest.funsuite.AnyFunSuite

/** Scripts that write a file, and fail. */
trait Misuse extends SparkSessions { this: Suite =>
  protected val cells: Array[Array[Double]] = Faults.cells(2000, 20)

  protected def distributed[A](work: => A): A = {
    ml.setConfigProperty("fulgurite.memory.local", "50k")
    try work
    finally ml.resetConfig()
  }

  /** The one error of a script that writes what it makes of X. Nothing is left: no file, nothing stored, no memory of tasks. */
  protected def failure(kind: String, X: Any, text: String = Misuse.Writes): FulguriteException = {
    val folder = Files.createTempDirectory("fulgurite-misuse")
    val script = ScriptFactory.dml(text).in("X", X).in("$out", folder.resolve("out").toString)
    val found = Failures.of(kind)(distributed(ml.execute(script)))
    assert(folder.toFile.list.isEmpty, folder.toFile.list.mkString(", "))
    tasksOwnNothing()
    assert(spark.sparkContext.getPersistentRDDs.isEmpty)
    found
  }
}

object Misuse {
  val Writes = "Y = X * 2\nwrite(Y, $out, format=\"csv\")"

  /** Prints once an iteration. */
  val Iterates = "v = matrix(1, ncol(X), 1)\nfor (i in 1:3) { v = t(X) %*% (X %*% v) / 1000000\nprint(sum(v)) }\n" + Writes
}

/** Surroundings that fail: one clear error on the driver, and nothing half done. */
final class MisuseSuite extends AnyFunSuite with Misuse {
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
    // As an execution has it, which waits for tasks that go on when their job has failed.
    val session = new Session(spark, new Settings(spark.sparkContext.getConf), observed = true)
    val failure = Failures.of("io") {
      session.named("write out")(FileSink.write(session, dataset, target.toString, WrittenFormat.Csv(",", header = false), Some("{}")))
    }
    session.close()
    assert(failure.getMessage.contains("injected"), failure.getMessage)
    assert(folder.toFile.list.toSeq == Seq("out") && target.toFile.list.toSeq == Seq("part-00000"))
    assert(Files.readString(target.resolve("part-00000")) == "1,2\n")
  }

  for (last <- Seq("out", "out.mtd")) {
    test(s"a file is what it was before, with its metadata, when its place cannot be given to a new one: $last") {
      val folder = Files.createTempDirectory("fulgurite-sink")
      spark.sparkContext.hadoopConfiguration.set("fs.stuck.impl", classOf[StuckFileSystem].getName)
      def write(value: Double, name: String): Unit = {
        val stripes = spark.sparkContext.parallelize(Seq(value), 1).map { value =>
          val builder = new DenseBuilder(1)
          builder.put(value)
          builder.endRow()
          Blocks.built(builder, 0)
        }
        val dataset = Dataset.placed(stripes, Vector.empty)
        FileSink.write(new Session(spark), dataset, s"stuck:$folder/$name", WrittenFormat.Csv(",", header = false), Some(s"{$value}"))
      }
      write(1, "out")
      StuckFileSystem.last = last
      val failure =
        try Failures.of("io")(write(2, "out"))
        finally StuckFileSystem.last = ""
      assert(failure.getMessage.contains("could not be renamed"), failure.getMessage)
      assert(folder.toFile.list.toSet == Set("out", "out.mtd"))
      val parts = folder.resolve("out").toFile.listFiles.toSeq.filter(_.getName.startsWith("part-")).map(part => Files.readString(part.toPath))
      assert(parts == Seq("1.0\n") && Files.readString(folder.resolve("out.mtd")) == "{1.0}")
    }
  }

  private def vectors = cells.toSeq.map(row => Vectors.dense(row))

  private def numbered(change: Long => Long) = vectors.zipWithIndex.map { case (vector, row) => (change(row + 1L), vector) }

  for ((what, rows, reasons) <- Seq[(String, () => Seq[Any], Seq[String])](
      // Whichever task is the first to find it.
      ("rows that overlap and leave a hole", () => numbered(row => if (row == 1500) 700 else row), Seq("700 occurs twice", "1500 is missing")),
      ("rows beyond a hole", () => numbered(row => if (row > 1500) row + 10 else row), Seq("but there are 2000 rows")),
      ("a null vector", () => vectors.updated(1200, null), Seq("row 1201: input 'X' holds a null")),
      ("a null in a pair", () => numbered(identity).updated(1200, (1201L, null)), Seq("row 1201: input 'X' holds a null")),
      ("a longer vector", () => vectors.updated(1200, Vectors.zeros(21)), Seq("row 1201: input 'X' holds vectors of 20 and of 21 elements")),
      ("a shorter vector", () => vectors.updated(1999, Vectors.sparse(19, Seq.empty)), Seq("row 2000: input 'X' holds vectors of 20 and of 19 elements")))) {
    test(s"an RDD with $what is an error that says so, and what was to be made of it is not there") {
      val message = failure("data", spark.sparkContext.parallelize(rows(), 4)).getMessage
      assert(reasons.exists(message.contains), message)
    }
  }

  test("a DataFrame with a null vector, vectors of two lengths, or numbers that overlap is an error that says so") {
    val session = spark
    import session.implicits._
    def frame(rows: Seq[(Long, Vector)]) = spark.sparkContext.parallelize(rows, 4).toDF("__INDEX", "features")
    def message(rows: Seq[(Long, Vector)]) = failure("data", frame(rows)).getMessage
    assert(message(numbered(identity).updated(30, (31L, null))).contains("row 31: column 'features' holds a null"))
    assert(message(numbered(identity).updated(30, (31L, Vectors.zeros(7)))).contains("'features' holds vectors of 20 and of 7 elements"))
    assert(message(numbered(row => if (row == 31) 30 else row)).contains("column '__INDEX' is no numbering of the rows"))
    val holes = Faults.frame(spark, cells, 4)((_, rows) => rows).withColumn("c3", when(col("c3") > 0.45, lit(null)).otherwise(col("c3")))
    assert(failure("data", holes).getMessage.contains("column 'c3' holds a null"))
  }

  /** The error of a script that iterates over X, and loses after each iteration what is stored, as if all executors were lost. X is told of it. */
  private def failureAfterLoss(kind: String)(X: Once => Any): FulguriteException = {
    val lost = new Once
    ml.setPrintSink { _ =>
      lost.first("lost")
      spark.sparkContext.getPersistentRDDs.values.foreach(_.unpersist(blocking = true))
    }
    try failure(kind, X(lost), Misuse.Iterates)
    finally ml.setPrintSink(line => Console.out.println(line))
  }

  private def rows(change: Iterator[Array[Double]] => Iterator[Array[Double]])(lost: Once) =
    spark.sparkContext.parallelize(cells.toSeq, 4).mapPartitions(rows => if (lost.happened("lost")) change(rows) else rows)

  for ((what, how, change) <- Seq[(String, String, Iterator[Array[Double]] => Iterator[Array[Double]])](
      ("a row less", "fewer", _.drop(1)), ("no row", "fewer", _ => Iterator.empty), ("each row twice", "more", _.flatMap(row => Iterator(row, row))),
      ("shorter rows", "shorter", _.map(_.drop(1))), ("longer rows", "longer", _.map(_ :+ 1.0)))) {
    test(s"a source that has $what when it is read again is an error") {
      val found = failureAfterLoss("data")(rows(change))
      assert(found.getMessage.contains(s"was lost, and has $how rows now that it is read again"), found.getMessage)
    }
  }

  test("a source that has other numbers when it is read again is an error that names it") {
    def described(change: Double => Double): String =
      failureAfterLoss("data")(rows(_.map(row => row.updated(7, change(row(7)))))).getMessage
    for (change <- Seq[Double => Double](_ + 1, number => Math.nextUp(number))) {
      val found = described(change)
      assert(found.contains("of 'X' was lost, and has other values now that it is read again"), found)
    }
    // The same numbers are no error, whichever partition is read.
    val script = ScriptFactory.dml(Misuse.Iterates.linesIterator.take(3).mkString("\n")).in("X", rows(identity)(new Once)).out("v")
    ml.setPrintSink(_ => spark.sparkContext.getPersistentRDDs.values.foreach(_.unpersist(blocking = true)))
    try assert(distributed(ml.execute(script)).report.partitionsRead("X") > 4)
    finally ml.setPrintSink(line => Console.out.println(line))
  }

  test("a source that fails when it is read again is an error that has its reason") {
    val found = failureAfterLoss("backend")(rows(_ => throw new IllegalStateException("injected: the source is gone")))
    assert(found.getMessage.contains("injected: the source is gone"), found.getMessage)
  }

  test("a source that fails while a file is written of it is an error that has its reason") {
    val once = new Once
    val slow = Faults.frame(spark, cells, 4) { (partition, rows) =>
      if (once.happened("lost") && partition == 1) throw new IllegalStateException("injected: the source is gone")
      // The others are still writing when the job has failed.
      if (once.happened("lost")) rows.map { row => Thread.sleep(1); row } else rows
    }
    ml.setPrintSink { _ =>
      once.first("lost")
      spark.sparkContext.getPersistentRDDs.values.foreach(_.unpersist(blocking = true))
    }
    val found =
      try failure("io", slow, "print(sum(X))\n" + Misuse.Writes)
      finally ml.setPrintSink(line => Console.out.println(line))
    assert(found.getMessage.contains("injected: the source is gone"), found.getMessage)
  }

  // The last one: it leaves the session unusable.
  test("a spill disk that cannot be written to is an error that names it") {
    val folders = Path.of(org.apache.spark.fulgurite.Disk.folder)
    org.apache.spark.fulgurite.Disk.replaceByFile()
    val found = failure("backend", Faults.frame(spark, cells, 4)((_, rows) => rows), "Y = t(X) + 1\nwrite(Y, $out, format=\"csv\")")
    assert(found.getMessage.contains(folders.getFileName.toString), found.getMessage)
  }
}

/** A local disk where what is new does not get one name. */
final class StuckFileSystem extends RawLocalFileSystem {
  private var moved = Set.empty[HadoopPath]

  override def getScheme: String = "stuck"
  override def getUri: java.net.URI = java.net.URI.create("stuck:///")
  override def rename(from: HadoopPath, to: HadoopPath): Boolean = {
    val isNew = !moved(from)
    if (!from.getName.startsWith(".")) moved += to
    !(isNew && from.getName.startsWith(".") && to.getName == StuckFileSystem.last) && super.rename(from, to)
  }
}

object StuckFileSystem {
  /** The name that new files and folders do not get. */
  @volatile var last = ""
}

final class StoppedContextSuite extends AnyFunSuite with Misuse {
  test("a SparkContext that is stopped in the middle of a script ends it, and one that was stopped before is an error that says so") {
    val X = Faults.frame(spark, cells, 4)((_, rows) => rows)
    val folder = Files.createTempDirectory("fulgurite-stopped")
    val script = ScriptFactory.dml(Misuse.Iterates).in("X", X).in("$out", folder.resolve("out").toString)
    ml.setPrintSink(_ => spark.stop())
    try {
      for ((kind, reason) <- Seq("interrupted" -> "interrupted", "backend" -> "stopped SparkContext")) {
        val found = Failures.of(kind)(distributed(ml.execute(script)))
        assert(found.getMessage.contains(reason), found.getMessage)
        FaultsSuite.await(NativeMemory.owned == 0)
        assert(folder.toFile.list.isEmpty && NativeMemory.owned == 0)
      }
    } finally ml.setPrintSink(line => Console.out.println(line))
    // Local work needs no Spark.
    assert(ml.execute(ScriptFactory.dml("s = 1 + 1").out("s")).getLong("s") == 2)
  }
}

/** Executors that cannot load the native library, which the driver has. */
abstract class ExecutorLibrarySuite(library: String, reason: String) extends AnyFunSuite with Misuse {
  override def master: String = "local-cluster[1,1,1024]"
  override def configuration: Map[String, String] = Map("spark.fulgurite.native.path" -> library)

  override def beforeAll(): Unit = {
    NativeLibrary.load()
    super.beforeAll()
  }

  test("a library that executors cannot load is an error that names it") {
    val found = failure("argument", Faults.frame(spark, cells, 2)((_, rows) => rows))
    assert(found.getMessage.contains(s"'$library'$reason"), found.getMessage)
  }
}

final class MissingLibrarySuite extends ExecutorLibrarySuite("/no/such/library.so", ", which is not a file")

final class BrokenLibrarySuite extends ExecutorLibrarySuite(
  Files.writeString(Files.createTempFile("fulgurite", ".so"), "no library\n").toString, " on ")

/** An executor whose disk takes no more: files of its process may not grow beyond a limit. */
final class FullDiskSuite extends AnyFunSuite with Misuse {
  override def master: String = "local-cluster[1,1,1024]"

  test("a disk that has no room for a shuffle is an error that says so, and the context goes on") {
    def executors = spark.sparkContext.parallelize(Seq(1), 1).map(_ => ProcessHandle.current.pid).collect().toSeq
    def limit(bytes: String): Unit = executors.foreach { process =>
      val command = new ProcessBuilder("prlimit", "--pid", process.toString, s"--fsize=$bytes:unlimited").inheritIO().start()
      assert(command.waitFor() == 0, "prlimit failed")
    }
    def X = Faults.frame(spark, Faults.cells(2000, 200), 2)((_, rows) => rows)
    limit("200000")
    val found = failure("backend", X, "Y = t(X) + 1\nwrite(Y, $out, format=\"csv\")")
    assert(found.getMessage.contains("File too large"), found.getMessage)
    limit("unlimited")
    assert(distributed(ml.execute(ScriptFactory.dml("Y = t(X) + 1\ns = sum(Y) - sum(X)").in("X", X).out("s"))).getDouble("s") - 400000 < 1e-6)
  }
}
