package io.fulgurite.mlcontext

import scala.collection.mutable

import io.fulgurite.{Data, SparkSessions}
import org.apache.spark.deploy.fulgurite.StandaloneCluster
import org.apache.spark.ml.linalg.{Vector, Vectors}
import org.scalatest.funsuite.AnyFunSuite

/**
 * Every way in which workers run an operator, on a standalone cluster of two workers, on matrices whose sizes stand around those of stripes:
 * what it gives is what it gives on the driver.
 */
final class PhysicalOperatorsSuite extends AnyFunSuite with SparkSessions {
  import PhysicalOperatorsSuite._

  private lazy val cluster = new StandaloneCluster(workers = 2, megabytes = 1024)

  override def master: String = cluster.masterUrl
  override def configuration: Map[String, String] = Map("spark.executor.memory" -> "1g", "spark.fulgurite.blocksize" -> B.toString)

  override def afterAll(): Unit =
    try super.afterAll()
    finally cluster.close()

  /** The operators that ran on the workers. Some shapes leave nothing to do: all rows of one row are the row. */
  private val ran = mutable.Set.empty[String]

  private def configured[A](settings: (String, String)*)(work: => A): A = {
    settings.foreach { case (key, value) => ml.setConfigProperty(key, value) }
    try work
    finally ml.resetConfig()
  }

  /** A matrix on the executors, whatever its size, in stripes of so many rows. */
  private def onExecutors(rows: Seq[Vector], height: Int): Matrix = configured("fulgurite.memory.local" -> "1") {
    val stripes = rows.grouped(height).toVector
    val matrix = ml.matrix(spark.sparkContext.parallelize(stripes, stripes.size).flatMap(identity))
    assert(matrix.isDistributed)
    matrix
  }

  private def values(results: MLResults, names: Seq[String]): Seq[Array[Array[Double]]] = names.map { name =>
    results.get(name) match {
      case matrix: Matrix =>
        try matrix.to2DDoubleArray
        finally matrix.close()
      case _ => Array(Array(results.getDouble(name)))
    }
  }

  private def same(found: Array[Array[Double]], expected: Array[Array[Double]]): Boolean =
    found.map(_.length).toSeq == expected.map(_.length).toSeq && found.iterator.flatMap(_.iterator).zip(expected.iterator.flatMap(_.iterator)).forall {
      case (a, b) => a == b || (a.isNaN && b.isNaN) || math.abs(a - b) <= 1e-9 * math.max(1.0, math.abs(b))
    }

  /** Runs the operators where X does not fit the driver. What ran, as reports call it. */
  private def check(shape: Shape, operators: Seq[String], settings: (String, String)*): Seq[OperatorReport] = {
    val height = math.max(B, (shape.rows + 3) / 4)
    val (x, y) = (shape.cells(0), shape.cells(5))
    val (onX, onY) = (onExecutors(shape.vectors(x), height), onExecutors(shape.vectors(y), math.max(1, height - 3)))
    try {
      val names = operators.indices.map(index => s"R${index + 1}")
      val lines = mutable.Buffer("n = nrow(X); d = ncol(X); a = min(2, n); z = max(1, n - 1); c = min(2, d)")
      val of = mutable.Map.empty[Int, String]
      for ((operator, name) <- operators.zip(names); line <- operator.replace("@", name).split("\n")) {
        lines += line
        of(lines.size) = operator
      }
      val script = ScriptFactory.dml(lines.mkString("\n")).setName("operators.dml").in("X", onX).in("Y", onY).in("Z", y)
        .in("V", Data.matrix(shape.cols, 2)).in("U", Data.matrix(shape.rows, 3)).in("W", Data.matrix(shape.cols, 3)).out(names: _*)
      val expected = configured("fulgurite.fusion.policy" -> "none")(values(ml.execute(script), names))
      val results = configured(settings :+ ("fulgurite.memory.local" -> shape.budget(x).toString): _*)(ml.execute(script))
      for (((found, expected), operator) <- values(results, names).zip(expected).zip(operators)) {
        assert(same(found, expected), s"$operator on $shape:\n${found.map(_.mkString(" ")).mkString("\n")}\nfor\n${expected.map(_.mkString(" ")).mkString("\n")}")
      }
      val onSpark = results.report.operators.filter(_.location == "spark")
      ran ++= onSpark.map(_.label.split(':').last).filter(_.forall(_.isDigit)).flatMap(line => of.get(line.toInt))
      onSpark
    } finally Seq(onX, onY).foreach(_.close())
  }

