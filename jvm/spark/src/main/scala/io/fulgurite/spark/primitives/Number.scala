package io.fulgurite.spark.primitives

import scala.util.Try

/** Numbers as text, as the language reads them. */
private[spark] object Number {
  def parse(text: String): Option[Double] =
    // Java would read '1d' and '1f'.
    if (text.isEmpty || (text.last.isLetter && !text.endsWith("NaN") && !text.endsWith("Infinity"))) None
    else Try(text.toDouble).toOption
}
