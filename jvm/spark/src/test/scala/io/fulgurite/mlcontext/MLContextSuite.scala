package io.fulgurite.mlcontext

import scala.collection.mutable

import io.fulgurite.{Failures, Fulgurite, SparkSessions}
import io.fulgurite.spark.SparkVersion
import io.fulgurite.spark.version.ThisJar
import org.scalatest.funsuite.AnyFunSuite

/** The interface: what goes in, what comes out, and what is an error. */
final class MLContextSuite extends AnyFunSuite with SparkSessions {
  private def run(text: String, outputs: String*)(inputs: (String, Any)*): MLResults =
    ml.execute(inputs.foldLeft(ScriptFactory.dml(text)) { case (script, (name, value)) => script.in(name, value) }.out(outputs: _*))

  test("scalars keep their types and values") {
    val results = run("a = l + 1; b = d * 2; c = !t; e = s + 'x'; f = w", "a", "b", "c", "e", "f")(
      "l" -> 5000000000L, "d" -> 1.25, "t" -> false, "s" -> "back\\slash \"quoted\"", "w" -> 0.1f)
    assert(results.get("a") == 5000000001L)
    assert(results.get("b") == 2.5)
    assert(results.get("c") == true)
    assert(results.get("e") == "back\\slash \"quoted\"x")
    assert(results.getDouble("f") == 0.1)
    assert(results.getTuple[Long, Double]("a", "b") == ((5000000001L, 2.5)))
  }

  test("arguments are text, as on the command line") {
    val results = run("a = ifdef($a, 'none'); n = $n + 1; b = ifdef($b, 7)", "a", "n", "b")("$a" -> "x y", "$n" -> 41)
    assert(results.getString("a") == "x y" && results.getLong("n") == 42 && results.getLong("b") == 7)
  }

  test("arrays in, arrays, frames and lines out") {
    val X = Array(Array(1.0, 0.0), Array(0.0, 0.0), Array(0.0, 3.5))
    val result = run("Y = X * 2", "Y")("X" -> X)
    assert(result.getMatrixAs2DDoubleArray("Y").map(_.toSeq).toSeq == Seq(Seq(2, 0), Seq(0, 0), Seq(0, 7)))
    val frame = result.getDataFrame("Y")
    assert(frame.columns.toSeq == Seq("__INDEX", "C1", "C2"))
    assert(frame.collect().map(_.getDouble(0)).toSeq == Seq(1, 2, 3))
    assert(result.getDataFrame("Y", isVector = true).collect().map(_.get(1).toString).last.contains("7.0"))
    assert(result.getRDDStringCSV("Y").collect().toSeq == Seq("2.0,0", "0,0", "0,7.0"))
    assert(result.getRDDStringIJV("Y").collect().toSeq == Seq("1 1 2.0", "3 2 7.0"))
  }

  test("csv lines are matrices") {
    assert(run("s = sum(X)", "s")("X" -> spark.sparkContext.parallelize(Seq("1,2", "3,4.5"), 2)).getDouble("s") == 10.5)
  }

  test("cells, vectors and pairs come in and go out") {
    import org.apache.spark.ml.linalg.Vectors
    val (context, ijv) = (spark.sparkContext, MatrixMetadata(MatrixFormat.IJV, 3, 2))
    val lines = context.parallelize(Seq("3 2 7", "1 1 5"), 2)
    val script = ScriptFactory.dml("Y = X * 2").out("Y")
    val Y = ml.execute(script.in("X", lines, ijv)).getMatrix("Y")
    assert(Y.to2DDoubleArray.map(_.toSeq).toSeq == Seq(Seq(10, 0), Seq(0, 0), Seq(0, 14)))
    assert(Y.toDFIJV().collect().map(_.toSeq).toSeq == Seq(Seq(1L, 1L, 10.0), Seq(3L, 2L, 14.0)))
    assert(Y.toRDDVector.collect().map(_.toArray.toSeq).toSeq == Seq(Seq(10, 0), Seq(0, 0), Seq(0, 14)))
    assert(ml.execute(script.in("X", Y.toDFIJV(), ijv)).getDataFrameIJV("Y").collect().last.toSeq == Seq(3L, 2L, 28.0))
    assert(ml.execute(script.in("X", Y.toRDDVector)).getMatrixAs2DDoubleArray("Y").last.toSeq == Seq(0, 28))
    assert(ml.matrix(context.parallelize(Seq((2L, Vectors.dense(1, 2)), (1L, Vectors.dense(3, 4))))).to2DDoubleArray.head.toSeq == Seq(3, 4))
    assert(ml.matrix(lines, MatrixMetadata(MatrixFormat.IJV)).rows == 3 && ml.matrix(Y.toDFIJV(), ijv).nnz == 2)
    assert(ml.matrix(context.emptyRDD[String], ijv).nnz == 0)
    Failures.of("data")(ml.matrix(context.emptyRDD[String]))
    Failures.of("data")(ml.matrix(context.parallelize(Seq[String](null, "1,2"))))
    assert(Failures.of("argument")(ml.matrix(context.parallelize(Seq(new java.util.Date)))).getMessage.contains("is an RDD of java.util.Date"))
    assert(Failures.of("argument")(ml.matrix(Y.toRDDVector, ijv)).getMessage.contains("lines of row, column and value"))
    assert(Failures.of("data")(ml.matrix(lines, new MatrixMetadata(3, 2))).getMessage.contains("bad line 1"))
  }

