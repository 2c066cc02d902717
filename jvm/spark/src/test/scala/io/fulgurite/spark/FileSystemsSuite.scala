package io.fulgurite.spark

import java.nio.file.{Files, Path}
import java.util.concurrent.{CountDownLatch, Executors, TimeUnit}
import java.util.concurrent.atomic.AtomicBoolean

import io.fulgurite.{Failures, SparkSessions}
import io.fulgurite.core.FulguriteException
import io.fulgurite.mlcontext.{MLResults, ScriptFactory}
import io.fulgurite.spark.primitives.{FileSink, Session}
import org.scalatest.funsuite.AnyFunSuite

/** Scripts that name files of Hadoop's file systems. */
final class FileSystemsSuite extends AnyFunSuite with SparkSessions {
  private lazy val scratch = Files.createTempDirectory("fulgurite-scratch")

  override def configuration: Map[String, String] =
    Map("spark.hadoop.fs.mock.impl" -> classOf[MockFileSystem].getName, "spark.local.dir" -> scratch.toString)

  private val budgets = Seq("4k", "1g")
  private def folder(): Path = Files.createTempDirectory("fulgurite-uris")
  private def uri(path: Path): String = s"mock://$path"

  private def run(text: String, budget: String, outputs: String*)(arguments: (String, String)*): MLResults = {
    ml.setConfigProperty("fulgurite.memory.local", budget)
    val script = arguments.foldLeft(ScriptFactory.dml(text)) { case (script, (name, value)) => script.in(name, value) }
    try ml.execute(script.out(outputs: _*))
    finally {
      ml.resetConfig()
      assert(!scratch.toFile.list.exists(_.startsWith("fulgurite-transfer")), "a copy was left behind")
    }
  }

  private def figures(path: String, budget: String): (Seq[Double], Boolean) = {
    val text = "Y = read($Y)\ns = sum(Y)\nw = sum(Y * seq(1, nrow(Y)))\nn = nrow(Y)\nm = ncol(Y)"
    val results = run(text, budget, "s", "w", "n", "m")("$Y" -> path)
    (Seq("s", "w", "n", "m").map(results.getDouble), results.report.partitionsRead.nonEmpty)
  }

  for (format <- Seq("csv", "text", "mm", "libsvm", "binary", "parquet"); writing <- budgets) {
    test(s"$format goes to and comes from a file system of Hadoop's, written with $writing") {
      val at = folder()
      val text = s"X = (rand(rows=2000, cols=3, min=1, max=1, seed=1) * seq(1, 2000)) %% 7\nwrite(X * 0.5, $$Y, format='$format')"
      val created = MockFileSystem.created.get
      for (path <- Seq(uri(at.resolve("x")), at.resolve("plain").toString)) run(text, writing)("$Y" -> path)
      assert(MockFileSystem.created.get > created)
      assert(Files.isDirectory(at.resolve("x")) == (writing == "4k" || format == "parquet"))
      val names = Seq("x", "plain") ++ (if (format == "mm") Seq.empty else Seq("x.mtd", "plain.mtd"))
      assert(at.toFile.list.toSet == names.toSet)
      for (reading <- budgets) {
        val opened = MockFileSystem.opened.get
        val (found, byWorkers) = figures(uri(at.resolve("x")), reading)
        assert(MockFileSystem.opened.get > opened && byWorkers == (reading == "4k" || format == "parquet"))
        assert(found == figures(at.resolve("plain").toString, reading)._1 && found(2) == 2000 && found(3) == 3)
      }
      // What is there is replaced: a file or a folder by a file, by a folder, and by a file.
      for ((rows, budget) <- Seq(6 -> "1g", 2000 -> "4k", 6 -> "1g")) {
        run(s"write(matrix(1, $rows, 2), $$X, format='csv')", budget)("$X" -> uri(at.resolve("x")))
        assert(figures(uri(at.resolve("x")), "1g")._1 == Seq(2.0 * rows, rows * (rows + 1.0), rows, 2))
      }
    }
  }

  test("Parquet comes from a file system of Hadoop's, whether it fits the driver or not") {
    val path = uri(folder().resolve("x.parquet"))
    spark.range(0, 3000, 1, 2).selectExpr("id as n", "id % 5 as m").write.parquet(path)
    for (budget <- budgets) {
      val results = run("X = read($X, format='parquet')\ns = sum(X[, 1])\nm = sum(X[, 2])", budget, "s", "m")("$X" -> path)
      assert(results.getDouble("s") == 2999 * 1500 && results.getDouble("m") == 6000)
    }
  }

  test("scalars keep their types") {
    val at = folder()
    val names = Seq("d", "b", "s").map(name => s"$$$name" -> uri(at.resolve(name)))
    run("write(7.5, $d)\nwrite(1 < 2, $b)\nwrite('a b', $s)", "1g")(names: _*)
    val read = s"x = read('${uri(at.resolve("d"))}') + 1\nb = !read('${uri(at.resolve("b"))}')\ns = read('${uri(at.resolve("s"))}') + '!'"
    val results = run(read, "1g", "x", "b", "s")()
    assert(results.getDouble("x") == 8.5 && !results.getBoolean("b") && results.getString("s") == "a b!")
  }

  test("sizes of files are known before they are read") {
    val at = folder().resolve("x")
    run("write(matrix(1, 30, 20), $X, format='csv')", "1g")("$X" -> uri(at))
    val explained = ml.explain(ScriptFactory.dml(s"X = read('${uri(at)}')\nprint(sum(X))"))
    assert(explained.contains("[30 x 20, nnz 600]"), explained)
  }

