package io.fulgurite.spark.text

import io.fulgurite.spark.Errors
import io.fulgurite.spark.dataset.Dataset

private[spark] object TextSource {

  /** The dataset that lines have become, which has rows. */
  def withRows(found: Option[Dataset], name: String): Dataset =
    found.filter { dataset =>
      val hasRows = dataset.characteristics.rows > 0
      if (!hasRows) dataset.release()
      hasRows
    }.getOrElse(throw Errors.data(s"'$name' has no lines", "a matrix needs at least one row"))
}
