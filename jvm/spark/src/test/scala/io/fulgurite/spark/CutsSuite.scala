package io.fulgurite.spark

import io.fulgurite.SparkSessions
import io.fulgurite.spark.dataset.{Cuts, MadeRDD}
import io.fulgurite.spark.primitives.Session
import org.apache.spark.rdd.{PartitionPruningRDD, RDD}
import org.scalatest.funsuite.AnyFunSuite

/** Lineages that are cut. */
final class CutsSuite extends AnyFunSuite with SparkSessions {
  private def kept(depth: Int): RDD[Blocks] = {
    val source: RDD[Blocks] = spark.sparkContext.emptyRDD[Blocks]
    val deep = (1 to depth).foldLeft(source)((rdd, _) => new MadeRDD[Blocks](rdd, (_, part, _) => part)).cache()
    deep.count()
    deep
  }

  test("a deep lineage is cut, unless something else was made from it before") {
    val cuts = new Cuts(new Session(spark))
    val (shallow, deep) = (kept(Cuts.Depth - 1), kept(Cuts.Depth))
    cuts.cut(shallow, Seq.empty)
    assert(!shallow.isCheckpointed)
    val child = PartitionPruningRDD.create(deep, _ => true)
    cuts.cut(deep, Seq(shallow, deep, child))
    assert(!deep.isCheckpointed)
    cuts.cut(deep, Seq(shallow, deep))
    assert(deep.isCheckpointed)
    Seq(shallow, deep).foreach(_.unpersist())
  }
}
