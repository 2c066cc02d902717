package io.fulgurite.spark

import java.nio.ByteBuffer
import java.nio.channels.FileChannel
import java.nio.file.{Files, Path, StandardOpenOption}

import io.fulgurite.{Data, Failures, SparkSessions}
import io.fulgurite.mlcontext.{MLResults, ScriptFactory}
import io.fulgurite.spark.binary.BinarySource
import io.fulgurite.spark.dataset.Dataset
import io.fulgurite.spark.primitives.{FileSink, Session, Transfer, WrittenFormat}
import org.scalatest.funsuite.AnyFunSuite

/** Files of blocks, written and read by workers and by one process. */
final class BinaryFilesSuite extends AnyFunSuite with SparkSessions {
  // Files of two stripes become two partitions.
  override def configuration: Map[String, String] = Map("spark.sql.files.maxPartitionBytes" -> "10m")

  private lazy val session = new Session(spark)

  private def folder(): Path = Files.createTempDirectory("fulgurite-binary")

  private def run(text: String, budget: String, outputs: String*)(arguments: (String, String)*): MLResults = {
    ml.setConfigProperty("fulgurite.memory.local", budget)
    val script = arguments.foldLeft(ScriptFactory.dml(text)) { case (script, (name, value)) => script.in(name, value) }
    try ml.execute(script.out(outputs: _*))
    finally ml.resetConfig()
  }

  /** A matrix of 3 stripes, dense or of one cell in ten, that workers wrote. */
  private def written(sparse: Boolean): Path = {
    val path = folder().resolve("x")
    val density = if (sparse) "0.1" else "1"
    run(s"X = rand(rows=2500, cols=${if (sparse) 9000 else 1000}, sparsity=$density, seed=5)\nwrite(X, $$X, format='binary')", "1m")("$X" -> path.toString)
    path
  }

  private val sums = "X = read($X)\ns = sum(X)\nw = sum(X * seq(1, nrow(X)))\nn = nrow(X)\nm = ncol(X)"

  private def sumsOf(path: Path, budget: String): Seq[Double] = {
    val results = run(sums, budget, "s", "w", "n", "m")("$X" -> path.toString)
    Seq("s", "w", "n", "m").map(results.getDouble)
  }

  for (sparse <- Seq(false, true)) {
    val kind = if (sparse) "sparse" else "dense"

    test(s"what workers write, ${kind}, they and one process read") {
      val path = written(sparse)
      val files = path.toFile.list.toSeq.filterNot(name => name.startsWith(".") || name.startsWith("_"))
      assert(files.nonEmpty && files.forall(_.endsWith(".arrow")) && Files.exists(path.resolveSibling("x.mtd")))
      val (spread, here) = (sumsOf(path, "1m"), sumsOf(path, "1g"))
      assert(spread.zip(here).forall { case (a, b) => math.abs(a - b) <= 1e-12 * math.abs(b) }, s"$spread, $here")
      assert(here.drop(2) == Seq(2500.0, if (sparse) 9000.0 else 1000.0))
    }

    test(s"what one process writes, $kind, workers read in several partitions") {
      val (from, path) = (written(sparse), folder().resolve("y"))
      run("X = read($X)\nwrite(X, $Y, format='binary')", "1g")("$X" -> from.toString, "$Y" -> path.toString)
      assert(Files.isRegularFile(path))
      val dataset = session.named("read")(BinarySource.read(session, path.toString, mapped = true))
      assert(dataset.stripes.partitions.length == 2)
      dataset.release()
      assert(sumsOf(path, "1m").zip(sumsOf(from, "1g")).forall { case (a, b) => math.abs(a - b) <= 1e-12 * math.abs(b) })
    }
  }

  test("partitions are even, and as many for each core") {
    val path = folder().resolve("even").toString
    val blocks = Dataset.fromOrdered(spark.sparkContext.parallelize(0 until 12, 12).map { _ =>
      val builder = new arrow.DenseBuilder(1000)
      for (_ <- 0 until 500) { builder.put(Array.fill(1000)(1.0)); builder.endRow() }
      Blocks.built(builder, 0)
    })
    FileSink.write(session, blocks, path, WrittenFormat.Binary)
    blocks.release()
    // 48 MB in parts of about 10 MB, on two cores.
    val dataset = session.named("read")(BinarySource.read(session, path, mapped = true))
    assert(dataset.layout.map(_.map(_.rows).sum).toVector == Vector.fill(4)(1500))
    dataset.release()
  }

  test("cells come back as they were") {
    val cells = Data.matrix(40, 3)
    cells(3)(1) = Double.NaN
    cells(4)(2) = Double.NegativeInfinity
    cells(5)(0) = -0.0
    val path = folder().resolve("z").toString
    val blocks = Dataset.fromOrdered(spark.sparkContext.parallelize(0 until 4, 4).map { part =>
      val builder = new arrow.DenseBuilder(3)
      for (row <- cells.slice(10 * part, 10 * part + 10)) { builder.put(row); builder.endRow() }
      Blocks.built(builder, 0)
    })
    FileSink.write(session, blocks, path, WrittenFormat.Binary)
    val back = session.named("read")(BinarySource.read(session, path, mapped = true))
    val found = Transfer.collect(back).read(_.flatMap(view => (0 until view.rows).map(view.denseRow)))
    assert(found.map(_.map(java.lang.Double.doubleToRawLongBits).toSeq) == cells.toSeq.map(_.map(java.lang.Double.doubleToRawLongBits).toSeq))
    Seq(back, blocks).foreach(_.release())
  }

