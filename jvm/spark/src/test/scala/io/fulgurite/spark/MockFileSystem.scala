package io.fulgurite.spark

import java.io.IOException
import java.net.URI
import java.util.concurrent.atomic.{AtomicBoolean, AtomicInteger, AtomicReference}

import org.apache.hadoop.fs.{FSDataInputStream, FSDataOutputStream, Path, RawLocalFileSystem}
import org.apache.hadoop.fs.permission.FsPermission
import org.apache.hadoop.security.AccessControlException
import org.apache.hadoop.util.Progressable

/** This machine's files under a scheme that native code does not know. */
final class MockFileSystem extends RawLocalFileSystem {
  override def getUri: URI = MockFileSystem.Uri

  override def open(path: Path, bufferSize: Int): FSDataInputStream = {
    MockFileSystem.opened.incrementAndGet()
    if (path.getName == MockFileSystem.Forbidden) throw new AccessControlException(s"Permission denied: user=nobody, path=$path")
    super.open(path, bufferSize)
  }

  override def create(
      path: Path, permission: FsPermission, overwrite: Boolean, bufferSize: Int, replication: Short, blockSize: Long, progress: Progressable): FSDataOutputStream = {
    creates()
    super.create(path, permission, overwrite, bufferSize, replication, blockSize, progress)
  }

  override def create(path: Path, overwrite: Boolean, bufferSize: Int, replication: Short, blockSize: Long, progress: Progressable): FSDataOutputStream = {
    creates()
    super.create(path, overwrite, bufferSize, replication, blockSize, progress)
  }

  override def rename(from: Path, to: Path): Boolean = {
    val isRenamed = super.rename(from, to)
    MockFileSystem.renamed.get()(to)
    isRenamed
  }

  private def creates(): Unit = {
    if (MockFileSystem.full.get) throw new IOException("the disk quota is exceeded")
    MockFileSystem.created.incrementAndGet()
  }
}

object MockFileSystem {
  val Uri: URI = URI.create("mock:///")
  val Forbidden = "forbidden"

  val opened = new AtomicInteger
  val created = new AtomicInteger
  /** Is told of each new name. */
  val renamed = new AtomicReference[Path => Unit](_ => ())
  /** Whether nothing can be written. */
  val full = new AtomicBoolean
}
