package org.apache.spark.fulgurite

import java.io.File
import java.nio.file.{Files, Path}

import org.apache.spark.SparkEnv
import org.apache.spark.scheduler.StageInfo
import org.apache.spark.util.Utils

/** The folder in which Spark keeps shuffles and spilled blocks. */
object Disk {
  def folder: String = folders.head.toString

  /** As if the disk were gone: nothing can be written below. */
  def replaceByFile(): Unit = folders.foreach { folder =>
    Utils.deleteRecursively(folder.toFile)
    Files.createFile(folder)
  }

  /** The numbers of the shuffles that a stage reads, of a job with these stages. */
  def shufflesReadBy(stage: StageInfo, job: Iterable[StageInfo]): Set[Int] =
    job.filter(parent => stage.parentIds.contains(parent.stageId)).flatMap(_.shuffleDepId).toSet

  /** What this executor has of these shuffles. */
  def ofShuffles(numbers: Set[Int]): Seq[File] = {
    val Of = """shuffle_(\d+)_.*""".r
    val files = SparkEnv.get.blockManager.diskBlockManager.getAllFiles()
    files.map(file => file.getName -> file).collect { case (Of(number), file) if numbers(number.toInt) => file }
  }

  private def folders: Seq[Path] = SparkEnv.get.blockManager.diskBlockManager.localDirs.map(_.toPath).toSeq
}
