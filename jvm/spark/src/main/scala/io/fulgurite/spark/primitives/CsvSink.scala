package io.fulgurite.spark.primitives

import java.io.IOException
import java.util.UUID

import io.fulgurite.spark.{Blocks, Errors}
import io.fulgurite.spark.dataset.Dataset
import org.apache.hadoop.fs.Path
import org.apache.spark.SparkException

/** Datasets as folders of csv part files: complete or not there. */
object CsvSink {

  def write(session: Session, dataset: Dataset, path: String, separator: String, header: Boolean): Unit = {
    val target = new Path(path)
    val files = target.getFileSystem(session.context.hadoopConfiguration)
    val temporary = new Path(target.getParent, s".${target.getName}.${UUID.randomUUID}")
    val lines = dataset.stripes.mapPartitions { part =>
      val rows = part.flatMap(linesOf(_, separator)).buffered
      if (header && rows.hasNext) {
        val cols = rows.head.split(java.util.regex.Pattern.quote(separator), -1).length
        Iterator.single((1 to cols).map(col => s"C$col").mkString(separator)) ++ rows
      } else rows
    }
    try {
      lines.saveAsTextFile(temporary.toString)
      files.delete(target, true)
      if (!files.rename(temporary, target)) throw new IOException(s"'$temporary' could not be renamed")
    } catch {
      case failure @ (_: IOException | _: SparkException) =>
        throw Errors.find(failure).getOrElse(Errors.io(s"cannot write '$path': ${Errors.reason(failure)}", "check that its folder can be written to"))
    } finally files.delete(temporary, true)
  }

  private def linesOf(blocks: Blocks, separator: String): Iterator[String] = {
    val lines = blocks.read(_.flatMap { view =>
      (0 until view.rows).map(row => view.denseRow(row).mkString(separator))
    })
    blocks.closeIfEphemeral()
    lines.iterator
  }
}
