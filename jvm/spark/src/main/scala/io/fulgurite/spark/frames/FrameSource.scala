package io.fulgurite.spark.frames

import scala.reflect.ClassTag

import io.fulgurite.core.FulguriteException
import io.fulgurite.spark.{Errors, Event}
import io.fulgurite.spark.dataset.Dataset
import io.fulgurite.spark.primitives.{Session, TextFiles}
import io.fulgurite.spark.version.Frames
import org.apache.spark.SparkEnv
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.InternalRow

/** DataFrames as datasets. The frame is computed once; the stripes it becomes are persisted. */
object FrameSource {

  /** @param fill what stands for null; without it a null is an error */
  def read(session: Session, name: String, frame: DataFrame, fill: Option[Double]): Dataset =
    session.named(s"read $name")(stripes(session, name, Seq(Columns.prepare(frame)), fill))

  /** A Parquet file, or a folder of them in the order of their names: Spark's own reader sorts files by size. A partitioned table has no order. */
  def parquet(session: Session, path: String): Dataset = session.named(s"read $path") {
    val tables = if (TextFiles.hasFolders(session, path)) Seq(path) else TextFiles.parts(session, path).map(_.toString)
    val prepared = tables.map(table => table -> Columns.prepare(session.spark.read.parquet(table)))
    val (first, columns) = (prepared.head._1, prepared.head._2.columns)
    for ((table, other) <- prepared if (other.columns, other.indexed) != ((columns, prepared.head._2.indexed))) {
      throw Errors.data(
        s"'$table' has the columns ${other.columns.names.mkString(", ")}, '$first' has ${columns.names.mkString(", ")}",
        "all files of a folder have the same columns")
    }
    stripes(session, path, prepared.map(_._2), session.fill)
  }

  private def stripes(session: Session, name: String, tables: Seq[Prepared], fill: Option[Double]): Dataset = {
    val (counts, indexed) = (session.counts, tables.head.indexed)
    val form = new FrameRows(tables.head.columns, indexed, fill)
    val rows: Seq[RDD[InternalRow]] = tables.map(table => Frames.rows(table.frame))
    val read = together(session, rows.map(_.mapPartitions { part =>
      counts.add(Event(Event.SourcePartition, name, SparkEnv.get.executorId))
      form.stripes(part)
    }))
    def all = together(session, rows)
    def size = all.map(form.size).filter(_.nonEmpty).take(1).headOption.flatten
    def problem: InternalRow => Option[FulguriteException] = {
      val expected = size
      row => form.problem(row, expected)
    }
    BadRow.located(all)(problem) {
      if (indexed) RowOrder.dataset(read, s"column '${Columns.Index}'") else Dataset.fromOrdered(read.map(_.blocks))
    }
  }

  private def together[A: ClassTag](session: Session, parts: Seq[RDD[A]]): RDD[A] = if (parts.size == 1) parts.head else session.context.union(parts)
}
