//! Pooling: the largest pixel under each window, or their average.

use fulgurite_error::Result;

use super::{
    images::{Images, by_images},
    sizes::Geometry,
};
use crate::{MatrixBlock, vector_math::maximum};

/// The largest pixel under each window. Padding has none; a window on padding alone gives the smallest number, `-Inf`.
pub(super) fn largest(input: &MatrixBlock, geometry: &Geometry) -> Result<MatrixBlock> {
    pooled(input, geometry, f64::NEG_INFINITY, maximum, |_| ())
}

/// Their sum, divided by the size of the window: pixels of the padding are zeros.
pub(super) fn average(input: &MatrixBlock, geometry: &Geometry) -> Result<MatrixBlock> {
    let size = window_size(geometry);
    let divide = |cells: &mut [f64]| cells.iter_mut().for_each(|cell| *cell /= size);
    pooled(input, geometry, 0.0, |sum, pixel| sum + pixel, divide)
}

/// Pixels of a window.
fn window_size(geometry: &Geometry) -> f64 {
    geometry.window[0] as f64 * geometry.window[1] as f64
}

/// Pixels under each window, combined row by row from `start` on.
fn pooled(
    input: &MatrixBlock,
    geometry: &Geometry,
    start: f64,
    combine: impl Fn(f64, f64) -> f64 + Sync,
    finish: impl Fn(&mut [f64]) + Sync,
) -> Result<MatrixBlock> {
    let images = Images::new(input)?;
    let (result, across) = (geometry.result(), geometry.places[1]);
    by_images(geometry.images, result, cost(geometry), |task, out| {
        let mut scratch = images.scratch()?;
        for (row, out) in task.zip(out.chunks_exact_mut(result.max(1))) {
            let image = images.row(row, &mut scratch);
            out.fill(start);
            for (line, out) in out.chunks_exact_mut(across.max(1)).enumerate() {
                let (channel, place) = (line / geometry.places[0], line % geometry.places[0]);
                let channel = &image[channel * geometry.pixels()..];
                for down in 0..geometry.window[0] {
                    let Some(image_row) = geometry.image_row(place, down) else {
                        continue;
                    };
                    let pixels = &channel[image_row * geometry.width..][..geometry.width];
                    for window_col in 0..geometry.window[1] {
                        let inside = geometry.places_inside(window_col);
                        if inside.is_empty() {
                            continue;
                        }
                        let pixels = &pixels[geometry.image_col(inside.start, window_col)..];
                        let pixels = pixels.iter().step_by(geometry.stride[1]);
                        for (cell, pixel) in out[inside].iter_mut().zip(pixels) {
                            *cell = combine(*cell, *pixel);
                        }
                    }
                }
            }
            finish(out);
        }
        Ok(())
    })
}

/// Gradients go to the first of the largest pixels under each window, and to the first NaN where there is one.
pub(super) fn largest_backward(
    input: &MatrixBlock,
    gradient: &MatrixBlock,
    geometry: &Geometry,
) -> Result<MatrixBlock> {
    let images = Images::new(input)?;
    let gradients = Images::new(gradient)?;
    let size = geometry.image();
    by_images(geometry.images, size, cost(geometry), |task, out| {
        let (mut scratch, mut gradient_scratch) = (images.scratch()?, gradients.scratch()?);
        for (row, out) in task.zip(out.chunks_exact_mut(size.max(1))) {
            let image = images.row(row, &mut scratch);
            let gradient = gradients.row(row, &mut gradient_scratch);
            for (place, gradient) in gradient.iter().enumerate() {
                if let Some(pixel) = first_largest(image, geometry, place) {
                    out[pixel] += gradient;
                }
            }
        }
        Ok(())
    })
}

/// The first of the largest pixels under a window.
fn first_largest(image: &[f64], geometry: &Geometry, place: usize) -> Option<usize> {
    let mut largest: Option<(usize, f64)> = None;
    for pixels in geometry.pixels_under(place) {
        for (pixel, value) in pixels.clone().zip(&image[pixels]) {
            let is_larger = match largest {
                None => true,
                Some((_, best)) => *value > best || value.is_nan() && !best.is_nan(),
            };
            if is_larger {
                largest = Some((pixel, *value));
            }
        }
    }
    largest.map(|(pixel, _)| pixel)
}

/// Gradients go to all pixels under a window in equal shares.
pub(super) fn average_backward(gradient: &MatrixBlock, geometry: &Geometry) -> Result<MatrixBlock> {
    let gradients = Images::new(gradient)?;
    let (size, shares) = (geometry.image(), window_size(geometry));
    by_images(geometry.images, size, cost(geometry), |task, out| {
        let mut scratch = gradients.scratch()?;
        for (row, out) in task.zip(out.chunks_exact_mut(size.max(1))) {
            for (place, gradient) in gradients.row(row, &mut scratch).iter().enumerate() {
                let share = gradient / shares;
                for pixels in geometry.pixels_under(place) {
                    out[pixels].iter_mut().for_each(|cell| *cell += share);
                }
            }
        }
        Ok(())
    })
}

/// Pixels under all windows of an image.
fn cost(geometry: &Geometry) -> usize {
    let window = geometry.window[0].saturating_mul(geometry.window[1]);
    geometry.result().saturating_mul(window)
}
