package io.fulgurite.spark

import io.fulgurite.{Failures, SparkSessions}
import io.fulgurite.spark.dataset.Dataset
import io.fulgurite.spark.frames.FrameSource
import io.fulgurite.spark.primitives.{Session, Transfer}
import org.apache.spark.ml.linalg.Vectors
import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.sql.functions.{col, expr}
import org.apache.spark.sql.types._
import org.scalatest.funsuite.AnyFunSuite

/** DataFrames as datasets. */
final class FrameSourceSuite extends AnyFunSuite with SparkSessions {
  private def read(frame: DataFrame, fill: Option[Double] = None): Dataset = FrameSource.read(new Session(spark), "X", frame, fill)
  private def cells(dataset: Dataset): Seq[Seq[Double]] =
    Transfer.collect(dataset).read(_.flatMap(view => (0 until view.rows).map(view.denseRow(_).toSeq)))
  private def isSparse(dataset: Dataset): Boolean = dataset.stripes.map(_.read(_.forall(!_.isDense))).collect().forall(identity)

  test("all number types become cells, in the order of rows") {
    val frame = spark.range(0, 10, 1, 3).select(
      col("id").cast("double"), col("id").cast("float").as("f"), col("id").cast("int").as("i"), col("id").cast("short").as("s"),
      col("id").cast("byte").as("b"), col("id").cast("decimal(10,2)").as("d"), (col("id") % 2 === 0).as("even"))
    val dataset = read(frame)
    assert(cells(dataset) == (0 until 10).map(id => Seq.fill(6)(id.toDouble) :+ (if (id % 2 == 0) 1.0 else 0.0)))
    val found = dataset.characteristics
    assert((found.rows, found.cols, found.nnz) == ((10L, 7L, 59L)))
  }

  test("dense and sparse vectors become rows, sparse ones stay sparse") {
    import spark.implicits._
    val dense = Seq(Tuple1(Vectors.dense(1, 0, 2)), Tuple1(Vectors.dense(0, 0, 3))).toDF("features")
    val sparse = Seq(Tuple1(Vectors.sparse(3, Seq(0 -> 1.0, 2 -> 2.0))), Tuple1(Vectors.sparse(3, Seq(2 -> 3.0)))).toDF("features")
    val mixed = Seq(Tuple1(Vectors.sparse(3, Seq(0 -> 1.0, 2 -> 2.0))), Tuple1(Vectors.dense(0, 0, 3))).toDF("features").coalesce(1)
    for (frame <- Seq(dense, sparse, mixed)) assert(cells(read(frame)) == Seq(Seq(1, 0, 2), Seq(0, 0, 3)))
    assert(isSparse(read(sparse)) && !isSparse(read(dense)))
  }

  test("rows of batches of columns, which files and cached frames have, are read in place") {
    import spark.implicits._
    // More rows than a batch has.
    val rows = 1 to 10000
    val dense = rows.map(id => (id.toDouble, Vectors.dense(id, -id, 0.5)))
    val sparse = rows.map(id => (id.toDouble, Vectors.sparse(300, Array(id % 300), Array(if (id % 7 == 0) 0.0 else id))))
    val mixed = rows.map(id => (id.toDouble, if (id % 3 == 0) Vectors.dense(id, 0, 1) else Vectors.sparse(3, Array(1), Array(id))))
    val folder = java.nio.file.Files.createTempDirectory("fulgurite-columns")
    for ((vectors, name) <- Seq(dense -> "dense", sparse -> "sparse", mixed -> "mixed")) {
      val (expected, path) = (vectors.map(_._2.toArray.toSeq), folder.resolve(name).toString)
      vectors.toDF("__INDEX", "features").repartition(3).write.parquet(path)
      val file = spark.read.parquet(path)
      assert(file.queryExecution.executedPlan.exists(_.isInstanceOf[org.apache.spark.sql.execution.ColumnarToRowExec]))
      assert(cells(read(file)) == expected, name)
      assert(cells(read(file.select("features"))).toSet == expected.toSet, name)
    }
    assert(isSparse(read(spark.read.parquet(folder.resolve("sparse").toString))))
    val numbers = rows.map(id => (id, id * 0.5, if (id == 9000) None else Some(id.toFloat))).toDF("a", "b", "c").coalesce(1).cache()
    for (frame <- Seq(numbers.select("a", "b"), numbers.select("b"), { numbers.write.parquet(folder.resolve("n").toString); spark.read.parquet(folder.resolve("n").toString).select("b") })) {
      val columns = frame.columns.map(name => if (name == "a") (id: Int) => id.toDouble else (id: Int) => id * 0.5)
      assert(cells(read(frame)) == rows.map(id => columns.map(_(id)).toSeq))
    }
    assert(Failures.of("data")(read(numbers.select("c"))).getMessage.contains("row 9000: column 'c' holds a null"))
    numbers.unpersist()
  }

