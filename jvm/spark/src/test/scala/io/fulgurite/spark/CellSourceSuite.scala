package io.fulgurite.spark

import java.nio.file.Files

import io.fulgurite.{Failures, SparkSessions}
import io.fulgurite.spark.cells.{CellFrames, CellLines}
import io.fulgurite.spark.dataset.Dataset
import io.fulgurite.spark.primitives.{Session, Transfer}
import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.sql.types._
import org.scalatest.funsuite.AnyFunSuite

/** Cells in any order as datasets: DataFrames of row, column and value, lines, MatrixMarket files. */
final class CellSourceSuite extends AnyFunSuite with SparkSessions {
  private lazy val session = new Session(spark)

  private def ofFrame(frame: DataFrame, rows: Option[Long] = None, cols: Option[Long] = None, fill: Option[Double] = None): Dataset =
    CellFrames.read(session, "X", frame, rows, cols, fill)
  private def ofLines(lines: Seq[String], rows: Option[Long] = None, cols: Option[Long] = None): Dataset =
    session.named("lines")(CellLines.lines(session, spark.sparkContext.parallelize(lines, 3), "X", rows, cols))
  private def ofFile(text: String): Dataset = {
    val file = Files.writeString(Files.createTempFile("fulgurite", ".mtx"), text)
    session.named("file")(CellLines.matrixMarket(session, file.toString))
  }
  private def cells(dataset: Dataset): Seq[Seq[Double]] = {
    assert(Dataset.count(dataset.stripes) == dataset.characteristics)
    assert(dataset.stripes.map(_.read(_.forall(!_.isDense))).collect().forall(identity))
    val found = Transfer.collect(dataset).read(_.flatMap(view => (0 until view.rows).map(view.denseRow(_).toSeq)))
    dataset.release()
    found
  }
  private def frame(cells: (Any, Any, Any)*): DataFrame = {
    val schema = StructType(Seq(StructField("i", LongType), StructField("j", LongType), StructField("v", DoubleType)))
    spark.createDataFrame(spark.sparkContext.parallelize(cells.map(cell => Row(cell._1, cell._2, cell._3)), 3), schema)
  }
  private def expected(rows: Int, cols: Int)(at: ((Int, Int), Double)*): Seq[Seq[Double]] =
    Seq.tabulate(rows, cols)((row, col) => at.toMap.getOrElse((row + 1, col + 1), 0.0))

  test("a DataFrame of cells is a matrix, whatever the order; what is missing is 0") {
    val shuffled = frame((3L, 2L, 7.0), (1L, 4L, 5.0), (3L, 1L, -1.0), (1L, 1L, 0.0))
    val at = Seq((3, 2) -> 7.0, (1, 4) -> 5.0, (3, 1) -> -1.0)
    assert(cells(ofFrame(shuffled)) == expected(3, 4)(at: _*))
    assert(cells(ofFrame(shuffled, rows = Some(5))) == expected(5, 4)(at: _*))
    assert(cells(ofFrame(shuffled, rows = Some(5), cols = Some(6))) == expected(5, 6)(at: _*))
    assert(ofFrame(shuffled, rows = Some(5), cols = Some(6)).characteristics.nnz == 3)
    assert(spark.sparkContext.getPersistentRDDs.size == 1)
    spark.sparkContext.getPersistentRDDs.values.foreach(_.unpersist(blocking = true))
  }

  test("any types of numbers and names go, and values that are null can be filled") {
    val odd = frame((2L, 1L, null), (1L, 2L, 4.0)).selectExpr("cast(i as double) as a", "cast(j as short) as a", "cast(v as float) as `v v`")
    assert(cells(ofFrame(odd, fill = Some(9))) == expected(2, 2)((2, 1) -> 9.0, (1, 2) -> 4.0))
    assert(Failures.of("data")(ofFrame(odd)).getMessage.contains("the value of cell (2, 1), in column 'v v', is null"))
  }

  test("many cells fall into many stripes, in the order of rows") {
    val (rows, cols) = (5000, 30000)
    val each = spark.range(0, 30000, 1, 5).selectExpr(s"id * 7919 % $rows + 1", s"id * 104729 % $cols + 1", "id + 1.0")
    val dataset = ofFrame(each, rows = Some(rows.toLong), cols = Some(cols.toLong))
    val layout = dataset.layout.flatten
    assert(layout.size > 4 && layout.map(_.rows).sum == rows && layout.map(_.rowOffset) == layout.map(_.rows).scanLeft(0L)(_ + _).init)
    val found = Transfer.collect(dataset).read(_.flatMap { view =>
      (0 until view.rows).flatMap { row =>
        val cells = Seq.newBuilder[(Int, Int, Double)]
        view.foreachStored(row)((col, value) => cells += ((row, col, value)))
        cells.result()
      }
    })
    assert(found == (0 until 30000).map(id => ((id * 7919L % rows).toInt, (id * 104729L % cols).toInt, id + 1.0)).sortBy(cell => (cell._1, cell._2)))
    dataset.release()
  }

