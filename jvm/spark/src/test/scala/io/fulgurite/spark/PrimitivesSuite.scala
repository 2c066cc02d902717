package io.fulgurite.spark

import java.nio.file.Files
import java.util.concurrent.Executors

import io.fulgurite.{Failures, SparkSessions}
import io.fulgurite.spark.arrow.DenseBuilder
import io.fulgurite.core.FulguriteException
import io.fulgurite.spark.dataset.{Dataset, Stripe, StripeGroups}
import io.fulgurite.spark.memory.InProcess
import io.fulgurite.spark.primitives._
import io.fulgurite.spark.text.{CsvFormat, CsvSource}
import org.apache.spark.{SparkEnv, TaskKilledException}
import org.scalatest.funsuite.AnyFunSuite

/** Primitives that move and place stripes; those that run native tasks are in [[io.fulgurite.mlcontext.EngineSuite]]. */
final class PrimitivesSuite extends AnyFunSuite with SparkSessions {
  private lazy val session = new Session(spark)

  private def local(rows: Int, cols: Int): Blocks = {
    val builder = new DenseBuilder(cols)
    for (row <- 0 until rows) {
      for (col <- 0 until cols) builder.put(row * 100.0 + col)
      builder.endRow()
    }
    Blocks.built(builder, 0)
  }

  private def cells(blocks: Blocks): Seq[Seq[Double]] = blocks.read(_.flatMap(view => (0 until view.rows).map(view.denseRow(_).toSeq)))
  private def layout(dataset: Dataset) = Dataset.count(dataset.stripes).layout

  test("parallelize and collect are inverse, and the layout is known beforehand") {
    for ((rows, stripe) <- Seq(1 -> 10, 10 -> 3, 100 -> 7, 5 -> 100)) {
      val dataset = Transfer.parallelize(session, local(rows, 3), stripe.toLong)
      assert(layout(dataset) == dataset.layout)
      assert(cells(Transfer.collect(dataset)) == cells(local(rows, 3)))
      dataset.release()
    }
  }

  test("stripes run in groups of 8 MB with their results, of 64 MB where others hold them, and alone until a result is known") {
    def stored(count: Int, rows: Int) = Iterator.fill(count)(local(rows, 100))
    def stripes(count: Int, rows: Int) = stored(count, rows).map(_.markEphemeral())
    def sizes(groups: StripeGroups, result: Option[Int]) = {
      val found = Vector.newBuilder[Int]
      for (group <- groups) {
        found += group.size
        for (rows <- result) groups.gave(group.map(_ => local(rows, 100)))
        group.flatten.foreach(_.close())
      }
      found.result()
    }
    // 800 kB each.
    assert(sizes(new StripeGroups(Seq(stripes(25, 1000)), "sum").combining(), None) == Vector(10, 10, 5))
    assert(sizes(new StripeGroups(Seq(stripes(12, 1000), stripes(12, 1000)), "sum").combining(), None) == Vector(5, 5, 2))
    assert(sizes(new StripeGroups(Seq(stripes(12, 1000)), "map"), Some(1000)) == Vector(1, 5, 5, 1))
    assert(sizes(new StripeGroups(Seq(stripes(4, 10)), "expand"), Some(10500)) == Vector(1, 1, 1, 1))
    assert(sizes(new StripeGroups(Seq(stripes(2, 11000)), "sum").combining(), None) == Vector(1, 1))
    assert(sizes(new StripeGroups(Seq(stripes(300, 1)), "sum").combining(), None) == Vector(StripeGroups.Runs, 44))
    // What storage holds takes nothing, up to 64 MB; what was read from a stream is held by nobody else.
    assert(sizes(new StripeGroups(Seq(stored(200, 1000)), "sum").combining(), None) == Vector(83, 83, 34))
    assert(sizes(new StripeGroups(Seq(stored(25, 1000), stripes(25, 1000)), "sum").combining(), None) == Vector(10, 10, 5))
    assert(sizes(new StripeGroups(Seq(stored(25, 1000)), "map"), Some(1000)) == Vector(1, 10, 10, 4))
    def read = {
      val out = new java.io.ByteArrayOutputStream
      val blocks = local(1000, 100)
      blocks.writeTo(out)
      blocks.close()
      Blocks.readFrom(new java.io.ByteArrayInputStream(out.toByteArray))
    }
    assert(sizes(new StripeGroups(Seq(Iterator.fill(25)(read)), "sum").combining(), None) == Vector(10, 10, 5))
    intercept[FulguriteException](sizes(new StripeGroups(Seq(stripes(2, 1), stripes(1, 1)), "plus").combining(), None))
  }

