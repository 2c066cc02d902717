//! Products of rows by each set of vector instructions that this processor has, against plain loops.

use super::dense::Matrix;
use super::rows::{Left, OuterProduct, VectorMatrix, outer_product, vector_matrix};
use super::{CsrRows, Whole};
use fulgurite_matrix::kernels::dense_product::{LaidOut, View};
use fulgurite_matrix::lanes::{self, Instructions};

const ROWS: usize = 11;

/// Small integers: their sums are exact, in whatever order.
fn numbers(count: usize, seed: usize) -> Vec<f64> {
    (0..count)
        .map(|at| ((at * 7 + seed * 13 + at / 5) % 19) as f64 - 9.0)
        .collect()
}

fn transposed(cells: &[f64], rows: usize, cols: usize) -> Vec<f64> {
    let cell = |at: usize| cells[at % rows * cols + at / rows];
    (0..rows * cols).map(cell).collect()
}

/// Rows of `cols` cells so far apart; what is between them may be anything.
fn apart(cells: &[f64], cols: usize, stride: usize) -> Vec<f64> {
    let between = std::iter::repeat_n(f64::NAN, stride - cols);
    let rows = cells.chunks(cols.max(1));
    rows.flat_map(|row| row.iter().copied().chain(between.clone()))
        .collect()
}

/// How far apart rows of a transposed matrix are, beside their cells: a number of cells that none of them has.
const GAP: usize = 3;

/// Rows of `width` cells, of which CSR rows store every third or so.
struct Rows {
    width: usize,
    dense: Vec<f64>,
    pointers: Vec<i64>,
    indices: Vec<i32>,
    values: Vec<f64>,
}

