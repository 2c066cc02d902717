package io.fulgurite.faults

import java.io.{IOException, OutputStream}
import java.net.URI
import java.nio.file.{Files, NoSuchFileException, Path => LocalPath}

import io.fulgurite.Once
import org.apache.hadoop.fs.{FSDataInputStream, Path, RawLocalFileSystem}
import org.apache.hadoop.fs.permission.FsPermission

/** What befalls a task that writes the second part of a folder. All but the first of them are about its first attempt. */
sealed abstract class WriteFault(val name: String) extends Serializable
object WriteFault {
  /** Each attempt fails, in the middle of the file. */
  case object FailsAlways extends WriteFault("always")
  case object Fails extends WriteFault("fails")
  /** The executor ends, in the middle of the file. */
  case object Halts extends WriteFault("halts")
  /** It waits in the middle of the file until the folder is whole, thanks to its speculative copy. */
  case object IsSlow extends WriteFault("slow")
  /** It waits before there is a file. */
  case object IsLate extends WriteFault("late")

  val all: Seq[WriteFault] = Seq(FailsAlways, Fails, Halts, IsSlow, IsLate)
}

/** Which folders that are written meet which fault: said by the driver, in files that all processes see. */
final class WriteFaults(folder: LocalPath) {
  /** From now on these and no others; tells which have happened. */
  def set(faults: Map[String, WriteFault]): Once = {
    Option(folder.toFile.listFiles).toSeq.flatten.foreach(_.delete())
    val once = Files.createTempDirectory("fulgurite-writes").toString
    for ((target, fault) <- faults) Files.writeString(folder.resolve(target), s"${fault.name} $once")
    new Once(once)
  }

  def of(target: String): Option[(WriteFault, Once)] =
    try {
      val said = Files.readString(folder.resolve(target)).split(' ')
      WriteFault.all.find(_.name == said.head).map(_ -> new Once(said.last))
    } catch { case _: NoSuchFileException => None }
}

/** A local disk where tasks meet the faults that [[WriteFaults]] has for them. */
final class FaultyFileSystem extends RawLocalFileSystem {
  override def getScheme: String = FaultyFileSystem.Scheme
  override def getUri: URI = URI.create(s"${FaultyFileSystem.Scheme}:///")

  override protected def createOutputStreamWithMode(file: Path, append: Boolean, permission: FsPermission): OutputStream = {
    def create = super.createOutputStreamWithMode(file, append, permission)
    fault(file) match {
      case None => create
      case Some((WriteFault.IsLate, folder)) =>
        awaitWhole(folder)
        create
      case Some((fault, folder)) => new Disturbed(create, befall(fault, folder))
    }
  }

  override def open(file: Path, bufferSize: Int): FSDataInputStream = {
    FaultyFileSystem.opens()
    super.open(file, bufferSize)
  }

  /** What the writer of this file is to meet, and the folder that it is to be a part of. */
  private def fault(file: Path): Option[(WriteFault, Path)] = if (!FaultyFileSystem.isSecondPart(file)) None else {
    val folders = Iterator.iterate(file.getParent)(_.getParent).takeWhile(_ != null)
    for {
      (folder, target) <- folders.map(folder => folder -> folder.getName).collectFirst { case (folder, FaultyFileSystem.Aside(target)) => (folder, target) }
      (fault, once) <- new WriteFaults(LocalPath.of(getConf.get(FaultyFileSystem.Faults))).of(target)
      if fault == WriteFault.FailsAlways || once.first(target)
    } yield (fault, folder)
  }

  private def befall(fault: WriteFault, folder: Path): () => Unit = () => fault match {
    case WriteFault.Halts => Runtime.getRuntime.halt(1)
    case WriteFault.IsSlow => awaitWhole(folder)
    case _ => throw new IOException("injected: the disk is broken")
  }

  /** The folder is whole, or has its own name already. */
  private def awaitWhole(folder: Path): Unit = {
    val deadline = System.nanoTime + 60L * 1000 * 1000 * 1000
    while (exists(folder) && !exists(new Path(folder, "_SUCCESS"))) {
      if (System.nanoTime > deadline) throw new IOException("no copy of the task came first")
      Thread.sleep(10)
    }
  }
}

object FaultyFileSystem {
  val Scheme = "faulty"
  /** Names the folder of [[WriteFaults]], in Hadoop's configuration. */
  val Faults = "fulgurite.faults.writes"

  /** Called in the process that opens a file, before it does. */
  @volatile var opens: () => Unit = () => ()

  private val Aside = """\.(.+)\.[0-9a-f-]{36}""".r

  private def isSecondPart(file: Path): Boolean = file.getName.startsWith("part-") && file.getName.contains("-00001")
}

/** Something happens in the middle of the first bytes. */
private final class Disturbed(out: OutputStream, disturb: () => Unit) extends OutputStream {
  private var isDisturbed = false

  override def write(byte: Int): Unit = out.write(byte)

  override def write(bytes: Array[Byte], from: Int, count: Int): Unit =
    if (isDisturbed) out.write(bytes, from, count)
    else {
      isDisturbed = true
      out.write(bytes, from, count / 2)
      disturb()
      out.write(bytes, from + count / 2, count - count / 2)
    }

  override def flush(): Unit = out.flush()
  override def close(): Unit = out.close()
}
