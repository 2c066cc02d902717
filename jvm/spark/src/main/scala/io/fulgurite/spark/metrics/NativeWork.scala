package io.fulgurite.spark.metrics

import java.util.Locale

import org.apache.spark.util.AccumulatorV2

/**
 * What native tasks of an operator did on the executors: one for each stripe.
 *
 * @param tasksByExecutor how many ran where
 * @param nanoseconds in native code, compiling included
 * @param operatorNanoseconds the operators' part of it: the rest is what calls take
 * @param compileNanoseconds compiling fused operators that an executor had not met before
 * @param compiled how many of these
 * @param rows of the stripes that tasks ran on
 * @param nnz non-zeros of all stripes that tasks read; stored cells of those that only the next task reads, which nobody counts
 * @param bytesIn all stripes that tasks read, those of a dataset that they go over each time; broadcasts are not among them
 * @param bytesOut results
 */
final case class NativeWork(
    tasksByExecutor: Map[String, Long] = Map.empty, nanoseconds: Long = 0, operatorNanoseconds: Long = 0, compileNanoseconds: Long = 0, compiled: Long = 0,
    rows: Long = 0, nnz: Long = 0, bytesIn: Long = 0, bytesOut: Long = 0) {

  def tasks: Long = tasksByExecutor.values.sum
  def seconds: Double = nanoseconds / 1e9
  def operatorSeconds: Double = operatorNanoseconds / 1e9
  def compileSeconds: Double = compileNanoseconds / 1e9

  def +(other: NativeWork): NativeWork = NativeWork(
    other.tasksByExecutor.foldLeft(tasksByExecutor) { case (sums, (executor, count)) => sums.updated(executor, sums.getOrElse(executor, 0L) + count) },
    nanoseconds + other.nanoseconds, operatorNanoseconds + other.operatorNanoseconds, compileNanoseconds + other.compileNanoseconds, compiled + other.compiled,
    rows + other.rows, nnz + other.nnz, bytesIn + other.bytesIn, bytesOut + other.bytesOut)

  /** As the Spark UI shows it. */
  override def toString: String = {
    def decimal(seconds: Double) = "%.4f".formatLocal(Locale.ROOT, seconds)
    s"native tasks: $tasks, native seconds: ${decimal(seconds)}, compile seconds: ${decimal(compileSeconds)}, " +
      s"rows: $rows, nnz: $nnz, bytes in: $bytesIn, bytes out: $bytesOut"
  }
}

/** The work of one operator; its name is the operator's. Executors add, the driver reads. */
final class WorkCounter extends AccumulatorV2[NativeWork, NativeWork] {
  private var sum = NativeWork()

  override def isZero: Boolean = value.tasksByExecutor.isEmpty
  override def reset(): Unit = synchronized { sum = NativeWork() }
  override def add(work: NativeWork): Unit = synchronized { sum += work }
  override def value: NativeWork = synchronized(sum)

  override def copy(): WorkCounter = {
    val other = new WorkCounter
    other.add(value)
    other
  }

  override def merge(other: AccumulatorV2[NativeWork, NativeWork]): Unit = add(other.value)
}
