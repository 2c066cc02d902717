package io.fulgurite.spark

import io.fulgurite.{Failures, SparkSessions}
import io.fulgurite.spark.dataset.Dataset
import io.fulgurite.spark.frames.VectorSource
import io.fulgurite.spark.primitives.{Session, Transfer}
import org.apache.spark.ml.linalg.{Vector, Vectors}
import org.apache.spark.mllib.linalg.{Vectors => OldVectors}
import org.apache.spark.rdd.RDD
import org.scalatest.funsuite.AnyFunSuite

/** RDDs of vectors as datasets. */
final class VectorSourceSuite extends AnyFunSuite with SparkSessions {
  private def rdd[A: scala.reflect.ClassTag](elements: Seq[A], partitions: Int = 3): RDD[A] = spark.sparkContext.parallelize(elements, partitions)
  private def read(elements: RDD[_]): Dataset = VectorSource.read(new Session(spark), "X", elements, elements.first())
  private def cells(dataset: Dataset): Seq[Seq[Double]] = {
    val found = Transfer.collect(dataset).read(_.flatMap(view => (0 until view.rows).map(view.denseRow(_).toSeq)))
    dataset.release()
    found
  }

  private val rows = (1 to 50).map(row => Array(row.toDouble, 0, -row.toDouble))
  private val expected = rows.map(_.toSeq)

  test("vectors of both kinds and arrays are rows in their order") {
    val dense = rows.map(row => Vectors.dense(row))
    val sparse = rows.map(row => Vectors.sparse(3, Array(0, 2), Array(row(0), row(2))))
    val mixed = dense.zip(sparse).zipWithIndex.map { case ((a, b), at) => if (at % 2 == 0) a else b }
    for (vectors <- Seq[RDD[_]](rdd(dense), rdd(sparse), rdd(mixed), rdd(rows), rdd(rows.map(row => OldVectors.dense(row))), rdd(sparse.map(vector => OldVectors.fromML(vector))))) {
      assert(cells(read(vectors)) == expected)
    }
    val dataset = read(rdd(sparse))
    assert(dataset.stripes.map(_.read(_.forall(!_.isDense))).collect().forall(identity))
    dataset.release()
  }

  test("numbers of pairs order the rows") {
    val pairs = rows.map(row => Vectors.dense(row)).zipWithIndex.map { case (vector, at) => (at + 1L, vector) }
    assert(cells(read(rdd(pairs))) == expected)
    assert(cells(read(rdd(pairs.reverse))) == expected)
    assert(cells(read(rdd(pairs.reverse.map { case (number, vector) => (number.toInt, vector) }))) == expected)
  }

  for ((what, elements, reason) <- Seq[(String, Seq[Any], String)](
      ("a null", Seq(Vectors.dense(1, 2), Vectors.dense(3, 4), null, Vectors.dense(5, 6)), "row 3: input 'X' holds a null"),
      ("a longer vector", Seq(Vectors.dense(1, 2), Vectors.dense(3, 4), Vectors.dense(1, 2, 3)), "row 3: input 'X' holds vectors of 2 and of 3 elements"),
      ("a shorter sparse one", Seq(Vectors.dense(1, 2), Vectors.sparse(1, Seq.empty)), "row 2: input 'X' holds vectors of 2 and of 1 elements"),
      ("a word", Seq(Vectors.dense(1, 2), "word"), "row 2: input 'X' holds a java.lang.String among vectors"),
      ("a pair", Seq(Vectors.dense(1, 2), (2L, Vectors.dense(1, 2))), "row 2: input 'X' holds vectors and pairs"))) {
    test(s"$what among vectors is an error that names the row, in one partition or in several") {
      for (partitions <- Seq(1, elements.size)) {
        val failure = Failures.of("data")(read(rdd[Any](elements, partitions)))
        assert(failure.getMessage.contains(reason), failure.getMessage)
        assert(spark.sparkContext.getPersistentRDDs.isEmpty)
      }
    }
  }

  private def vector(value: Double): Vector = Vectors.dense(value, value)

  for ((what, elements, reason) <- Seq[(String, Seq[(Any, Vector)], String)](
      ("begin at 0", Seq(0L -> vector(1), 1L -> vector(2)), "row 1: input 'X' holds the row number 0"),
      ("have a hole", Seq(1L -> vector(1), 3L -> vector(3)), "no numbering of the rows: it holds 3, but there are 2 rows"),
      ("overlap", Seq(2L -> vector(1), 1L -> vector(2), 2L -> vector(3)), "no numbering of the rows: 2 occurs twice"),
      ("are no numbers", Seq(1L -> vector(1), "2" -> vector(2)), "row 2: input 'X' holds the row number 2"),
      ("have no vector", Seq(1L -> vector(1), (2L, null)), "row 2: input 'X' holds a null"))) {
    test(s"row numbers that $what are an error") {
      val failure = Failures.of("data")(read(rdd(elements, 2)))
      assert(failure.getMessage.contains(reason), failure.getMessage)
      assert(spark.sparkContext.getPersistentRDDs.isEmpty)
    }
  }

  test("wide sparse vectors share stripes") {
    val wide = (0 until 3000).map(row => Vectors.sparse(1000000, Array(row), Array(1.0)))
    val dataset = read(rdd(wide, 2))
    assert(dataset.layout.flatten.size <= 4)
    assert(dataset.characteristics.nnz == 3000)
    dataset.release()
  }
}
