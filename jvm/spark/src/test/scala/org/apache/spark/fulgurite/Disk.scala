package org.apache.spark.fulgurite

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

  private def folders: Seq[Path] = SparkEnv.get.blockManager.diskBlockManager.localDirs.map(_.toPath).toSeq
}
