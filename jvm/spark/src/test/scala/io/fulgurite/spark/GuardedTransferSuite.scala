package io.fulgurite.spark

import java.io.{File, OutputStream}
import java.nio.file.Files

import scala.util.Random

import io.fulgurite.{Failures, SparkSessions}
import io.fulgurite.mlcontext.{DriverMemory, FaultsSuite, Settings}
import io.fulgurite.spark.arrow.{BlockBuilder, CsrBuilder, DenseBuilder}
import io.fulgurite.spark.dataset.{Dataset, LocalRDD, MadeRDD, Stripe}
import io.fulgurite.spark.memory.NativeMemory
import io.fulgurite.spark.primitives.{Assembly, Collected, Scratch, Session, Transfer, TransferLimits, Wire}
import org.apache.hadoop.fs.{Path => HadoopPath, RawLocalFileSystem}
import org.apache.hadoop.fs.permission.FsPermission
import org.apache.spark.SparkConf
import org.scalatest.funsuite.AnyFunSuite

/** Matrices that are too large for the driver's heap on their way: the same bits, and nothing left. */
abstract class GuardedTransferSuite(override val master: String) extends AnyFunSuite with SparkSessions {
  import GuardedTransferSuite._

  override def configuration: Map[String, String] = Map("spark.hadoop.fs.full.impl" -> classOf[FullFileSystem].getName)

  private lazy val session = new Session(spark)
  private val folder = Files.createTempDirectory("fulgurite-guarded")
  private def files: Seq[String] = folder.toFile.list.toSeq

  private def limits(heap: Long, scratch: String = folder.toString) = TransferLimits(heap, 100000, Some(scratch))

  private def dataset(matrix: Blocks, stripeRows: Long = 70): Dataset = Transfer.parallelize(session, matrix, stripeRows)

  /** The dataset, as an operator that nobody has run yet gives it: its stripes belong to the tasks. */
  private def lazily(dataset: Dataset)(each: (Int, Blocks) => Blocks = (_, blocks) => blocks): Dataset = Dataset.placed(
    new MadeRDD[Blocks](dataset.stripes, (partition, part, own) => part.map(blocks => own(each(partition, blocks.at(blocks.rowOffset))))),
    dataset.layout)

  private def bytesOf(blocks: Blocks): Seq[Byte] =
    try Wire.write(blocks).toSeq
    finally blocks.close()

  private def nothingIsLeft(held: Long): Unit = {
    FaultsSuite.await(NativeMemory.owned == 0)
    assert(NativeMemory.owned == 0 && NativeMemory.held <= held && files.isEmpty, s"${NativeMemory.held} of $held, $files")
  }

  for ((what, make) <- Seq[(String, () => Blocks)](("dense", () => dense(1000, 20)), ("sparse", () => sparse(1000, 50)), ("one stripe of", () => dense(50, 3)))) {
    test(s"$what rows come through files with the bits that they have otherwise") {
      val matrix = make()
      val expected = bytesOf(make())
      val source = dataset(matrix)
      val bytes = matrix.bytes
      matrix.close()
      def collected(of: Dataset, heap: Long, largest: Option[Long] = None): Seq[Byte] = bytesOf(Transfer.collect(of, limits(heap), largest))
      assert(collected(source, 1 << 20) == expected)
      val held = NativeMemory.held
      // Through files; as far as each task's share reaches in results; directly, where the size is known, or only its bound.
      for (heap <- Seq(0L, bytes / 2, bytes - 1, bytes)) assert(collected(source, heap) == expected, heap)
      for (heap <- Seq(0L, bytes / 2, 10 * bytes); largest <- Seq(None, Some(2 * bytes))) {
        assert(collected(lazily(source)(), heap, largest) == expected, (heap, largest))
      }
      nothingIsLeft(held)
      source.release()
    }
  }

