package io.fulgurite.spark.primitives

import java.io.{FileNotFoundException, IOException, InputStream, OutputStream}
import java.nio.charset.StandardCharsets.{ISO_8859_1, UTF_8}
import java.nio.file.{Files, Path => LocalPath}

import com.fasterxml.jackson.databind.JsonNode
import io.fulgurite.spark.Json
import org.apache.hadoop.fs.{FileSystem, Path}

/** Files of any of Hadoop's file systems, for native code, which knows this machine's alone. */
private[spark] object HadoopFiles {

  /** What there is of a file or a folder of part files: bytes, the first ones, and the text of its `.mtd` file. */
  def find(session: Session, path: String, head: Long): JsonNode = FileProblem.named("read", path) {
    val parts = TextFiles.found(session, path)
    val first = parts.headOption.fold("")(part => opened(session, part.getPath)(in => new String(in.readNBytes(Math.toIntExact(head)), ISO_8859_1)))
    val found = Json.newObject().put("bytes", parts.map(_.getLen).sum).put("head", first)
    metadata(session, path).foreach(found.put("metadata", _))
    found
  }

  /** A copy of the parts in a folder of this machine, in order; the caller deletes it. They have so many bytes at most. */
  def fetch(session: Session, path: String, bytes: Long): LocalPath = FileProblem.named("read", path) {
    val parts = TextFiles.found(session, path)
    made(Scratch.here(session.context)) { folder =>
      var left = bytes
      for ((part, number) <- parts.zipWithIndex) {
        val copy = Files.newOutputStream(folder.resolve(f"$number%09d"))
        try opened(session, part.getPath)(in => left -= copied(in, copy, left))
        finally copy.close()
      }
    }
  }

  /** A folder of this machine for what [[store]] takes; the caller deletes it. */
  def stage(session: Session, path: String): LocalPath = FileProblem.named("write", path) {
    // What cannot be written to is better known before the file is made.
    files(session, new Path(path))
    Scratch.here(session.context)
  }

  /** Gives what was staged its path, with its `.mtd` file, if it has one. */
  def store(session: Session, folder: LocalPath, path: String): Unit = {
    val (staged, described) = (folder.resolve(Staged), folder.resolve(s"$Staged.mtd"))
    val metadata = if (Files.exists(described)) Some(Files.readString(described)) else None
    FileSink.replace(session, path, metadata) { (files, temporary) =>
      val out = files.create(temporary, false)
      // What is closed is there: after a failure it is deleted.
      try Files.copy(staged, out)
      finally out.close()
    }
  }

  private def metadata(session: Session, path: String): Option[String] = {
    val described = FileSink.described(new Path(path))
    try Some(opened(session, described) { in =>
        val bytes = in.readNBytes(MostMetadata + 1)
        if (bytes.length > MostMetadata) throw new IOException(s"'$described' has more than $MostMetadata bytes")
        new String(bytes, UTF_8)
      })
    catch { case _: FileNotFoundException => None }
  }

  private def opened[A](session: Session, path: Path)(read: InputStream => A): A = {
    val in = files(session, path).open(path)
    try read(in)
    finally in.close()
  }

  private def files(session: Session, path: Path): FileSystem = path.getFileSystem(session.context.hadoopConfiguration)

  /** Bytes that were copied. */
  private def copied(in: InputStream, out: OutputStream, most: Long): Long = {
    val buffer = new Array[Byte](BufferBytes)
    var (sum, read) = (0L, in.read(buffer))
    while (read >= 0) {
      sum += read
      if (sum > most) throw new IOException("it has grown since it was looked at")
      out.write(buffer, 0, read)
      read = in.read(buffer)
    }
    sum
  }

  /** The folder with what `fill` puts there, or none. */
  private def made(folder: LocalPath)(fill: LocalPath => Unit): LocalPath =
    try {
      fill(folder)
      folder
    } catch {
      case failure: Throwable =>
        Scratch.delete(folder.toFile)
        throw failure
    }

  /** As native/dataflow/src/protocol/mod.rs calls it. */
  private val Staged = "staged"
  private val MostMetadata = 1 << 20
  private val BufferBytes = 1 << 20
}