  test("stripes that follow each other are joined up to a size") {
    def at(row: Long, cols: Int = 2) = local(10, cols).placeAt(row)
    def joined(stripes: Blocks*) = Assembly.joined(stripes.iterator, 500).map(blocks => (blocks.rowOffset, blocks.rows)).toVector
    assert(joined(at(0), at(10), at(20), at(30)) == Vector((0, 30), (30, 10)))
    assert(joined(at(0), at(20), at(30)) == Vector((0, 10), (20, 20)))
    assert(joined(at(0), at(10, cols = 3)) == Vector((0, 10), (10, 10)))
    assert(joined(at(0)) == Vector((0, 10)) && joined().isEmpty)
    val whole = Assembly.joined(Iterator(at(0), at(10)), 500).next()
    assert(cells(whole) == cells(local(10, 2)) ++ cells(local(10, 2)))
  }

  test("what a task hands over in its process is freed unless it is taken, and refused when nobody waits") {
    val collection = new InProcess.Collection
    val (taken, left, late) = (local(3, 2), local(4, 2), local(5, 2))
    val numbers = Seq(taken, left).map(InProcess.put(collection.number, _))
    val mine = collection.take(numbers.head)
    intercept[FulguriteException](collection.take(numbers.head))
    collection.close()
    assert(cells(mine) == cells(local(3, 2)) && cells(left) == cells(local(4, 2)))
    intercept[FulguriteException](collection.take(numbers.last))
    intercept[TaskKilledException](InProcess.put(collection.number, late))
    val sent = InProcess.send(late)
    assert(InProcess.find(sent) eq late)
    InProcess.withdraw(sent)
    intercept[FulguriteException](InProcess.find(sent))
  }

  test("a local matrix is not sent with every task") {
    val dataset = Transfer.parallelize(session, local(1000, 100), 100)
    val partition = SparkEnv.get.closureSerializer.newInstance().serialize(dataset.stripes.partitions.head)
    assert(partition.limit() < 4000)
    dataset.release()
  }

  test("align brings a dataset to the stripes of another") {
    val left = Transfer.parallelize(session, local(100, 2), 7)
    val right = Transfer.parallelize(session, local(100, 5), 13)
    val aligned = Align.run(session, left, right)
    assert(layout(aligned) == left.layout && aligned.layout == left.layout)
    assert(cells(Transfer.collect(aligned)) == cells(local(100, 5)))
    assert(Align.run(session, left, left).stripes eq left.stripes)
  }

  test("ranges of rows are put together without reading what lies outside") {
    val (upper, lower) = (Transfer.parallelize(session, local(100, 2), 7), Transfer.parallelize(session, local(30, 2), 30))
    def rows(of: Dataset, from: Long, until: Long) = Concatenate.Part(of, from, until)
    val expected = cells(local(100, 2))
    for ((from, until) <- Seq((0, 100), (0, 1), (99, 100), (7, 14), (6, 15), (13, 80))) {
      val range = Concatenate.run(session, Seq(rows(upper, from, until)))
      assert(layout(range) == range.layout)
      assert(cells(Transfer.collect(range)) == expected.slice(from, until))
    }
    assert(Concatenate.run(session, Seq(rows(upper, 99, 100))).stripes.partitions.length == 1)
    val both = Concatenate.run(session, Seq(rows(upper, 90, 100), rows(lower, 3, 30), rows(upper, 0, 90)))
    assert(layout(both) == both.layout)
    assert(cells(Transfer.collect(both)) == expected.drop(90) ++ cells(local(30, 2)).drop(3) ++ expected.take(90))
    // What it was made of stays as it was.
    assert(cells(Transfer.collect(upper)) == expected)
  }

