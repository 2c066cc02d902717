package io.fulgurite.spark.sql

import io.fulgurite.SparkSessions
import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.{AdaptiveSparkPlanExec, QueryStageExec}
import org.apache.spark.sql.functions._
import org.scalatest.funsuite.AnyFunSuite

/** Queries with the session extension and without it: the same rows, whatever runs where. */
class SqlExtensionsSuite extends AnyFunSuite with SparkSessions {
  override def configuration: Map[String, String] = Map("spark.sql.extensions" -> "io.fulgurite.spark.FulguriteSqlExtensions")

  private val dir = java.nio.file.Files.createTempDirectory("fulgurite-sql").toString

  override def beforeAll(): Unit = {
    super.beforeAll()
    items.write.parquet(s"$dir/items")
    spark.read.parquet(s"$dir/items").createOrReplaceTempView("files")
    items.createOrReplaceTempView("items")
    spark.catalog.cacheTable("items")
    special.createOrReplaceTempView("special")
    spark.catalog.cacheTable("special")
  }

  /** Several batches in each of four partitions, one of which is empty; strings of few and of many values. */
  private def items: DataFrame = spark.range(0, 60000, 1, 4).where("id < 40000 or id >= 45000").selectExpr(
    "cast(id as int) as number",
    "id * 1000003 as big",
    "cast(id % 50 as byte) as small",
    "cast(id % 300 as short) as short",
    "cast((id * 7919) % 1000 as double) / 8 as price",
    "cast(id % 11 as float) / 4 as share",
    "(id * 31) % 11 / 100.0D as discount",
    "substring('ANR', cast(id % 3 as int) + 1, 1) as flag",
    "if(id % 7 = 0, null, concat('name ', id % 97, if(id % 5 = 0, 'é', ''))) as name",
    "uuid() as text",
    "date_add(date '1992-01-01', cast(id % 2500 as int)) as day",
    "if(id % 13 = 0, null, id % 4 = 1) as good",
    "if(id % 3 = 0, null, cast(id % 1000 as int)) as gaps",
    "if(id % 4 = 0, null, id / 16.0D) as holes",
    "cast(id % 1000 as decimal(12, 2)) as exact")

  /** Numbers that floats have and integers do not, and integers at their ends. */
  private def special: DataFrame = spark.sql("""
    select * from values
      (1, double('NaN'), float('NaN'), 2147483647, 9223372036854775807L, 'a'),
      (2, double('Infinity'), float('1'), -2147483648, -9223372036854775808L, 'B'),
      (3, double('-Infinity'), float('-0.0'), 1, 1L, ''),
      (4, 0.0D, float('0.0'), 0, 0L, 'é'),
      (5, -0.0D, float('2'), -1, -1L, 'a '),
      (6, null, null, null, null, null),
      (7, 5e-324D, float('NaN'), 3, 3L, 'ab'),
      (8, -1.5D, float('-Infinity'), 7, 7L, 'a')
      as t(id, d, f, i, l, s)""").repartition(2, col("id"))

  /** All nodes, in stages and below adaptive plans. */
  private def nodes(frame: DataFrame): Seq[SparkPlan] = {
    def all(plan: SparkPlan): Seq[SparkPlan] = plan +: (plan match {
      case adaptive: AdaptiveSparkPlanExec => all(adaptive.executedPlan)
      case stage: QueryStageExec => all(stage.plan)
      case other => other.children.flatMap(all)
    })
    all(io.fulgurite.spark.version.Frames.execution(frame).executedPlan)
  }

  private def native(frame: DataFrame): Seq[FulguriteExec] = nodes(frame).collect { case node: FulguriteExec => node }
  private def reasons(frame: DataFrame): Seq[String] = nodes(frame).collect { case node: LeftToSparkExec => node.reason }

  private def run(query: String, enabled: Boolean): (DataFrame, Either[String, Seq[Row]]) = {
    spark.conf.set(NativeRule.Enabled, enabled.toString)
    try {
      val frame = spark.sql(query)
      val result =
        try Right(frame.collect().toSeq)
        catch { case failure: Exception => Left(condition(failure)) }
      (frame, result)
    } finally spark.conf.unset(NativeRule.Enabled)
  }

  /** What Spark calls the error. */
  private def condition(failure: Throwable): String =
    Iterator.iterate(failure)(_.getCause).takeWhile(_ != null).collectFirst {
      // Its name stands before the text, in brackets.
      case of: org.apache.spark.SparkThrowable if of.getMessage.startsWith("[") => of.getMessage.linesIterator.next()
    }.getOrElse(failure.toString)

