package io.fulgurite.spark.frames

import scala.reflect.ClassTag

import io.fulgurite.core.FulguriteException
import io.fulgurite.spark.{Blocks, Errors, Event}
import io.fulgurite.spark.dataset.Dataset
import io.fulgurite.spark.primitives.{Assembly, Session, TextFiles}
import io.fulgurite.spark.version.Frames
import org.apache.spark.SparkEnv
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation

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

  /**
   * A matrix here, if the rows are in this process already and take at most so many bytes: that is worth no Spark job. Otherwise a dataset.
   *
   * @param fill what stands for null; without it a null is an error
   */
  def convert(session: Session, name: String, frame: DataFrame, fill: Option[Double], most: Long): Either[Blocks, Dataset] =
    session.named(s"read $name") {
      val prepared = Columns.prepare(frame)
      val rows = Frames.execution(prepared.frame).optimizedPlan match {
        case relation: LocalRelation => relation.data
        case _ => Seq.empty
      }
      (if (rows.isEmpty) None else local(rows, prepared, fill, most)).toLeft(stripes(session, name, Seq(prepared), fill))
    }

  /** Reads stripe by stripe, no further than the limit. */
  private def local(rows: Seq[InternalRow], prepared: Prepared, fill: Option[Double], most: Long): Option[Blocks] = {
    val form = new FrameRows(prepared.columns, prepared.indexed, fill)
    def size = rows.iterator.flatMap(form.size(_)).take(1).toSeq.headOption
    BadRow.locatedHere(rows)(form.problem(_, size)) {
      var (stripes, bytes) = (Vector.empty[ReadStripe], 0L)
      try {
        val reader = form.stripes(rows.iterator)
        while (reader.hasNext && bytes <= most) {
          val stripe = reader.next()
          stripes :+= stripe
          bytes += stripe.blocks.bytes
        }
        if (bytes > most) None
        else if (prepared.indexed) Some(RowOrder.ordered(stripes, numbers))
        else Some(Assembly.concatenate(stripes.map(_.blocks)).placeAt(0))
      } finally stripes.foreach(_.blocks.close())
    }
  }

  /** What numbers rows, in errors. */
  private def numbers: String = s"column '${Columns.Index}'"

  private def stripes(session: Session, name: String, tables: Seq[Prepared], fill: Option[Double]): Dataset = {
    val (counts, indexed) = (session.counts, tables.head.indexed)
    val form = new FrameRows(tables.head.columns, indexed, fill)
    val rows: Seq[RDD[InternalRow]] = tables.map(table => FrameRDD.rows(table.frame))
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
      if (indexed) RowOrder.dataset(read, name, numbers) else Dataset.fromSource(read.map(_.blocks), name)
    }
  }

  private def together[A: ClassTag](session: Session, parts: Seq[RDD[A]]): RDD[A] = if (parts.size == 1) parts.head else session.context.union(parts)
}