  test("stripes that come in order are placed, and empty ones dropped") {
    val parts = Seq(local(3, 2), local(0, 2), local(5, 2), local(0, 2))
    val placed = Dataset.fromOrdered(spark.sparkContext.parallelize(parts, 3))
    assert(placed.layout.flatten == Vector(Stripe(0, 3), Stripe(3, 5)) && layout(placed) == placed.layout)
    assert(cells(Transfer.collect(placed)) == cells(local(3, 2)) ++ cells(local(5, 2)))
    placed.release()
  }

  test("csv files become datasets and the other way round") {
    val folder = Files.createTempDirectory("fulgurite-csv").resolve("out")
    for (header <- Seq(false, true)) {
      FileSink.write(session, Transfer.parallelize(session, local(20, 3), 6), folder.toString, WrittenFormat.Csv(";", header))
      val back = CsvSource.read(session, folder.toString, CsvFormat(";", header, None))
      assert(cells(Transfer.collect(back)) == cells(local(20, 3)))
    }
    assert(folder.getParent.toFile.list.toSeq == Seq("out"))
  }

  test("of two writers of one name one has the file and its metadata") {
    val folder = Files.createTempDirectory("fulgurite-writers")
    val threads = Executors.newFixedThreadPool(2)
    val writers = for (rows <- 1 to 2) yield threads.submit[Unit](() =>
      for (_ <- 1 to 10) {
        val dataset = Transfer.parallelize(session, local(rows, 1), 6)
        FileSink.write(session, dataset, folder.resolve("out").toString, WrittenFormat.Csv(",", header = false), Some(s"$rows"))
      })
    // What failed there fails here.
    try writers.foreach(_.get)
    finally threads.shutdown()
    assert(folder.toFile.list.toSet == Set("out", "out.mtd"))
    val lines = folder.resolve("out").toFile.listFiles.filter(_.getName.startsWith("part-")).flatMap(part => Files.readAllLines(part.toPath).toArray)
    assert(Files.readString(folder.resolve("out.mtd")) == lines.length.toString)
  }

  test("a folder that cannot be written to stays as it was") {
    val file = Files.createTempFile("fulgurite", "file")
    val inside = file.resolve("inside").toString
    val failure = Failures.of("io")(FileSink.write(session, Transfer.parallelize(session, local(2, 2), 6), inside, WrittenFormat.Cells, Some("{}")))
    assert(failure.getMessage.contains(s"cannot write '$inside'") && Files.isRegularFile(file))
  }

  for ((what, lines, reason) <- Seq(
      ("a word", Seq("1,2", "3,x4"), "'x4' in column 2 is not a number"), ("a Java suffix", Seq("1,2", "3d,4"), "'3d' in column 1"),
      ("a short row", Seq("1,2", "3"), "it has 1 values, not 2"), ("a long row", Seq("1,2", "3,4,5"), "it has 3 values, not 2"))) {
    test(s"csv with $what is an error that shows the line") {
      val failure = Failures.of("data")(session.named("csv")(
        CsvSource.fromElements(session, spark.sparkContext.parallelize(lines, 2), "bad.csv", CsvFormat(",", header = false, None))))
      assert(failure.getMessage.contains(reason) && failure.getMessage.contains(lines.last) && failure.getMessage.contains("line 2 of 'bad.csv'"))
    }
  }

  test("a csv file that is not there is an error") {
    assert(Failures.of("io")(CsvSource.read(session, "/no/such/file.csv", CsvFormat(",", header = false, None))).getMessage.contains("/no/such/file.csv"))
  }
}