  test("the order of files does not matter, but that none is missing") {
    val path = written(sparse = false)
    val expected = sumsOf(path, "1m")
    val parts = path.toFile.listFiles.filter(file => file.getName.endsWith(".arrow")).sortBy(_.getName)
    assert(parts.length > 1)
    for ((part, number) <- parts.zipWithIndex) Files.move(part.toPath, path.resolve(s"file-${9 - number}"))
    assert(sumsOf(path, "1m").zip(expected).forall { case (a, b) => math.abs(a - b) <= 1e-12 * math.abs(b) })
    Files.delete(path.resolve("file-9"))
    val failure = Failures.of("data")(sumsOf(path, "1m"))
    assert(failure.getMessage.contains("a stripe of rows begins at row") && failure.getMessage.contains("file-"), failure.getMessage)
    assert(spark.sparkContext.getPersistentRDDs.isEmpty)
  }

  test("whatever bytes are damaged, the file is read or is an error of its own kind") {
    val path = written(sparse = false)
    val file = path.toFile.listFiles.filter(_.getName.endsWith(".arrow")).minBy(_.getName).toPath
    // Hadoop's checksum would find it before us.
    Files.deleteIfExists(file.resolveSibling(s".${file.getFileName}.crc"))
    val whole = Files.readAllBytes(file)
    val random = new scala.util.Random(5)
    for (_ <- 1 to 30) {
      val damaged = whole.clone
      val at = random.nextInt(math.min(2000, whole.length))
      damaged(at) = (damaged(at) ^ (1 << random.nextInt(8))).toByte
      Files.write(file, damaged)
      try session.named("read")(BinarySource.read(session, path.toString, mapped = true)).release()
      catch { case failure: io.fulgurite.core.FulguriteException => assert(Set("data", "memory", "unsupported")(failure.kind), failure) }
    }
  }

  /** A dataset of the file, whose bytes change after it was read: what its stripes hold then. */
  private def sumAfterChange(path: Path, mapped: Boolean): Double = {
    val dataset = session.named("read")(BinarySource.read(session, path.toString, mapped))
    // The last value of the last block, before what pads it and the end marker: another sign.
    val file = FileChannel.open(path, StandardOpenOption.WRITE)
    try file.write(ByteBuffer.wrap(Array[Byte](0xc0.toByte)), valueEnd(path) - 1)
    finally file.close()
    try Transfer.collect(dataset).read(_.map(view => (0 until view.rows).map(view.denseRow(_).sum).sum).sum)
    finally dataset.release()
  }

  /** Where the ones end that a file holds alone. */
  private def valueEnd(path: Path): Int = {
    val one = Array[Byte](0, 0, 0, 0, 0, 0, 0xf0.toByte, 0x3f)
    Files.readAllBytes(path).lastIndexOfSlice(one) + one.length
  }

  private def ones(path: Path): Path = {
    run("X = matrix(1, 1000, 300)\nwrite(X, $X, format='binary')", "1g")("$X" -> path.toString)
    path
  }

  test("blocks stay in files on local disks where they may") {
    // 1 becomes -16: 0x3ff0... becomes 0xc0f0....
    val changed = 300000.0 - 1 - 65536
    assert(sumAfterChange(ones(folder().resolve("mapped")), mapped = true) == changed)
    assert(sumAfterChange(ones(folder().resolve("read")), mapped = false) == 300000.0)
  }

  test("a file that has a checksum is read, and held to it") {
    val path = folder().resolve("x")
    val blocks = Dataset.fromOrdered(spark.sparkContext.parallelize(0 until 1, 1).map { _ =>
      val builder = new arrow.DenseBuilder(300)
      for (_ <- 0 until 1000) { builder.put(Array.fill(300)(1.0)); builder.endRow() }
      Blocks.built(builder, 0)
    })
    FileSink.write(session, blocks, path.toString, WrittenFormat.Binary)
    blocks.release()
    val part = path.toFile.listFiles.find(_.getName.endsWith(".arrow")).get
    assert(Files.exists(part.toPath.resolveSibling(s".${part.getName}.crc")))
    assert(sumAfterChange(part.toPath, mapped = true) == 300000.0)
    val failure = Failures.of("backend")(run("s = sum(read($X, format='binary', rows=1000, cols=300))", "1m", "s")("$X" -> part.getPath))
    assert(failure.getMessage.toLowerCase.contains("checksum"), failure.getMessage)
  }

  test("a script may replace the file that it reads") {
    for (budget <- Seq("1m", "1g")) {
      val path = ones(folder().resolve("x"))
      run("X = read($X)\nwrite(2 * X, $X, format='binary')\nwrite(3 * X, $X, format='binary')\ns = sum(X)", budget, "s")("$X" -> path.toString)
      assert(sumsOf(path, "1g").head == 900000.0)
    }
  }

  test("a file that was cut off, or is none of ours, is an error that names it") {
    val (path, bad) = (folder().resolve("x"), folder().resolve("bad"))
    run("X = rand(rows=2500, cols=1000, seed=5)\nwrite(X, $X, format='binary')", "1g")("$X" -> path.toString)
    val bytes = Files.readAllBytes(path)
    val broken = Seq(bytes.dropRight(8), bytes.take(bytes.length / 2), bytes.take(100), bytes.take(3), "1,2\n3,4\n".getBytes, bytes.drop(8))
    for (content <- broken; mapped <- Seq(true, false)) {
      Files.write(bad, content)
      val failure = Failures.of("data")(session.named("read")(BinarySource.read(session, bad.toString, mapped)))
      assert(failure.getMessage.contains(s"$bad' is not a whole stream of blocks"), failure.getMessage)
    }
    assert(spark.sparkContext.getPersistentRDDs.isEmpty)
  }
}