  private def comparable(value: Any): String = value match {
    case number: Double => java.lang.Double.toHexString(number) + (if (number.isNaN) "" else java.lang.Math.copySign(1, number).toString)
    case number: Float => s"${java.lang.Float.floatToIntBits(number)}"
    case other => String.valueOf(other)
  }

  private def agree(found: Any, expected: Any, exact: Boolean): Boolean = (found, expected) match {
    case (one: Double, other: Double) if !exact && !one.isNaN && !one.isInfinite => math.abs(one - other) <= 1e-12 * math.max(1.0, math.abs(other))
    case _ => comparable(found) == comparable(expected)
  }

  /** Rows in the query's order, or else by their cells, those without rounding first. */
  private def ordered(rows: Seq[Row], query: String): Seq[Seq[Any]] = {
    val cells = rows.map(_.toSeq)
    if (query.contains("order by")) cells
    else cells.sortBy { row =>
      val (rounded, others) = row.partition(_.isInstanceOf[Double])
      (others ++ rounded).map(comparable).mkString("|")
    }
  }

  /** Checks that results agree, in any order unless the query has one; what ran. */
  private def same(query: String, exact: Boolean = true, natively: Option[Boolean] = Some(true), left: Option[Int] = Some(0)): DataFrame = {
    val (_, expected) = run(query, enabled = false)
    val (frame, found) = run(query, enabled = true)
    (found, expected) match {
      case (Right(ours), Right(sparks)) =>
        assert(ours.length == sparks.length, query)
        ordered(ours, query).zip(ordered(sparks, query)).foreach { case (one, other) =>
          assert(one.length == other.length && one.zip(other).forall { case (x, y) => agree(x, y, exact) }, s"$query: $one, not $other")
        }
      // Which of two overflows comes first is the tasks' affair.
      case (Left(ours), Left(sparks)) => assert(ours.takeWhile(_ != ']') == sparks.takeWhile(_ != ']'), query)
      case _ => assert(found == expected, query)
    }
    natively.foreach(expected => assert(native(frame).nonEmpty == expected, s"$query\n${nodes(frame).head}"))
    val all = native(frame)
    if (found.isRight) left.foreach(count => assert(all.map(_.metrics("chunksLeft").value).sum == count.toLong, s"chunks left by $query"))
    frame
  }

  private val tables = Seq("items", "files")

  for (table <- tables) {
    test(s"TPC-H Q6 and Q1 in their shape, from $table") {
      same(s"""select sum(price * discount) as revenue from $table
               where day >= date '1994-01-01' and day < date '1995-01-01' and discount between 0.05 - 0.01 and 0.06 + 0.01 and small < 24""", exact = false)
      same(s"""select flag, good, sum(small), sum(price), sum(price * (1 - discount)), sum(price * (1 - discount) * (1 + share)),
                 avg(small), avg(price), avg(discount), count(*)
               from $table where day <= date '1998-12-01' - interval '90' day group by flag, good order by flag, good""", exact = false)
    }

    test(s"filters and projections, from $table") {
      same(s"select number, price * 2 + 1, day, flag, good from $table where number % 2 = 0 and price > 100", natively = Some(true))
      same(s"select number + 1, price / 4, -price, name from $table where name is not null and name <> 'name 5'")
      same(s"select number from $table where good")
      same(s"select number from $table where not good or good is null")
      same(s"select number, good and gaps > 500, good or gaps > 500, gaps <=> null, gaps <=> 3 from $table where small < 3")
      same(s"select text from $table where flag in ('A', 'R') and name like 'name 1%'")
      same(s"select number from $table where name like '%é' or name like '%9%'")
      same(s"select length(name), substring(name, 6, 2), number from $table where small in (1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21)")
      same(s"select year(day), month(day), day(day) from $table where day > date '1995-06-17' and day <> date '1997-01-01'")
      same(s"select case when gaps > 500 then price when gaps > 100 then discount end, if(good, 1, 2), coalesce(holes, price, 0.0D) from $table where short < 20")
      same(s"select cast(small as int) + number, cast(number as double) * 0.5, cast(share as double), cast(short as bigint) from $table where big > 9000000")
    }

    test(s"grouped aggregates, from $table") {
      assert(native(same(s"select count(*) from $table")).map(_.metrics("chunks").value).sum > 0)
      same(s"select count(*), count(name), count(1), sum(big) from $table where number < 0")
      same(s"select sum(gaps), count(gaps), min(gaps), max(gaps), avg(gaps) from $table")
      same(s"select name, count(*), sum(number), min(day), max(day) from $table group by name")
      same(s"select small, short, count(holes), sum(cast(number as bigint)), min(big), max(big) from $table group by small, short")
      same(s"select day, count(*) from $table group by day having count(*) > 20")
      same(s"select text, count(*) from $table group by text")
      same(s"select good, min(price), max(price), max(share), min(holes), max(holes) from $table where price > 0 and share > 0 and number > 0 group by good")
      same(s"select flag, count(*) from $table where number < 0 group by flag", natively = None)
      same(s"select year(day), length(name), sum(price) from $table group by 1, 2", exact = false)
      same(s"select sum(sums) from (select gaps, sum(short) as sums from $table group by gaps)")
      same(s"select a.flag, count(*) from (select flag, price from $table where number < 500) a join (select distinct flag from $table) b on a.flag = b.flag group by a.flag")
    }
  }

