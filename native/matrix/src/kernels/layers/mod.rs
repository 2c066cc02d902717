//! Layers of neural networks.
//!
//! Images are rows: an N x CHW matrix has N images of C channels, each H rows of W pixels. [`WindowLayer`] declares the layers that move a
//! window over images, with the shapes of their operands; [`WindowSizes`] are their sizes, and say what does not fit. [`lstm`] has the
//! recurrent layer, [`channel_row`] what adding and multiplying by channel need.
//!
//! Tasks are cut by images, by shapes only. A task has room for the pixels under a few windows: never for those of all images.

mod convolution;
mod images;
mod lstm;
mod pooling;
mod sizes;
#[cfg(test)]
mod tests;

use fulgurite_error::{Error, Result};

use crate::{MatrixBlock, memory};

pub use lstm::{LstmInputs, LstmStates, lstm, lstm_backward};
pub use sizes::{Role, Shape, WindowLayer, WindowSizes};

use sizes::Geometry;

/// Runs a layer on its operands, in the order in which it declares them.
///
/// # Errors
/// `dimension`, which names all shapes that don't fit; `memory`; `interrupted`.
///
/// ```
/// # use fulgurite_matrix::{MatrixBlock, kernels::layers::{WindowLayer, WindowSizes, window_layer}};
/// let image = MatrixBlock::dense(1, 4, vec![1.0, 2.0, 3.0, 4.0])?;
/// let sizes = WindowSizes {
///     input: [1, 1, 2, 2].map(Some),
///     filters: None,
///     window: [Some(2), Some(1)],
///     stride: [Some(1); 2],
///     padding: [Some(0); 2],
/// };
/// let largest = window_layer(WindowLayer::MaxPool, &[&image], &sizes)?;
/// assert_eq!(largest, MatrixBlock::dense(1, 2, vec![3.0, 4.0])?);
/// # Ok::<(), fulgurite_error::Error>(())
/// ```
pub fn window_layer(
    layer: WindowLayer,
    operands: &[&MatrixBlock],
    sizes: &WindowSizes,
) -> Result<MatrixBlock> {
    let shapes: Vec<Shape> = operands.iter().map(|operand| Shape::of(operand)).collect();
    let misfits = sizes.misfits(layer, &shapes);
    if !misfits.is_empty() {
        return Err(Error::dimension(misfits.join("; ")));
    }
    let geometry = Geometry::new(layer, sizes)?;
    if layer.has_filters() && (geometry.image() == 0 || geometry.result() == 0) {
        let (rows, cols) = geometry.shape(layer.gives());
        return MatrixBlock::filled(rows, cols, 0.0);
    }
    match (layer, operands) {
        (WindowLayer::Conv2d, [input, filter]) => convolution::forward(input, filter, &geometry),
        (WindowLayer::Conv2dBackwardFilter, [input, gradient]) => {
            convolution::backward_filter(input, gradient, &geometry)
        }
        (WindowLayer::Conv2dBackwardData, [filter, gradient]) => {
            convolution::backward_data(filter, gradient, &geometry)
        }
        (WindowLayer::MaxPool, [input]) => pooling::largest(input, &geometry),
        (WindowLayer::MaxPoolBackward, [input, gradient]) => {
            pooling::largest_backward(input, gradient, &geometry)
        }
        (WindowLayer::AvgPool, [input]) => pooling::average(input, &geometry),
        (WindowLayer::AvgPoolBackward, [_, gradient]) => {
            pooling::average_backward(gradient, &geometry)
        }
        _ => Err(Error::internal(format!(
            "{} got {} operands",
            layer.name(),
            operands.len()
        ))),
    }
}

/// A row of so many columns, with each cell of a column vector repeated for all pixels of its channel.
///
/// # Errors
/// `dimension`, where it is no column, or the columns are not those of so many channels; `memory`.
///
/// ```
/// # use fulgurite_matrix::{MatrixBlock, kernels::layers::channel_row};
/// let bias = MatrixBlock::dense(2, 1, vec![5.0, 7.0])?;
/// let row = MatrixBlock::dense(1, 4, vec![5.0, 5.0, 7.0, 7.0])?;
/// assert_eq!(channel_row(&bias, 4)?, row);
/// # Ok::<(), fulgurite_error::Error>(())
/// ```
pub fn channel_row(channels: &MatrixBlock, cols: usize) -> Result<MatrixBlock> {
    let count = channels.rows();
    if let Some(misfit) = channel_misfit(Shape::of(channels), Some(cols as u64)) {
        return Err(Error::dimension(misfit));
    }
    let pixels = cols.checked_div(count).unwrap_or(0);
    let values = channels.to_dense()?;
    let mut row = memory::room(cols)?;
    for value in values.values() {
        row.resize(row.len() + pixels, *value);
    }
    MatrixBlock::dense(1, cols, row)
}

/// Why channels don't fit images of so many columns.
pub fn channel_misfit(channels: Shape, cols: Option<u64>) -> Option<String> {
    if channels.cols.is_some_and(|cols| cols != 1) {
        return Some(format!("one number a channel is a column, not {channels}"));
    }
    let (count, cols) = channels.rows.zip(cols)?;
    let fits = match cols.checked_rem(count) {
        Some(rest) => rest == 0,
        None => cols == 0,
    };
    (!fits).then(|| format!("{cols} columns are not {count} channels of equally many pixels"))
}
