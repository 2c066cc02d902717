package io.fulgurite.mlcontext

import java.nio.channels.FileChannel
import java.nio.file.{Path, StandardOpenOption}

import io.fulgurite.spark.Blocks
import io.fulgurite.spark.arrow.{BlockView, CsrBuilder}

/** A matrix as a file of its pointers, values and column numbers, for SciPy. */
private[mlcontext] object CsrFile {

  /** How many cells are stored. */
  def write(matrix: Matrix, path: String): Long = matrix.onDriver(_.read {
    case Seq(view) if view.isCsr => write(view, path)
    case views =>
      val builder = new CsrBuilder(views.head.cols)
      try views.foreach(view => builder.append(view, 0, view.rows))
      catch {
        case failure: Throwable =>
          builder.close()
          throw failure
      }
      val blocks = Blocks.built(builder, 0)
      try blocks.read(built => write(built.head, path))
      finally blocks.close()
  })

  private def write(view: BlockView, path: String): Long = {
    val file = FileChannel.open(Path.of(path), StandardOpenOption.WRITE, StandardOpenOption.CREATE, StandardOpenOption.TRUNCATE_EXISTING)
    try {
      for ((address, bytes) <- Seq(view.pointerAddress -> (view.rows + 1L) * 8, view.valueAddress -> view.stored * 8, view.indexAddress -> view.stored * 4)) {
        FileMemory.write(address, bytes, file)
      }
      view.stored
    } finally file.close()
  }
}
