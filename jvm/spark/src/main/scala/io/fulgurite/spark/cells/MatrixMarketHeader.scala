package io.fulgurite.spark.cells

import java.io.{BufferedInputStream, InputStream}
import java.nio.charset.StandardCharsets.UTF_8
import java.util.Locale

import scala.annotation.tailrec
import scala.util.Try

import io.fulgurite.core.FulguriteException
import io.fulgurite.spark.Errors
import org.apache.hadoop.fs.{FileSystem, Path}

/**
 * What a MatrixMarket file says before its cells; it ends after so many bytes and lines.
 *
 * @param array values column by column, without their places
 */
private final case class MatrixMarketHeader(
    array: Boolean, rows: Long, cols: Long, entries: Long, pattern: Boolean, symmetry: Symmetry, bytes: Long, lines: Int)

private object MatrixMarketHeader {

  def read(file: Path, files: FileSystem): MatrixMarketHeader = {
    val stream = new BufferedInputStream(files.open(file))
    try parse(file.toString, new CountedLines(stream))
    finally stream.close()
  }

  private def parse(name: String, lines: CountedLines): MatrixMarketHeader = {
    def bad(reason: String): FulguriteException = Errors.data(s"line ${lines.count} of '$name': $reason", "see math.nist.gov/MatrixMarket/formats.html")
    val banner = lines.next().getOrElse("").toLowerCase(Locale.ROOT).trim.split("\\s+").toSeq
    val (array, pattern, symmetry) = banner match {
      case Seq("%%matrixmarket", "matrix", "coordinate", Field(pattern), Triangle(symmetry)) => (false, pattern, symmetry)
      case Seq("%%matrixmarket", "matrix", "array", Field(pattern), Triangle(symmetry)) =>
        if (pattern) throw bad("an array has no pattern")
        (true, false, symmetry)
      case Seq("%%matrixmarket", "matrix", words @ _*) =>
        throw Errors.unsupported(
          s"'$name' is a MatrixMarket file with '${words.mkString(" ")}'",
          "coordinates and arrays are read, real, integer and pattern ones, general, symmetric and skew-symmetric ones")
      case _ => throw bad("the file does not begin with '%%MatrixMarket matrix LAYOUT FIELD SYMMETRY'")
    }
    @tailrec def sizes(): Seq[Option[Long]] = lines.next() match {
      case None => throw bad("the file has no line with its size")
      case Some(line) if line.startsWith("%") || line.trim.isEmpty => sizes()
      case Some(line) => line.trim.split("\\s+").toSeq.map(word => Try(word.toLong).toOption)
    }
    def header(rows: Long, cols: Long, entries: Long) = {
      if (symmetry != Symmetry.General && rows != cols) throw bad(s"a symmetric matrix is square, not $rows x $cols")
      MatrixMarketHeader(array, rows, cols, entries, pattern, symmetry, lines.bytes, lines.count)
    }
    sizes() match {
      case Seq(Some(rows), Some(cols), Some(entries)) if !array => header(rows, cols, entries)
      case Seq(Some(rows), Some(cols)) if array =>
        header(rows, cols, Try(symmetry.entries(rows, cols)).getOrElse(throw bad(s"no file has the values of a $rows x $cols matrix")))
      case _ => throw bad(if (array) "this is not 'rows columns'" else "this is not 'rows columns entries'")
    }
  }

  private object Field {
    def unapply(word: String): Option[Boolean] = word match {
      case "real" | "integer" | "double" => Some(false)
      case "pattern" => Some(true)
      case _ => None
    }
  }

  private object Triangle {
    def unapply(word: String): Option[Symmetry] = word match {
      case "general" => Some(Symmetry.General)
      case "symmetric" => Some(Symmetry.Symmetric)
      case "skew-symmetric" => Some(Symmetry.Skew)
      case _ => None
    }
  }
}

/** Lines of a stream, counted, with their bytes. */
private final class CountedLines(stream: InputStream) {
  var bytes = 0L
  var count = 0

  def next(): Option[String] = {
    val line = new java.io.ByteArrayOutputStream()
    var byte = stream.read()
    if (byte < 0) None
    else {
      while (byte >= 0 && byte != '\n') {
        line.write(byte)
        bytes += 1
        byte = stream.read()
      }
      if (byte >= 0) bytes += 1
      count += 1
      Some(new String(line.toByteArray, UTF_8))
    }
  }
}