  for (shape <- shapes) {
    test(s"cell-wise operators and aggregates on $shape") {
      check(shape, CellWise ++ Aggregates ++ (if (shape.rows > 1) OuterProducts else Seq.empty), "fulgurite.fusion.policy" -> "none")
    }
    test(s"operators that move rows on $shape") { check(shape, MovingRows, "fulgurite.fusion.policy" -> "none") }
    test(s"products on $shape") { check(shape, Products ++ (if (shape.cols > 1) Transposes else Seq.empty), "fulgurite.fusion.policy" -> "none") }
  }

  // A row goes whole wherever it goes.
  for (shape <- shapes if shape.rows > 1) {
    test(s"side inputs that may not be broadcast on $shape") {
      check(shape, Spread, "fulgurite.fusion.policy" -> "none", "fulgurite.memory.broadcast" -> "40")
    }
  }

  for (shape <- shapes if shape.rows > 1 && shape.cols > 1) {
    test(s"fused operators on $shape") {
      val plans = check(shape, Fused, "fulgurite.fusion.policy" -> "fuse-all").map(_.label)
      for (template <- Seq("Cell", "Row")) assert(plans.exists(_.contains(s" $template ")), plans.mkString("\n"))
    }
  }

  // A row of a side input goes with the row of X that it stands beside.
  for (shape <- Seq(Shape(12 * B + 1, 11, Dense), Shape(12 * B, 11, Skewed))) {
    test(s"fused rows on $shape, with side inputs that are joined") {
      val plans = check(shape, Joined, "fulgurite.fusion.policy" -> "fuse-all", "fulgurite.memory.broadcast" -> "400").map(_.label)
      assert(plans.exists(_.contains(" Row ")), plans.mkString("\n"))
    }
  }

  for (rows <- Seq(60 * B - 1, 60 * B, 60 * B + 1)) {
    val scattered = Shape(rows, 300, Scattered)
    test(s"outer products at the cells of $scattered") {
      val plans = check(scattered, Outer, "fulgurite.fusion.policy" -> "fuse-all").map(_.label)
      assert(plans.count(_.contains(" Outer ")) == Outer.size, plans.mkString("\n"))
    }
  }

  for (shape <- shapes if shape.cols > 10) {
    test(s"orders on $shape") { check(shape, Orders, "fulgurite.fusion.policy" -> "none") }
  }

  // More stripes than chunks that the pieces of a partition come in.
  for (kind <- Seq(Dense, Skewed)) {
    val tall = Shape(300 * B + 1, 11, kind)
    test(s"rows that move to many stripes on $tall") { check(tall, MovingRows ++ Orders, "fulgurite.fusion.policy" -> "none") }
  }

  for (rows <- Seq(20 * B - 1, 20 * B, 20 * B + 1)) {
    val column = Shape(rows, 1, Dense)
    test(s"statistics of $column") { check(column, Statistics, "fulgurite.fusion.policy" -> "none") }
  }

  for (side <- Seq(2 * B - 1, 2 * B, 2 * B + 1)) {
    val square = Shape(side, side, Dense)
    test(s"diagonals and products of two large matrices on $square") { check(square, Squares, "fulgurite.fusion.policy" -> "none") }
  }

  // A few rows may be sent, and a column of X may be a row.
  for ((form, begins) <- Seq("rmm" -> "rmm: ", "cpmm" -> "cpmm: ", "pieces" -> "operand 2 sent in "); (side, kind) <- Seq(3 * B - 1 -> Dense, 3 * B + 1 -> Skewed, 3 * B -> Hollow)) {
    val square = Shape(side, side, kind)
    test(s"products of two large matrices on $square, as $form") {
      val forms = check(
        square, LargeProducts, "fulgurite.fusion.policy" -> "none", "fulgurite.placement.product" -> form, "fulgurite.memory.broadcast" -> (64 * side).toString)
        .filter(_.label.startsWith("ba(+*)")).flatMap(_.form)
      assert(forms.nonEmpty && forms.forall(_.startsWith(begins)), forms.mkString("\n"))
    }
  }

  test("several aggregates in one pass") {
    val labels = check(Shape(3 * B + 1, 11, Dense), Seq("@a = sum(X * 3); @b = sum(X ^ 2)\n@ = @a + @b + min(X - 1)")).map(_.label)
    assert(labels.exists(_.contains(" MAgg ")), labels.mkString("\n"))
  }

