package io.fulgurite.spark

import java.nio.file.{Files, Path}

import io.fulgurite.{Failures, SparkSessions}
import io.fulgurite.mlcontext.{ScriptFactory, Settings}
import io.fulgurite.spark.dataset.Dataset
import io.fulgurite.spark.frames.FrameSource
import io.fulgurite.spark.primitives._
import io.fulgurite.spark.text.{CsvFormat, CsvSource, LibsvmSource}
import org.apache.spark.ml.linalg.Vectors
import org.scalatest.funsuite.AnyFunSuite

/** Files that workers read and write. */
final class FilesSuite extends AnyFunSuite with SparkSessions {
  private lazy val session = new Session(spark)

  private def folder(): Path = Files.createTempDirectory("fulgurite-files")
  private def file(text: String): String = Files.writeString(folder().resolve("file"), text).toString
  private def cells(dataset: Dataset): Seq[Seq[Double]] = {
    val found = Transfer.collect(dataset).read(_.flatMap(view => (0 until view.rows).map(view.denseRow(_).toSeq)))
    dataset.release()
    found
  }
  private def libsvm(path: String, columns: Option[Long] = None): Dataset = session.named("libsvm")(LibsvmSource.read(session, path, columns))

  test("the label of a libsvm file is the last column, and lines keep their order") {
    val text = "# comment\n-1 1:0.5 3:2 # another\n\n+1\n0 2:1e1 4:0\r\n"
    val expected = Seq(Seq(0.5, 0, 2, 0, -1), Seq(0.0, 0, 0, 0, 1), Seq(0.0, 10, 0, 0, 0))
    assert(cells(libsvm(file(text))) == expected && cells(libsvm(file(text), Some(5))) == expected)
    assert(cells(libsvm(file("1 1:2\n"), Some(4))) == Seq(Seq(2, 0, 0, 1)))
    val long = libsvm(file((1 to 5000).map(row => s"$row ${row % 9 + 1}:1\n").mkString))
    assert(cells(long).map(_.last) == (1 to 5000).map(_.toDouble))
  }

  for ((line, columns, reason) <- Seq[(String, Option[Long], String)](
      ("x 1:2", None, "the label 'x' is not a number"), ("1 1:", None, "'1:' is not 'index:value'"),
      ("1 0:1", None, "the index 0 is less than 1"), ("1 2:1 2:1", None, "the index 2 comes after 2"), ("1 4:0", Some(4L), "the index 4 is beyond the 3 features"))) {
    test(s"'$line' in a libsvm file is an error that names the line") {
      val failure = Failures.of("data")(libsvm(file(s"1 1:1\n\n$line\n"), columns))
      assert(failure.getMessage.contains("bad line 3 of '") && failure.getMessage.contains(reason), failure.getMessage)
      assert(spark.sparkContext.getPersistentRDDs.isEmpty)
    }
  }

  test("part files are read in the order of their names, whatever their sizes") {
    val parts = folder()
    for ((name, rows) <- Seq("part-2" -> (31 to 1000), "part-0" -> (1 to 5), "part-1" -> (6 to 30), "_SUCCESS" -> (0 until 0), ".hidden" -> (0 until 1))) {
      Files.writeString(parts.resolve(name), rows.map(row => s"$row,1\n").mkString)
    }
    assert(cells(CsvSource.read(session, parts.toString, CsvFormat(",", header = false, None))).map(_.head) == (1 to 1000).map(_.toDouble))
  }

  test("Parquet files are read in the order of their names and rows") {
    import spark.implicits._
    val parts = folder()
    for ((name, rows) <- Seq("a" -> (1 to 5), "c" -> (31 to 2000), "b" -> (6 to 30))) {
      rows.map(row => (row, row * 0.5)).toDF("n", "half").coalesce(1).write.parquet(parts.resolve(s"$name.dir").toString)
      val written = parts.resolve(s"$name.dir").toFile.listFiles.filter(_.getName.endsWith(".parquet")).head
      Files.move(written.toPath, parts.resolve(s"$name.parquet"))
      parts.resolve(s"$name.dir").toFile.listFiles.foreach(_.delete())
      Files.delete(parts.resolve(s"$name.dir"))
    }
    assert(cells(FrameSource.parquet(session, parts.toString)) == (1 to 2000).map(row => Seq(row.toDouble, row * 0.5)))
    assert(cells(FrameSource.parquet(session, parts.resolve("b.parquet").toString)).size == 25)
    Failures.of("io")(FrameSource.parquet(session, parts.resolve("nothing").toString))
  }