  test("a matrix without cells has the size that is said") {
    assert(cells(ofFrame(frame(), rows = Some(7), cols = Some(2))) == expected(7, 2)())
    assert(Failures.of("data")(ofFrame(frame(), rows = Some(7))).getMessage.contains("nothing says how large it is"))
  }

  for ((what, cell, reason) <- Seq[(String, (Any, Any, Any), String)](
      ("a row of 0", (0L, 1L, 1.0), "the row 0 is less than 1"), ("a negative column", (1L, -2L, 1.0), "the column -2 is less than 1"),
      ("a row beyond the size", (4L, 1L, 1.0), "cell (4, 1) is outside the 3 x 3 matrix"),
      ("a column beyond the size", (1L, 4L, 1.0), "cell (1, 4) is outside the 3 x 3 matrix"),
      ("no row", (null, 1L, 1.0), "column 'i' holds a null"), ("no column", (1L, null, 1.0), "column 'j' holds a null"),
      ("the same place as another", (2L, 3L, 0.0), "cell (2, 3) of 'X' stands twice"))) {
    test(s"a cell with $what is an error that names the place") {
      val failure = Failures.of("data")(ofFrame(frame((2L, 3L, 1.0), cell), rows = Some(3), cols = Some(3)))
      assert(failure.getMessage.contains(reason), failure.getMessage)
      assert(spark.sparkContext.getPersistentRDDs.isEmpty)
    }
  }

  test("cells with a row that is no whole number, and frames of other columns, are errors") {
    val half = frame((1L, 1L, 1.0)).selectExpr("i + 0.5 as i", "j", "v")
    assert(Failures.of("data")(ofFrame(half)).getMessage.contains("column 'i' holds 1.5"))
    assert(Failures.of("data")(ofFrame(half.drop("v"))).getMessage.contains("has 2 columns, cells have three: i, j"))
    assert(Failures.of("data")(ofFrame(half.selectExpr("i", "j", "'x' as word"))).getMessage.contains("column 'word' is of type string"))
  }

  test("lines of cells are a matrix, also with comments, blank lines and the placeholder of an empty one") {
    assert(cells(ofLines(Seq("2 1 5.5", "% note", "", " 1\t3  -1e2 "))) == expected(2, 3)((2, 1) -> 5.5, (1, 3) -> -100.0))
    assert(cells(ofLines(Seq("0 0 0"), Some(2), Some(2))) == expected(2, 2)())
  }

  for ((line, reason) <- Seq(
      "1 2" -> "'1 2' is not 'row column value'", "1 2 x" -> "'1 2 x' is not 'row column value'", "1 2 3 4" -> "'1 2 3 4' is not 'row column value'",
      "1.5 2 3" -> "'1.5 2 3' is not 'row column value'", "0 2 3" -> "cell (0, 2) is outside the 3 x 3 matrix", "1 9 3" -> "cell (1, 9) is outside the 3 x 3 matrix",
      "1 99999999999 1" -> "cell (1, 99999999999) is outside")) {
    test(s"'$line' among lines of cells is an error that shows the line") {
      val failure = Failures.of("data")(ofLines(Seq("1 1 1", "", "2 2 2", line), Some(3), Some(3)))
      assert(failure.getMessage.contains(s"bad line 4 of 'X': $reason") && failure.getMessage.contains(line), failure.getMessage)
    }
  }

  test("lines of the same cell are an error that names both") {
    val failure = Failures.of("data")(ofLines(Seq("1 1 1", "2 3 2", "3 3 3", "2 3 0")))
    assert(failure.getMessage.contains("line 4 of 'X': cell (2, 3) stands in line 2, too"), failure.getMessage)
  }

