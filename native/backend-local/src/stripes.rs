//! Stripes in this process: cutting, moving and assembling them.

use std::collections::BTreeMap;

use fulgurite_dataflow::{Assemble, Combine};
use fulgurite_error::{Error, Result};
use fulgurite_matrix::{MatrixBlock, arrow_block::Block, kernels};
use fulgurite_worker::combine;

/// Stripes of at most `stripe_rows` rows; an empty matrix is one stripe.
pub(super) fn cut(matrix: &MatrixBlock, stripe_rows: usize) -> Vec<Block> {
    let rows = matrix.rows();
    let block = |from: usize| {
        let to = from.saturating_add(stripe_rows).min(rows);
        Block::new(from as u64, 0, matrix.slice_rows(from, to))
    };
    match rows {
        0 => vec![block(0)],
        _ => (0..rows).step_by(stripe_rows).map(block).collect(),
    }
}

/// One matrix of all stripes.
pub(super) fn joined(stripes: &[Block]) -> Result<MatrixBlock> {
    match stripes {
        [stripe] => Ok(stripe.matrix.clone()),
        _ => kernels::rbind(
            &stripes
                .iter()
                .map(|stripe| &stripe.matrix)
                .collect::<Vec<_>>(),
        ),
    }
}

/// `right` in the stripes of `left`.
pub(super) fn align(left: &[Block], right: &MatrixBlock) -> Result<Vec<Block>> {
    let rows: usize = left.iter().map(|stripe| stripe.matrix.rows()).sum();
    if rows != right.rows() {
        return Err(Error::dimension(format!(
            "matrices of {rows} and {} rows can't be aligned",
            right.rows()
        )));
    }
    Ok(left
        .iter()
        .map(|stripe| {
            let from = stripe.row_offset as usize;
            let rows = right.slice_rows(from, from + stripe.matrix.rows());
            Block::new(stripe.row_offset, 0, rows)
        })
        .collect())
}

/// The rows `from..until`, the first of them at row `to`.
pub(super) fn range(stripes: &[Block], from: u64, until: u64, to: u64) -> Vec<Block> {
    stripes
        .iter()
        .filter_map(|stripe| {
            let rows = stripe.matrix.rows() as u64;
            let first = from.max(stripe.row_offset);
            let last = until.min(stripe.row_offset + rows);
            (first < last).then(|| {
                let within = |row: u64| (row - stripe.row_offset) as usize;
                let rows = stripe.matrix.slice_rows(within(first), within(last));
                Block::new(to + (first - from), 0, rows)
            })
        })
        .collect()
}

/// The stripes one below the other, without empty ones (but for one, if there is no other).
pub(super) fn placed(mut stripes: Vec<Block>) -> Vec<Block> {
    let empty = stripes.first().cloned();
    stripes.retain(|stripe| stripe.matrix.rows() > 0);
    if stripes.is_empty() {
        stripes.extend(empty);
    }
    let mut below = 0;
    for stripe in &mut stripes {
        stripe.row_offset = below;
        below += stripe.matrix.rows() as u64;
    }
    stripes
}

/// A stripe for each target of the pieces that the stripes of a shuffle were cut into.
pub(super) fn assembled(pieces: Vec<Vec<Block>>, assemble: &Assemble) -> Result<Vec<Block>> {
    let mut targets: BTreeMap<u64, Vec<Block>> = BTreeMap::new();
    for piece in pieces.into_iter().flatten() {
        targets.entry(piece.row_offset).or_default().push(piece);
    }
    targets
        .into_iter()
        .map(|(target, pieces)| {
            let stripe = match assemble {
                Assemble::Below => joined(&pieces)?,
                Assemble::Combined(how) => combined(pieces, how)?.matrix,
            };
            Ok(Block::new(target, 0, stripe))
        })
        .collect()
}

/// One block of several, cell by cell, where the first one stands.
pub(super) fn combined(parts: Vec<Block>, how: &Combine) -> Result<Block> {
    let mut parts = parts.into_iter();
    let first = parts
        .next()
        .ok_or_else(|| Error::internal("nothing to combine"))?;
    let matrix = parts.try_fold(first.matrix, |left, right| {
        combine(how, &left, &right.matrix)
    })?;
    Ok(Block::new(first.row_offset, 0, matrix))
}
