use fulgurite_error::ErrorKind;

use super::*;
use crate::{
    Interrupt,
    lanes::Instructions,
    memory::{self, Budget},
};

/// Cells between rows, which must be neither read nor written.
const UNTOUCHED: f64 = f64::NAN;

/// Rows with gaps between them.
struct Spread {
    cells: Vec<f64>,
    rows: usize,
    cols: usize,
    stride: usize,
    is_turned: bool,
}

impl Spread {
    fn new(
        (rows, cols): (usize, usize),
        is_turned: bool,
        gap: usize,
        cell: impl Fn(usize, usize) -> f64,
    ) -> Self {
        let (lines, length) = if is_turned {
            (cols, rows)
        } else {
            (rows, cols)
        };
        let stride = length + gap;
        let at = |line: usize, place: usize| match is_turned {
            true => cell(place, line),
            false => cell(line, place),
        };
        let cells = (0..lines * stride).map(|place| match place % stride {
            place_in_line if place_in_line < length => at(place / stride, place_in_line),
            _ => UNTOUCHED,
        });
        Spread {
            cells: cells.collect(),
            rows,
            cols,
            stride,
            is_turned,
        }
    }

    fn view(&self) -> View<'_> {
        match self.is_turned {
            true => View::of_rows(&self.cells, self.cols, self.rows, self.stride).transposed(),
            false => View::of_rows(&self.cells, self.rows, self.cols, self.stride),
        }
    }

    fn get(&self, row: usize, col: usize) -> f64 {
        match self.is_turned {
            true => self.cells[col * self.stride + row],
            false => self.cells[row * self.stride + col],
        }
    }
}

/// Reproducible numbers from -4 to 4.
fn fraction(row: usize, col: usize) -> f64 {
    let mixed = (row as u64 * 0x9E37_79B9 + col as u64 * 0x85EB_CA6B + 7)
        .wrapping_mul(0x2545_F491_4F6C_DD1D);
    (mixed >> 11) as f64 / (1u64 << 50) as f64 - 4.0
}

/// The same as integers.
fn whole(row: usize, col: usize) -> f64 {
    fraction(row, col).round()
}

/// The result's rows, `gap` cells apart.
fn computed(
    product: &DenseProduct<'_>,
    (rows, cols, gap): (usize, usize, usize),
    write: Write,
    threads: usize,
) -> Vec<f64> {
    let mut out = vec![1.0; rows * (cols + gap)];
    let view = ViewMut::of_rows(&mut out, rows, cols, cols + gap).unwrap();
    match threads {
        0 => product.run(view, write).unwrap(),
        _ => {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            let pool = pool.build().unwrap();
            pool.install(|| product.run_in_parallel(view, write))
                .unwrap();
        }
    }
    out
}

fn whole_product<'a>(left: &'a Spread, right: &'a Spread) -> DenseProduct<'a> {
    let (left, right) = (left.view(), right.view());
    DenseProduct::new(left, right, Coverage::All, Instructions::widest()).unwrap()
}

fn bits(cells: &[f64]) -> Vec<u64> {
    cells.iter().map(|cell| cell.to_bits()).collect()
}

/// A cell as the module's documentation defines it.
fn defined(
    left: &Spread,
    right: &Spread,
    row: usize,
    col: usize,
    instructions: Instructions,
) -> f64 {
    let mut total = 0.0;
    for from in (0..left.cols).step_by(256) {
        let mut sum = 0.0f64;
        for k in from..(from + 256).min(left.cols) {
            let (x, y) = (left.get(row, k), right.get(k, col));
            sum = match instructions {
                Instructions::Portable => x * y + sum,
                _ => x.mul_add(y, sum),
            };
        }
        total = if from == 0 { sum } else { total + sum };
    }
    total
}

