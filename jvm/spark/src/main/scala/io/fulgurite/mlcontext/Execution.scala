package io.fulgurite.mlcontext

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode
import io.fulgurite.core.{Native, NativeLibrary}
import io.fulgurite.spark.{Blocks, Errors, Json, NativeRuns, SparkHost}
import io.fulgurite.spark.arrow.Library
import io.fulgurite.spark.primitives.Session
import org.apache.hadoop.fs.FileSystem
import org.apache.spark.SparkContext
import org.apache.spark.sql.SparkSession

/** What is to be run: a script or a HOP DAG. */
private[fulgurite] sealed trait Work
private[fulgurite] final case class ScriptWork(name: String, text: String) extends Work
private[fulgurite] final case class DagWork(dag: JsonNode) extends Work

/** What is to be explained: a level in a format, or why some operators are fused or not. */
private[fulgurite] final case class Question(level: String, format: String = "text", why: Option[String] = None)

/** One request to native code, from converting inputs to wrapping outputs. */
private[fulgurite] final class Execution(spark: SparkSession, settings: Settings, show: String => Unit) extends Interruptible {
  override val sparkContext: SparkContext = spark.sparkContext
  private val session = new Session(spark, settings, observed = true)
  /** What native code calls it. */
  private val number = NativeRuns.next()
  private var printed = Vector.empty[String]

  def run(
      work: Work, bindings: Seq[(String, Any, Option[MatrixMetadata])], outputs: Seq[String],
      script: Option[Script], explainLevel: Option[String]): MLResults =
    prepared(work, bindings, outputs) { (request, host) =>
      for (level <- explainLevel) show(explain(request.deepCopy(), Question(level), host))
      request.put("run", number)
      val reply = Json.parse(Native.call(Json.bytes(request), host))
      val values = outputs.map(name => name -> output(name, reply.path("outputs").path(name), host)).toMap
      new MLResults(values, script, () => new Report(reply.path("report"), session.figures), printed)
    }

  /** What running it would do. Inputs are converted, for their sizes. */
  def explain(work: Work, bindings: Seq[(String, Any, Option[MatrixMetadata])], outputs: Seq[String], question: Question): String =
    prepared(work, bindings, outputs)((request, host) => explain(request, question, host))

  override protected def stop(): Unit = {
    if (NativeLibrary.isLoaded) Native.interrupt(number)
    session.interrupt()
  }

  /** Runs `body` with a request whose inputs are there. */
  private def prepared[A](
      work: Work, bindings: Seq[(String, Any, Option[MatrixMetadata])], outputs: Seq[String])(body: (ObjectNode, SparkHost) => A): A = session.interruptible {
    Library.ensureLoaded()
    val (arguments, variables) = bindings.partition(_._1.startsWith("$"))
    val converter = new Inputs(session, settings)
    var inputs = Seq.empty[(String, Input)]
    try {
      for ((name, value, metadata) <- variables) inputs :+= (name -> converter.convert(name, value, metadata))
      val datasets = inputs.collect { case (name, MatrixInput(Distributed(dataset), _)) => name -> dataset }.toMap
      val host = new SparkHost(session, datasets, { line => if (wantsLines) { printed :+= line; show(line) } })
      try {
        val texts = arguments.map { case (name, value, _) => name.stripPrefix("$") -> Literals.argument(name, value) }
        val request = this.request(work, texts, outputs)
        withInputs(inputs.toList, request)(body(request, host))
      } finally host.close()
    } finally {
      try inputs.foreach {
        case (_, MatrixInput(storage, true)) => new Matrix(storage, spark).close()
        case _ =>
      } finally session.close()
    }
  }

  private def request(work: Work, arguments: Seq[(String, String)], outputs: Seq[String]): ObjectNode = {
    val request = Json.newObject().put("command", "execute")
    work match {
      case ScriptWork(name, text) => request.put("name", name).put("script", text)
      case DagWork(dag) => request.set[JsonNode]("dag", dag)
    }
    val texts = request.putObject("arguments")
    arguments.foreach { case (name, text) => texts.put(name, text) }
    val names = request.putArray("outputs")
    outputs.foreach(names.add)
    val config = request.putObject("config")
    settings.ofNative.foreach { case (key, value) => config.put(key, value) }
    // Where Hadoop's default is another file system, paths without a scheme are its files.
    if (FileSystem.getDefaultUri(spark.sparkContext.hadoopConfiguration).getScheme != "file") request.put("pathsElsewhere", true)
    request.putArray("inputs")
    request
  }

  /** Names the inputs in the request and runs `body` while their handles are held. */
  private def withInputs[A](inputs: List[(String, Input)], request: ObjectNode)(body: => A): A = inputs match {
    case Nil => body
    case (name, input) :: others =>
      val entry = request.withArray[com.fasterxml.jackson.databind.node.ArrayNode]("inputs").addObject().put("name", name)
      input match {
        case ScalarInput(value) =>
          entry.put("kind", "scalar").set[JsonNode]("value", value)
          withInputs(others, request)(body)
        case MatrixInput(Local(blocks), _) => blocks.withHandle { handle =>
            entry.put("kind", "local").put("handle", handle)
            withInputs(others, request)(body)
          }
        case MatrixInput(Distributed(dataset), _) =>
          val size = dataset.characteristics
          entry.put("kind", "dataset").put("rows", size.rows).put("cols", size.cols).put("nnz", size.nnz)
          withInputs(others, request)(body)
      }
  }

  private def explain(request: ObjectNode, question: Question, host: SparkHost): String = {
    request.put("command", "explain").put("level", question.level).put("format", question.format)
    question.why.foreach(request.put("why", _))
    Json.parse(Native.call(Json.bytes(request), host)).path("text").asText
  }

  private def output(name: String, value: JsonNode, host: SparkHost): Any = value.path("kind").asText match {
    case "scalar" => Literals.fromJson(value.get("value"))
    case "local" => new Matrix(Local(Blocks.owning(value.get("handle").asLong)), spark)
    case "dataset" => new Matrix(Distributed(host.take(value.get("id").asLong, name)), spark)
    case _ => throw Errors.internal(s"the reply has no output '$name'")
  }
}
