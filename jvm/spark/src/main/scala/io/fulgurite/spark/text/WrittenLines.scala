package io.fulgurite.spark.text

import java.io.{ByteArrayOutputStream, OutputStream}
import java.nio.charset.StandardCharsets.UTF_8

import io.fulgurite.core.Native
import io.fulgurite.spark.{Blocks, Json}
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.io.NullWritable
import org.apache.hadoop.io.compress.GzipCodec
import org.apache.hadoop.mapreduce.{RecordWriter, TaskAttemptContext}
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat
import org.apache.hadoop.util.ReflectionUtils
import org.apache.spark.rdd.RDD

/** Stripes as lines of text, which native code writes. Formats are those of [[Native.formatText]]. */
private[fulgurite] object WrittenLines {

  /** A line for each row. */
  def csv(separator: String, header: Boolean = false, sparse: Boolean = false): Array[Byte] =
    Json.bytes(Json.newObject().put("kind", "csv").put("separator", separator).put("header", header).put("sparse", sparse))

  /** A line `row column value` (from 1) for each cell that is not 0. */
  def cells: Array[Byte] = kind("cells")

  /** A line `label index:value ...` for each row; the label is the last column. */
  def libsvm: Array[Byte] = kind("libsvm")

  private def kind(name: String) = Json.bytes(Json.newObject().put("kind", name))

  /** As elements, in the order of rows. */
  def elements(stripes: RDD[Blocks], format: Array[Byte]): RDD[String] = stripes.mapPartitions(_.flatMap { blocks =>
    val out = new ByteArrayOutputStream
    try write(blocks, format, out)
    finally blocks.closeIfEphemeral()
    out.toString(UTF_8).linesIterator
  })

  /**
   * As a file for each partition that has stripes.
   *
   * @param first the format of the first stripe of a file, which may have a header
   */
  def save(stripes: RDD[Blocks], folder: String, first: Array[Byte], others: Array[Byte], configuration: Configuration): Unit = {
    val own = new Configuration(configuration)
    own.set(First, new String(first, UTF_8))
    own.set(Others, new String(others, UTF_8))
    stripes.map(blocks => (NullWritable.get, blocks)).saveAsNewAPIHadoopFile(folder, classOf[NullWritable], classOf[Blocks], classOf[LinesOutputFormat], own)
  }

  private[text] val First = "fulgurite.text.first"
  private[text] val Others = "fulgurite.text.others"

  private[text] def write(blocks: Blocks, format: Array[Byte], out: OutputStream): Unit = blocks.withHandle(Native.formatText(_, format, out))
}

/** The stripes of a partition as one file of text, compressed where Hadoop's configuration says so; there is none where there are no stripes. */
private[spark] final class LinesOutputFormat extends FileOutputFormat[NullWritable, Blocks] {
  override def getRecordWriter(context: TaskAttemptContext): RecordWriter[NullWritable, Blocks] = new RecordWriter[NullWritable, Blocks] {
    private var opened = Option.empty[OutputStream]

    override def write(key: NullWritable, blocks: Blocks): Unit =
      try {
        val out = opened.getOrElse(open(context))
        // Separators may look like variables.
        val format = context.getConfiguration.getRaw(if (opened.isEmpty) WrittenLines.First else WrittenLines.Others)
        opened = Some(out)
        WrittenLines.write(blocks, format.getBytes(UTF_8), out)
      } finally blocks.closeIfEphemeral()

    override def close(context: TaskAttemptContext): Unit = opened.foreach(_.close())
  }

  private def open(context: TaskAttemptContext): OutputStream = {
    val configuration = context.getConfiguration
    val codec =
      if (FileOutputFormat.getCompressOutput(context)) {
        Some(ReflectionUtils.newInstance(FileOutputFormat.getOutputCompressorClass(context, classOf[GzipCodec]), configuration))
      } else None
    val path = getDefaultWorkFile(context, codec.fold("")(_.getDefaultExtension))
    val file = path.getFileSystem(configuration).create(path, false)
    codec.fold[OutputStream](file)(_.createOutputStream(file))
  }
}
