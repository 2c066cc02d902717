package io.fulgurite.mlcontext

import scala.collection.mutable

import io.fulgurite.{Faults, SparkSessions}
import io.fulgurite.spark.memory.InProcess
import org.scalatest.funsuite.AnyFunSuite

/** Loops that carry a distributed matrix from one iteration to the next. */
final class LineageSuite extends AnyFunSuite with SparkSessions {
  private val cells = Faults.cells(60, 20)

  /** The bits of Z, and what `seen` gives each time that the script prints. */
  private def run[A](text: String, budget: String)(seen: => A): (Seq[Seq[Long]], Seq[A]) = {
    val found = mutable.Buffer.empty[A]
    val script = ScriptFactory.dml(text).in("X", Faults.frame(spark, cells, 2)((_, rows) => rows)).in("v", Faults.cells(1, 20)).out("Z")
    ml.setConfigProperty("fulgurite.memory.local", budget).setPrintSink { _ => found += seen; () }
    try {
      val Z = ml.execute(script).getMatrix("Z")
      val bits =
        try Faults.bits(Z.to2DDoubleArray)
        finally Z.close()
      (bits, found.toSeq)
    } finally {
      ml.resetConfig()
      ml.setPrintSink(line => Console.out.println(line))
    }
  }

  test("a loop of 1500 iterations ends, what it sends does not pile up, and the matrix has the bits that it has here") {
    // The vector is another one in each iteration: each needs a broadcast.
    val text = "Z = X\nfor (i in 1:1500) { Z = Z * 0.5 + X * v\nv = v * 0.999\nif (i %% 100 == 0) print(i) }"
    val before = InProcess.sizes.size
    val (onSpark, sent) = run(text, "2k") {
      // Spark removes them when it gets round to it.
      FaultsSuite.await(InProcess.sizes.size - before <= 40)
      InProcess.sizes.size
    }
    val (here, _) = run(text, "1g")(())
    assert(onSpark == here)
    assert(sent.size == 15 && sent.forall(_ - before <= 40), sent.mkString(", "))
    FaultsSuite.await(InProcess.sizes.size == before)
    assert(InProcess.sizes.size == before && spark.sparkContext.getPersistentRDDs.isEmpty)
  }

  test("a loop whose rows change their stripes ends, too") {
    val text = "Z = X\nfor (i in 1:80) { Z = rev(Z) * 0.5 + X }"
    assert(run(text, "2k")(())._1 == run(text, "1g")(())._1)
  }

  /** Steps of this one are not persisted one by one, since each is read by the next alone. */
  private def written(loop: String) =
    s"Z = X\n$loop\nif (nrow(Z) < 0) { print(1) }\nY = Z[5:55, ]\nq = median(Z[, 1])\nZ = rbind(Z, Y) * q"

  test("a loop may write into a matrix many times before it is read") {
    for (body <- Seq("Z[i, ] = v * i", "Z[i, ] = v * i\nif (i < 0) { Z = Z * 2 }", "Z[, i %% 20 + 1] = Z[, 1] * i\nif (i < 0) { Z = Z * 2 }")) {
      val text = written(s"for (i in 1:50) { $body }")
      assert(run(text, "2k")(())._1 == run(text, "1g")(())._1, body)
    }
    assert(spark.sparkContext.getPersistentRDDs.isEmpty)
  }
}
