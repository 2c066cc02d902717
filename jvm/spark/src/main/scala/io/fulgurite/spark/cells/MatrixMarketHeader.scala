package io.fulgurite.spark.cells

import com.fasterxml.jackson.databind.JsonNode
import io.fulgurite.core.FulguriteException
import io.fulgurite.spark.{Errors, Json}
import io.fulgurite.spark.text.{Chunk, ParsedText}
import org.apache.hadoop.fs.{FileSystem, Path}

/**
 * What a MatrixMarket file says before its cells; it ends after so many bytes.
 *
 * @param array values column by column, without their places
 * @param entries lines of cells, or values
 */
private final case class MatrixMarketHeader(
    array: Boolean, rows: Long, cols: Long, entries: Long, pattern: Boolean, symmetry: Symmetry, bytes: Long)

private object MatrixMarketHeader {
  /** That a header with its comments may have. */
  private val MostBytes = 1 << 20
  private val Format = Json.bytes(Json.newObject().put("kind", "header"))

  def read(file: Path, files: FileSystem): MatrixMarketHeader = {
    val stream = files.open(file)
    val head =
      try stream.readNBytes(MostBytes)
      finally stream.close()
    val parsed =
      try ParsedText(new Chunk(head, head.length), Format)
      catch {
        case bad: FulguriteException =>
          throw new FulguriteException(bad.kind, s"${bad.kind} error: '$file': ${Errors.withoutHeading(bad)}", bad)
      }
    of(parsed.header.get)
  }

  private def of(header: JsonNode): MatrixMarketHeader = {
    def number(field: String) = header.get(field).asLong
    MatrixMarketHeader(
      header.get("array").asBoolean, number("rows"), number("cols"), number("entries"), header.get("pattern").asBoolean,
      Symmetry.named(header.get("symmetry").asText), number("bytes"))
  }
}
