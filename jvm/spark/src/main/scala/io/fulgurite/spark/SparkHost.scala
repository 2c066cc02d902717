package io.fulgurite.spark

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Path => LocalPath}

import scala.collection.mutable

import com.fasterxml.jackson.databind.JsonNode
import io.fulgurite.core.{Host, Native}
import io.fulgurite.spark.dataset.{
  Characteristics, CombinedRDD, Cuts, Dataset, Lineage, LocalRDD, NativeTask, OverRDD, RangeRDD, SentMatrix, TaskRDD}
import io.fulgurite.spark.primitives.{
  Aggregate, Align, Capacity, Concatenate, FileProblem, FileSink, FileSource, HadoopFiles, Session, Shuffle, Transfer, Wire}
import org.apache.spark.broadcast.Broadcast

/**
 * Runs the primitives of native/dataflow/src/protocol/mod.rs on Spark, for one execution. Several threads may ask at the same time: what they share is
 * changed under a lock, which nobody holds while jobs run.
 *
 * @param registered the distributed inputs, by name; they stay the caller's
 * @param show gets what the script prints
 */
final class SparkHost(val session: Session, registered: Map[String, Dataset], show: String => Unit) extends Host {
  private val datasets = mutable.LongMap.empty[Dataset]
  private val broadcasts = mutable.LongMap.empty[SentMatrix]
  /** Broadcasts that the script is done with, but from which a lost partition of a dataset may have to be computed again. */
  private val lingering = mutable.Set.empty[SentMatrix]
  private val lingeringStripes = mutable.Set.empty[Broadcast[_]]
  private val taken = mutable.LongMap.empty[Dataset]
  private val cuts = new Cuts(session)
  private var lastId = 0L

  /**
   * Takes a dataset out, computed now: what it is computed from ends with this execution. The caller releases it. If it is an output under
   * several names, all but one release nothing.
   */
  def take(id: Long, name: String): Dataset = synchronized(taken.get(id)).map(Dataset.alias).getOrElse {
    val dataset = synchronized(datasets.remove(id)).getOrElse(throw Errors.internal(s"dataset $id is not known"))
    dataset.persist()
    session.named(s"output $name")(dataset.characteristics)
    cut(dataset)
    synchronized { taken(id) = dataset }
    dataset
  }

  /** Forgets everything but registered inputs. */
  def close(): Unit = synchronized {
    val inputs = registered.values.toSet
    datasets.values.filterNot(inputs).foreach(release)
    datasets.clear()
    broadcasts.values.foreach(forget)
    broadcasts.clear()
    destroyUnneeded()
  }

  override def print(line: Array[Byte]): Unit = show(new String(line, UTF_8))

  override def serve(callers: Long, threads: Int): Unit = for (number <- 0 until threads) {
    val work: Runnable = () => session.iterating(callers, number)(Native.serve(callers, number))
    // It gets the local properties and the class loader of this thread.
    val thread = new Thread(work, s"fulgurite-iterations-$number")
    thread.setDaemon(true)
    thread.start()
  }

  override def cancel(callers: Long, number: Int): Unit = session.cancel(callers, number)

  override def apply(primitive: Array[Byte], payload: Long): Array[Byte] = {
    val matrix = if (payload == 0) None else Some(Blocks.owning(payload))
    val step = Json.parse(primitive)
    matrix.foreach(blocks => session.sends(step.path("primitive").asText, blocks.bytes))
    val reply =
      try session.onBehalf(step.path("operator").asText(""))(run(step, matrix))
      catch { case problem: FileProblem => Reply(problem = Some(problem)) }
    (reply.payload ++ reply.ranges.map(_.blocks)).foreach(blocks => session.collects(blocks.bytes))
    Json.bytes(reply.toJson)
  }

