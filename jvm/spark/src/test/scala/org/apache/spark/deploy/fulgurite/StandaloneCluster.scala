package org.apache.spark.deploy.fulgurite

import java.nio.file.Files

import org.apache.spark.SparkConf
import org.apache.spark.deploy.master.Master
import org.apache.spark.deploy.worker.Worker
import org.apache.spark.rpc.RpcEnv

/**
 * A standalone master with workers of one core each, in this process; executors are processes of their own. Each worker has an address of its
 * own: Spark runs no speculative copy of a task on the host that runs the task. In a package of Spark's, which keeps master and workers to itself.
 */
final class StandaloneCluster(workers: Int, megabytes: Int) extends AutoCloseable {
  private val conf = new SparkConf(false).set("spark.shuffle.service.enabled", "false").set("spark.master.rest.enabled", "false")
  private val (master, url) = {
    val (environment, _, _) = Master.startRpcEnvAndEndpoint("127.0.0.1", 0, 0, conf)
    (environment, s"spark://${environment.address.hostPort}")
  }
  private val running: Vector[RpcEnv] = Vector.tabulate(workers) { index =>
    Worker.startRpcEnvAndEndpoint(
      s"127.0.0.${index + 2}", 0, 0, 1, megabytes, Array(url), Files.createTempDirectory("fulgurite-worker").toString, Some(index), conf, None)
  }

  def masterUrl: String = url

  /** Ends a worker and its executors. */
  def stopWorker(index: Int): Unit = {
    running(index).shutdown()
    running(index).awaitTermination()
  }

  override def close(): Unit = (running :+ master).foreach { environment =>
    environment.shutdown()
    environment.awaitTermination()
  }
}
