//! Matrices used whole, in the forms that the products of their left operands need.

use fulgurite_error::Result;
use fulgurite_fusion::cplan::{CNode, InputBinding, NodeId};
use fulgurite_matrix::kernels::dense_product::{FEW_ROWS, LaidOut, View, WIDE_COLS};
use fulgurite_matrix::{DenseMatrix, MatrixBlock, kernels, memory};

use super::ExecutionContext;
use crate::aligned::{AlignedCells, LINE};
use crate::bind::{Bound, Rows};
use crate::frame::WholeMatrix;
use crate::program::Program;

/// One entry per input, empty for those that are not whole; nothing if none are.
pub(super) fn prepare(
    program: &Program,
    bound: &Bound<'_>,
    context: &ExecutionContext,
) -> Result<Vec<WholeMatrix>> {
    let mut wholes = Vec::new();
    if !program.inputs.contains(&InputBinding::Whole) {
        return Ok(wholes);
    }
    wholes.resize_with(program.inputs.len(), WholeMatrix::default);
    for (input, binding) in program.inputs.iter().enumerate() {
        if *binding != InputBinding::Whole {
            continue;
        }
        let matrix = bound.matrix(input)?;
        let (mut sparse_left, mut wide_left, mut transposed) = (false, false, false);
        for node in &program.nodes {
            match node {
                CNode::VectorMatrix {
                    vector, input: b, ..
                } if *b == input => {
                    let sparse = is_csr_input(program, bound, &program.nodes[vector.index()])?;
                    let wide = matrix.cols() >= WIDE_COLS;
                    sparse_left |= sparse;
                    wide_left |= !sparse && wide;
                    transposed |= !sparse && !wide;
                }
                _ => {}
            }
        }
        let in_panels = wide_left && bound.rows() > FEW_ROWS;
        let row_stride = match (sparse_left, wide_left && !in_panels) {
            (true, _) => stride_for_sparse(matrix.cols()),
            (false, true) => matrix.cols(),
            (false, false) => 0,
        };
        wholes[input] = arrange(matrix, row_stride, transposed)?;
        if in_panels {
            wholes[input].laid_out = Some(lay_out(matrix, context)?);
        }
    }
    Ok(wholes)
}

/// In the panels that tiles of products read.
fn lay_out(matrix: &MatrixBlock, context: &ExecutionContext) -> Result<LaidOut> {
    let panels = |dense: &DenseMatrix| {
        let (rows, cols) = (dense.rows(), dense.cols());
        let view = View::of_rows(dense.values(), rows, cols, cols);
        context.one_or_all(|| LaidOut::new(view), || LaidOut::new_in_parallel(view))
    };
    match matrix {
        MatrixBlock::Dense(dense) => panels(dense),
        MatrixBlock::Csr(_) | MatrixBlock::Coordinate(_) | MatrixBlock::Compressed(_) => {
            panels(&matrix.to_dense()?)
        }
    }
}

/// Multiplications that products of dense rows with wide matrices take in a row.
pub(super) fn wide_multiplications(program: &Program, bound: &Bound<'_>) -> Result<usize> {
    let width = |node: NodeId| bound.width(program.shapes.of(node));
    let mut multiplications = 0usize;
    for node in &program.nodes {
        if let CNode::VectorMatrix { vector, input, .. } = node {
            let matrix = bound.matrix(*input)?;
            let sparse = is_csr_input(program, bound, &program.nodes[vector.index()])?;
            if !sparse && matrix.cols() >= WIDE_COLS {
                multiplications = multiplications.saturating_add(matrix.rows() * matrix.cols());
            }
        }
    }
    if let Some((left, right)) = program.outer_product {
        let sparse = is_csr_input(program, bound, &program.nodes[left.index()])?;
        if !sparse && width(right) >= WIDE_COLS {
            multiplications = multiplications.saturating_add(width(left) * width(right));
        }
    }
    Ok(multiplications)
}

/// Whether dense rows of an input meet a matrix that is not wide.
pub(super) fn meets_narrow(program: &Program, bound: &Bound<'_>) -> Result<bool> {
    let is_dense_input = |left: NodeId| -> Result<bool> {
        let node = &program.nodes[left.index()];
        Ok(matches!(node, CNode::Input(_)) && !is_csr_input(program, bound, node)?)
    };
    for node in &program.nodes {
        if let CNode::VectorMatrix { vector, input, .. } = node
            && bound.matrix(*input)?.cols() < WIDE_COLS
            && is_dense_input(*vector)?
        {
            return Ok(true);
        }
    }
    match program.outer_product {
        Some((left, right)) if bound.width(program.shapes.of(right)) < WIDE_COLS => {
            is_dense_input(left)
        }
        _ => Ok(false),
    }
}

