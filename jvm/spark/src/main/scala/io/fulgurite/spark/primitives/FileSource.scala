package io.fulgurite.spark.primitives

import com.fasterxml.jackson.databind.JsonNode
import io.fulgurite.core.Shown
import io.fulgurite.spark.{Errors, Json}
import io.fulgurite.spark.binary.BinarySource
import io.fulgurite.spark.cells.CellLines
import io.fulgurite.spark.dataset.Dataset
import io.fulgurite.spark.frames.FrameSource
import io.fulgurite.spark.text.{CsvFormat, CsvSource, LibsvmSource}

/** Files that a script reads or writes, as native code names them. */
private[spark] object FileSource {

  def read(session: Session, spec: JsonNode): Dataset = {
    val read: String => Dataset = spec.path("kind").asText match {
      case "csv" =>
        val missing = Json.elements(spec.get("na_strings")).map(_.asText)
        val empty = if (spec.get("fill").asBoolean) Some(spec.get("default").asText) else None
        val format = CsvFormat(spec.get("separator").asText, spec.get("header").asBoolean, columns(spec).map(Math.toIntExact), empty, missing,
          warnsOfEmpty = spec.path("warns_of_empty").asBoolean)
        CsvSource.read(session, _, format)
      case "text" => CellLines.text(session, _, spec.get("rows").asLong, spec.get("cols").asLong)
      case "matrixMarket" => CellLines.matrixMarket(session, _)
      case "libsvm" => LibsvmSource.read(session, _, columns(spec))
      case "binary" => BinarySource.read(session, _, spec.get("mapped").asBoolean)
      case "parquet" => FrameSource.parquet(session, _)
      case other => throw Errors.unsupported(s"this jar knows no source '$other'", "use jar and library of the same build")
    }
    val path = spec.get("path").asText
    FileProblem.reading(path)(session.named(s"read ${Shown.text(path)}")(read(path)))
  }

  def format(step: JsonNode): WrittenFormat = step.get("format").asText match {
    case "csv" => WrittenFormat.Csv(step.get("separator").asText, step.get("header").asBoolean, step.get("sparse").asBoolean)
    case "text" => WrittenFormat.Cells
    case "mm" => WrittenFormat.MatrixMarket
    case "libsvm" => WrittenFormat.Libsvm
    case "binary" => WrittenFormat.Binary
    case "parquet" => WrittenFormat.Parquet
    case other => throw Errors.unsupported(s"this jar writes no files of format '$other'", "use jar and library of the same build")
  }

  private def columns(spec: JsonNode): Option[Long] = Option(spec.get("columns")).filterNot(_.isNull).map(_.asLong)
}
