package io.fulgurite.mlcontext

import java.util.Locale

import scala.util.Try

import io.fulgurite.core.{FulguriteException, Native, NativeLibrary}
import io.fulgurite.spark.{Errors, Json}
import io.fulgurite.spark.arrow.Library
import io.fulgurite.spark.primitives.TransferLimits
import org.apache.commons.text.similarity.LevenshteinDistance
import org.apache.spark.SparkConf

/** Configuration: `spark.fulgurite.…` of the session, and over it what was set on the context. */
final class Settings(conf: SparkConf) {
  private val ofSession = conf.getAllWithPrefix("spark.fulgurite.").map { case (key, value) => s"fulgurite.$key" -> value }.toMap
  private var own = Map.empty[String, String]

  /** Unless it is wrong. */
  def set(key: String, value: String): Unit = {
    val name = key.stripPrefix("spark.")
    val before = own
    own = own.updated(name, value)
    try check(name, value)
    catch { case wrong: FulguriteException => own = before; throw wrong }
  }

  private def check(key: String, value: String): Unit =
    if (Settings.OfThisSide(key)) {
      transfers
      fill
      set(key).filter(_ => key == Settings.TaskMemory).foreach(Settings.bytes(key, _))
      if (Settings.OfApplication(key)) {
        throw Errors.argument(s"'$key' is read by executors, which do not see a context's settings", s"start Spark with --conf spark.$key=$value")
      }
    } else {
      Settings.OfThisSide.find(LevenshteinDistance.getDefaultInstance.apply(_, key) <= Settings.NearlyTheSame).foreach { near =>
        throw Errors.argument(s"there is no configuration key '$key'", s"did you mean '$near'?")
      }
      Library.ensureLoaded()
      val request = Json.newObject().put("command", "check").put("script", "")
      request.putObject("config").put(key, value)
      Native.call(Json.bytes(request), null)
      ()
    }

  def reset(): Unit = own = Map.empty
  def get(key: String): Option[String] = all.get(key)

  /** What goes to native code, which knows and checks these keys; it does not know how large executors are. */
  def ofNative: Map[String, String] =
    all -- Settings.OfThisSide + (Settings.BroadcastMemory -> broadcastBudget) + (Settings.LocalMemory -> localSetting)

  /** What an operator may take to run in the driver's process, and bytes up to which the inputs of a script are brought there, all together. */
  def localBudget: Long = Settings.bytes(Settings.LocalMemory, localSetting)

  private def localSetting: String = set(Settings.LocalMemory).getOrElse(DriverMemory.forMatrices.toString)

  /** What a matrix may take to be sent to every executor: as it was set, else a share of what an executor has for data. */
  private def broadcastBudget: String =
    set(Settings.BroadcastMemory).getOrElse((dataMemory * Settings.BroadcastShare).toLong.toString)

  /** Bytes of an executor's heap for storage and execution, as Spark reckons them. In local mode the driver is the executor. */
  private def dataMemory: Double = {
    val isLocal = conf.get("spark.master", "").matches("local(\\[.*)?")
    val heap = if (isLocal) Runtime.getRuntime.maxMemory else conf.getSizeAsMb("spark.executor.memory", "1g") << 20
    conf.getDouble("spark.memory.fraction", Settings.MemoryFraction) * math.max(0L, heap - Settings.ReservedBytes)
  }

  /** How matrices travel between the driver and the executors. */
  def transfers: TransferLimits = {
    val heap = size(Settings.TransferMemory).getOrElse(Runtime.getRuntime.maxMemory / Settings.HeapShare)
    val piece = size(Settings.BroadcastPiece).getOrElse(Settings.PieceBytes)
    if (piece < 1 || piece > Settings.MostInArray) {
      throw Errors.argument(s"${Settings.BroadcastPiece} is $piece", s"let it be a size from 1 to ${Settings.MostInArray}")
    }
    TransferLimits(Seq(heap, halfOfResult, Settings.MostInArray).min, piece.toInt, set(Settings.Scratch))
  }

  /** What stands for null in a DataFrame; without it a null is an error. */
  def fill: Option[Double] = get(Settings.Fill).map { text =>
    Try(text.toDouble).getOrElse(throw Errors.argument(s"${Settings.Fill} is '$text'", "let it be a number, or unset it"))
  }

  private def size(key: String): Option[Long] = set(key).map(Settings.bytes(key, _))

  /** What was set, and not to what it is anyway. */
  private def set(key: String): Option[String] = get(key).filterNot(Set("", "auto"))

  /** Half of what Spark lets a job give the driver. */
  private def halfOfResult: Long = conf.getSizeAsBytes("spark.driver.maxResultSize", "1g") match {
    case 0 => Settings.MostInArray
    case limit => limit / 2
  }

  private def all = ofSession ++ own
}

object Settings {
  val LocalMemory = "fulgurite.memory.local"
  val BroadcastMemory = "fulgurite.memory.broadcast"
  val Fill = "fulgurite.input.fill"

  /** Native memory that the tasks of an executor may hold together; read by the executors, from the session's configuration. */
  val TaskMemory = "fulgurite.memory.tasks"

  /** What matrices may take of the driver's heap on their way from the executors; larger ones go through files. */
  val TransferMemory = "fulgurite.memory.transfer"

  /** The folder for these files, which the driver and the executors see. */
  val Scratch = "fulgurite.scratch"

  /** Larger matrices are sent to the executors in pieces of so many bytes. */
  val BroadcastPiece = "fulgurite.broadcast.piece"

  private val OfThisSide =
    Set(Fill, TaskMemory, TransferMemory, Scratch, BroadcastPiece, NativeLibrary.PATH, NativeLibrary.TMPDIR)

  /** What executors read where no context is. */
  private val OfApplication = Set(TaskMemory, NativeLibrary.PATH, NativeLibrary.TMPDIR)

  /** Letters that a misspelt key of this side has wrong. */
  private val NearlyTheSame = 2
  /** An array has less than 2 GB, and grows by doubling. */
  private val MostInArray = 1L << 30
  private val PieceBytes = 32L << 20
  private val HeapShare = 4

  /** Of the memory for data; Spark's default for its share of the heap, and what it leaves to itself before. */
  private val BroadcastShare = 0.3
  private val MemoryFraction = 0.6
  private val ReservedBytes = 300L << 20

  /** A size as native code writes it: bytes, or with a unit `k`, `m`, `g`, `t`. */
  private[fulgurite] def bytes(key: String, text: String): Long = {
    val size = """(\d+)\s*([kKmMgGtT]?)[bB]?""".r
    text.trim match {
      case size(number, unit) => number.toLong << (if (unit.isEmpty) 0 else 10 + 10 * "kmgt".indexOf(unit.toLowerCase(Locale.ROOT)))
      case _ => throw Errors.argument(s"$key: '$text' is not a size", "write bytes, or a unit: 64k, 512m, 4g")
    }
  }
}
