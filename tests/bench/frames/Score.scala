import org.apache.spark.sql.SparkSession

/** The function of examples/weld/score_rows.py, as Scala's users write it. */
object Score {
  def register(spark: SparkSession): Unit = {
    spark.udf.register("score", (age: Double, income: Double, claims: Double, years: Double) => {
      val risk = 0.03 * age + 0.2 * claims - 0.00001 * income - 1.5
      val kinked = if (years > 5) risk - 0.05 * (years - 5) else risk
      if (kinked > 0) kinked else 0.0
    })
    ()
  }
}
