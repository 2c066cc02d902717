package io.fulgurite

import java.util.Locale

import scala.annotation.tailrec
import scala.util.Try

import io.fulgurite.core.FulguriteException
import io.fulgurite.mlcontext.{MLContext, Script, ScriptFactory}
import io.fulgurite.spark.Errors
import org.apache.spark.sql.SparkSession

/** Runs a script file: `spark-submit --class io.fulgurite.DMLScript JAR -f FILE [options] -nvargs X=… Y=…`. */
object DMLScript {
  private val Usage =
    """usage: spark-submit --class io.fulgurite.DMLScript JAR -f FILE [options] [-nvargs KEY=VALUE ... | -args VALUE ...]
      |  -f FILE               the script: a local path, or one of any file system that Hadoop knows
      |  -s TEXT               the script itself
      |  -nvargs KEY=VALUE ... arguments by name, $KEY in the script; has to come last
      |  -args VALUE ...       arguments by position, $1, $2 ...; has to come last
      |  -stats [COUNT]        prints what ran where, how often and how long: the COUNT (10) operators that took longest
      |  -explain [LEVEL]      prints the plan first: hops, rewrites, memo, partitions, plan (default), cplan, clif, asm, stats
      |  -exec MODE            hybrid (default); singlenode keeps all operators in the driver
      |  --config KEY=VALUE    a key of docs/configuration.md""".stripMargin

  private[fulgurite] final case class Options(
      script: Option[Script] = None, statistics: Option[Int] = None, explain: Option[String] = None,
      config: Map[String, String] = Map.empty, arguments: Seq[(String, String)] = Seq.empty)

  def main(args: Array[String]): Unit =
    if (args.contains("-help") || args.contains("--help")) println(Usage)
    else {
      val status =
        try { run(parse(args.toList, Options())); 0 }
        catch {
          case failure: FulguriteException =>
            Console.out.flush()
            Console.err.println(failure.getMessage)
            1
        }
      SparkSession.getActiveSession.orElse(SparkSession.getDefaultSession).foreach(_.stop())
      if (status != 0) sys.exit(status)
    }

  private def run(options: Options): Unit = {
    val script = options.script.getOrElse(throw Errors.argument("no script", s"name it with -f\n$Usage"))
    val ml = new MLContext(SparkSession.builder().appName(s"fulgurite ${script.name}").getOrCreate())
    options.statistics.foreach(count => ml.setStatistics(true).setStatisticsMaxHeavyHitters(count))
    options.explain.foreach(level => ml.setExplain(true).setExplainLevel(level))
    options.config.foreach { case (key, value) => ml.setConfigProperty(key, value) }
    options.arguments.foreach { case (name, value) => script.in(s"$$$name", value) }
    ml.execute(script)
  }

  @tailrec private[fulgurite] def parse(args: List[String], options: Options): Options = args match {
    case Nil => options
    case "-f" :: path :: others => parse(others, options.copy(script = Some(ScriptFactory.dmlFromFile(path))))
    case "-s" :: text :: others => parse(others, options.copy(script = Some(ScriptFactory.dml(text))))
    case ("-stats" | "--stats") :: count :: others if Try(count.toInt).isSuccess => parse(others, options.copy(statistics = Some(count.toInt)))
    case ("-stats" | "--stats") :: others => parse(others, options.copy(statistics = Some(MLContext.HeavyHitters)))
    case ("-explain" | "--explain") :: level :: others if !level.startsWith("-") => parse(others, options.copy(explain = Some(level)))
    case ("-explain" | "--explain") :: others => parse(others, options.copy(explain = Some("plan")))
    case ("-exec" | "--exec") :: mode :: others => parse(others, options.copy(config = options.config ++ execution(mode)))
    case ("-config" | "--config") :: entry :: others =>
      val (key, value) = keyAndValue("--config", entry)
      parse(others, options.copy(config = options.config.updated(key, value)))
    case "-nvargs" :: entries => options.copy(arguments = entries.map(keyAndValue("-nvargs", _)))
    case "-args" :: values => options.copy(arguments = values.zipWithIndex.map { case (value, at) => (at + 1).toString -> value })
    case other :: _ => throw Errors.argument(s"option '$other' is not known, or lacks its value", s"see the options\n$Usage")
  }

  private def execution(mode: String): Map[String, String] = mode.toLowerCase(Locale.ROOT) match {
    case "hybrid" | "hybrid_spark" => Map.empty
    case "singlenode" => Map("fulgurite.memory.local" -> "1024t")
    case "spark" => Map("fulgurite.memory.local" -> "0")
    case _ => throw Errors.argument(s"there is no execution mode '$mode'", "the modes are hybrid, singlenode and spark")
  }

  private def keyAndValue(option: String, entry: String): (String, String) = entry.split("=", 2) match {
    case Array(key, value) if key.nonEmpty => key -> value
    case _ => throw Errors.argument(s"'$entry' after $option is not of the form KEY=VALUE", "write X=data/X.csv")
  }
}