  /** Stripes of 10 rows, so many in each partition, as tasks give them. */
  private def inPartitions(rows: Int, perPartition: Int): Dataset = {
    val matrix = dense(rows, 20)
    val parts = (0 until rows by 10).grouped(perPartition).map(_.toVector).toVector
    val stripes = LocalRDD(
      spark.sparkContext, parts.map(_.iterator.map(from => matrix.read(views => Assembly.slice(views.head, from, from + 10)))), 100000)
    matrix.close()
    lazily(Dataset.placed(stripes, parts.map(_.map(from => Stripe(from.toLong, 10)))))()
  }

  /** Through a driver that has so many bytes for it and shares no folder with executors. */
  private def collectedInTurns(dataset: Dataset, heap: Long): Seq[Byte] = session.named("collect") {
    val collected = Collected.inTurns(dataset.stripes, TransferLimits(heap, 100000, None))
    try bytesOf(collected.concatenated)
    finally collected.close()
  }

  test("without a folder that is shared a matrix comes a few partitions at a time") {
    val source = inPartitions(1000, 3)
    val expected = bytesOf(dense(1000, 20))
    bytesOf(Transfer.collect(source))
    val held = NativeMemory.held
    // A stripe takes 1600 bytes and what Arrow adds; partitions are of three, the last one of one.
    for (heap <- Seq(10000L, 50000L)) assert(collectedInTurns(source, heap) == expected)
    nothingIsLeft(held)
    val failure = Failures.of("io")(collectedInTurns(inPartitions(100, 10), 5000))
    assert(failure.getMessage.contains("no folder that driver and executors share") && failure.getMessage.contains("spark.fulgurite.scratch"))
  }

  test("what fits needs no folder") {
    val source = dataset(dense(100, 10))
    assert(bytesOf(Transfer.collect(source, limits(1 << 20, "/proc/no/such/folder"))) == bytesOf(dense(100, 10)))
    source.release()
  }

  test("a task that fails leaves no file, and its error is the script's") {
    val source = dataset(dense(1000, 20))
    bytesOf(Transfer.collect(source))
    val held = NativeMemory.held
    val failing = lazily(source) { (partition, blocks) =>
      if (partition == 1 && blocks.rowOffset > 800) throw Errors.data("injected", "nothing")
      blocks
    }
    val failure = Failures.of("data")(session.named("collect")(Transfer.collect(failing, limits(0))))
    assert(failure.getMessage.contains("injected"))
    nothingIsLeft(held)
    source.release()
  }

  test("a full disk is an error that names the folder, and says what to do") {
    val source = dataset(dense(1000, 20))
    bytesOf(Transfer.collect(source))
    val held = NativeMemory.held
    val failure = Failures.of("io")(session.named("collect")(Transfer.collect(lazily(source)(), limits(0, s"full://$folder"))))
    assert(failure.getMessage.contains(s"cannot write to 'full:") && failure.getMessage.contains(folder.toString), failure.getMessage)
    assert(failure.getMessage.contains("No space left on device") && failure.getMessage.contains("spark.fulgurite.scratch"), failure.getMessage)
    nothingIsLeft(held)
    source.release()
  }

  test("a folder that cannot be made is an error that names it, and says what to do") {
    val file = Files.createTempFile("fulgurite", "file")
    val source = dataset(dense(100, 20))
    for (base <- Seq(file.toString, file.resolve("inside").toString, "full:/proc/no")) {
      val failure = Failures.of("io")(session.named("collect")(Transfer.collect(source, limits(0, base))))
      assert(failure.getMessage.contains(s"cannot make a folder in '$base'"), failure.getMessage)
      assert(failure.getMessage.contains("spark.fulgurite.scratch") && failure.getMessage.contains("spark.fulgurite.memory.transfer"), failure.getMessage)
    }
    source.release()
  }

