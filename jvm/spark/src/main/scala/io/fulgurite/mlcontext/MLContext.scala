package io.fulgurite.mlcontext

import java.util.Locale
import java.util.Properties
import java.util.concurrent.atomic.AtomicReference

import com.fasterxml.jackson.databind.JsonNode
import io.fulgurite.core.NativeLibrary
import io.fulgurite.spark.{Errors, SparkVersion}
import io.fulgurite.spark.arrow.Library
import io.fulgurite.spark.primitives.Session
import org.apache.spark.SparkContext
import org.apache.spark.api.java.JavaSparkContext
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.{DataFrame, SparkSession}

/**
 * Runs scripts on a Spark session. A script that fails leaves the context as it was.
 *
 * Scripts' prints, explanations and statistics go to the standard output, unless [[setPrintSink]] says otherwise.
 */
final class MLContext(spark: SparkSession) extends AutoCloseable {
  def this(context: SparkContext) = this(SparkSession.builder().config(context.getConf).getOrCreate())
  def this(context: JavaSparkContext) = this(context.sc)

  SparkVersion.check(spark.version)
  private val settings = new Settings(spark.sparkContext.getConf)
  private val running = new Running
  private var explainLevel = "plan"
  private var explains = false
  private var showsStatistics = false
  private var heavyHitters = MLContext.HeavyHitters
  private var show: String => Unit = line => Console.out.println(line)
  MLContext.activate(this)

  def execute(script: Script): MLResults = {
    val results = running(execution)(
      _.run(ScriptWork(script.name, script.text), script.bindings, script.outputs, Some(script), if (explains) Some(explainLevel) else None))
    script.executed(results)
    if (showsStatistics) show(results.report.text(heavyHitters))
    results
  }

  /**
   * What executing the script would do, without running it, planned with the sizes of its inputs. Levels and formats are
   * those of `fulgurite explain`: docs/explain.md.
   */
  def explain(script: Script, level: String = "plan", format: String = "text"): String = ask(script, Question(level, format))

  /** Why the operators at `where` (a line, `line:column`, or an operator's code) are fused, or not; as text or json. */
  def why(script: Script, where: String, format: String = "text"): String = ask(script, Question("plan", format, Some(where)))

  private def ask(script: Script, question: Question): String =
    running(execution)(_.explain(ScriptWork(script.name, script.text), script.bindings, script.outputs, question))

  private def execution = new Execution(spark, settings, show)

  /** A DataFrame as a matrix, converted once for any number of scripts. */
  def matrix(frame: DataFrame): Matrix = converted("DataFrame", frame, None)
  def matrix(frame: DataFrame, metadata: MatrixMetadata): Matrix = converted("DataFrame", frame, Some(metadata))

  /** An RDD of lines, vectors, or pairs of row number (from 1) and vector as a matrix. */
  def matrix(elements: RDD[_]): Matrix = converted("RDD", elements, None)
  def matrix(elements: RDD[_], metadata: MatrixMetadata): Matrix = converted("RDD", elements, Some(metadata))

  private def converted(name: String, value: Any, metadata: Option[MatrixMetadata]): Matrix = {
    Library.ensureLoaded()
    val session = new Session(spark, settings)
    val conversion = new Interruptible {
      override val sparkContext: SparkContext = spark.sparkContext
      override protected def stop(): Unit = session.interrupt()
    }
    running(conversion)(_ => session.interruptible(new Inputs(session, settings).convert(name, value, metadata))) match {
      case MatrixInput(storage, _) => new Matrix(storage, spark)
      case ScalarInput(_) => throw Errors.internal(s"a $name became a scalar")
    }
  }

  /** Prints the plan before running it. */
  def setExplain(explain: Boolean): MLContext = { explains = explain; this }
  def isExplain: Boolean = explains

  /** A level of [[explain]]; or `none`, which turns explanations off. */
  def setExplainLevel(level: String): MLContext = {
    val known = MLContext.ExplainLevels
    level.toLowerCase(Locale.ROOT) match {
      case "none" => explains = false
      // The names that SystemML's users know.
      case "runtime" | "recompile_runtime" => explainLevel = "plan"
      case "recompile_hops" => explainLevel = "hops"
      case name if known.contains(name) => explainLevel = name
      case _ => throw Errors.argument(s"there is no explain level '$level'", s"the levels are none, ${known.mkString(", ")}")
    }
    this
  }

  /** Prints what ran where, how often and how long, after running it. */
  def setStatistics(statistics: Boolean): MLContext = { showsStatistics = statistics; this }
  def isStatistics: Boolean = showsStatistics

  /** How many operators statistics show, those that took longest. */
  def setStatisticsMaxHeavyHitters(most: Int): MLContext = {
    if (most < 0) throw Errors.argument(s"statistics cannot show $most operators", "let it be 0 or more")
    heavyHitters = most
    this
  }

  /** A key of docs/configuration.md, with or without `spark.` before it. One that does not exist, or a value that it cannot have, is an error. */
  def setConfigProperty(name: String, value: String): MLContext = { settings.set(name, value); this }
  def resetConfig(): MLContext = { settings.reset(); this }

  /** Gets all lines instead of the standard output. */
  def setPrintSink(sink: java.util.function.Consumer[String]): MLContext = { show = line => sink.accept(line); this }

  def getSparkSession: SparkSession = spark

  def version: String = MLContext.version
  def info: String = s"Fulgurite $version on Spark ${spark.version}, ${spark.sparkContext.master}"

  /**
   * Ends what runs on this context at the moment, from another thread: it fails with kind `interrupted`. Returns when it has ended and none of
   * its jobs is left, or after five seconds. A large factorization on the driver goes on in the background, and its result is dropped.
   */
  def cancel(): Unit = running.interrupt()

  /** As [[cancel]]; nothing can be executed any more. Leaves Spark running. */
  override def close(): Unit = {
    running.close()
    MLContext.deactivate(this)
  }

  private[fulgurite] def executeDag(dag: JsonNode, bindings: Seq[(String, Any, Option[MatrixMetadata])], outputs: Seq[String]): MLResults =
    running(execution)(_.run(DagWork(dag), bindings, outputs, None, None))
}

object MLContext {
  /** As many as SystemML shows. */
  private[fulgurite] val HeavyHitters = 10

  /** What [[MLContext.explain]] shows, in the order of the compiler's stages. */
  val ExplainLevels: Seq[String] = Seq("hops", "rewrites", "memo", "partitions", "plan", "cplan", "clif", "asm", "stats")

  /** Of this jar. */
  lazy val version: String = {
    val build = new Properties()
    val resource = classOf[NativeLibrary].getResourceAsStream("build.properties")
    try build.load(resource)
    finally resource.close()
    build.getProperty("version")
  }

  private val current = new AtomicReference[MLContext]()

  /** The context made last in this process. */
  def active: MLContext =
    Option(current.get).getOrElse(throw Errors.argument("there is no active MLContext", "make one: new MLContext(spark)"))

  private def activate(context: MLContext): Unit = current.set(context)
  private def deactivate(context: MLContext): Unit = current.compareAndSet(context, null)
}
