//! Matrices used whole, in the forms that the products of their left operands need.

use fulgurite_error::Result;
use fulgurite_fusion::cplan::{CNode, InputBinding, NodeId};
use fulgurite_matrix::kernels::dense_product::WIDE_COLS;
use fulgurite_matrix::{Layout, MatrixBlock, kernels};

use crate::bind::Bound;
use crate::frame::WholeMatrix;
use crate::program::Program;

/// One entry per input, empty for those that are not whole.
pub(super) fn prepare(program: &Program, bound: &Bound<'_>) -> Result<Vec<WholeMatrix>> {
    let mut wholes = vec![WholeMatrix::default(); program.inputs.len()];
    for (input, binding) in program.inputs.iter().enumerate() {
        if *binding != InputBinding::Whole {
            continue;
        }
        let matrix = bound.matrix(input)?;
        let (mut row_major, mut transposed) = (false, false);
        for node in &program.nodes {
            match node {
                CNode::VectorMatrix {
                    vector, input: b, ..
                } if *b == input => {
                    let sparse = is_csr_input(program, bound, &program.nodes[vector.index()])?;
                    let wide = matrix.cols() >= WIDE_COLS;
                    row_major |= sparse || wide;
                    transposed |= !sparse && !wide;
                }
                _ => {}
            }
        }
        wholes[input] = arrange(matrix, row_major, transposed);
    }
    Ok(wholes)
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

/// Whether a left operand is an input that comes as CSR rows.
pub(super) fn is_csr_input(program: &Program, bound: &Bound<'_>, node: &CNode) -> Result<bool> {
    match node {
        // A row vector's only row is made dense.
        CNode::Input(input) if program.inputs[*input] != InputBinding::RowVector => {
            Ok(bound.matrix(*input)?.layout() == Layout::Csr)
        }
        _ => Ok(false),
    }
}

fn arrange(matrix: &MatrixBlock, row_major: bool, transposed: bool) -> WholeMatrix {
    let (rows, cols) = (matrix.rows(), matrix.cols());
    let row_stride = cols;
    let mut whole = WholeMatrix {
        rows,
        cols,
        row_stride,
        ..WholeMatrix::default()
    };
    if row_major {
        whole.row_major = vec![0.0; rows * row_stride];
        for_each_cell(matrix, |row, col, cell| {
            whole.row_major[row * row_stride + col] = cell;
        });
    }
    if transposed {
        whole.transposed = vec![0.0; rows * cols];
        for_each_cell(matrix, |row, col, cell| {
            whole.transposed[col * rows + row] = cell
        });
    }
    whole
}

fn for_each_cell(matrix: &MatrixBlock, mut visit: impl FnMut(usize, usize, f64)) {
    for row in 0..matrix.rows() {
        match matrix {
            MatrixBlock::Dense(dense) => {
                for (col, cell) in dense.row(row).iter().enumerate() {
                    visit(row, col, *cell);
                }
            }
            MatrixBlock::Csr(csr) => {
                let (indices, cells) = csr.row(row);
                for (col, cell) in indices.iter().zip(cells) {
                    visit(row, *col as usize, *cell);
                }
            }
        }
    }
}

/// An accumulator of outer products, all zero.
pub(super) fn accumulator(rows: usize, cols: usize, csr_left: bool) -> WholeMatrix {
    let row_stride = cols;
    let row_major = csr_left || cols >= WIDE_COLS;
    WholeMatrix {
        rows,
        cols,
        row_stride,
        row_major: vec![0.0; if row_major { rows * row_stride } else { 0 }],
        transposed: vec![0.0; if row_major { 0 } else { rows * cols }],
    }
}

/// Adds up accumulators of one form and gives them, or their transpose, as a row-major matrix.
pub(super) fn finish(
    accumulators: Vec<WholeMatrix>,
    rows: usize,
    cols: usize,
    turned: bool,
) -> Result<MatrixBlock> {
    let mut accumulators = accumulators.into_iter();
    let mut sum = accumulators.next().unwrap_or_default();
    for other in accumulators {
        let pairs = sum.row_major.iter_mut().zip(&other.row_major);
        pairs.for_each(|(sum, cell)| *sum += cell);
        let pairs = sum.transposed.iter_mut().zip(&other.transposed);
        pairs.for_each(|(sum, cell)| *sum += cell);
    }
    if sum.row_major.is_empty() && sum.transposed.is_empty() {
        sum.row_major = vec![0.0; rows * cols];
    }
    let is_transposed = !sum.transposed.is_empty();
    let there = match is_transposed {
        true => MatrixBlock::dense(cols, rows, sum.transposed)?,
        false => MatrixBlock::dense(rows, cols, sum.row_major)?,
    };
    match is_transposed == turned {
        true => Ok(there),
        false => kernels::transpose(&there),
    }
}
