/**
 * The JVM's door to the native library: eight {@linkplain io.fulgurite.core.Native native methods}, the
 * {@linkplain io.fulgurite.core.Host callback} they may use, the {@linkplain io.fulgurite.core.FulguriteException exception} they
 * throw, and what {@linkplain io.fulgurite.core.NativeLibrary finds and loads} the library. Nothing here knows Spark, Arrow or Scala.
 */
package io.fulgurite.core;