/// Whether a left operand is an input that comes as CSR rows.
pub(super) fn is_csr_input(program: &Program, bound: &Bound<'_>, node: &CNode) -> Result<bool> {
    match node {
        // A row vector's only row is made dense.
        CNode::Input(input) if program.inputs[*input] != InputBinding::RowVector => {
            Ok(matches!(bound.rows_of(*input)?, Rows::Csr(_)))
        }
        _ => Ok(false),
    }
}

/// Cells from row to row where CSR rows pick rows out of a matrix: whole vectors, since there is a load, and perhaps a store, for
/// every non-zero, and those of vectors that are cut off take longer.
fn stride_for_sparse(cols: usize) -> usize {
    const VECTOR: usize = 4;
    match cols {
        0..=2 => cols,
        _ => cols.next_multiple_of(VECTOR),
    }
}

/// In rows that are `row_stride` apart, unless that is 0, and transposed.
fn arrange(matrix: &MatrixBlock, row_stride: usize, transposed: bool) -> Result<WholeMatrix> {
    let (rows, cols) = (matrix.rows(), matrix.cols());
    let mut whole = WholeMatrix {
        rows,
        cols,
        row_stride,
        ..WholeMatrix::default()
    };
    if row_stride > 0 {
        whole.row_major = AlignedCells::zeros(super::cells_of(rows, row_stride)?)?;
        matrix.for_each_stored(|row, col, cell| {
            whole.row_major[row * row_stride + col] = cell;
        });
    }
    if transposed {
        whole.transposed_stride = stride_of_transposed(rows);
        whole.transposed = AlignedCells::zeros(super::cells_of(cols, whole.transposed_stride)?)?;
        matrix.for_each_stored(|row, col, cell| {
            whole.transposed[col * whole.transposed_stride + row] = cell;
        });
    }
    Ok(whole)
}

/// Cells from row to row of a transposed matrix: each begins with a cache line.
fn stride_of_transposed(rows: usize) -> usize {
    rows.next_multiple_of(LINE)
}

/// An accumulator of outer products, all zero.
pub(super) fn accumulator(rows: usize, cols: usize, csr_left: bool) -> Result<WholeMatrix> {
    let row_stride = if csr_left {
        stride_for_sparse(cols)
    } else {
        cols
    };
    let row_major = csr_left || cols >= WIDE_COLS;
    let transposed_stride = stride_of_transposed(rows);
    let (by_rows, by_columns) = match row_major {
        true => (super::cells_of(rows, row_stride)?, 0),
        false => (0, super::cells_of(cols, transposed_stride)?),
    };
    Ok(WholeMatrix {
        rows,
        cols,
        row_stride,
        row_major: AlignedCells::zeros(by_rows)?,
        transposed: AlignedCells::zeros(by_columns)?,
        transposed_stride,
        laid_out: None,
    })
}

/// Adds up accumulators of one form and gives them, or their transpose, as a row-major matrix.
pub(super) fn finish(
    mut accumulators: impl Iterator<Item = WholeMatrix>,
    rows: usize,
    cols: usize,
    turned: bool,
) -> Result<MatrixBlock> {
    let mut sum = accumulators.next().unwrap_or_default();
    for other in accumulators {
        let pairs = sum.row_major.iter_mut().zip(other.row_major.iter());
        pairs.for_each(|(sum, cell)| *sum += cell);
        let pairs = sum.transposed.iter_mut().zip(other.transposed.iter());
        pairs.for_each(|(sum, cell)| *sum += cell);
    }
    let is_transposed = !sum.transposed.is_empty();
    let there = if is_transposed {
        let cells = without_gaps(sum.transposed, sum.transposed_stride, rows)?;
        if cols == 1 && !turned {
            // A row and a column have the same cells.
            return MatrixBlock::dense(rows, cols, cells);
        }
        MatrixBlock::dense(cols, rows, cells)?
    } else if sum.row_major.is_empty() {
        MatrixBlock::dense(rows, cols, super::zeros(rows, cols)?)?
    } else {
        let cells = without_gaps(sum.row_major, sum.row_stride, cols)?;
        MatrixBlock::dense(rows, cols, cells)?
    };
    match is_transposed == turned {
        true => Ok(there),
        false => kernels::transpose(&there),
    }
}

/// The cells of rows of `width` cells that are `stride` cells apart.
fn without_gaps(cells: AlignedCells, stride: usize, width: usize) -> Result<Vec<f64>> {
    if stride == width {
        return Ok(cells.into_vec());
    }
    let mut packed = memory::room(cells.len() / stride * width)?;
    for row in cells.chunks(stride) {
        packed.extend_from_slice(&row[..width]);
    }
    Ok(packed)
}