impl Rows {
    fn new(width: usize, sparse: bool) -> Self {
        let mut dense = numbers(ROWS * width, 1);
        let (mut pointers, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
        for row in 0..ROWS {
            for col in 0..width {
                let cell = &mut dense[row * width + col];
                match sparse && (row + col) % 3 != 0 {
                    true => *cell = 0.0,
                    false => {
                        indices.push(col as i32);
                        values.push(*cell);
                    }
                }
            }
            pointers.push(indices.len() as i64);
        }
        Rows {
            width,
            dense,
            pointers,
            indices,
            values,
        }
    }

    fn csr(&self, sparse: bool) -> CsrRows {
        let null = std::ptr::null();
        CsrRows {
            pointers: if sparse { self.pointers.as_ptr() } else { null },
            indices: self.indices.as_ptr(),
            values: self.values.as_ptr(),
        }
    }

    fn left(&self, csr: &CsrRows, rows: usize) -> Left {
        Left {
            values: self.dense.as_ptr(),
            stride: self.width,
            width: self.width,
            csr,
            rows,
        }
    }
}

fn whole(
    row_major: &mut [f64],
    row_stride: usize,
    transposed: &mut [f64],
    rows: usize,
    cols: usize,
) -> Whole {
    Whole {
        row_major: row_major.as_mut_ptr(),
        row_stride,
        transposed: transposed.as_mut_ptr(),
        transposed_stride: rows + GAP,
        rows,
        cols,
        laid_out: std::ptr::null(),
        fetches: rows % 2,
    }
}

#[test]
fn products_are_the_same_with_all_instructions() {
    let widths = (0..40).chain([511, 512, 513, 1031]);
    for (width, sparse) in widths.flat_map(|width| [(width, false), (width, true)]) {
        let rows = Rows::new(width, sparse);
        let csr = rows.csr(sparse);
        for cols in [1usize, 2, 3, 4, 5, 7, 8, 9, 17, 33] {
            // The cells of a single column lie side by side.
            let strides = [1, 2, 4, 8].map(|lanes| match cols {
                1 => 1,
                _ => cols.next_multiple_of(lanes),
            });
            for (instructions, stride) in Instructions::present()
                .flat_map(|instructions| strides.map(|stride| (instructions, stride)))
            {
                let case =
                    format!("{width} x {cols} of {stride}, sparse {sparse}, {instructions:?}");
                check_vector_matrix(&rows, &csr, (cols, stride), instructions, &case);
                check_outer_product(&rows, &csr, (cols, stride), instructions, &case);
            }
        }
    }
}

fn check_vector_matrix(
    left: &Rows,
    csr: &CsrRows,
    (cols, stride): (usize, usize),
    instructions: Instructions,
    case: &str,
) {
    let width = left.width;
    let right = numbers(width * cols, 2);
    let mut right_transposed = apart(&transposed(&right, width, cols), width, width + GAP);
    let mut right_apart = apart(&right, cols, stride);
    let whole = whole(&mut right_apart, stride, &mut right_transposed, width, cols);
    for rows in [1, ROWS] {
        // One cell more than there is to write.
        let mut out = vec![-1.0; rows * cols + 1];
        let product = VectorMatrix {
            left: left.left(csr, rows),
            whole: &whole,
            out: out.as_mut_ptr(),
            out_stride: cols,
        };
        // SAFETY: all describe slices that are there, and the processor has the instructions.
        unsafe { lanes::run_with(instructions, product) };
        for (at, cell) in out[..rows * cols].iter().enumerate() {
            let (row, col) = (at / cols, at % cols);
            let pair = |k: usize| left.dense[row * width + k] * right[k * cols + col];
            let expected: f64 = (0..width).map(pair).sum();
            assert_eq!(*cell, expected, "{case}: ({row}, {col})");
        }
        assert_eq!(out[rows * cols], -1.0, "{case}");
    }
}

fn check_outer_product(
    left: &Rows,
    csr: &CsrRows,
    (cols, stride): (usize, usize),
    instructions: Instructions,
    case: &str,
) {
    let width = left.width;
    let right = numbers(ROWS * cols, 3);
    for rows in [1, ROWS] {
        let mut sums = vec![1.0; width * stride + 1];
        let mut sums_transposed = vec![1.0; (width + GAP) * cols];
        let accumulator = whole(&mut sums, stride, &mut sums_transposed, width, cols);
        let product = OuterProduct {
            left: left.left(csr, rows),
            right: Matrix {
                cells: right.as_ptr(),
                stride: cols,
            },
            right_width: cols,
            accumulator: &accumulator,
        };
        // SAFETY: as above.
        unsafe { lanes::run_with(instructions, product) };
        let sums = match csr.pointers.is_null() {
            true => {
                let rows = sums_transposed.chunks(width + GAP);
                let cells: Vec<f64> = rows.flat_map(|row| &row[..width]).copied().collect();
                transposed(&cells, cols, width)
            }
            false => {
                assert_eq!(sums[width * stride], 1.0, "{case}");
                let rows = sums[..width * stride].chunks(stride);
                rows.flat_map(|row| &row[..cols]).copied().collect()
            }
        };
        for (at, cell) in sums.iter().enumerate() {
            let (i, j) = (at / cols, at % cols);
            let pair = |row: usize| left.dense[row * width + i] * right[row * cols + j];
            let expected: f64 = 1.0 + (0..rows).map(pair).sum::<f64>();
            assert_eq!(*cell, expected, "{case}: ({i}, {j})");
        }
    }
}

/// Rows of so many stored cells, whose columns are spread over `width`.
fn stored_rows(lengths: &[usize], width: usize) -> Rows {
    let (mut pointers, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    let mut dense = vec![0.0; lengths.len() * width];
    for (row, length) in lengths.iter().enumerate() {
        let (from, step) = (row % 3, (width - 3) / length.max(&1));
        for at in 0..*length {
            // Sums of these depend on their order.
            let value = 1.0 / (1 + row + 7 * at) as f64 - 0.01 * (at % 5) as f64;
            indices.push((from + at * step) as i32);
            values.push(value);
            dense[row * width + from + at * step] = value;
        }
        pointers.push(indices.len() as i64);
    }
    Rows {
        width,
        dense,
        pointers,
        indices,
        values,
    }
}

#[test]
fn the_bits_of_a_sparse_row_do_not_depend_on_the_rows_beside_it() {
    let width = 211;
    let short: Vec<usize> = (0..150).map(|row| row * 7 % 12).collect();
    let mixed: Vec<usize> = (0..150)
        .map(|row| [0, 1, 3, 17, 8, 16, 9, 100][row % 8])
        .collect();
    let one_long: Vec<usize> = (0..70).map(|row| if row == 40 { 208 } else { 1 }).collect();
    for lengths in [&short, &mixed, &one_long, &vec![0; 40], &vec![60; 37]] {
        let rows = stored_rows(lengths, width);
        let csr = rows.csr(true);
        let count = lengths.len();
        let vector: Vec<f64> = (0..width).map(|at| 1.0 / (at + 3) as f64).collect();
        for instructions in Instructions::present() {
            let case = format!("{lengths:?}, {instructions:?}");
            let (mut cells, mut none) = (vector.clone(), Vec::new());
            let right = whole(&mut cells, 1, &mut none, width, 1);
            let dots = |first: usize, count: usize| {
                let csr = CsrRows {
                    pointers: &raw const rows.pointers[first],
                    ..rows.csr(true)
                };
                let mut out = vec![0.0; count];
                let product = VectorMatrix {
                    left: rows.left(&csr, count),
                    whole: &right,
                    out: out.as_mut_ptr(),
                    out_stride: 1,
                };
                // SAFETY: all describe slices that are there, and the processor has the instructions.
                unsafe { lanes::run_with(instructions, product) };
                out
            };
            let together = dots(0, count);
            let alone: Vec<f64> = (0..count).flat_map(|row| dots(row, 1)).collect();
            assert_eq!(together, alone, "{case}");
            for (row, dot) in together.iter().enumerate() {
                let cells = &rows.dense[row * width..][..width];
                let expected: f64 = cells.iter().zip(&vector).map(|(x, v)| x * v).sum();
                assert!((dot - expected).abs() <= 1e-15 * 211.0, "{case}: {row}");
            }

            let mut sums = vec![0.5; width + 1];
            let accumulator = whole(&mut sums, 1, &mut none, width, 1);
            let product = OuterProduct {
                left: rows.left(&csr, count),
                right: Matrix {
                    cells: together.as_ptr(),
                    stride: 1,
                },
                right_width: 1,
                accumulator: &accumulator,
            };
            // SAFETY: as above.
            unsafe { lanes::run_with(instructions, product) };
            let mut expected = vec![0.5; width + 1];
            for (bounds, dot) in rows.pointers.windows(2).zip(&together) {
                for at in bounds[0] as usize..bounds[1] as usize {
                    expected[rows.indices[at] as usize] += rows.values[at] * dot;
                }
            }
            assert_eq!(sums, expected, "{case}");
        }
    }
}

#[test]
fn the_bits_of_a_dense_row_do_not_depend_on_the_rows_beside_it() {
    for width in [7, 40, 700, 1031] {
        // Sums of these depend on their order.
        let cells = (0..ROWS * width).map(|at| 1.0 / (at % 89 + 3) as f64 - 0.01);
        let rows = Rows {
            dense: cells.collect(),
            ..Rows::new(width, false)
        };
        let csr = rows.csr(false);
        for (cols, instructions) in [1, 2, 3, 5, 8, 15]
            .into_iter()
            .flat_map(|cols| Instructions::present().map(move |present| (cols, present)))
        {
            let case = format!("{width} x {cols}, {instructions:?}");
            let right: Vec<f64> = (0..width * cols).map(|at| 1.0 / (at + 3) as f64).collect();
            let mut right = apart(&right, width, width + GAP);
            let right = whole(&mut [], cols, &mut right, width, cols);
            let left = |first: usize, count: usize| Left {
                values: &raw const rows.dense[first * width],
                ..rows.left(&csr, count)
            };
            let products = |first: usize, count: usize| {
                let mut out = vec![0.0; count * cols];
                let product = VectorMatrix {
                    left: left(first, count),
                    whole: &right,
                    out: out.as_mut_ptr(),
                    out_stride: cols,
                };
                // SAFETY: all describe slices that are there, and the processor has the instructions.
                unsafe { lanes::run_with(instructions, product) };
                out
            };
            let together = products(0, ROWS);
            let alone: Vec<f64> = (0..ROWS).flat_map(|row| products(row, 1)).collect();
            assert_eq!(together, alone, "{case}");

            let added = |blocks: &[(usize, usize)]| {
                let mut sums = vec![0.5; (width + GAP) * cols];
                for (first, count) in blocks {
                    let accumulator = whole(&mut [], cols, &mut sums, width, cols);
                    let product = OuterProduct {
                        left: left(*first, *count),
                        right: Matrix {
                            cells: &raw const together[first * cols],
                            stride: cols,
                        },
                        right_width: cols,
                        accumulator: &accumulator,
                    };
                    // SAFETY: as above.
                    unsafe { lanes::run_with(instructions, product) };
                }
                sums
            };
            let one_by_one: Vec<_> = (0..ROWS).map(|row| (row, 1)).collect();
            assert_eq!(added(&[(0, ROWS)]), added(&one_by_one), "{case}");
        }
    }
}

#[test]
fn products_with_wide_matrices_are_those_of_plain_loops() {
    let csr = CsrRows {
        pointers: std::ptr::null(),
        indices: std::ptr::null(),
        values: std::ptr::null(),
    };
    for (rows, width, cols) in [
        (1, 1, 16),
        (6, 0, 17),
        (6, 5, 33),
        (70, 31, 64),
        (4, 3, 100),
    ] {
        // One row for all, rows side by side, rows apart.
        for (x_stride, q_stride) in [(0, cols), (width, 0), (width, cols), (width + 3, cols + 5)] {
            let case = format!("{rows} x {width} x {cols}, strides {x_stride} and {q_stride}");
            let x = numbers(rows * (width + 3), 1);
            let q = numbers(rows * (cols + 5), 2);
            let mut b = numbers(width * cols, 3);
            let mut out = vec![-1.0; rows * cols + 1];
            let mut sums = vec![1.0; width * cols + 1];
            let null = std::ptr::null_mut();
            let whole = |row_major: &mut [f64]| Whole {
                row_major: row_major.as_mut_ptr(),
                row_stride: cols,
                transposed: null,
                transposed_stride: 0,
                rows: width,
                cols,
                laid_out: std::ptr::null(),
                fetches: 1,
            };
            let (matrix, accumulator) = (whole(&mut b), whole(&mut sums));
            let panels = LaidOut::new(View::of_rows(&b, width, cols, cols)).unwrap();
            let in_panels = Whole {
                row_major: null,
                laid_out: &panels,
                ..whole(&mut [])
            };
            let mut from_panels = out.clone();
            // SAFETY: all describe slices that are there and long enough.
            unsafe {
                let (left, out) = (x.as_ptr(), out.as_mut_ptr());
                vector_matrix(left, x_stride, width, &csr, &matrix, out, cols, rows);
                let out = from_panels.as_mut_ptr();
                vector_matrix(left, x_stride, width, &csr, &in_panels, out, cols, rows);
                let right = q.as_ptr();
                outer_product(
                    left,
                    x_stride,
                    width,
                    &csr,
                    right,
                    q_stride,
                    cols,
                    &accumulator,
                    rows,
                );
            }
            assert_eq!(from_panels, out, "{case}, in panels");
            for (at, cell) in out[..rows * cols].iter().enumerate() {
                let (row, col) = (at / cols, at % cols);
                let pair = |k: usize| x[row * x_stride + k] * b[k * cols + col];
                assert_eq!(
                    *cell,
                    (0..width).map(pair).sum::<f64>(),
                    "{case}: ({row}, {col})"
                );
            }
            for (at, cell) in sums[..width * cols].iter().enumerate() {
                let (i, j) = (at / cols, at % cols);
                let pair = |row: usize| x[row * x_stride + i] * q[row * q_stride + j];
                let expected = 1.0 + (0..rows).map(pair).sum::<f64>();
                assert_eq!(*cell, expected, "{case}: sum ({i}, {j})");
            }
            assert_eq!(
                (out[rows * cols], sums[width * cols]),
                (-1.0, 1.0),
                "{case}"
            );
        }
    }
}

#[test]
fn outer_products_of_rows_with_themselves_have_the_bits_of_others() {
    let csr = CsrRows {
        pointers: std::ptr::null(),
        indices: std::ptr::null(),
        values: std::ptr::null(),
    };
    for (rows, width, stride) in [(1, 16, 16), (7, 17, 20), (128, 40, 40), (300, 61, 0)] {
        let x = numbers(rows * stride.max(width), 1);
        let x: Vec<f64> = x.iter().map(|cell| cell / 3.0).collect();
        let copied = x.clone();
        let sums = [&x, &copied].map(|right| {
            let mut sums = vec![0.5; width * width];
            let accumulator = Whole {
                row_major: sums.as_mut_ptr(),
                row_stride: width,
                transposed: std::ptr::null_mut(),
                transposed_stride: 0,
                rows: width,
                cols: width,
                laid_out: std::ptr::null(),
                fetches: 1,
            };
            for _ in 0..2 {
                // SAFETY: all describe slices that are there and long enough.
                unsafe {
                    let (left, right) = (x.as_ptr(), right.as_ptr());
                    let sums = &raw const accumulator;
                    outer_product(left, stride, width, &csr, right, stride, width, sums, rows);
                }
            }
            sums
        });
        let [with_itself, with_copy] = sums.map(|sums| bits(&sums));
        assert_eq!(with_itself, with_copy, "{rows} x {width}, {stride} apart");
    }
}

fn bits(cells: &[f64]) -> Vec<u64> {
    cells.iter().map(|cell| cell.to_bits()).collect()
}
