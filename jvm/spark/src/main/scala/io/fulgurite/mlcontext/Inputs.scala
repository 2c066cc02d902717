package io.fulgurite.mlcontext

import java.net.URL
import java.nio.charset.StandardCharsets.UTF_8

import com.fasterxml.jackson.databind.JsonNode
import io.fulgurite.spark.{Blocks, Errors}
import io.fulgurite.spark.arrow.DenseBuilder
import io.fulgurite.spark.dataset.Dataset
import io.fulgurite.spark.frames.FrameSource
import io.fulgurite.spark.primitives.{CsvFormat, CsvSource, Session, Transfer}
import org.apache.spark.api.java.JavaRDD
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.{Dataset => Frame}

/** An input in the form that a request names it. `owned`: made for this execution, and freed after it. */
private[mlcontext] sealed trait Input
private[mlcontext] final case class ScalarInput(value: JsonNode) extends Input
private[mlcontext] final case class MatrixInput(storage: Storage, owned: Boolean) extends Input

/** Values that users bind, as inputs. */
private[mlcontext] final class Inputs(session: Session, settings: Settings) {

  def convert(name: String, value: Any, metadata: Option[MatrixMetadata]): Input = {
    val input = value match {
      case matrix: Matrix => MatrixInput(matrix.storage, owned = false)
      case frame: Frame[_] => large(FrameSource.read(session, name, frame.toDF(), settings.fill))
      case lines: RDD[_] => large(csv(name, lines.map(_.toString), metadata))
      case lines: JavaRDD[_] => large(csv(name, lines.rdd.map(_.toString), metadata))
      case rows: Array[Array[Double]] => MatrixInput(Local(dense(name, rows)), owned = true)
      case column: Array[Double] => MatrixInput(Local(dense(name, column.map(Array(_)))), owned = true)
      case url: URL => large(csv(name, download(url), metadata))
      case other => Literals.toJson(other).map(ScalarInput(_)).getOrElse {
          throw Errors.argument(
            s"input '$name' is a ${other.getClass.getName}",
            "inputs are DataFrames, RDDs of csv lines, arrays of doubles, matrices of former results, and scalars")
        }
    }
    for (said <- metadata) check(name, input, said)
    input
  }

  /** What fits the local budget is brought to the driver; what does not stays where it is. */
  def large(dataset: Dataset): MatrixInput =
    if (dataset.characteristics.bytes > settings.localBudget) MatrixInput(Distributed(dataset), owned = true)
    else {
      val blocks = session.named(s"collect for ${dataset.stripes.name}")(Transfer.collect(dataset))
      dataset.release()
      MatrixInput(Local(blocks), owned = true)
    }

  private def csv(name: String, lines: RDD[String], metadata: Option[MatrixMetadata]): Dataset = {
    if (metadata.exists(_.format == MatrixFormat.IJV)) {
      throw Errors.unsupported(s"input '$name': lines of row, column and value are not read yet", "pass csv lines or a DataFrame")
    }
    val columns = metadata.map(_.cols).filter(_ > 0).map(_.toInt)
    session.named(s"read $name")(CsvSource.fromLines(session, lines, name, CsvFormat(",", header = false, columns)))
  }

  private def download(url: URL): RDD[String] = {
    val stream = url.openStream()
    try session.context.parallelize(new String(stream.readAllBytes(), UTF_8).linesIterator.toVector)
    finally stream.close()
  }

  private def dense(name: String, rows: Array[Array[Double]]): Blocks = {
    val cols = rows.headOption.fold(0)(_.length)
    rows.indexWhere(_.length != cols) match {
      case -1 =>
      case bad => throw Errors.data(s"input '$name': row ${bad + 1} has ${rows(bad).length} cells, row 1 has $cols", "all rows of a matrix are equally long")
    }
    val builder = new DenseBuilder(cols, rows.length.toLong)
    for (row <- rows) {
      row.foreach(builder.put)
      builder.endRow()
    }
    Blocks.built(builder, 0)
  }

  private def check(name: String, input: Input, said: MatrixMetadata): Unit = input match {
    case MatrixInput(storage, _) =>
      val (rows, cols) = storage match {
        case Local(blocks) => (blocks.rows, blocks.cols)
        case Distributed(dataset) => (dataset.characteristics.rows, dataset.characteristics.cols)
      }
      if ((said.rows >= 0 && said.rows != rows) || (said.cols >= 0 && said.cols != cols)) {
        throw Errors.data(s"input '$name' is $rows x $cols, its metadata says ${said.rows} x ${said.cols}", "correct or leave out the metadata")
      }
    case _ =>
  }
}
