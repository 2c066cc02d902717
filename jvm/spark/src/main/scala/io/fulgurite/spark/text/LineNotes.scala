package io.fulgurite.spark.text

import io.fulgurite.core.Shown
import org.apache.spark.SparkContext
import org.apache.spark.util.LongAccumulator
import org.slf4j.LoggerFactory

/** What tasks that read lines found and a user may want to know. Warnings come after the first pass; later ones would count again. */
private[spark] final class LineNotes(context: SparkContext) extends Serializable {
  private val emptyCells = LineNotes.counter(context)
  private val queryIds = LineNotes.counter(context)

  def add(parsed: ParsedText): Unit = {
    if (parsed.emptyCells > 0) emptyCells.add(parsed.emptyCells)
    if (parsed.queryIds > 0) queryIds.add(parsed.queryIds)
  }

  def warnOfEmptyCells(name: String): Unit =
    warn(name, emptyCells.sum)(count => s"$count empty cells are read as 0; default=NaN makes them NaN, fill=FALSE an error")

  def warnOfQueryIds(name: String): Unit = warn(name, queryIds.sum)(count => s"$count 'qid:' entries are left out")

  private def warn(name: String, count: Long)(what: Long => String): Unit =
    if (count > 0) LoggerFactory.getLogger(classOf[LineNotes]).warn(s"${Shown.text(name)}: ${what(count)}")
}

private object LineNotes {
  private def counter(context: SparkContext) = {
    val counter = new LongAccumulator
    context.register(counter)
    counter
  }
}