  test("an input that is not what its metadata say leaves nothing behind") {
    val frame = spark.range(1000).toDF("x")
    ml.setConfigProperty("fulgurite.memory.local", "1k")
    try assert(Failures.of("data")(ml.matrix(frame, new MatrixMetadata(999, 1))).getMessage.contains("is 1000 x 1, its metadata says 999 x 1"))
    finally ml.resetConfig()
    assert(spark.sparkContext.getPersistentRDDs.isEmpty)
  }

  test("registered reads and writes touch no files") {
    val results = run("X = read($X); Y = X + 1; write(Y, $Y)", "Y")("X" -> Array(Array(1.0)), "$X" -> "/no/such/x", "$Y" -> "/no/such/y")
    assert(results.getDouble("Y") == 2.0)
  }

  test("a script executed again starts from its inputs") {
    val script = ScriptFactory.dml("x = x + 1").in("x", 1).out("x")
    assert(Seq.fill(3)(ml.execute(script).getLong("x")) == Seq(2, 2, 2))
  }

  test("a matrix of one script is the input of others") {
    val Y = run("Y = X %*% X", "Y")("X" -> Array(Array(0.0, 1.0), Array(1.0, 1.0))).getMatrix("Y")
    for (_ <- 1 to 3) assert(run("s = sum(Y)", "s")("Y" -> Y).getDouble("s") == 5)
    Y.close()
    Failures.of("argument")(run("s = sum(Y)", "s")("Y" -> Y))
  }

  test("what is printed comes out in order") {
    val lines = mutable.Buffer.empty[String]
    ml.setPrintSink(line => { lines += line; () })
    try run("for (i in 1:3) print('line ' + i)")()
    finally ml.setPrintSink(line => Console.out.println(line))
    assert(lines.toSeq == Seq("line 1", "line 2", "line 3"))
  }

  test("getters refuse values of another type") {
    val results = run("s = 'text'; d = 2.5; X = matrix(1, 2, 2); one = matrix(3, 1, 1)", "s", "d", "X", "one")()
    assert(Failures.of("argument")(results.getDouble("s")).getMessage.contains("output 's' is the string 'text', not a number"))
    Failures.of("argument")(results.getBoolean("d"))
    Failures.of("argument")(results.getLong("d"))
    assert(Failures.of("argument")(results.getDouble("X")).getMessage.contains("a 2 x 2 matrix"))
    assert(results.getDouble("one") == 3.0)
    assert(Failures.of("argument")(results.get("nothing")).getMessage.contains("s, d, X, one"))
  }

  test("errors have kind and place, and the context goes on") {
    val syntax = Failures.of("syntax")(run("x = 1\ny = (2 +", "y")())
    assert(syntax.line == 2)
    val undefined = Failures.of("validation")(run("y = x + 1", "y")())
    assert(undefined.line == 1 && undefined.getMessage.contains("x"))
    val shapes = Failures.of("dimension")(run("Z = X %*% Y", "Z")("X" -> Array(Array(1.0, 2.0)), "Y" -> Array(Array(1.0, 2.0))))
    assert(shapes.line == 1)
    assert(Failures.of("stopped")(run("stop('enough')")()).getMessage.contains("enough"))
    assert(run("x = 1", "x")().getLong("x") == 1)
  }

  test("inputs that are no inputs are errors") {
    assert(Failures.of("argument")(run("x = 1")("x" -> new Object)).getMessage.contains("input 'x' is a java.lang.Object"))
    Failures.of("argument")(run("x = 1")("x" -> null))
    assert(Failures.of("data")(run("x = 1")("x" -> Array(Array(1.0), Array(1.0, 2.0)))).getMessage.contains("row 2 has 2 cells"))
    assert(Failures.of("data")(ml.execute(ScriptFactory.dml("x = 1").in("x", Array(Array(1.0)), new MatrixMetadata(2, 1)))).getMessage.contains("1 x 1"))
  }

