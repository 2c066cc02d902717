package io.fulgurite.spark.sql

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.TableCacheQueryStageExec
import org.apache.spark.sql.execution.columnar.{DefaultCachedBatchSerializer, InMemoryTableScanExec}

/** A scan whose columns native code can have. */
private[sql] sealed trait Source {
  /** The tables of each partition, which whoever takes them closes. */
  def chunks(inputs: Seq[Attribute]): RDD[Iterator[Chunk]]

  protected def columns(inputs: Seq[Attribute], of: Seq[Attribute]): Seq[ChunkColumn] = inputs.map { attribute =>
    ChunkColumn(of.indexWhere(_.exprId == attribute.exprId), Expressions.nameOf(attribute), attribute.dataType)
  }
}

private[sql] object Source {

  /** The source that a node is; why a scan is none; nothing, for other nodes. */
  def of(plan: SparkPlan): Option[Either[String, Source]] = plan match {
    case stage: TableCacheQueryStageExec => of(stage.plan)
    case scan: InMemoryTableScanExec =>
      val serializer = scan.relation.cacheBuilder.serializer
      Some(if (serializer.getClass == classOf[DefaultCachedBatchSerializer]) Right(new CachedSource(scan))
      else Left(s"the table is cached by ${serializer.getClass.getName}"))
    case scan if scan.children.nonEmpty => None
    case scan if scan.supportsColumnar => Some(Right(new ColumnarSource(scan)))
    case scan => Some(Left(s"${scan.nodeName} gives rows, not columns"))
  }

  private final class CachedSource(scan: InMemoryTableScanExec) extends Source {
    override def chunks(inputs: Seq[Attribute]): RDD[Iterator[Chunk]] = {
      val relation = scan.relation
      val all = relation.cacheBuilder.cachedColumnBuffers
      val batches =
        if (!scan.conf.inMemoryPartitionPruning) all
        else {
          val filter = relation.cacheBuilder.serializer.buildFilter(scan.predicates, relation.output)
          all.mapPartitionsWithIndex(filter)
        }
      val taken = columns(inputs, relation.output)
      batches.mapPartitions(each => Iterator(Chunks.ofCached(each, taken)))
    }
  }

  private final class ColumnarSource(scan: SparkPlan) extends Source {
    override def chunks(inputs: Seq[Attribute]): RDD[Iterator[Chunk]] = {
      val taken = columns(inputs, scan.output)
      scan.executeColumnar().mapPartitions(each => Iterator(Chunks.ofColumnar(each, taken)))
    }
  }
}