#[test]
fn products_of_integers_are_exact_for_every_size() {
    const SIZES: [usize; 16] = [0, 1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17, 24, 31, 49, 64];
    for rows in SIZES {
        for depth in SIZES {
            for cols in SIZES {
                let (left_turned, right_turned) = (rows % 2 != depth % 2, cols % 2 == depth % 2);
                let gap = (rows + depth + cols) % 3;
                let left = Spread::new((rows, depth), left_turned, gap, whole);
                let right = Spread::new((depth, cols), right_turned, gap, |k, col| {
                    whole(k + 100, col)
                });
                let dot = |row, col| -> f64 {
                    (0..depth)
                        .map(|k| left.get(row, k) * right.get(k, col))
                        .sum()
                };
                for write in [Write::Replace, Write::Add] {
                    let before = if write == Write::Add { 1.0 } else { 0.0 };
                    let expected: Vec<f64> = (0..rows * (cols + gap))
                        .map(|at| match (at / (cols + gap), at % (cols + gap)) {
                            (row, col) if col < cols => before + dot(row, col),
                            _ => 1.0,
                        })
                        .collect();
                    for instructions in Instructions::present() {
                        let (left, right) = (left.view(), right.view());
                        let product =
                            DenseProduct::new(left, right, Coverage::All, instructions).unwrap();
                        let case =
                            format!("{rows} x {depth} x {cols}, {write:?}, {instructions:?}");
                        let out = computed(&product, (rows, cols, gap), write, 0);
                        assert_eq!(out, expected, "{case}");
                        let panels = LaidOut::with(right, instructions, rows % 2 == 0).unwrap();
                        let mut out = vec![1.0; rows * (cols + gap)];
                        assert!(panels.multiply(left, &mut out, cols + gap, write));
                        assert_eq!(out, expected, "{case}, laid out before");
                    }
                }
            }
        }
    }
}

/// Shapes that are cut in every way: by rows, by columns, by chunks of the columns and of the depth.
const CUT: [(usize, usize, usize); 6] = [
    (131, 523, 101),
    (67, 300, 613),
    (9, 1100, 2100),
    (700, 257, 40),
    (400, 40, 700),
    (70, 3, 2500),
];

#[test]
fn bits_depend_on_the_depth_alone() {
    for (number, (rows, depth, cols)) in CUT.into_iter().enumerate() {
        let left = Spread::new((rows, depth), number % 2 == 0, 1, fraction);
        let right = Spread::new((depth, cols), number % 3 == 0, 2, |k, col| {
            fraction(k + 1000, col)
        });
        let expect = |instructions| -> Vec<f64> {
            let cell = |at| defined(&left, &right, at / cols, at % cols, instructions);
            (0..rows * cols).map(cell).collect()
        };
        let (fused, rounded) = (expect(Instructions::ALL[0]), expect(Instructions::Portable));
        for instructions in Instructions::present() {
            let expected = match instructions {
                Instructions::Portable => &rounded,
                _ => &fused,
            };
            let product =
                DenseProduct::new(left.view(), right.view(), Coverage::All, instructions).unwrap();
            for threads in 0..=3 {
                let out = computed(&product, (rows, cols, 0), Write::Replace, threads);
                assert!(
                    bits(&out) == bits(expected),
                    "{rows} x {depth} x {cols} on {threads} threads, {instructions:?}"
                );
            }
            let panels = LaidOut::with(right.view(), instructions, true).unwrap();
            let mut out = vec![1.0; rows * cols];
            assert!(panels.multiply(left.view(), &mut out, cols, Write::Replace));
            assert!(
                bits(&out) == bits(expected),
                "{rows} x {depth} x {cols} laid out before, {instructions:?}"
            );
        }
    }
}

