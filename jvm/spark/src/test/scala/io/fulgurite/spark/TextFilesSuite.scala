package io.fulgurite.spark

import java.io.OutputStream
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}
import java.util.zip.GZIPOutputStream

import scala.util.Random

import io.fulgurite.{Failures, SparkSessions}
import io.fulgurite.core.FulguriteException
import io.fulgurite.mlcontext.ScriptFactory
import io.fulgurite.spark.arrow.DenseBuilder
import io.fulgurite.spark.cells.CellLines
import io.fulgurite.spark.dataset.Dataset
import io.fulgurite.spark.primitives._
import io.fulgurite.spark.text.{CsvFormat, CsvSource, LibsvmSource}
import org.scalatest.funsuite.AnyFunSuite

/** Text is what it is, whether workers read it, in splits that end within lines, or the driver reads it as a whole. */
final class TextFilesSuite extends AnyFunSuite with SparkSessions {
  override def configuration: Map[String, String] =
    Map("spark.hadoop.fs.local.block.size" -> TextFilesSuite.Split.toString, "spark.hadoop.fs.file.impl.disable.cache" -> "true")

  private lazy val session = new Session(spark)

  /** A file, or with several texts a folder of part files. */
  private def file(texts: Seq[String], suffix: String = "", wrap: OutputStream => OutputStream = identity): Path = {
    val folder = Files.createTempDirectory("fulgurite-text")
    def put(path: Path, text: String): Path = {
      val out = wrap(Files.newOutputStream(path))
      try out.write(text.getBytes(UTF_8))
      finally out.close()
      path
    }
    if (texts.size == 1) put(folder.resolve(s"X$suffix"), texts.head)
    else {
      val parts = Files.createDirectory(folder.resolve("X"))
      for ((text, at) <- texts.zipWithIndex) put(parts.resolve(s"part-$at$suffix"), text)
      parts
    }
  }

  /** Each cell's bits, or what kind of error there is, and its message. */
  private type Found = Either[(String, String), Seq[Seq[Long]]]

  /** Sparse layouts know no zero with a sign. */
  private def found(work: => Seq[Seq[Double]]): Found =
    try Right(work.map(_.map(cell => java.lang.Double.doubleToLongBits(cell + 0.0))))
    catch { case failure: FulguriteException => Left((failure.kind, failure.getMessage)) }

  private def byWorkers(read: => Dataset): Found = found {
    val dataset = session.named("read")(read)
    try Transfer.collect(dataset).read(_.flatMap(view => (0 until view.rows).map(view.denseRow(_).toSeq)))
    finally dataset.release()
  }

  private def byDriver(path: Path, metadata: String): Found = {
    if (metadata.nonEmpty) Files.writeString(path.resolveSibling("X.mtd"), s"{$metadata}")
    ml.setConfigProperty("fulgurite.memory.local", "1g")
    found(ml.execute(ScriptFactory.dml("X = read($X)").in("$X", path.toString).out("X")).getMatrix("X").to2DDoubleArray.toSeq.map(_.toSeq))
  }

  private def check(texts: Seq[String], metadata: String)(read: String => Dataset): Found = {
    val path = file(texts)
    val (workers, driver) = (byWorkers(read(path.toString)), byDriver(path, metadata))
    (workers, driver) match {
      case (Left((kind, message)), Left((expected, _))) => assert(kind == expected && message.contains(path.toString), message)
      case _ => assert(workers == driver, s"\n${texts.mkString("\n---\n")}")
    }
    assert(spark.sparkContext.getPersistentRDDs.isEmpty)
    tasksOwnNothing()
    // What is compressed cannot be split.
    val zipped = file(texts, ".gz", new GZIPOutputStream(_))
    val ofZipped = byWorkers(read(zipped.toString))
    assert(ofZipped.left.map(_._1) == workers.left.map(_._1) && ofZipped.isRight == workers.isRight)
    if (workers.isRight) assert(ofZipped == workers)
    workers
  }

