package org.apache.spark.fulgurite

import org.apache.spark.util.KnownSizeEstimation

/**
 * Something that tells Spark's storage accounting how big it is: native memory is invisible to Spark's own estimate.
 * In a package of Spark's, which keeps the trait to itself.
 */
trait KnownSize extends KnownSizeEstimation