  test("MatrixMarket files of every symmetry, with headers longer than a split") {
    val comments = "% a comment that is long enough\n" * 50
    assert(cells(ofFile(s"%%MatrixMarket matrix coordinate real general\n$comments\n3 2 2\n3 1 1.5\n1 2 -2\n")) == expected(3, 2)((3, 1) -> 1.5, (1, 2) -> -2.0))
    assert(cells(ofFile("%%MatrixMarket matrix coordinate pattern symmetric\n2 2 2\n1 1\n2 1\n")) == expected(2, 2)((1, 1) -> 1.0, (2, 1) -> 1.0, (1, 2) -> 1.0))
    assert(cells(ofFile("%%MatrixMarket matrix coordinate integer skew-symmetric\n2 2 1\n2 1 3\n")) == expected(2, 2)((2, 1) -> 3.0, (1, 2) -> -3.0))
  }

  for ((what, kind, text, reason) <- Seq(
      ("no banner", "data", "1 1 1\n", "does not begin with '%%MatrixMarket"),
      ("no size", "data", "%%MatrixMarket matrix coordinate real general\n% only\n", "has no line with its size"),
      ("a bad size", "data", "%%MatrixMarket matrix coordinate real general\n% note\n2 2\n", "line 3: this is not"),
      ("fewer cells than it says", "data", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n", "announces 2 entries and has 1"),
      ("a bad cell", "data", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n3 1 1\n", "bad line 4 of"),
      ("the same cell on both sides", "data", "%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n2 1 1\n1 2 1\n", "line 4 of"),
      ("a diagonal that must be 0", "data", "%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 2 1\n", "on the diagonal"),
      ("three columns for two rows", "data", "%%MatrixMarket matrix coordinate real symmetric\n2 3 1\n2 1 1\n", "a symmetric matrix is square"),
      ("complex numbers", "unsupported", "%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 1\n", "'complex'"),
      ("an array of a pattern", "data", "%%MatrixMarket matrix array pattern general\n1 1\n", "an array has no pattern"),
      ("an array of a bad size", "data", "%%MatrixMarket matrix array real general\n1 1 1\n1\n", "this is not 'rows columns'"),
      ("an array that is too short", "data", "%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n", "announces 4 entries and has 3"),
      ("an array with a word", "data", "%%MatrixMarket matrix array real general\n2 2\n1\n2\nx\n4\n", "bad line 5 of"))) {
    test(s"a MatrixMarket file with $what is an error that says so") {
      val failure = Failures.of(kind)(ofFile(text))
      assert(failure.getMessage.contains(reason) && failure.getMessage.contains(".mtx"), failure.getMessage)
    }
  }

  for ((symmetry, first, across) <- Seq[(String, Int => Int, Double)](("general", _ => 0, 0), ("symmetric", identity, 1), ("skew-symmetric", _ + 1, -1))) {
    test(s"$symmetry arrays of MatrixMarket files are placed by columns") {
      for (n <- Seq(1, 2, 300); zeros <- Seq(1, 9)) {
        val cols = if (symmetry == "general") n + 4 else n
        def value(row: Int, col: Int) = if ((row * 7 + col) % zeros == 0) row + col / 1024.0 + 1 else 0.0
        val values = for (col <- 0 until cols; row <- first(col) until n) yield value(row, col)
        // Lines have one value, or several.
        val lines = values.map(_.toString).grouped(3).zipWithIndex.flatMap { case (three, at) => if (at % 2 == 0) Seq(three.mkString(" ")) else three }
        val dataset = ofFile(s"%%MatrixMarket matrix array real $symmetry\n% note\n$n $cols\n" + lines.map(_ + "\n").mkString)
        val nonZeros = dataset.characteristics.nnz
        val found = Transfer.collect(dataset).read(_.flatMap(view => (0 until view.rows).map(view.denseRow(_).toSeq)))
        dataset.release()
        def cell(row: Int, col: Int) = if (row >= first(col)) value(row, col) else if (col >= first(row)) across * value(col, row) else 0.0
        assert(found == Seq.tabulate(n, cols)(cell) && nonZeros == found.flatten.count(_ != 0))
      }
      assert(spark.sparkContext.getPersistentRDDs.isEmpty)
    }
  }

  test("the source is read once, also where its size is not known") {
    val scans = spark.sparkContext.longAccumulator
    val lines = spark.sparkContext.parallelize(1 to 100, 4).map { row => scans.add(1); s"$row ${row % 7 + 1} $row" }
    val dataset = session.named("lines")(CellLines.lines(session, lines, "X", None, None))
    for (_ <- 1 to 2) assert(Transfer.collect(dataset).nnz == 100)
    assert(scans.value == 100)
    dataset.release()
  }
}
