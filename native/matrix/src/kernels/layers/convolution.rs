//! Convolution as products of matrices.
//!
//! The pixels under windows make a matrix with a row for each weight of a filter and a column for each place of the window. It is laid out
//! for a few rows of places at a time, a tile, which stays in the cache while it is multiplied by the filters.

use std::ops::Range;

use fulgurite_error::Result;
use rayon::prelude::*;

use super::{
    images::{Images, by_images, image_tasks},
    sizes::Geometry,
};
use crate::{
    Interrupt, MatrixBlock,
    kernels::dense_product::{View, Write, multiply},
    memory::{self, cells},
};

/// Cells of a tile: they take a megabyte, about as much as a core's own cache has.
const TILE_CELLS: usize = 1 << 17;
/// Partial gradients of filters, which are added up at the end.
const MOST_PARTIAL_GRADIENTS: usize = 16;

/// For each image, filters times its pixels under windows.
pub(super) fn forward(
    input: &MatrixBlock,
    filter: &MatrixBlock,
    geometry: &Geometry,
) -> Result<MatrixBlock> {
    let weights = filter.to_dense()?;
    let depth = geometry.filter();
    let weights = View::of_rows(weights.values(), geometry.result_channels, depth, depth);
    let images = Images::new(input)?;
    let (result, pixels) = (geometry.result(), geometry.result_pixels());
    by_images(geometry.images, result, cost(geometry), |task, out| {
        let (mut windows, mut scratch) = (Windows::new(geometry)?, images.scratch()?);
        for (row, out) in task.zip(out.chunks_exact_mut(result.max(1))) {
            let image = images.row(row, &mut scratch);
            for tile in windows.tiles() {
                let from = tile.start * geometry.places[1];
                let columns = windows.under(image, tile);
                multiply(weights, columns, &mut out[from..], pixels, Write::Replace)?;
            }
        }
        Ok(())
    })
}

/// The gradient of the input: for each image, what filters give to the pixels under windows, added up where windows overlap.
pub(super) fn backward_data(
    filter: &MatrixBlock,
    gradient: &MatrixBlock,
    geometry: &Geometry,
) -> Result<MatrixBlock> {
    let weights = filter.to_dense()?;
    let depth = geometry.filter();
    let weights = View::of_rows(weights.values(), geometry.result_channels, depth, depth);
    let gradients = Images::new(gradient)?;
    let (image, pixels) = (geometry.image(), geometry.result_pixels());
    by_images(geometry.images, image, cost(geometry), |task, out| {
        let (mut windows, mut scratch) = (Windows::new(geometry)?, gradients.scratch()?);
        for (row, out) in task.zip(out.chunks_exact_mut(image.max(1))) {
            let gradient = gradients.row(row, &mut scratch);
            for tile in windows.tiles() {
                let places = tile.len() * geometry.places[1];
                let from = tile.start * geometry.places[1];
                let gradient =
                    View::of_rows(&gradient[from..], geometry.result_channels, places, pixels);
                let columns = &mut windows.cells[..depth * places];
                multiply(
                    weights.transposed(),
                    gradient,
                    columns,
                    places,
                    Write::Replace,
                )?;
                windows.add_to(out, tile);
            }
        }
        Ok(())
    })
}

/// The gradient of the filters: gradients of results times pixels under windows, added up over images.
pub(super) fn backward_filter(
    input: &MatrixBlock,
    gradient: &MatrixBlock,
    geometry: &Geometry,
) -> Result<MatrixBlock> {
    let (images, gradients) = (Images::new(input)?, Images::new(gradient)?);
    let (filters, depth) = (geometry.result_channels, geometry.filter());
    let size = cells(filters, depth)?;
    let interrupt = Interrupt::current();
    let tasks = image_tasks(geometry.images, cost(geometry).max(size));
    let per_partial = tasks.len().div_ceil(MOST_PARTIAL_GRADIENTS).max(1);
    let counted = interrupt.parts(tasks.len().div_ceil(per_partial));
    let partials = tasks.par_chunks(per_partial).map(|tasks| {
        interrupt.check()?;
        let partial = interrupt.within(|| {
            let (mut windows, mut scratch) = (Windows::new(geometry)?, images.scratch()?);
            let mut gradient_scratch = gradients.scratch()?;
            let mut partial = memory::zeros(size)?;
            for row in tasks.iter().cloned().flatten() {
                let image = images.row(row, &mut scratch);
                let gradient = gradients.row(row, &mut gradient_scratch);
                for tile in windows.tiles() {
                    let places = tile.len() * geometry.places[1];
                    let from = tile.start * geometry.places[1];
                    let gradient =
                        View::of_rows(&gradient[from..], filters, places, geometry.result_pixels());
                    let columns = windows.under(image, tile).transposed();
                    multiply(gradient, columns, &mut partial, depth, Write::Add)?;
                }
            }
            Ok::<_, fulgurite_error::Error>(partial)
        })?;
        counted.passed();
        Ok::<_, fulgurite_error::Error>(partial)
    });
    let partials = partials.collect::<Result<Vec<Vec<f64>>>>()?;
    let mut sum = memory::zeros(size)?;
    for partial in partials {
        for (sum, cell) in sum.iter_mut().zip(partial) {
            *sum += cell;
        }
    }
    MatrixBlock::dense(filters, depth, sum)
}