  private def run(step: JsonNode, payload: Option[Blocks]): Reply = {
    def matrix = payload.getOrElse(throw Errors.internal(s"${step.path("primitive").asText} came without its matrix"))
    step.path("primitive").asText match {
      case "source" => source(step.get("source"))
      case "parallelize" =>
        val dataset = session.named("parallelize")(Transfer.parallelize(session, matrix, field(step, "stripe_rows", "stripeRows").asLong))
        matrix.close()
        Reply(dataset = Some(keep(dataset)))
      case "broadcast" =>
        val sent = session.named("broadcast")(SentMatrix(session.context, matrix, session.limits.piece))
        Reply(broadcast = Some(keep(sent)))
      case "mapPartitions" =>
        val inputs = datasetsOf(step)
        Reply(dataset = Some(keep(Dataset.like(tasks(step, inputs), inputs.head))))
      case "mapAggregate" =>
        val partials = tasks(step, datasetsOf(step))
        val result = session.named(label(step))(Aggregate.run(partials, Json.bytes(step.get("combine"))))
        Reply(payload = Some(result))
      case "mapOver" =>
        val inputs = datasetsOf(step)
        val over = dataset(step.get("over")).stripes
        val mapped = new OverRDD(
          inputs.map(_.stripes), over, nativeTask(step), Json.bytes(step.get("combine")), field(step, "bytes").asLong, field(step, "row_bytes", "rowBytes").asLong)
        Reply(dataset = Some(keep(Dataset.like(mapped.setName(label(step)), inputs.head))))
      case "combinePartitions" =>
        val combined = new CombinedRDD(tasks(step, datasetsOf(step)), Json.bytes(step.get("combine")))
        Reply(dataset = Some(keep(Dataset.found(combined.setName(label(step))))))
      case "align" =>
        val (left, right) = (dataset(step.get("left")), dataset(step.get("right")))
        Reply(dataset = Some(keep(session.named("align")(Align.run(session, left, right)))))
      case "concatenate" =>
        val parts = Json.elements(step.get("parts")).map { part =>
          Concatenate.Part(dataset(part.get("dataset")), part.get("from").asLong, part.get("until").asLong)
        }
        Reply(dataset = Some(keep(session.named("concatenate")(Concatenate.run(session, parts)))))
      case "shuffle" =>
        val tasksWithPieces = tasks(step, datasetsOf(step))
        val combine = Option(step.get("assemble").get("combined")).map(Json.bytes)
        Reply(dataset = Some(keep(Shuffle.run(tasksWithPieces, Math.toIntExact(step.get("targets").asLong), combine))))
      case "place" =>
        val placed = session.named("place")(Dataset.fromOrdered(dataset(step.get("input")).stripes))
        cut(placed)
        val id = keep(placed)
        // Not released: the result is kept as its stripes.
        synchronized(datasets.remove(step.get("input").asLong))
        Reply.of(placed.characteristics).copy(dataset = Some(id))
      case "runIterations" => Reply(ranges = iterations(step))
      case "capacity" => Reply(capacity = Some(Capacity.of(session)))
      case "collect" =>
        val input = dataset(step.get("input"))
        Reply(payload = Some(session.named("collect")(Transfer.collect(input, session.limits, largest(step)))))
      case "persist" =>
        val input = dataset(step.get("input"))
        input.persist()
        val found = session.named("persist")(input.characteristics)
        cut(input)
        Reply.of(found)
      case "release" =>
        synchronized {
          datasets.remove(step.get("dataset").asLong).filterNot(registered.values.toSet).foreach(release)
          destroyUnneeded()
        }
        Reply()
      case "releaseBroadcast" =>
        synchronized {
          broadcasts.remove(step.get("broadcast").asLong).foreach(forget)
          destroyUnneeded()
        }
        Reply()
      case "write" =>
        val path = step.get("path").asText
        val metadata = Option(step.get("metadata")).filterNot(_.isNull).map(_.asText)
        session.named(s"write $path")(FileSink.write(session, dataset(step.get("input")), path, FileSource.format(step), metadata))
        Reply()
      case "findFile" => Reply(file = Some(HadoopFiles.find(session, step.get("path").asText, step.get("head").asLong)))
      case "fetchFile" => Reply(folder = Some(HadoopFiles.fetch(session, step.get("path").asText, step.get("bytes").asLong)))
      case "stageFile" => Reply(folder = Some(HadoopFiles.stage(session, step.get("path").asText)))
      case "storeFile" =>
        HadoopFiles.store(session, LocalPath.of(step.get("folder").asText), step.get("path").asText)
        Reply()
      case other => throw Errors.unsupported(s"this jar knows no primitive '$other'", "use jar and library of the same build")
    }
  }

  private def source(spec: JsonNode): Reply = {
    def input(name: String, dataset: Dataset, owned: Boolean) = {
      session.input(name, dataset.stripes.partitions.length)
      dataset.asInput(name, session.counts, owned)
    }
    val dataset = spec.path("kind").asText match {
      case "registered" =>
        val name = spec.get("name").asText
        input(name, registered.getOrElse(name, throw Errors.internal(s"no distributed input is called '$name'")), owned = false)
      case _ => input(spec.path("path").asText, FileSource.read(session, spec), owned = true)
    }
    val found = spec.path("name").asText match {
      case "" => dataset.characteristics
      case name => Errors.naming(name)(dataset.characteristics)
    }
    Reply.of(found).copy(dataset = Some(keep(dataset)))
  }

  private def tasks(step: JsonNode, inputs: Seq[Dataset]): TaskRDD = {
    if (inputs.isEmpty) throw Errors.unsupported(s"'${label(step)}' maps no dataset", "this needs a newer jar")
    new TaskRDD(inputs.map(_.stripes), nativeTask(step)).setName(label(step))
  }

  private def nativeTask(step: JsonNode): NativeTask =
    new NativeTask(Json.bytes(step.get("task")), label(step), broadcastsOf(step), session.work(label(step)))

