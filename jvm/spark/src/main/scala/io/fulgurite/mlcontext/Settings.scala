package io.fulgurite.mlcontext

import scala.util.Try

import io.fulgurite.core.NativeLibrary
import io.fulgurite.spark.Errors
import org.apache.spark.SparkConf

/** Configuration: `spark.fulgurite.…` of the session, and over it what was set on the context. */
final class Settings(conf: SparkConf) {
  private val ofSession = conf.getAllWithPrefix("spark.fulgurite.").map { case (key, value) => s"fulgurite.$key" -> value }.toMap
  private var own = Map.empty[String, String]

  def set(key: String, value: String): Unit = own = own.updated(key.stripPrefix("spark."), value)
  def reset(): Unit = own = Map.empty
  def get(key: String): Option[String] = all.get(key)

  /** What goes to native code, which knows and checks these keys. */
  def ofNative: Map[String, String] = all -- Settings.OfThisSide

  /** Bytes up to which an input is brought to the driver. */
  def localBudget: Long = get(Settings.LocalMemory).filter(_ != "auto").map(Settings.bytes(Settings.LocalMemory, _)).getOrElse {
    // What does not fit a job's result could not be brought here anyway.
    conf.getSizeAsBytes("spark.driver.maxResultSize", "1g") match {
      case 0 => Settings.UnlimitedResult
      case limit => limit / 2
    }
  }

  /** What stands for null in a DataFrame; without it a null is an error. */
  def fill: Option[Double] = get(Settings.Fill).map { text =>
    Try(text.toDouble).getOrElse(throw Errors.argument(s"${Settings.Fill} is '$text'", "let it be a number, or unset it"))
  }

  private def all = ofSession ++ own
}

object Settings {
  val LocalMemory = "fulgurite.memory.local"
  val Fill = "fulgurite.input.fill"

  /** Native memory that the tasks of an executor may hold together; read by the executors, from the session's configuration. */
  val TaskMemory = "fulgurite.memory.tasks"

  private val OfThisSide = Set(Fill, TaskMemory, NativeLibrary.PATH, NativeLibrary.TMPDIR)
  private val UnlimitedResult = 1L << 30

  /** A size as native code writes it: bytes, or with a unit `k`, `m`, `g`, `t`. */
  private[fulgurite] def bytes(key: String, text: String): Long = {
    val size = """(\d+)\s*([kKmMgGtT]?)[bB]?""".r
    text.trim match {
      case size(number, unit) => number.toLong << (if (unit.isEmpty) 0 else 10 + 10 * "kmgt".indexOf(unit.toLowerCase))
      case _ => throw Errors.argument(s"$key: '$text' is not a size", "write bytes, or a unit: 64k, 512m, 4g")
    }
  }
}