  test("a file that is gone when the driver reads is an error that names the folder") {
    val source = dataset(dense(1000, 20))
    val lost = new HadoopPath(s"lost://$folder").toString
    spark.sparkContext.hadoopConfiguration.set("fs.lost.impl", classOf[LostFileSystem].getName)
    val failure = Failures.of("io")(session.named("collect")(Transfer.collect(source, limits(0, lost))))
    assert(failure.getMessage.contains("cannot read what executors wrote to 'lost:"), failure.getMessage)
    assert(files.isEmpty)
    source.release()
  }

  for ((piece, pieces) <- Seq(1000 -> 34, (1 << 20) -> 2)) {
    test(s"a local matrix goes to the executors in pieces of $piece bytes, whatever its stripes are") {
      val matrix = dense(100, 20)
      val ranges = Seq(0 -> 30, 30 -> 100)
      def stripes = ranges.iterator.map { case (from, until) => matrix.read(views => Assembly.slice(views.head, from, until)) }
      val made = LocalRDD(spark.sparkContext, Vector(stripes, stripes), piece)
      assert(made.sent.size >= pieces)
      val found = made.map(blocks => (blocks.rowOffset, cells(blocks))).collect().toSeq
      assert(found == Seq.fill(2)(ranges).flatten.map { case (from, until) => (from.toLong, cells(matrix).slice(from, until)) })
      made.sent.foreach(_.destroy())
      matrix.close()
    }
  }

  test("configured limits are the session's") {
    def limits(settings: (String, String)*) = new Settings(new SparkConf(false).setAll(settings)).transfers
    val heap = Runtime.getRuntime.maxMemory / 4
    assert(limits() == TransferLimits(math.min(heap, 512L << 20), 32 << 20, None))
    assert(limits("spark.driver.maxResultSize" -> "20m").heap == 10L << 20)
    assert(limits("spark.driver.maxResultSize" -> "0", "spark.fulgurite.memory.transfer" -> "9g").heap == 1L << 30)
    assert(limits("spark.fulgurite.memory.transfer" -> "3m", "spark.fulgurite.scratch" -> "hdfs:/x", "spark.fulgurite.broadcast.piece" -> "1k") ==
      TransferLimits(3L << 20, 1024, Some("hdfs:/x")))
    Failures.of("argument")(limits("spark.fulgurite.broadcast.piece" -> "3g"))
  }

  test("what may be broadcast is a share of an executor's memory for data") {
    def limit(settings: (String, String)*) =
      new Settings(new SparkConf(false).setAll(settings)).ofNative("fulgurite.memory.broadcast")
    def share(heap: Long, fraction: Double = 0.6) = (0.3 * (fraction * (heap - (300L << 20)))).toLong
    def isNear(found: String, expected: Long) = math.abs(found.toLong - expected) <= 1
    assert(isNear(limit("spark.master" -> "spark://one:7077", "spark.executor.memory" -> "60g"), share(60L << 30)))
    assert(isNear(limit("spark.master" -> "local-cluster[2,1,1024]"), share(1L << 30)))
    assert(isNear(limit("spark.master" -> "yarn", "spark.executor.memory" -> "2048", "spark.memory.fraction" -> "0.5"), share(2L << 30, 0.5)))
    // The driver is the executor.
    val here = share(Runtime.getRuntime.maxMemory)
    assert(isNear(limit("spark.master" -> "local[2]", "spark.executor.memory" -> "60g"), here))
    assert(isNear(limit("spark.master" -> "local", "spark.fulgurite.memory.broadcast" -> "auto"), here))
    assert(limit("spark.master" -> "yarn", "spark.fulgurite.memory.broadcast" -> "7m") == "7m")
  }