#[test]
fn the_upper_triangle_is_that_of_the_whole() {
    for (depth, cols) in [(3, 1), (300, 61), (40, 130), (1030, 333), (5, 2100)] {
        let matrix = Spread::new((depth, cols), false, 1, fraction);
        let (left, right) = (matrix.view().transposed(), matrix.view());
        for instructions in Instructions::present() {
            let product =
                |coverage| DenseProduct::new(left, right, coverage, instructions).unwrap();
            let all = computed(&product(Coverage::All), (cols, cols, 0), Write::Replace, 0);
            for threads in [0, 2] {
                let upper = product(Coverage::Upper);
                let upper = computed(&upper, (cols, cols, 0), Write::Replace, threads);
                for row in 0..cols {
                    let row = row * cols + row..(row + 1) * cols;
                    assert!(
                        bits(&upper[row.clone()]) == bits(&all[row]),
                        "{depth} x {cols}, {instructions:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn cells_are_as_accurate_as_their_blocks_allow() {
    let (rows, depth, cols) = (3, 20_000, 5);
    let left = Spread::new((rows, depth), false, 0, fraction);
    let right = Spread::new((depth, cols), false, 0, |k, col| fraction(k + 1000, col));
    for instructions in Instructions::present() {
        let product =
            DenseProduct::new(left.view(), right.view(), Coverage::All, instructions).unwrap();
        let out = computed(&product, (rows, cols, 0), Write::Replace, 0);
        for (at, cell) in out.iter().enumerate() {
            // The sum with what was rounded away: as if with twice the digits.
            let (mut sum, mut lost, mut size) = (0.0f64, 0.0f64, 0.0f64);
            for k in 0..depth {
                let (x, y) = (left.get(at / cols, k), right.get(k, at % cols));
                let term = x * y;
                let next = sum + term;
                let taken = next - sum;
                lost += (sum - (next - taken)) + (term - taken) + x.mul_add(y, -term);
                sum = next;
                size += term.abs();
            }
            let additions = (256 + depth.div_ceil(256)) as f64;
            let error = ((cell - sum) - lost).abs();
            assert!(
                error <= additions * f64::EPSILON / 2.0 * size,
                "{error} at {at}, {instructions:?}"
            );
        }
    }
}

#[test]
fn what_is_not_finite_reaches_its_cells_and_no_others() {
    let (rows, depth, cols) = (37, 270, 53);
    let left = Spread::new((rows, depth), false, 1, |row, k| match (row, k) {
        (5, 260) => f64::NAN,
        (8, 3) => f64::INFINITY,
        (9, 4) => 0.0,
        _ => 1.0,
    });
    let right = Spread::new((depth, cols), false, 1, |k, col| match (k, col) {
        (3, 50) => 0.0,
        (4, 11) => f64::NEG_INFINITY,
        _ => 1.0,
    });
    let expected = |row, col| match (row, col) {
        (5, _) | (8, 50) | (8, 11) | (9, 11) => f64::NAN,
        (8, _) => f64::INFINITY,
        (_, 11) => f64::NEG_INFINITY,
        _ => (0..depth)
            .map(|k| left.get(row, k) * right.get(k, col))
            .sum(),
    };
    for instructions in Instructions::present() {
        let product =
            DenseProduct::new(left.view(), right.view(), Coverage::All, instructions).unwrap();
        let out = computed(&product, (rows, cols, 0), Write::Replace, 2);
        for (at, cell) in out.into_iter().enumerate() {
            let expected = expected(at / cols, at % cols);
            let same = cell == expected || cell.is_nan() && expected.is_nan();
            assert!(same, "{cell} at {at}, not {expected}, {instructions:?}");
        }
    }
}

#[test]
fn a_product_ends_when_its_run_is_interrupted() {
    let cells = vec![1.0; 400 * 400];
    let square = View::of_rows(&cells, 400, 400, 400);
    let product = DenseProduct::new(square, square, Coverage::All, Instructions::widest()).unwrap();
    let interrupt = Interrupt::new();
    interrupt.set();
    let mut out = vec![0.0; 400 * 400];
    let view = ViewMut::of_rows(&mut out, 400, 400, 400).unwrap();
    let stopped = interrupt.within(|| product.run_in_parallel(view, Write::Replace));
    assert_eq!(
        stopped.map_err(|error| error.kind()),
        Err(ErrorKind::Interrupted)
    );
    assert!(out.iter().all(|cell| *cell == 0.0));
}

#[test]
fn products_need_no_room_beyond_a_panel() {
    let left = Spread::new((200, 700), false, 0, fraction);
    let right = Spread::new((700, 900), true, 0, fraction);
    let product = whole_product(&left, &right);
    let with_room = computed(&product, (200, 900, 0), Write::Replace, 0);
    let budget = Budget {
        bytes: 1,
        setting: "fulgurite.memory.local",
    };
    let mut without = vec![0.0; 200 * 900];
    let view = ViewMut::of_rows(&mut without, 200, 900, 900).unwrap();
    memory::within(budget, || product.run(view, Write::Replace)).unwrap();
    assert!(bits(&without) == bits(&with_room));
}

#[test]
fn products_without_any_room_have_the_same_bits() {
    let left = Spread::new((9, 600), false, 2, fraction);
    let right = Spread::new((600, 20), true, 1, fraction);
    let product = whole_product(&left, &right);
    for write in [Write::Replace, Write::Add] {
        let expected = computed(&product, (9, 20, 0), write, 0);
        let mut out = vec![1.0; 9 * 20];
        let view = ViewMut::of_rows(&mut out, 9, 20, 20).unwrap();
        product.run_in_place(view, write);
        assert!(bits(&out) == bits(&expected), "{write:?}");
    }
}

#[test]
fn below_the_diagonal_is_what_is_above() {
    for n in [0, 1, 2, 5, 8, 9, 16, 23, 40, 67] {
        for gap in [0, 3] {
            let stride = n + gap;
            let cells: Vec<f64> = (0..n * stride).map(|at| at as f64).collect();
            for instructions in Instructions::present() {
                let mut out = cells.clone();
                mirror(&mut out, n, stride, instructions);
                for (at, cell) in out.into_iter().enumerate() {
                    let (row, col) = (at / stride, at % stride);
                    let from = match col < row {
                        true => col * stride + row,
                        false => at,
                    };
                    let case = format!("{n} of {stride}, {instructions:?}");
                    assert_eq!(cell, cells[from], "{case}: ({row}, {col})");
                }
            }
        }
    }
}