  /** Runs a loop as one job. */
  private def iterations(step: JsonNode): Seq[IterationResult] = {
    val label = step.path("loop").path("label").asText("parfor")
    val task = new NativeTask(Json.bytes(step.get("loop")), label, broadcastsOf(step), session.work(label))
    val ranges = Json.elements(step.get("ranges")).map(Json.bytes).toVector
    val tasks = Option(step.get("input")).filterNot(_.isNull) match {
      case None => new RangeRDD(session.context, task, ranges)
      case Some(input) => RangeRDD.ofStripes(dataset(input).stripes, task, ranges.head)
    }
    val results = session.named(label)(tasks.setName(label).collect())
    results.toSeq.map { case (account, blocks) => IterationResult(Json.parse(account), Wire.read(blocks)) }
  }

  private def broadcastsOf(step: JsonNode): Seq[SentMatrix] = Json.elements(step.get("broadcasts")).map { id =>
    synchronized(broadcasts.get(id.asLong)).getOrElse(throw Errors.internal(s"broadcast ${id.asLong} is not known"))
  }

  /** Frees the executors' copies. */
  private def forget(broadcast: SentMatrix): Unit = {
    broadcast.unpersist()
    lingering += broadcast
  }

  private def release(dataset: Dataset): Unit = {
    dataset.release()
    dataset.stripes match {
      case local: LocalRDD => lingeringStripes ++= local.sent
      case _ =>
    }
  }

  /** Destroys what no dataset that is still there could need again. What outputs need, Spark destroys when they are garbage. */
  private def destroyUnneeded(): Unit =
    if (lingering.nonEmpty || lingeringStripes.nonEmpty || !cuts.isEmpty) {
      val lineage = Lineage.of((datasets.values ++ taken.values).map(_.stripes))
      val needed = Lineage.broadcasts(lineage)
      cuts.deleteBut(lineage)
      for (broadcast <- lingering.toSeq if !needed(broadcast.id)) {
        broadcast.destroy()
        lingering -= broadcast
      }
      for (broadcast <- lingeringStripes.toSeq if !needed(broadcast.id)) {
        if (!session.context.isStopped) broadcast.destroy()
        lingeringStripes -= broadcast
      }
    }

  private def cut(dataset: Dataset): Unit = {
    def others = synchronized((datasets.values ++ taken.values).filterNot(_ eq dataset).map(_.stripes).toVector)
    dataset.kept.foreach(cuts.cut(_, others))
  }

  /** What the matrix may take at most, where that is known. */
  private def largest(step: JsonNode): Option[Long] = Option(step.get("bytes")).filterNot(_.isNull).map(_.asLong)

  private def label(step: JsonNode): String = step.path("task").path("label").asText("task")

  private def datasetsOf(step: JsonNode): Seq[Dataset] = Json.elements(step.get("inputs")).map(dataset)

  private def dataset(id: JsonNode): Dataset =
    synchronized(datasets.get(id.asLong)).getOrElse(throw Errors.internal(s"dataset ${id.asLong} is not known"))

  private def keep(sent: SentMatrix): Long = synchronized {
    lastId += 1
    broadcasts(lastId) = sent
    lastId
  }

  private def keep(dataset: Dataset): Long = synchronized {
    lastId += 1
    datasets(lastId) = dataset
    lastId
  }

  private def field(step: JsonNode, names: String*): JsonNode =
    names.iterator.map(step.get).find(_ != null).getOrElse(throw Errors.internal(s"a primitive lacks ${names.head}"))
}

/** What a primitive gives back. */
private final case class Reply(
    dataset: Option[Long] = None, broadcast: Option[Long] = None, rows: Option[Long] = None, cols: Option[Long] = None,
    nnz: Option[Long] = None, payload: Option[Blocks] = None, capacity: Option[JsonNode] = None, ranges: Seq[IterationResult] = Seq.empty,
    file: Option[JsonNode] = None, folder: Option[LocalPath] = None, problem: Option[FileProblem] = None) {

  def toJson: JsonNode = {
    val json = Json.newObject()
    for ((name, value) <- Seq("dataset" -> dataset, "broadcast" -> broadcast, "rows" -> rows, "cols" -> cols, "nnz" -> nnz)) {
      value.foreach(json.put(name, _))
    }
    payload.foreach(blocks => json.put("payload", blocks.detach()))
    capacity.foreach(json.set[JsonNode]("capacity", _))
    file.foreach(json.set[JsonNode]("file", _))
    folder.foreach(path => json.put("folder", path.toString))
    problem.foreach(found => json.putObject("problem").put("message", found.reason).put("help", found.help))
    if (ranges.nonEmpty) {
      val list = json.putArray("ranges")
      for (range <- ranges) list.addObject().put("blocks", range.blocks.detach()).set[JsonNode]("account", range.account)
    }
    json
  }
}

/** What a range of iterations gave. */
private final case class IterationResult(account: JsonNode, blocks: Blocks)

private object Reply {
  def of(found: Characteristics): Reply = Reply(rows = Some(found.rows), cols = Some(found.cols), nnz = Some(found.nnz))
}
