package io.fulgurite

import io.fulgurite.core.FulguriteException
import io.fulgurite.mlcontext.{FaultsSuite, MLContext}
import io.fulgurite.spark.memory.NativeMemory
import org.apache.spark.sql.SparkSession
import org.scalatest.{Assertions, BeforeAndAfterAll, Suite}

/** A session for one suite, with two tasks at a time: in this process, or in two executors of their own. */
trait SparkSessions extends BeforeAndAfterAll { this: Suite =>
  def master: String = "local[2]"

  /** What is configured beside what all suites need. */
  def configuration: Map[String, String] = Map.empty

  protected lazy val spark: SparkSession = SparkSessions.start(master, suiteName, configuration)

  protected lazy val ml: MLContext = new MLContext(spark)

  override def beforeAll(): Unit = {
    super.beforeAll()
    spark.sparkContext.setLogLevel("ERROR")
  }

  /** No task owns memory. Tasks of jobs that failed, and speculative copies that came second, end a while after their jobs. */
  protected def tasksOwnNothing(): Unit = {
    def owned = spark.sparkContext.parallelize(0 until 8, 8).map(_ => NativeMemory.owned).collect().toSeq
    FaultsSuite.await(owned.forall(_ == 0))
    val left = owned
    assert(left.forall(_ == 0), left.mkString(", "))
  }

  override def afterAll(): Unit = {
    spark.stop()
    super.afterAll()
  }
}

object SparkSessions {
  def start(master: String, name: String, configuration: Map[String, String]): SparkSession = {
    // Executors of a local cluster get the classes under test, and nothing else of ours.
    val classes = sys.env.getOrElse("TEST_CLASS_PATH", "")
    val builder = SparkSession.builder()
      .master(master).appName(name)
      .config("spark.ui.enabled", "false")
      // Jobs wait for all executors of a local cluster, however busy the machine is.
      .config("spark.scheduler.minRegisteredResourcesRatio", "1.0")
      .config("spark.sql.shuffle.partitions", "3")
      .config("spark.executor.extraClassPath", classes)
      .config("spark.executor.extraJavaOptions", System.getProperty("fulgurite.tests.executors", ""))
      .config("spark.fulgurite.native.path", System.getProperty("fulgurite.native.path"))
      .config("spark.plugins", "io.fulgurite.spark.FulguriteSparkPlugin")
      // What a task holds of Spark's memory when it ends fails it.
      .config("spark.unsafe.exceptionOnMemoryLeak", "true")
    configuration.foldLeft(builder) { case (builder, (key, value)) => builder.config(key, value) }.getOrCreate()
  }
}

object Failures extends Assertions {
  /** The error that `work` ends with; it has to be of the kind. */
  def of(kind: String)(work: => Any): FulguriteException = {
    val failure = intercept[FulguriteException](work)
    assert(failure.kind == kind, failure.getMessage)
    failure
  }
}

object Data {
  /** Cells that are exact in binary: sums in any order are equal. */
  def matrix(rows: Int, cols: Int): Array[Array[Double]] =
    Array.tabulate(rows, cols)((row, col) => ((row * 31 + col * 17) % 13 - 6) / 4.0)

  def times(left: Array[Array[Double]], right: Array[Array[Double]]): Array[Array[Double]] =
    left.map(row => right.head.indices.map(col => row.indices.map(at => row(at) * right(at)(col)).sum).toArray)

  def close(found: Array[Array[Double]], expected: Array[Array[Double]]): Boolean =
    found.length == expected.length && found.zip(expected).forall { case (a, b) =>
      a.length == b.length && a.zip(b).forall { case (x, y) => math.abs(x - y) <= 1e-9 * math.max(1.0, math.abs(y)) }
    }
}