  test("vectors of different length are an error") {
    import spark.implicits._
    val frame = Seq(Tuple1(Vectors.dense(1, 2)), Tuple1(Vectors.dense(1, 2, 3))).toDF("features").coalesce(1)
    assert(Failures.of("data")(read(frame)).getMessage.contains("'features' holds vectors of 2 and of 3 elements"))
    // In partitions of their own, with numbers and without.
    val apart = spark.createDataFrame(spark.sparkContext.parallelize(Seq(1 -> Vectors.dense(1, 2), 2 -> Vectors.dense(1, 2, 3)), 2)).toDF("__INDEX", "features")
    for (frame <- Seq(apart, apart.drop("__INDEX"))) {
      assert(Failures.of("data")(read(frame)).getMessage.contains("row 2: column 'features' holds vectors of 2 and of 3 elements"))
    }
  }

  test("a vector that is null is an error") {
    import spark.implicits._
    val frame = Seq(Some(Vectors.dense(1, 2)), None).toDF("features").coalesce(1)
    assert(Failures.of("data")(read(frame)).getMessage.contains("row 2: column 'features' holds a null"))
  }

  test("__INDEX orders rows wherever it stands and however they come") {
    val shuffled = spark.range(1, 1001).repartition(5, expr("hash(id)"))
      .select((col("id") * 2).as("a"), col("id").as("__INDEX"), (col("id") * 3).as("b"))
    val expected = (1 to 1000).map(id => Seq(id * 2.0, id * 3.0))
    assert(cells(read(shuffled)) == expected)
    assert(cells(read(shuffled.orderBy("__INDEX"))) == expected)
  }

  test("__INDEX orders sparse vectors, which stay sparse") {
    import spark.implicits._
    val frame = (1 to 200).reverse.map(id => (id.toDouble, Vectors.sparse(50, Seq(id % 50 -> id.toDouble)))).toDF("__INDEX", "features").repartition(4)
    val dataset = read(frame)
    assert(cells(dataset) == (1 to 200).map(id => Seq.tabulate(50)(col => if (col == id % 50) id.toDouble else 0.0)))
    assert(isSparse(dataset))
  }

  for ((what, numbers, reason) <- Seq(
      ("begins at 0", Seq(0, 1, 2), "holds 0"), ("has a gap", Seq(1, 2, 4), "holds 4, but there are 3 rows"), ("repeats", Seq(1, 1, 3), "occurs twice"))) {
    test(s"an __INDEX that $what is an error") {
      import spark.implicits._
      val frame = numbers.map(number => (number, 1.0)).toDF("__INDEX", "x").coalesce(1)
      assert(Failures.of("data")(read(frame)).getMessage.contains(reason))
    }
  }

  test("a null is an error that names its column, unless a fill is asked for") {
    val schema = StructType(Seq(StructField("a", DoubleType), StructField("b b", DoubleType)))
    val frame = spark.createDataFrame(spark.sparkContext.parallelize(Seq(Row(1.0, 2.0), Row(3.0, null)), 2), schema)
    assert(Failures.of("data")(read(frame)).getMessage.contains("row 2: column 'b b' holds a null"))
    assert(cells(read(frame, fill = Some(-1))) == Seq(Seq(1, 2), Seq(3, -1)))
  }

  test("columns that are no numbers are errors that name column and type") {
    for ((column, kind) <- Seq("cast(id as string)" -> "string", "current_date()" -> "date", "array(id)" -> "array", "null" -> "void")) {
      val failure = Failures.of("data")(read(spark.range(3).select(col("id"), expr(column).as("odd"))))
      assert(failure.getMessage.contains(s"column 'odd' is of type $kind"), failure.getMessage)
    }
  }

  test("NaN is a number") {
    assert(cells(read(spark.range(1).select(expr("double('NaN')").as("x")))).head.head.isNaN)
  }

  test("the frame is computed once") {
    val scans = spark.sparkContext.longAccumulator
    val schema = StructType(Seq(StructField("__INDEX", LongType), StructField("x", DoubleType)))
    val rows = spark.sparkContext.parallelize(1L to 100L, 4).map { id => scans.add(1); Row(101 - id, id.toDouble) }
    val dataset = read(spark.createDataFrame(rows, schema))
    for (_ <- 1 to 3) assert(cells(dataset).map(_.head) == (1 to 100).map(101.0 - _))
    assert(scans.value == 100)
  }
}