  test("Parquet columns of vectors are rows, and nulls are errors that name row and column") {
    import spark.implicits._
    val path = folder().resolve("v").toString
    Seq(Tuple1(Vectors.dense(1, 2)), Tuple1(Vectors.sparse(2, Seq(1 -> 3.0)))).toDF("features").coalesce(1).write.parquet(path)
    assert(cells(FrameSource.parquet(session, path)) == Seq(Seq(1, 2), Seq(0, 3)))
    val nulls = folder().resolve("n").toString
    Seq(Some(1.0), None).toDF("x").coalesce(1).write.parquet(nulls)
    assert(Failures.of("data")(FrameSource.parquet(session, nulls)).getMessage.contains("row 2: column 'x' holds a null"))
    val settings = new Settings(spark.sparkContext.getConf)
    settings.set(Settings.Fill, "5")
    val filling = new Session(spark, settings)
    assert(cells(FrameSource.parquet(filling, nulls)) == Seq(Seq(1), Seq(5)))
  }

  for (format <- Seq("text", "mm", "libsvm", "csv", "parquet")) {
    test(s"what workers write as $format is read again by workers and by the driver") {
      val target = folder().resolve("out")
      val source = folder().resolve("X.csv").toString
      Files.writeString(Path.of(source), (0 until 2000).map(row => s"${row % 7},0,${if (row % 3 == 0) 1.5 else 0}\n").mkString)
      ml.setConfigProperty("fulgurite.memory.local", "4k")
      try {
        val write = ScriptFactory.dml("X = read($X, format='csv')\nwrite(X * 2, $Y, format=$format)\ns = sum(X * seq(1, nrow(X)))")
        val expected = ml.execute(write.in("$X", source).in("$Y", target.toString).in("$format", format).out("s")).getDouble("s") * 2
        assert(target.getParent.toFile.list.toSet == (if (format == "mm") Set("out") else Set("out", "out.mtd")))
        for (budget <- Seq("4k", "1g")) {
          ml.setConfigProperty("fulgurite.memory.local", budget)
          val read = ScriptFactory.dml("Y = read($Y)\ns = sum(Y * seq(1, nrow(Y)))\nn = nrow(Y)\nm = ncol(Y)").in("$Y", target.toString).out("s", "n", "m")
          val results = ml.execute(read)
          assert(results.getDouble("s") == expected && results.getLong("n") == 2000 && results.getLong("m") == 3)
          assert(results.report.partitionsRead.nonEmpty == (budget == "4k" || format == "parquet"), results.report.toString)
        }
      } finally ml.resetConfig()
    }
  }

  test("scripts read Parquet whether it fits the driver or not") {
    val path = folder().resolve("x.parquet").toString
    spark.range(0, 3000, 1, 2).selectExpr("id as n", "id % 5 as m").write.parquet(path)
    val script = ScriptFactory.dml("X = read($X, format='parquet')\ns = sum(X[, 1])\nm = sum(X[, 2])").in("$X", path).out("s", "m")
    for (budget <- Seq("4k", "1g")) {
      ml.setConfigProperty("fulgurite.memory.local", budget)
      try {
        val results = ml.execute(script)
        assert(results.getDouble("s") == 2999 * 1500 && results.getDouble("m") == 6000)
      } finally ml.resetConfig()
    }
  }

  test("empty cells and texts of a csv file mean on workers what they mean on the driver") {
    val path = folder().resolve("X.csv")
    Files.writeString(path, "1,NA\n,2\n" * 500)
    def sums(budget: String): Seq[Double] = {
      ml.setConfigProperty("fulgurite.memory.local", budget)
      val text = "X = replace(target=read($X), pattern=NaN, replacement=100)\na = sum(X[, 1])\nb = sum(X[, 2])"
      try {
        val results = ml.execute(ScriptFactory.dml(text).in("$X", path.toString).out("a", "b"))
        Seq(results.getDouble("a"), results.getDouble("b"))
      } finally ml.resetConfig()
    }
    Files.writeString(path.resolveSibling("X.csv.mtd"), """{"format": "csv", "default": 7, "na.strings": ["NA"]}""")
    for (budget <- Seq("2k", "1g")) assert(sums(budget) == Seq(4000, 51000))
    Files.writeString(path.resolveSibling("X.csv.mtd"), """{"format": "csv", "fill": false, "na.strings": ["NA"]}""")
    for (budget <- Seq("2k", "1g")) assert(Failures.of("data")(sums(budget)).getMessage.contains("column 1"))
  }
}