  test("what an operator may take in the driver is a share of what the heap leaves of the memory, on both sides") {
    def settings(own: (String, String)*) = new Settings(new SparkConf(false).setAll(own))
    val (physical, heap) = (100L << 30, 10L << 30)
    assert(DriverMemory.forMatrices(physical, heap) == (90L << 30) / 10 * 7)
    // Heaps that take all, or more.
    for (large <- Seq(physical - 1, physical, 4 * physical)) assert(DriverMemory.forMatrices(physical, large) == physical / 8 / 10 * 7)
    val here = DriverMemory.forMatrices
    assert(here > 0)
    for (automatic <- Seq(settings(), settings("spark.fulgurite.memory.local" -> "auto"))) {
      assert(automatic.localBudget == here && automatic.ofNative("fulgurite.memory.local") == here.toString)
    }
    val set = settings("spark.fulgurite.memory.local" -> "7m", "spark.driver.maxResultSize" -> "1m")
    assert(set.localBudget == 7L << 20 && set.ofNative("fulgurite.memory.local") == "7m")
  }

  test("folders of drivers that were killed are deleted a day later") {
    val base = Files.createTempDirectory("fulgurite-sweep")
    val dead = new ProcessBuilder("true").start()
    dead.waitFor()
    def left(process: Long, name: String, hours: Long): File = {
      val folder = Files.createDirectory(base.resolve(s"fulgurite-transfer-$process-$name"))
      Files.writeString(folder.resolve("0-1"), "stripes")
      folder.toFile.setLastModified(System.currentTimeMillis - hours * 3600 * 1000)
      folder.toFile
    }
    val (old, fresh, alive) = (left(dead.pid, "old", 25), left(dead.pid, "fresh", 23), left(ProcessHandle.current.pid, "alive", 25))
    val other = Files.createDirectory(base.resolve("fulgurite-transfer-")).toFile
    other.setLastModified(0)
    Scratch.sweep(base.toFile)
    assert(!old.exists && fresh.exists && alive.exists && other.exists)
  }
}

final class LocalGuardedTransferSuite extends GuardedTransferSuite("local[2]")

final class ClusterGuardedTransferSuite extends GuardedTransferSuite("local-cluster[2,1,1024]")

object GuardedTransferSuite {
  def cells(blocks: Blocks): Seq[Seq[Double]] = blocks.read(_.flatMap(view => (0 until view.rows).map(view.denseRow(_).toSeq)))

  private def built(builder: BlockBuilder)(fill: => Unit): Blocks = {
    fill
    Blocks.built(builder, 0)
  }

  def dense(rows: Int, cols: Int): Blocks = {
    val (builder, random) = (new DenseBuilder(cols), new Random(7))
    built(builder) {
      for (_ <- 0 until rows) {
        for (_ <- 0 until cols) builder.put(random.nextGaussian())
        builder.endRow()
      }
    }
  }

  def sparse(rows: Int, cols: Int): Blocks = {
    val (builder, random) = (new CsrBuilder(cols), new Random(7))
    built(builder) {
      for (_ <- 0 until rows) {
        for (col <- 0 until cols if random.nextInt(10) == 0) builder.put(col, random.nextGaussian())
        builder.endRow()
      }
    }
  }
}

/** A local disk that has room for files, but for nothing in them. */
final class FullFileSystem extends RawLocalFileSystem {
  override def getScheme: String = "full"
  override def getUri: java.net.URI = java.net.URI.create("full:///")
  override protected def createOutputStreamWithMode(file: HadoopPath, append: Boolean, mode: FsPermission): OutputStream = {
    super.createOutputStreamWithMode(file, append, mode).close()
    super.createOutputStreamWithMode(new HadoopPath("/dev/full"), true, null)
  }
}

/** A file system of which the driver and the executors each have their own: what is written is not there. */
final class LostFileSystem extends RawLocalFileSystem {
  override def getScheme: String = "lost"
  override def getUri: java.net.URI = java.net.URI.create("lost:///")
  override def open(file: HadoopPath, bufferSize: Int): org.apache.hadoop.fs.FSDataInputStream = {
    delete(file, false)
    super.open(file, bufferSize)
  }
}
