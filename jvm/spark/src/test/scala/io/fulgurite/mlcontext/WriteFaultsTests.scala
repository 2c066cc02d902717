package io.fulgurite.mlcontext

import java.nio.file.{Files, Path}

import io.fulgurite.{Failures, Faults}
import io.fulgurite.faults.{FaultyFileSystem, WriteFault, WriteFaults}

/** Faults while a matrix is written by the workers: files have the bytes of an undisturbed run, or are what they were before. */
trait WriteFaultsTests extends FaultyCluster {
  private val cells = Faults.cells(2000, 20)
  private val formats = Seq("csv", "text", "binary", "parquet")

  private def write(folder: Path, formats: Seq[String], factor: Int = 2): Unit = {
    val writes = formats.map(format => s"write(Y, $$where + '/$format', format='$format')")
    val script = ScriptFactory.dml((s"Y = X * $factor" +: writes).mkString("\n"))
      .in("X", Faults.frame(spark, cells, 4)((_, rows) => rows)).in("$where", s"${FaultyFileSystem.Scheme}:$folder")
    configured("fulgurite.memory.local" -> "50k")(_ => ())(ml.execute(script))
    ()
  }

  /** All files, with their bytes; of Parquet files, whose metadata the process orders that writes them, the bits of cells. Spark gives them a random part of a name. */
  private def files(folder: Path): Map[String, Seq[Long]] = {
    val walk = Files.walk(folder)
    try walk.toArray.toSeq.collect { case file: Path if Files.isRegularFile(file) =>
        val name = folder.relativize(file).toString.replaceAll("-[0-9a-f-]{36}-", "-")
        name -> (if (name.endsWith(".parquet")) bits(file) else Files.readAllBytes(file).toSeq.map(_.toLong))
      }.toMap
    finally walk.close()
  }

  private def bits(file: Path): Seq[Long] =
    spark.read.parquet(file.toString).collect().toSeq.flatMap(_.toSeq.map(cell => java.lang.Double.doubleToRawLongBits(cell.asInstanceOf[Double])))

  private def folder: Path = Files.createTempDirectory("fulgurite-written")

  private lazy val undisturbed = {
    val written = folder
    write(written, formats)
    files(written)
  }

  private def isSame(found: Map[String, Seq[Long]], expected: Map[String, Seq[Long]]): Unit = {
    assert(found.keySet == expected.keySet)
    val others = expected.keySet.filter(file => found(file) != expected(file))
    assert(others.isEmpty)
  }

  for ((what, faults) <- Seq[(String, Map[String, WriteFault])](
      "a task fails in the middle of a file, or its executor is killed" ->
        Map("csv" -> WriteFault.Fails, "text" -> WriteFault.Halts, "binary" -> WriteFault.Fails, "parquet" -> WriteFault.Halts),
      "a task that writes is overtaken by its speculative copy" ->
        Map("csv" -> WriteFault.IsLate, "text" -> WriteFault.IsSlow, "binary" -> WriteFault.IsLate, "parquet" -> WriteFault.IsSlow))) {
    test(s"$what, and the file is whole") {
      undisturbed
      val written = folder
      val happened = new WriteFaults(writeFaults).set(faults)
      write(written, formats)
      for (format <- formats) assert(happened.happened(format), format)
      isSame(files(written), undisturbed)
      nothingIsLeft()
    }
  }

  test("a file is what it was before when a task fails for good that is to write it anew") {
    val written = folder
    new WriteFaults(writeFaults).set(Map.empty)
    write(written, formats)
    val before = files(written)
    new WriteFaults(writeFaults).set(formats.map(_ -> WriteFault.FailsAlways).toMap)
    for (format <- formats) {
      val failure = Failures.of("io")(write(written, Seq(format), factor = 3))
      assert(failure.getMessage.contains("injected: the disk is broken"), failure.getMessage)
    }
    isSame(files(written), before)
    new WriteFaults(writeFaults).set(Map.empty)
    nothingIsLeft()
  }
}
