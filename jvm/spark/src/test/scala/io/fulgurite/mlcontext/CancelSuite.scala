package io.fulgurite.mlcontext

import java.util.concurrent.{CountDownLatch, TimeUnit}
import java.util.concurrent.atomic.AtomicInteger

import io.fulgurite.{Failures, SparkSessions}
import org.apache.spark.scheduler.{SparkListener, SparkListenerJobStart}
import org.scalatest.funsuite.AnyFunSuite

/** Runs that somebody ends from another thread. None would end by itself. */
final class CancelSuite extends AnyFunSuite with SparkSessions {
  private val Endless = "print('ready')\ni = 0\nwhile (i >= 0) { i = i + 1 }\nprint('never')"

  /** Runs on a context until it has printed `ready` and `until` holds; ends it, and gives the lines and the failure. */
  private def ended(ml: MLContext, script: Script, until: () => Unit = () => ())(end: => Unit): (Seq[String], Throwable) = {
    val (ready, lines) = (new CountDownLatch(1), new java.util.concurrent.ConcurrentLinkedQueue[String])
    ml.setPrintSink { line => lines.add(line); if (line == "ready") ready.countDown() }
    var failure = Option.empty[Throwable]
    val run: Runnable = () =>
      try { ml.execute(script); () }
      catch { case thrown: Throwable => failure = Some(thrown) }
    val thread = new Thread(run)
    thread.start()
    assert(ready.await(60, TimeUnit.SECONDS))
    until()
    end
    thread.join(20000)
    assert(!thread.isAlive)
    (lines.toArray(Array.empty[String]).toSeq, failure.get)
  }

  private def interrupted(failure: Throwable): Unit = { Failures.of("interrupted")(throw failure); () }

  test("a local loop ends where it is, and the context goes on") {
    for (body <- Seq("i = i + 1", "i = i + sum(exp(X * i) > 0) + 1", "parfor (k in 1:1000000000000) { x = sum(X * k) }\ni = i + 1")) {
      val script = ScriptFactory.dml(Endless.replace("i = i + 1", body)).in("X", Array.fill(100, 100)(1.0))
      val (lines, failure) = ended(ml, script)(ml.cancel())
      interrupted(failure)
      assert(lines == Seq("ready"), body)
    }
    assert(ml.execute(ScriptFactory.dml("x = 1 + 1").out("x")).getLong("x") == 2)
  }

  test("jobs of a run end with it") {
    val started = new AtomicInteger
    val listener = new SparkListener {
      override def onJobStart(job: SparkListenerJobStart): Unit = { started.incrementAndGet(); () }
    }
    val context = spark.sparkContext
    context.addSparkListener(listener)
    val own = new MLContext(spark).setConfigProperty("fulgurite.memory.local", "10k")
    try {
      val X = context.parallelize(0 until 4000, 4).map(row => Seq.fill(10)(row + 1.0).mkString(","))
      val script = ScriptFactory.dml("print('ready')\ni = 0\nwhile (i >= 0) { i = i + sum(abs(X - i) > 0) }\nprint('never')").in("X", X)
      def wait(): Unit = {
        val until = System.nanoTime + TimeUnit.SECONDS.toNanos(60)
        while (started.get < 5 && System.nanoTime < until) Thread.sleep(10)
        assert(started.get >= 5, "the loop has no jobs")
      }
      val (lines, failure) = ended(own, script, () => wait())(own.cancel())
      interrupted(failure)
      assert(lines == Seq("ready"))
      val status = context.statusTracker
      assert(status.getActiveJobIds().isEmpty)
      val before = started.get
      Thread.sleep(300)
      assert(started.get == before && status.getActiveJobIds().isEmpty)
      assert(own.execute(ScriptFactory.dml("s = sum(X)").in("X", X).out("s")).getDouble("s") == 10.0 * 4000 * 4001 / 2)
    } finally {
      own.close()
      context.removeSparkListener(listener)
    }
  }

  test("a closed context ends what runs, and executes nothing") {
    val own = new MLContext(spark)
    val (lines, failure) = ended(own, ScriptFactory.dml(Endless))(own.close())
    interrupted(failure)
    assert(lines == Seq("ready"))
    assert(Failures.of("argument")(own.execute(ScriptFactory.dml("x = 1"))).getMessage.contains("closed"))
    Failures.of("argument")(own.explain(ScriptFactory.dml("x = 1")))
  }

  test("a run may end itself") {
    val own = new MLContext(spark)
    own.setPrintSink(_ => own.cancel())
    interrupted(intercept[Throwable](own.execute(ScriptFactory.dml(Endless))))
    own.close()
  }
}