  private def failing(text: String, budget: String, path: String): FulguriteException = {
    val failure = Failures.of("io")(run(s"x = 1\n$text", budget)("$X" -> path))
    assert(failure.line == 2 && failure.getMessage.contains(path) && failure.getMessage.contains("= help: "), failure.getMessage)
    failure
  }

  private val read = "X = read($X, format='csv')\nprint(sum(X))"
  private val write = "write(rand(rows=2000, cols=3, seed=1), $X, format='csv')"

  for ((what, path, statement, reason) <- Seq(
      ("a missing file", "mock:///no/such/file", read, "is not there"),
      ("a scheme that nobody knows", "nosuch://host/x", read, "Spark knows no file system for 'nosuch'"),
      ("a scheme that nobody knows, to write", "nosuch://host/x", write, "Spark knows no file system for 'nosuch'"),
      ("a host that is not there", "hdfs://no-such-host.invalid:8020/x", read, "no host is called"),
      ("a host that is not there, to write", "hdfs://no-such-host.invalid:8020/x", write, "no host is called"))) {
    test(s"$what is an error that names the path and the place in the script") {
      for (budget <- budgets) {
        val failure = failing(statement, budget, path)
        assert(failure.getMessage.contains(reason), failure.getMessage)
      }
    }
  }

  test("a file that may not be read is an error that says so") {
    val path = folder().resolve(MockFileSystem.Forbidden)
    Files.writeString(path, "1,2\n" * 5000)
    Files.writeString(path.resolveSibling(s"${MockFileSystem.Forbidden}.mtd"), """{"format": "csv", "rows": 5000, "cols": 2}""")
    for (budget <- budgets) {
      val failure = failing("X = read($X)\nprint(sum(X))", budget, uri(path))
      assert(failure.getMessage.contains("no permission: Permission denied"), failure.getMessage)
    }
  }

  test("what is wrong in a file is told by its name") {
    val path = folder().resolve("x.csv")
    Files.writeString(path, "1,2\n" * 1000 + "3,x\n")
    for (budget <- budgets) {
      val failure = Failures.of("data")(run(read, budget)("$X" -> uri(path)))
      assert(failure.getMessage.contains(uri(path)) && failure.getMessage.contains("1001"), failure.getMessage)
    }
  }

  test("a write that fails leaves what was there") {
    val path = folder().resolve("x")
    run("write(matrix(3, 2, 2), $X, format='csv')", "1g")("$X" -> uri(path))
    for (budget <- budgets) {
      MockFileSystem.full.set(true)
      try {
        val failure = failing(write, budget, uri(path))
        assert(failure.getMessage.contains("the disk quota is exceeded"), failure.getMessage)
      } finally MockFileSystem.full.set(false)
      assert(path.getParent.toFile.list.toSet == Set("x", "x.mtd"))
      assert(figures(uri(path), "1g")._1 == Seq(12, 18, 2, 2))
    }
  }

  test("a writer that has named its file names its metadata before another one does") {
    val (path, session) = (folder().resolve("x"), new Session(spark))
    val (isFirst, otherIsDone) = (new AtomicBoolean(true), new CountDownLatch(1))
    MockFileSystem.renamed.set { to =>
      if (to.getName == "x" && isFirst.getAndSet(false)) otherIsDone.await(500, TimeUnit.MILLISECONDS)
      else if (to.getName == "x.mtd") otherIsDone.countDown()
    }
    val threads = Executors.newFixedThreadPool(2)
    try {
      val writers = for (name <- Seq("one", "two")) yield threads.submit[Unit](() =>
        FileSink.replace(session, uri(path), Some(name)) { (files, temporary) =>
          val out = files.create(temporary)
          try out.writeBytes(name)
          finally out.close()
        })
      writers.foreach(_.get)
    } finally {
      threads.shutdown()
      MockFileSystem.renamed.set(_ => ())
    }
    assert(Files.readString(path) == Files.readString(path.resolveSibling("x.mtd")))
    assert(path.getParent.toFile.list.toSet == Set("x", "x.mtd"))
  }

  test("a folder with folders in it is not replaced") {
    val path = folder()
    Files.createDirectory(path.resolve("precious"))
    for (budget <- budgets; target <- Seq(uri(path), "mock:///")) {
      val failure = failing(write, budget, target)
      assert(failure.getMessage.contains("is a folder with folders in it"), failure.getMessage)
    }
    assert(path.toFile.list.toSeq == Seq("precious"))
  }

  test("paths without a scheme are files of Hadoop's default file system") {
    val path = folder().resolve("x").toString
    val hadoop = spark.sparkContext.hadoopConfiguration
    val before = hadoop.get("fs.defaultFS")
    hadoop.set("fs.defaultFS", MockFileSystem.Uri.toString)
    try for (budget <- budgets) {
        val (opened, created) = (MockFileSystem.opened.get, MockFileSystem.created.get)
        run("write(matrix(1, 2000, 3), $X, format='csv')", budget)("$X" -> path)
        assert(figures(path, budget)._1.head == 6000)
        assert(MockFileSystem.opened.get > opened && MockFileSystem.created.get > created)
        val here = MockFileSystem.opened.get
        assert(figures(s"file://$path", budget)._1.head == 6000 && MockFileSystem.opened.get == here)
      }
    finally hadoop.set("fs.defaultFS", before)
  }

  test("file: names files of this machine, with one slash or three") {
    for (budget <- budgets; prefix <- Seq("file:", "file://")) {
      val path = folder().resolve("x")
      run("write(matrix(1, 2000, 3), $X, format='csv')", budget)("$X" -> s"$prefix$path")
      for (reading <- budgets) assert(figures(s"$prefix$path", reading)._1.head == 6000 && figures(path.toString, reading)._1.head == 6000)
    }
  }
}
