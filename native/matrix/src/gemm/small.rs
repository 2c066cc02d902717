//! Products of a few hundred cells: asking for room and cutting tasks would take longer than multiplying.

use super::{
    pack::DEPTH,
    tile::{self, Ahead, Strip, TileOperands, TileShape, Write},
    view::{View, ViewMut},
};
use crate::lanes::Instructions;

/// Cells of a right operand that is laid out on the stack.
const MOST_CELLS: usize = 1024;
/// Multiplications up to which the rest is worth saving.
const MOST_MULTIPLICATIONS: usize = 1 << 15;

/// Computes the product, if it is one of these: says whether it was. The bits are those of any other way.
pub(super) fn multiply(
    left: View<'_>,
    right: View<'_>,
    out: &mut ViewMut<'_>,
    write: Write,
    instructions: Instructions,
) -> bool {
    let (rows, depth, cols) = (left.rows(), left.cols(), right.cols());
    let shape = TileShape::of(instructions);
    let stride = cols.next_multiple_of(shape.width);
    let multiplications = rows.saturating_mul(depth).saturating_mul(cols);
    if depth > DEPTH || depth * stride > MOST_CELLS || multiplications > MOST_MULTIPLICATIONS {
        return false;
    }
    let mut cells = [0.0; MOST_CELLS];
    lay_out(right, &mut cells[..depth * stride], stride);
    for row in (0..rows).step_by(shape.rows) {
        let to_row = (row + shape.rows).min(rows);
        let left = left.part(row..to_row, 0..depth);
        for col in (0..cols).step_by(shape.cols()) {
            let to_col = (col + shape.cols()).min(cols);
            let next = match to_col < cols {
                true => out.address(row, to_col),
                false => out.address(to_row, 0),
            };
            let operands = TileOperands {
                left: Strip::of_rows(left),
                right: Strip {
                    cells: cells[..depth * stride].get(col..).unwrap_or(&[]),
                    across: 1,
                    along: stride,
                },
                depth,
                ahead: Ahead {
                    cells: &[],
                    step: 0,
                    out: next,
                },
            };
            let out = out.part(row..to_row, col..to_col);
            tile::multiply(instructions, shape, operands, out, write);
        }
    }
    true
}

/// Rows of the right operand, which end in whole vectors.
fn lay_out(right: View<'_>, cells: &mut [f64], stride: usize) {
    for (step, line) in cells.chunks_exact_mut(stride).enumerate() {
        let from = step * right.down();
        let line = &mut line[..right.cols()];
        match right.is_by_rows() {
            true => line.copy_from_slice(&right.cells()[from..from + line.len()]),
            false => {
                for (col, cell) in line.iter_mut().enumerate() {
                    *cell = right.cells()[from + col * right.across()];
                }
            }
        }
    }
}
