package io.fulgurite.mlcontext

import java.io.{File, IOException, InputStream}
import java.net.{URI, URL}
import java.nio.charset.StandardCharsets.UTF_8

import io.fulgurite.spark.Errors
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

/** Makes scripts of texts from anywhere. */
object ScriptFactory {
  def dml(text: String): Script = new Script(text)
  def dmlFromString(text: String): Script = dml(text)

  /** A local path, or one of any file system that Hadoop knows. */
  def dmlFromFile(path: String): Script = {
    val hadoopPath = new Path(path)
    reading(path) { hadoopPath.getFileSystem(new Configuration()).open(hadoopPath) }.setName(path)
  }

  def dmlFromLocalFile(file: File): Script = reading(file.getPath)(new java.io.FileInputStream(file)).setName(file.getPath)
  def dmlFromInputStream(stream: InputStream): Script = reading("the stream")(stream)
  def dmlFromUrl(url: String): Script = dmlFromUrl(URI.create(url).toURL)
  def dmlFromUrl(url: URL): Script = reading(url.toString)(url.openStream()).setName(url.toString)

  def dmlFromResource(path: String): Script = {
    val absolute = if (path.startsWith("/")) path else s"/$path"
    reading(s"resource $absolute") {
      Option(getClass.getResourceAsStream(absolute)).getOrElse(throw new IOException("it is not on the class path"))
    }.setName(absolute)
  }

  private def reading(what: String)(open: => InputStream): Script =
    try {
      val stream = open
      try dml(new String(stream.readAllBytes(), UTF_8))
      finally stream.close()
    } catch {
      case failure: IOException => throw Errors.io(s"cannot read the script '$what': ${failure.getMessage}", "check the path")
    }
}