  test("adaptive execution is not needed") {
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    try same("select flag, sum(short), count(*) from items where price > 20 group by flag")
    finally spark.conf.unset("spark.sql.adaptive.enabled")
  }

  test("NaN, infinities and zeros of both signs") {
    for (operator <- Seq("=", "<>", "<", "<=", ">", ">=", "<=>"); constant <- Seq("double('NaN')", "0.0D", "-0.0D", "double('Infinity')", "1.5D")) {
      same(s"select id, d from special where d $operator $constant")
    }
    same("select id, a.d + 1, d * 0, -d, abs(d), sqrt(abs(d)), isnan(d), f + f, f * 2 from special a where id > 0")
    same("select id from special where d = f or f = 0")
    same("select d, count(*) from special group by d")
    same("select f, d > 0, count(*) from special group by f, d > 0")
    same("select sum(d), avg(d) from special where id > 2")
    same("select min(id), max(f) from special where f > 0")
    // Which of them comes first decides about a sign, and NaN is the greatest number: chunks with any are Spark's.
    same("select min(d), max(d), min(f), max(f) from special", left = Some(2))
  }

  test("strings are compared by bytes") {
    same("select s, count(*), min(id) from special group by s")
    same("select id, s from special where s > 'B' and s < 'é'")
    same("select id from special where s = 'a' or s = ''")
  }

  test("overflow and division by zero are Spark's errors") {
    for (ansi <- Seq("true", "false")) {
      spark.conf.set("spark.sql.ansi.enabled", ansi)
      try {
        for (sum <- Seq("i + 1", "i - 1", "i * 2", "l + 1", "l - 1", "l * l", "d / i", "if(i = 0, 0, 1 / i)", "cast(i as bigint) * i", "i % 3", "l % 7")) {
          same(s"select id, $sum from special where id > 0", left = None)
          same(s"select sum($sum), count($sum) from special", left = None, exact = false)
          same(s"select id, $sum from special where id > 2 and i <> 0")
        }
        same("select sum(l) from special where id < 3", left = None)
        same("select id % 2, sum(l), sum(i) from special group by id % 2", left = None)
        same("select sum(l), sum(i) from special", left = None)
        same("select id from special where 1 / i > 0.3", left = None)
        same("select id from special where i <> 0 and 1 / i > 0.3")
      } finally spark.conf.unset("spark.sql.ansi.enabled")
    }
  }

  test("what stays Spark's says why") {
    def why(query: String): String = reasons(same(query, natively = Some(false))).mkString("; ")
    assert(why("select sum(exact) from items").contains("decimal(12,2)"))
    assert(why("select count(*) from range(10) where id > 3").contains("Range gives rows"))
    assert(reasons(same("select flag, stddev(price) from items where price > 1 group by flag", exact = false)).mkString.contains("aggregate stddev"))
    same("select sum(distinct number) from items where good")
    assert(why("select upper(flag) from items").contains("upper"))
    val text = explained("select upper(flag) from items")
    assert(text.contains("LeftToSpark: upper: upper(flag#"), text)
  }

  test("explain names what runs natively") {
    val text = explained("select flag, sum(price * (1 - discount)) from items where day <= date '1998-09-02' group by flag")
    assert(text.contains("FulguriteAggregate filter"), text)
    assert(text.replaceAll("#\\d+", "").contains("group by flag: sum((price * (1.0 - discount)))"), text)
    val formatted = explained("select flag, price + 1 from items where price < 3", "formatted")
    assert(formatted.contains("FulguriteProject"), formatted)
    assert(formatted.contains("Native: filter"), formatted)
  }

  private def explained(query: String, mode: String = "simple"): String = {
    val frame = spark.sql(query)
    frame.collect()
    val out = new java.io.ByteArrayOutputStream
    Console.withOut(out)(frame.explain(mode))
    out.toString
  }
}
