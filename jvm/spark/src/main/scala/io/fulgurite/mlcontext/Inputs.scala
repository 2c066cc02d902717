package io.fulgurite.mlcontext

import java.net.URL
import java.nio.charset.StandardCharsets.UTF_8

import com.fasterxml.jackson.databind.JsonNode
import io.fulgurite.spark.{Blocks, Errors}
import io.fulgurite.spark.arrow.DenseBuilder
import io.fulgurite.spark.cells.{CellFrames, CellLines}
import io.fulgurite.spark.dataset.Dataset
import io.fulgurite.spark.frames.{FrameSource, VectorSource}
import io.fulgurite.spark.primitives.{Session, Transfer}
import io.fulgurite.spark.text.{CsvFormat, CsvSource}
import org.apache.spark.api.java.JavaRDD
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.{DataFrame, Dataset => Frame}

/** An input in the form that a request names it. `owned`: made for this execution, and freed after it. */
private[mlcontext] sealed trait Input
private[mlcontext] final case class ScalarInput(value: JsonNode) extends Input
private[mlcontext] final case class MatrixInput(storage: Storage, owned: Boolean) extends Input

/** Values that users bind, as inputs. */
private[mlcontext] final class Inputs(session: Session, settings: Settings) {
  /** Bytes of inputs that are in the driver's process. */
  private var here = 0L

  def convert(name: String, value: Any, metadata: Option[MatrixMetadata]): Input = {
    val input = Errors.naming(name)(value match {
      case matrix: Matrix => MatrixInput(matrix.storage, owned = false)
      case frame: Frame[_] if isCells(metadata) => large(cells(name, frame.toDF(), metadata))
      case frame: Frame[_] =>
        FrameSource.convert(session, name, frame.toDF(), settings.fill, room)
          .fold(blocks => MatrixInput(Local(blocks), owned = true), large)
      case elements: RDD[_] => large(distributed(name, elements.asInstanceOf[RDD[Any]], metadata))
      case elements: JavaRDD[_] => large(distributed(name, elements.rdd.asInstanceOf[RDD[Any]], metadata))
      case rows: Array[Array[Double]] => MatrixInput(Local(dense(name, rows)), owned = true)
      case column: Array[Double] => MatrixInput(Local(dense(name, column.map(Array(_)))), owned = true)
      case url: URL => large(lines(name, download(url), metadata))
      case other => Literals.toJson(other).map(ScalarInput(_)).getOrElse {
          throw Errors.argument(
            s"input '$name' is a ${other.getClass.getName}",
            "inputs are DataFrames, RDDs of lines or vectors, arrays of doubles, matrices of former results, and scalars")
        }
    })
    try metadata.foreach(check(name, input, _))
    catch {
      case failure: Throwable =>
        release(input)
        throw failure
    }
    input match {
      case MatrixInput(Local(blocks), _) => here += blocks.bytes
      case _ =>
    }
    input
  }

  private def room: Long = math.max(0L, settings.localBudget - here)

  /** What fits the local budget with the inputs before it is brought to the driver; what does not stays where it is. */
  def large(dataset: Dataset): MatrixInput =
    if (dataset.characteristics.bytes > room) MatrixInput(Distributed(dataset), owned = true)
    else {
      val blocks = session.named(s"collect for ${dataset.stripes.name}")(Transfer.collect(dataset, session.limits))
      dataset.release()
      MatrixInput(Local(blocks), owned = true)
    }

  private def cells(name: String, frame: DataFrame, metadata: Option[MatrixMetadata]): Dataset =
    CellFrames.read(session, name, frame, size(metadata, _.rows), size(metadata, _.cols), settings.fill)

  private def distributed(name: String, elements: RDD[Any], metadata: Option[MatrixMetadata]): Dataset =
    session.named(s"look at $name")(elements.take(1)).headOption match {
      case None if isCells(metadata) => lines(name, elements, metadata)
      case None => throw Errors.data(s"input '$name' has no elements", "a matrix needs at least one row")
      case Some(null) => throw Errors.data(s"row 1: input '$name' holds a null", "leave such rows out")
      case Some(_: CharSequence | _: java.lang.Number) => lines(name, elements, metadata)
      case Some(first) if VectorSource.isRow(first) && !isCells(metadata) => VectorSource.read(session, name, elements, first)
      case Some(other) =>
        throw Errors.argument(
          s"input '$name' is an RDD of ${other.getClass.getName}",
          if (isCells(metadata)) "cells are lines of row, column and value, or a DataFrame of such columns"
          else "elements are lines of csv, vectors of spark.ml or spark.mllib, arrays of doubles, or pairs of row number (from 1) and one of these")
    }

  private def lines(name: String, lines: RDD[_], metadata: Option[MatrixMetadata]): Dataset = session.named(s"read $name") {
    if (isCells(metadata)) CellLines.lines(session, lines, name, size(metadata, _.rows), size(metadata, _.cols))
    else CsvSource.fromElements(session, lines, name, CsvFormat(",", header = false, size(metadata, _.cols).map(Math.toIntExact)))
  }

  private def isCells(metadata: Option[MatrixMetadata]): Boolean = metadata.exists(_.format == MatrixFormat.IJV)

  private def size(metadata: Option[MatrixMetadata], of: MatrixMetadata => Long): Option[Long] = metadata.map(of).filter(_ > 0)

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

  private def release(input: Input): Unit = input match {
    case MatrixInput(Local(blocks), true) => blocks.close()
    case MatrixInput(Distributed(dataset), true) => dataset.release()
    case _ =>
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
