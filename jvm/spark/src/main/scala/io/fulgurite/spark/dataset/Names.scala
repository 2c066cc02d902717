package io.fulgurite.spark.dataset

import io.fulgurite.spark.primitives.Session
import org.apache.spark.rdd.RDD

/** Names of RDDs, as the Spark UI shows them in graphs of stages and among what is stored. */
private[spark] object Names {

  /** Names an RDD after the operator for which it is made, if it is for one and has no name. */
  def name[A <: RDD[_]](rdd: A): A = {
    if (rdd.name == null) Option(rdd.sparkContext.getLocalProperty(Session.StageName)).foreach(rdd.setName(_))
    rdd
  }
}