  private def csv(texts: Seq[String], metadata: String, format: CsvFormat): Found = {
    val separator = format.separator.replace("\t", "\\t")
    check(texts, s""""format": "csv", $metadata "header": ${format.header}, "sep": "$separator"""")(CsvSource.read(session, _, format))
  }

  private val rows = (0 until 40).map(row => s"$row.25,${row * 37 % 11},-1e${row % 5}")
  private val plain = CsvFormat(",", header = false, None)

  for ((what, texts, metadata, format) <- Seq[(String, Seq[String], String, CsvFormat)](
      ("numbers of every form", Seq("1e5,+3,.5,5.\nNaN,Infinity,-Infinity,-0\n1E-3,007,1e999,+Infinity\n" * 3), "", plain),
      ("blank lines", Seq("\n\n1,2\n   \n3,4\n\n\n"), "", plain),
      ("lines that end as elsewhere", Seq("1,2\r\n3,4\r\n\r\n5,6\r\n"), "", plain),
      ("lines that end as they did once", Seq("1,2\r3,4\r5,6"), "", plain),
      ("no end of the last line", Seq(rows.mkString("\n"), rows.mkString("\n")), "", plain),
      ("a byte order mark", Seq("\ufeff1,2\n3,4\n"), "", plain),
      ("spaces about cells", Seq(" 1 ,\t2\n 3, 4 \n"), "", plain),
      ("empty cells", Seq("1,\n,2\n,\n"), "", plain),
      ("empty cells that are something else", Seq("1,\n,2\n"), "\"default\": -7.5,", plain.copy(empty = Some("-7.5"))),
      ("empty cells that are errors", Seq("1,2\n3,\n"), "\"fill\": false,", plain.copy(empty = None)),
      ("texts for missing values", Seq("1,NA\n?,2\nNaN,\n"), "\"na.strings\": [\"NA\", \"?\"],", plain.copy(missing = Seq("NA", "?"))),
      ("a header in each part", Seq("a,b\n1,2\n3,4\n", "a,b\n5,6\n", "", "7,8\n"), "", plain.copy(header = true)),
      ("a header after an empty part", Seq("", "a,b\n1,2\n", "a,b\n5,6\n"), "", plain.copy(header = true)),
      ("a header and blank lines", Seq("a,b\r\n\r\n1,2\r\n"), "", plain.copy(header = true)),
      ("tabs, of which some lines have nothing else", Seq("1\t2\n\t\n3\t\n"), "", plain.copy(separator = "\t")),
      ("several characters between cells", Seq("1::2\n3::4\n"), "", plain.copy(separator = "::")),
      ("quotes", Seq("1,2\n\"3\",4\n"), "", plain), ("a quoted separator", Seq("1,2\n\"3,4\",5\n"), "", plain),
      ("a hexadecimal number", Seq("1,2\n0x1p3,4\n"), "", plain), ("a suffix", Seq("1,2\n3d,4\n"), "", plain), ("a word", Seq("1,2\nnone,4\n"), "", plain),
      ("numbers as NumPy writes them", Seq("nan,inf\n-inf,NAN\n"), "", plain),
      ("blank lines in one column", Seq("1\n\n3\n", "\n  \n\n4\n\n"), "", plain.copy(columns = Some(1))),
      ("a header and blank lines in one column", Seq("a\n\n3\n", "a\n4\n\n"), "", plain.copy(header = true)),
      ("a short line", Seq("1,2\n3\n"), "", plain), ("a long line", Seq("1,2\n3,4,5\n"), "", plain), ("bytes that are no text", Seq("1,2\n3,\u0000\u00e4\n"), "", plain),
      ("more columns than are promised", Seq("1,2\n3,4\n"), "\"cols\": 1,", plain.copy(columns = Some(1))))) {
    test(s"a csv file with $what is the same to workers and to the driver") {
      val result = csv(texts, metadata, format)
      val bad = Set("quotes", "a quoted", "a hex", "a suffix", "a word", "a short", "a long", "bytes", "more columns", "empty cells that are errors")
      assert(result.isLeft == bad.exists(what.startsWith), result)
    }
  }

  test("csv files of random cells are the same however they are split") {
    val random = new Random(11)
    for (_ <- 1 to 3) {
      val (cols, separator, end) = (random.nextInt(3) + 2, Seq(",", ";", " | ")(random.nextInt(3)), Seq("\n", "\r\n")(random.nextInt(2)))
      def cell = random.nextInt(6) match {
        case 0 => ""
        case 1 => random.nextInt(2000).toString
        case 2 => random.nextGaussian().toString
        case 3 => f"${random.nextGaussian() * 1e-9}%.12e"
        case 4 => "0"
        case _ => java.lang.Double.longBitsToDouble(random.nextLong()).toString
      }
      val texts = Seq.fill(random.nextInt(3) + 1)(Seq.fill(random.nextInt(40) + 1)(Seq.fill(cols)(cell).mkString(separator)).mkString(end))
      assert(csv(texts, "", plain.copy(separator = separator)).isRight)
    }
  }

  for ((what, text) <- Seq(
      "all that there may be" -> "# note\n1 1:0.5 3:-2e1 # note\n\n-1\r\n+1 2:1 9:0\n0 1:NaN\n", "indices that descend" -> "1 2:1 1:1\n",
      "no value" -> "1 1:\n", "an index of 0" -> "1 1:1\n1 0:1\n", "a label that is none" -> "one 1:1\n", "a number in hexadecimal" -> "1 1:0x10\n")) {
    test(s"a libsvm file with $what is the same to workers and to the driver") {
      for (texts <- Seq(Seq(text), Seq("1 1:1 2:2\n" * 20, text.stripSuffix("\n"), "2 3:1"))) check(texts, "\"format\": \"libsvm\"")(LibsvmSource.read(session, _, None))
      check(Seq(text), "\"format\": \"libsvm\", \"cols\": 12")(LibsvmSource.read(session, _, Some(12)))
    }
  }

  for ((what, text) <- Seq(
      "all that there may be" -> "% note\n1 1 1.5\n\n  3\t2   -1e5\r\n2 2 0\n+2 1 Infinity\n0 0 0\n", "a cell twice" -> "1 1 1\n2 2 2\n1 1 3\n",
      "a row beyond" -> "1 1 1\n5 1 1\n", "a row of 0" -> "0 1 1\n", "a fraction for a column" -> "1 1.0 1\n", "too few words" -> "1 1\n",
      "too many words" -> "1 1 1 1\n", "a negative row" -> "-1 1 1\n")) {
    test(s"cells with $what are the same to workers and to the driver") {
      check(Seq(text), "\"format\": \"text\", \"rows\": 4, \"cols\": 3")(CellLines.text(session, _, 4, 3))
      check(Seq("% note\n4 1 9", text), "\"format\": \"text\", \"rows\": 4, \"cols\": 3")(CellLines.text(session, _, 4, 3))
    }
  }

  test("MatrixMarket files are the same to workers and to the driver") {
    for ((header, body) <- Seq(
        "coordinate real general" -> "3 3 2\n1 2 1.5\n3 3 -2\n", "coordinate integer symmetric" -> "3 3 3\n1 1 1\n3 2 4\n3 3 0\n",
        "coordinate real skew-symmetric" -> "3 3 1\n2 1 5\n", "coordinate pattern general" -> "2 4 2\n1 1\n2 4\n",
        "array real general" -> "2 3\n1 2\n3\n4 5 6\n", "array real symmetric" -> "2 2\n1\n2\n3\n", "coordinate real general" -> "2 2 3\n1 1 1\n",
        "coordinate real skew-symmetric" -> "2 2 1\n2 2 5\n", "array real general" -> "2 2\n1 2 3 x\n", "array real general" -> "2 2\n1 2 3\n")) {
      val path = file(Seq(s"%%MatrixMarket matrix $header\r\n% note\n$body"))
      val (workers, driver) = (byWorkers(CellLines.matrixMarket(session, path.toString)), byDriver(path, ""))
      assert(workers.left.map(_._1) == driver.left.map(_._1), s"$header\n$body")
    }
  }

  test("the line of an error is that of the file, whatever splits and parts stand before it") {
    val before = (1 to 300).map(row => s"$row,2").mkString("h,h\n", "\r\n", "\n")
    val path = file(Seq(before, before, s"h,h\n\n1,2\n3,oh no\n4,alas\n"))
    val failure = Failures.of("data")(CsvSource.read(session, path.toString, CsvFormat(",", header = true, None)))
    assert(failure.getMessage.contains(s"bad line 606 of '$path': 'oh no' in column 2 is not a number\n   | 3,oh no"), failure.getMessage)
  }

  test("elements are lines, whatever they hold") {
    val context = spark.sparkContext
    def read(elements: Seq[Any]) = CsvSource.fromElements(session, context.parallelize(elements, 2), "X", CsvFormat(",", header = false, Some(2)))
    assert(byWorkers(read(Seq("1,2\n", new StringBuilder("3,4"), " 5,\t6 "))) == Right(Seq(Seq(1.0, 2), Seq(3.0, 4), Seq(5.0, 6)).map(_.map(java.lang.Double.doubleToLongBits))))
    assert(Failures.of("data")(read(Seq("1,2", "3,4\n5,6"))).getMessage.contains("has several lines"))
    assert(Failures.of("data")(read(Seq("1,2", null))).getMessage.contains("is null"))
    assert(Failures.of("data")(read(Seq("", ""))).getMessage.contains("has no lines"))
  }

  test("what workers write has the digits that the driver writes") {
    val rows = Array.tabulate(10, 4)((row, col) => Seq(0.0, 0.1, 1e-5, Double.NaN, 123456789.0, -2.5, 1e300)((row * 3 + col) % 7))
    val builder = new DenseBuilder(4)
    for (row <- rows) { row.foreach(builder.put); builder.endRow() }
    val matrix = Blocks.built(builder, 0)
    for ((format, options) <- Seq(
        WrittenFormat.Csv(" | ", header = true, sparse = true) -> "format='csv', sep=' | ', header=TRUE, sparse=TRUE",
        WrittenFormat.Csv(",", header = false) -> "format='csv'", WrittenFormat.Cells -> "format='text'", WrittenFormat.Libsvm -> "format='libsvm'")) {
      val (workers, driver) = (Files.createTempDirectory("fulgurite-text").resolve("X"), Files.createTempDirectory("fulgurite-text").resolve("X"))
      FileSink.write(session, Transfer.parallelize(session, matrix, 3), workers.toString, format)
      ml.execute(ScriptFactory.dml(s"write(X, $$Y, $options)").in("X", rows).in("$Y", driver.toString))
      val parts = workers.toFile.listFiles.filter(_.getName.startsWith("part-")).sorted.map(part => Files.readString(part.toPath))
      val header = "C1 | C2 | C3 | C4\n"
      assert(parts.length > 1 && (parts.head +: parts.tail.map(_.stripPrefix(header))).mkString == Files.readString(driver), options)
    }
  }

  test("lines longer than a chunk, and many of them, become stripes of bounded size") {
    spark.sparkContext.hadoopConfiguration.unset("fs.local.block.size")
    val wide = 300000
    val path = file(Seq((1 to 3).map(row => Iterator.tabulate(wide)(col => s"$row.${col % 1000}").mkString(",")).mkString("\n")))
    val dataset = CsvSource.read(session, path.toString, CsvFormat(",", header = false, None))
    assert(dataset.characteristics.rows == 3 && dataset.characteristics.cols == wide && dataset.characteristics.nnz == 3L * wide)
    dataset.release()
    val lines = file(Seq("1,0\n" * 1400000))
    val narrow = CsvSource.read(session, lines.toString, CsvFormat(",", header = false, Some(2)))
    assert(narrow.characteristics.nnz == 1400000 && narrow.layout.flatten.forall(_.rows <= Striping.rows(2)))
    narrow.release()
  }
}

private object TextFilesSuite {
  /** Bytes of a split, which ends within a line. */
  val Split = 64
}