  for (rows <- Seq(50 * B - 1, 50 * B, 50 * B + 1)) {
    test(s"matrices of $rows rows that workers generate") {
      val text = s"A = rand(rows=$rows, cols=3, seed=7, sparsity=0.4)\nS = seq(1, $rows)\nF = matrix(3, $rows, 2)"
      val script = ScriptFactory.dml(text).out("A", "S", "F")
      val expected = values(ml.execute(script), script.outputs)
      val results = configured("fulgurite.memory.local" -> "2k")(ml.execute(script))
      assert(script.outputs.forall(results.getMatrix(_).isDistributed))
      assert(values(results, script.outputs).zip(expected).forall { case (found, here) => found.map(_.toSeq).toSeq == here.map(_.toSeq).toSeq })
    }
  }

  test("each operator ran on the workers, on some shape") {
    val all = CellWise ++ OuterProducts ++ Aggregates ++ MovingRows ++ Products ++ Transposes ++ Spread ++ Orders ++ Statistics ++ Squares ++ LargeProducts ++ Fused ++ Joined ++ Outer
    assert(all.forall(ran), all.filterNot(ran).mkString("\n"))
  }
}

private object PhysicalOperatorsSuite {
  /** Rows of the stripes that workers make. */
  val B = 8

  sealed trait Cells
  case object Dense extends Cells
  /** One row in five has cells. */
  case object Skewed extends Cells
  /** Stripes in the middle are empty. */
  case object Hollow extends Cells
  /** One cell in twenty. */
  case object Scattered extends Cells

  final case class Shape(rows: Int, cols: Int, kind: Cells) {
    override def toString: String = s"$rows x $cols, ${kind.toString.toLowerCase}"

    def cells(seed: Int): Array[Array[Double]] = Data.matrix(rows + seed, cols).drop(seed).zipWithIndex.map { case (row, index) =>
      def empty(col: Int) = kind match {
        case Dense => false
        case Skewed => index % 5 != 0
        case Hollow => index >= B && index < rows - B
        case Scattered => (index * cols + col) * 7919 % 20 != 0
      }
      row.zipWithIndex.map { case (cell, col) => if (empty(col)) 0.0 else cell }
    }

    def vectors(cells: Array[Array[Double]]): Seq[Vector] =
      cells.toSeq.map(row => if (kind == Dense) Vectors.dense(row) else Vectors.dense(row).toSparse)

    /** Less than X takes as the input of an operator alone. */
    def budget(cells: Array[Array[Double]]): Long = {
      val (dense, sparse) = (8L * rows * cols, 12L * cells.flatten.count(_ != 0) + 8L * (rows + 1))
      (if (kind == Dense) dense else math.min(dense, sparse)) - 1
    }
  }

  val shapes: Seq[Shape] =
    Seq(B - 1, B, B + 1).map(Shape(_, 40, Dense)) ++
      Seq(Shape(3 * B + 1, 11, Dense), Shape(1, 60, Dense), Shape(12 * B + 1, 1, Dense), Shape(B + 1, 40, Skewed), Shape(3 * B + 1, 11, Skewed), Shape(4 * B, 11, Hollow))

  // @ is the result. What every script knows: n and d, rows and columns; a and z, c and d, ends of ranges within them. X and Y are on the
  // executors, in stripes of different heights; Z, of the same size, and U, V and W are on the driver.

  val CellWise: Seq[String] = Seq(
    "@ = X * 2 + 1", "@ = X + Y", "@ = X * Z", "@ = Z - X", "@ = X - colMeans(X)", "@ = X * U[, 1]", "@ = ifelse(X > 0, Y, Z)",
    "@ = replace(target=X, pattern=0, replacement=-7)", "@ = cbind(X, Y)", "@ = cbind(Z, X)", "@ = X[, c:d]")

  /** A row goes whole wherever it goes, and of a matrix of one row it is as large as the matrix. */
  val OuterProducts: Seq[String] = Seq("@ = outer(U[, 1], X[1, ], \"*\") + X")

  val Aggregates: Seq[String] = Seq(
    "@ = sum(X)", "@ = min(X) + max(X)", "@ = mean(X)", "@ = prod(X * 0 + 1.01)", "@ = sum(X ^ 2)", "@ = var(X)", "@ = colSums(X)",
    "@ = colMins(X) + colMaxs(X)", "@ = colVars(X)", "@ = colSds(X)", "@ = rowSums(X)", "@ = rowMeans(X)", "@ = rowMaxs(X) - rowMins(X)", "@ = rowIndexMax(X)",
    "@ = rowIndexMin(X)", "@ = colProds(X / 4)", "@ = rowProds(X / 4)")