/// Multiplications of an image.
fn cost(geometry: &Geometry) -> usize {
    let places = geometry.filter().saturating_mul(geometry.result_pixels());
    places.saturating_mul(geometry.result_channels)
}

/// Room for the pixels under a tile of windows.
struct Windows<'a> {
    geometry: &'a Geometry,
    /// Rows of places of a tile.
    rows: usize,
    cells: Vec<f64>,
}

impl<'a> Windows<'a> {
    fn new(geometry: &'a Geometry) -> Result<Self> {
        let row = cells(geometry.filter(), geometry.places[1])?;
        let rows = (TILE_CELLS / row.max(1)).clamp(1, geometry.places[0].max(1));
        Ok(Windows {
            geometry,
            rows,
            cells: memory::zeros(cells(rows, row)?)?,
        })
    }

    /// The rows of places, cut into tiles.
    fn tiles(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let (rows, all) = (self.rows, self.geometry.places[0]);
        (0..all)
            .step_by(rows)
            .map(move |from| from..(from + rows).min(all))
    }

    /// The pixels of an image under a tile's windows: a row for each weight of a filter, a column for each place.
    fn under<'v>(&'v mut self, image: &'v [f64], tile: Range<usize>) -> View<'v> {
        let geometry = self.geometry;
        let across = geometry.places[1];
        let places = tile.len() * across;
        if geometry.sees_each_pixel_once() {
            let pixels = &image[tile.start * across..];
            return View::of_rows(pixels, geometry.channels, places, geometry.pixels());
        }
        let used = geometry.filter() * places;
        let rows = self.cells[..used].chunks_exact_mut(places.max(1));
        for ((channel, down, window_col), row) in weights(geometry).zip(rows) {
            let inside = geometry.places_inside(window_col);
            for (place, out) in tile.clone().zip(row.chunks_exact_mut(across)) {
                let Some(image_row) = geometry
                    .image_row(place, down)
                    .filter(|_| !inside.is_empty())
                else {
                    out.fill(0.0);
                    continue;
                };
                let start = channel * geometry.pixels() + image_row * geometry.width;
                let pixels = &image[start + geometry.image_col(inside.start, window_col)..];
                out[..inside.start].fill(0.0);
                out[inside.end..].fill(0.0);
                let out = &mut out[inside.clone()];
                match geometry.stride[1] {
                    1 => out.copy_from_slice(&pixels[..inside.len()]),
                    stride => {
                        for (out, pixel) in out.iter_mut().zip(pixels.iter().step_by(stride)) {
                            *out = *pixel;
                        }
                    }
                }
            }
        }
        View::of_rows(&self.cells[..used], geometry.filter(), places, places)
    }

    /// Adds the cells of a tile to the pixels of an image under its windows.
    fn add_to(&self, image: &mut [f64], tile: Range<usize>) {
        let geometry = self.geometry;
        let across = geometry.places[1];
        let places = tile.len() * across;
        let rows = self.cells.chunks_exact(places.max(1));
        for ((channel, down, window_col), row) in weights(geometry).zip(rows) {
            let inside = geometry.places_inside(window_col);
            if inside.is_empty() {
                continue;
            }
            for (place, cells) in tile.clone().zip(row.chunks_exact(across)) {
                let Some(image_row) = geometry.image_row(place, down) else {
                    continue;
                };
                let start = channel * geometry.pixels() + image_row * geometry.width;
                let pixels = &mut image[start + geometry.image_col(inside.start, window_col)..];
                let cells = &cells[inside.clone()];
                match geometry.stride[1] {
                    1 => {
                        for (pixel, cell) in pixels.iter_mut().zip(cells) {
                            *pixel += cell;
                        }
                    }
                    stride => {
                        for (pixel, cell) in pixels.iter_mut().step_by(stride).zip(cells) {
                            *pixel += cell;
                        }
                    }
                }
            }
        }
    }
}

/// Channel, row and column of each weight of a filter.
fn weights(geometry: &Geometry) -> impl Iterator<Item = (usize, usize, usize)> + use<> {
    let [height, width] = geometry.window;
    (0..geometry.channels).flat_map(move |channel| {
        (0..height).flat_map(move |row| (0..width).map(move |col| (channel, row, col)))
    })
}
