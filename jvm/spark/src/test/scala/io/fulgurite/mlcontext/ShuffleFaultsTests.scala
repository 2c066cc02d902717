package io.fulgurite.mlcontext

import io.fulgurite.Faults
import io.fulgurite.faults.{ShuffleFault, ShuffleFaults}

/** Faults after the map side of a shuffle has written and before the reduce side has read. */
trait ShuffleFaultsTests extends FaultyCluster {
  private val X = Faults.cells(2000, 20)
  private val Z = Faults.cells(2000, 20).map(_.map(_ / 3))
  /** Cells of a matrix of 40 partitions, whose aggregates are combined in groups. */
  private val lines = for ((row, at) <- Faults.cells(400, 10).toSeq.zipWithIndex; (value, col) <- row.zipWithIndex if value > 0) yield s"${at + 1} ${col + 1} $value"

  private val script =
    """A = X + Z
      |T = t(X)
      |O = order(target=X, by=3)
      |R = matrix(X, rows=1000, cols=40, byrow=FALSE)
      |W = table(seq(1, nrow(X)), round(abs(X[, 1]) * 100) + 1)
      |V = rev(X)
      |L = matrix(0, 1, 286)
      |parfor (i in 1:286) {
      |  x = X[((i - 1) * 7 + 1):min(i * 7, nrow(X)), ]
      |  L[1, i] = sum(abs(x) * i)
      |}
      |S = colSums(C * 3)
      |P = rowMaxs(X %*% matrix(Z, rows=20, cols=2000))""".stripMargin
  private val outputs = Seq("A", "T", "O", "R", "W", "V", "L", "S", "P")

  /** The bits of all results. */
  private def run(): Map[String, Seq[Seq[Long]]] = {
    val cells = spark.sparkContext.parallelize(lines, 40)
    val work = ScriptFactory.dml(script).setName("shuffles.dml")
      .in("X", Faults.frame(spark, X, 4)((_, rows) => rows)).in("Z", Faults.frame(spark, Z, 3)((_, rows) => rows))
      .in("C", cells, MatrixMetadata(MatrixFormat.IJV, 400, 10)).out(outputs: _*)
    configured("fulgurite.memory.local" -> "20k", "fulgurite.memory.broadcast" -> "100k", "fulgurite.placement.product" -> "rmm")(_ => ()) {
      val results = ml.execute(work)
      val found = outputs.map { name =>
        val matrix = results.getMatrix(name)
        try name -> Faults.bits(matrix.to2DDoubleArray)
        finally matrix.close()
      }.toMap
      assert(results.report.loops.map(_.location) == Seq("spark"), results.report.toString)
      found
    }
  }

  private lazy val undisturbed = run()

  /** The stages of operators that have found a part of what they read gone. */
  private def disturbed(fault: ShuffleFault, names: Seq[String]): Set[String] = {
    undisturbed
    val faults = new ShuffleFaults(spark.sparkContext, shuffleFaults, fault, names)
    try {
      val found = run()
      for (name <- outputs) assert(found(name) == undisturbed(name), name)
      faults.met
    } finally faults.close()
  }

  test("the output of the map side of each shuffle is lost") {
    val met = disturbed(ShuffleFault.DiskIsLost, Seq(""))
    for (operator <- Seq("read C", "b(+)", "p(order)", "r(rshape-bycol)", "t(ctable)", "r(rev)", "parfor i", "place for r(rshape) ", "ua(C+)")) {
      assert(met.exists(_.contains(operator)), s"$operator is not among ${met.mkString("; ")}")
    }
    assert(spark.sparkContext.getPersistentRDDs.isEmpty)
    // Spark takes an executor whose output cannot be read for lost until its next heartbeat, and does not tell it of broadcasts that are destroyed meanwhile.
    haltAll()
    nothingIsLeft()
  }

  test("an executor is killed between the sides of a shuffle") {
    val stages = Seq("persist for b(+)", "place for p(order)")
    val met = disturbed(ShuffleFault.ExecutorHalts, stages)
    for (stage <- stages) assert(met.exists(_.contains(stage)), s"$stage is not among ${met.mkString("; ")}")
    nothingIsLeft()
  }
}