  val MovingRows: Seq[String] = Seq(
    "@ = X[a:z, ] * 2", "@ = X[n, ]", "@ = X[a:n, c:d]", "@ = X\n@[a:n, 1] = Z[a:n, d]", "@ = X\n@[a:z, ] = Y[a:z, ]", "@ = rbind(X, matrix(3, 1, d), Y * 2)",
    "@ = rbind(Z, X)", "@ = cumsum(X)", "@ = cumprod(X / 4)", "@ = cummin(X)", "@ = cummax(X)", "@ = removeEmpty(target=X, margin=\"rows\")",
    "@ = removeEmpty(target=X, margin=\"cols\")", "@ = removeEmpty(target=X, margin=\"rows\", select=(rowSums(Y) > 0))", "@ = rev(X)",
    "@ = table(X * 4 + 7, Y * 4 + 7)", "@ = table(X * 4 + 7, Z * 4 + 7, abs(X), 13, 13)", "@ = X + rand(rows=n, cols=d, seed=7, sparsity=0.7)")

  val Products: Seq[String] = Seq("@ = X %*% V", "@ = t(X) %*% X", "@ = t(X) %*% Y", "@ = t(X) %*% Z", "@ = t(Z) %*% X", "@ = t(U) %*% X",
    "@i = ceil(seq(1, n) / 2)\n@ = table(seq(1, n), @i, n + 1, n) %*% X")

  val Transposes: Seq[String] = Seq("@ = t(X) + 1", "@ = rbind(t(X), t(Y))", "@ = t(X) * t(Y)", "@ = matrix(X, rows=d, cols=n)",
    "@ = matrix(X + Y, rows=d, cols=n, byrow=FALSE)")

  val Spread: Seq[String] = Seq("@ = X * Z", "@ = Z - X", "@ = t(X) %*% Z", "@ = X %*% V", "@ = cbind(X, Z)",
    "@ = matrix(X, rows=n * d, cols=1, byrow=FALSE)")

  val Orders: Seq[String] = Seq("@ = order(target=X, by=1)", "@ = order(target=X, by=d, decreasing=TRUE)", "@ = order(target=X, by=2, index.return=TRUE)")

  val Statistics: Seq[String] = Seq(
    "@ = moment(X, 3)", "@ = cov(X, Y)", "@ = median(X)", "@ = quantile(X, matrix(\"0.1 0.5 0.77\", 3, 1))", "@ = interQuartileMean(X)",
    "@ = aggregate(target=X, groups=Y * 4 + 7, fn=\"variance\", ngroups=13)", "@ = aggregate(target=X, groups=Y * 4 + 7, fn=\"count\")",
    "@ = order(target=X, by=1)", "@ = order(target=X, by=1, decreasing=TRUE, index.return=TRUE)", "@ = rowSums(diag(X * 2))")

  val Squares: Seq[String] = Seq(
    "@ = diag(X)", "@ = trace(X + Y)", "@ = lower.tri(target=X, diag=TRUE, values=TRUE)", "@ = upper.tri(target=X)", "@ = X %*% t(X)", "@ = X %*% Y", "@ = X %*% Z", "@ = t(X) %*% Y", "@ = X %*% t(Y)", "@ = t(X) %*% t(Y)", "@ = t(X %*% Y) %*% (X %*% Y)")

  val LargeProducts: Seq[String] = Seq("@ = X %*% Y", "@ = X %*% Z", "@ = X %*% t(X)")

  val Fused: Seq[String] = Seq(
    "@ = sum(abs(X) * Y * 2 + 1)", "@ = exp(X) * Z + 1", "@ = rowSums(abs(X) * Z)", "@ = colSums(X * 2 - Z)", "@ = t(X) %*% (X %*% V)",
    "@ = X / (rowSums(abs(X)) + 1)", "@ = t(X) %*% (U[, 1] * (X %*% V[, 1]))")

  val Joined: Seq[String] = Seq(
    "@ = t(X) %*% (U[, 1] * (X %*% V[, 1]))", "@ = rowSums(abs(X) * Z)", "@ = X * Z / (rowSums(abs(X)) + 1)", "@ = t(X) %*% (Z[, 1] * (X %*% V[, 1]) - Y[, 1])")

  val Outer: Seq[String] = Seq("@ = sum(X * (U %*% t(W)))", "@ = (X * (U %*% t(W))) %*% W", "@ = t(X * abs(U %*% t(W))) %*% U")
}
