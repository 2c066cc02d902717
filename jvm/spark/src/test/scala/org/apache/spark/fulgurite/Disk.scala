package org.apache.spark.fulgurite

import java.io.File
import java.nio.file.{Files, Path}

import org.apache.spark.SparkEnv
import org.apache.spark.util.Utils

/** The folder in which Spark keeps shuffles and spilled blocks. */
object Disk {
  def folder: String = folders.head.toString

  /** As if the disk were gone: nothing can be written below. */
  def replaceByFile(): Unit = folders.foreach { folder =>
    Utils.deleteRecursively(folder.toFile)
    Files.createFile(folder)
  }

  /** What this executor has of the shuffle that was written last. */
  def latestShuffle: Seq[File] = {
    val Of = """shuffle_(\d+)_.*""".r
    val files = SparkEnv.get.blockManager.diskBlockManager.getAllFiles()
    val numbered = files.map(file => file.getName -> file).collect { case (Of(number), file) => number.toInt -> file }
    numbered.groupBy(_._1).toSeq.sortBy(-_._1).headOption.fold(Seq.empty[File])(_._2.map(_._2))
  }

  private def folders: Seq[Path] = SparkEnv.get.blockManager.diskBlockManager.localDirs.map(_.toPath).toSeq
}