  test("configuration keys are checked") {
    for ((wrong, right) <- Seq("memory.locale" -> "memory.local", "input.fil" -> "input.fill", "memory.transfr" -> "memory.transfer")) {
      val failure = Failures.of("argument")(ml.setConfigProperty(s"spark.fulgurite.$wrong", "1"))
      assert(failure.getMessage.contains(s"did you mean 'fulgurite.$right'"), failure.getMessage)
    }
    for ((key, value) <- Seq("memory.local" -> "much", "memory.transfer" -> "much", "input.fill" -> "zero", "memory.tasks" -> "-1")) {
      assert(Failures.of("argument")(ml.setConfigProperty(s"fulgurite.$key", value)).getMessage.contains(value))
    }
    val ofApplication = Failures.of("argument")(ml.setConfigProperty("fulgurite.memory.tasks", "700m"))
    assert(ofApplication.getMessage.contains("--conf spark.fulgurite.memory.tasks=700m"), ofApplication.getMessage)
    // What was refused is not there.
    assert(run("x = 1", "x")().getLong("x") == 1)
    Failures.of("argument")(ml.setExplainLevel("everything"))
  }

  test("scripts are explained without being run") {
    val script = ScriptFactory.dml("s = sum(X * X + 1)\nstop('not run')").in("X", Array(Array(1.0, 2.0), Array(3.0, 4.0))).out("s")
    assert(ml.explain(script).contains("[2 x 2"))
    for (level <- MLContext.ExplainLevels) assert(ml.explain(script, level, "json").contains(s""""level": "$level""""))
    assert(ml.explain(script, "plan", "svg").startsWith("<svg"))
    assert(ml.why(script, "ua(+)").contains("fused(0)"))
    Failures.of("argument")(ml.explain(script, "memo", "dot"))
    Failures.of("argument")(ml.why(script, "17"))
  }

  test("a HOP DAG that is none is an error of kind plan") {
    ml
    def dag(version: Int, hops: String, roots: String) = s"""{"format": "fulgurite-hop", "version": $version, "hops": [$hops], "roots": [$roots]}"""
    val read = """{"id": 1, "op": "TRead X"}"""
    Failures.of("syntax")(Fulgurite.execute("{", Map.empty[String, Any]))
    for ((text, reason) <- Seq(
        dag(99, read, "1") -> "version 99",
        dag(1, read + """, {"id": 2, "op": "u(nothing)", "inputs": [1]}""", "2") -> "u(nothing)",
        dag(1, read + """, {"id": 2, "op": "b(*)", "inputs": [1]}""", "2") -> "b(*)",
        dag(1, read + """, {"id": 2, "op": "u(exp)", "inputs": [3]}, {"id": 3, "op": "u(exp)", "inputs": [2]}""", "3") -> "cycle")) {
      assert(Failures.of("plan")(Fulgurite.execute(text, Map("X" -> Array(Array(1.0))))).getMessage.contains(reason))
    }
  }

  test("a Spark version that the jar is not for is refused") {
    for (other <- Seq("3.4.1", "4.30.0")) assert(Failures.of("unsupported")(SparkVersion.check(other)).getMessage.contains(s"this is Spark $other"))
    for (last <- ThisJar.LastJava) {
      SparkVersion.check(spark.version, last)
      val refused = Failures.of("unsupported")(SparkVersion.check(spark.version, last + 1)).getMessage
      assert(refused.contains(s"does not run on Java ${last + 1}"))
    }
  }

  test("scripts come from files and resources, or say why not") {
    assert(Failures.of("io")(ScriptFactory.dmlFromFile("/no/such.dml")).getMessage.contains("/no/such.dml"))
    val file = java.nio.file.Files.writeString(java.nio.file.Files.createTempFile("script", ".dml"), "x = 2")
    assert(ml.execute(ScriptFactory.dmlFromFile(file.toString).out("x")).getLong("x") == 2)
  }

  test("a thousand executions leave native memory as it was") {
    val X = run("X = rand(rows=100, cols=20, seed=7)", "X")().getMatrix("X")
    def once(): Unit = run("Y = X * 2; s = sum(Y)", "Y", "s")("X" -> X, "v" -> Array.fill(100)(1.0)).getMatrix("Y").close()
    for (_ <- 1 to 20) once()
    def allocated = io.fulgurite.spark.arrow.ArrowMemory.allocator.getAllocatedMemory
    val before = allocated
    for (_ <- 1 to 1000) once()
    // What former tests left to the garbage collector may have gone meanwhile.
    assert(allocated <= before)
  }
}
