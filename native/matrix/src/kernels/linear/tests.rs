use faer::{MatRef, linalg::solvers::Solve};
use fulgurite_error::ErrorKind;
use rayon::ThreadPoolBuilder;

use super::*;
use crate::kernels::factorize;

/// Orders around the widths of vectors, tiles and blocks, and of some blocks.
fn orders() -> impl Iterator<Item = usize> {
    (0..=64).chain([95, 96, 97, 127, 129, 193, 500, 900, 1540])
}

/// Cells between -1 and 1 that look random.
fn random(rows: usize, cols: usize, seed: u64) -> DenseMatrix {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    DenseMatrix::from_fn(rows, cols, |_, _| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    })
    .unwrap()
}

/// t(X) X + I / 10.
fn definite(order: usize) -> DenseMatrix {
    let root = random(order, order, 5);
    let square = crate::kernels::tsmm(&root.into()).unwrap();
    let square = square.to_dense().unwrap();
    DenseMatrix::from_fn(order, order, |row, col| {
        square.row(row)[col] + 0.1 * f64::from(u8::from(row == col))
    })
    .unwrap()
}

/// Symmetric, with a positive diagonal and eigenvalues of both signs.
fn indefinite(order: usize) -> DenseMatrix {
    let half = random(order, order, 7);
    let cell = |row: usize, col: usize| match row == col {
        true => 0.5 + half.row(row)[col].abs(),
        false => half.row(row)[col] + half.row(col)[row],
    };
    DenseMatrix::from_fn(order, order, cell).unwrap()
}

fn view(matrix: &DenseMatrix) -> MatRef<'_, f64> {
    MatRef::from_row_major_slice(matrix.values(), matrix.rows(), matrix.cols())
}

/// The largest sum of magnitudes in a row.
fn norm(matrix: MatRef<'_, f64>) -> f64 {
    let sums = matrix.row_iter().map(|row| row.norm_l1());
    sums.fold(0.0, f64::max)
}

/// `|A x - b| / (|A| |x| n eps)`.
fn backward_error(matrix: &DenseMatrix, x: &DenseMatrix, right: &DenseMatrix) -> f64 {
    let rest = view(matrix) * view(x) - view(right);
    let scale = norm(view(matrix)) * norm(view(x)) * matrix.rows() as f64 * f64::EPSILON;
    norm(rest.as_ref()) / scale.max(f64::MIN_POSITIVE)
}

fn on_threads<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> R {
    let pool = ThreadPoolBuilder::new();
    let pool = memory::thread_pool(pool, threads, "test").unwrap();
    pool.install(work)
}

type Generator = fn(usize) -> DenseMatrix;

const KINDS: [Generator; 3] = [|order| random(order, order, 3), definite, indefinite];

#[test]
fn solutions_of_any_size_leave_no_more_than_rounding() {
    for (order, kind) in orders().flat_map(|order| KINDS.map(|kind| (order, kind))) {
        let matrix = kind(order);
        for cols in [1, 3, 80] {
            let right = random(order, cols, 11);
            let Some(x) = solution(&matrix, &right).unwrap() else {
                panic!("the {order} x {order} matrix is regular");
            };
            assert_eq!((x.rows(), x.cols()), (order, cols));
            let error = backward_error(&matrix, &x, &right);
            assert!(error < 20.0, "{order} x {order}, {cols} columns: {error}");
            if order == 129 {
                let other = view(&matrix).col_piv_qr().solve(view(&right));
                let difference = norm((view(&x) - other.as_ref()).as_ref());
                assert!(difference < 1e-8 * norm(other.as_ref()), "{difference}");
            }
        }
    }
}

#[test]
fn inverses_of_any_size_leave_no_more_than_rounding() {
    for (order, kind) in orders().flat_map(|order| KINDS.map(|kind| (order, kind))) {
        let matrix = kind(order);
        let Some(inverted) = inverse(&matrix).unwrap() else {
            panic!("the {order} x {order} matrix is regular");
        };
        let identity = |row, col| f64::from(u8::from(row == col));
        let identity = DenseMatrix::from_fn(order, order, identity).unwrap();
        let error = backward_error(&matrix, &inverted, &identity);
        assert!(error < 20.0, "{order} x {order}: {error}");
    }
    let inverted = inverse(&definite(200)).unwrap().expect("regular");
    assert!(cholesky::may_be_definite(&inverted).unwrap());
}

#[test]
fn factors_multiply_to_the_rows_of_their_matrix() {
    for order in orders() {
        let matrix = random(order, order, 9);
        let mut factors = Lu::new(&matrix).unwrap();
        let rows = factors.order_rows().unwrap();
        let part = |row: usize, col: usize, lower: bool| match (row.cmp(&col), lower) {
            (std::cmp::Ordering::Equal, true) => 1.0,
            (std::cmp::Ordering::Greater, true) => factors.cell(row, col),
            (std::cmp::Ordering::Equal | std::cmp::Ordering::Less, false) => factors.cell(row, col),
            _ => 0.0,
        };
        let lower = DenseMatrix::from_fn(order, order, |row, col| part(row, col, true)).unwrap();
        let upper = DenseMatrix::from_fn(order, order, |row, col| part(row, col, false)).unwrap();
        assert!(lower.values().iter().all(|cell| cell.abs() <= 1.0));
        let ordered = DenseMatrix::from_fn(order, order, |row, col| matrix.row(rows[row])[col]);
        let error = backward_error(&lower, &upper, &ordered.unwrap());
        assert!(error < 20.0, "{order} x {order}: {error}");
    }
}

#[test]
fn cholesky_factors_of_any_size_solve() {
    for order in orders() {
        let matrix = definite(order);
        let Definite::Yes(factor) = Cholesky::factor(&matrix).unwrap() else {
            panic!("the {order} x {order} matrix is positive definite");
        };
        let right = random(order, 80, 11);
        let x = solved(&factor, &right).unwrap();
        let error = backward_error(&matrix, &x, &right);
        assert!(error < 20.0, "{order} x {order}: {error}");
        let inverted = factor.inverse().unwrap();
        let identity = |row, col| f64::from(u8::from(row == col));
        let identity = DenseMatrix::from_fn(order, order, identity).unwrap();
        let error = backward_error(&matrix, &inverted, &identity);
        assert!(error < 20.0, "{order} x {order}: {error}");
        assert!(cholesky::may_be_definite(&inverted).unwrap());
    }
    let Definite::No(part) = Cholesky::factor(&indefinite(200)).unwrap() else {
        panic!("the matrix is not positive definite");
    };
    let leading = indefinite(200);
    let leading = |part| DenseMatrix::from_fn(part, part, |row, col| leading.row(row)[col]);
    let is_definite = |part| {
        let factor = Cholesky::factor(&leading(part).unwrap()).unwrap();
        matches!(factor, Definite::Yes(_))
    };
    assert!(is_definite(part - 1) && !is_definite(part));
}

#[test]
fn threads_do_not_change_bits() {
    for kind in KINDS {
        for order in [40, 129, 500, 900] {
            let (matrix, right) = (kind(order), random(order, 150, 1));
            let column = right.values()[..order].to_vec();
            let column = DenseMatrix::new(order, 1, column).unwrap();
            let all = || {
                let wide = solution(&matrix, &right).unwrap();
                let narrow = solution(&matrix, &column).unwrap();
                [wide, narrow, inverse(&matrix).unwrap()]
            };
            let one = on_threads(1, all);
            assert!(one.iter().all(Option::is_some));
            assert!(one == on_threads(2, all), "order {order}");
            assert!(one == on_threads(5, all), "order {order}");
        }
    }
}

#[test]
fn factors_that_lose_digits_are_left_to_orthogonal_ones() {
    let is_refused = |matrix: &DenseMatrix| {
        let right = random(matrix.rows(), 2, 1);
        let solved = solution(matrix, &right).unwrap();
        solved.is_none() && inverse(matrix).unwrap().is_none()
    };
    for order in [1, 2, 7, 100, 300] {
        // Of rank one less, general and symmetric.
        let thin = random(order, order.saturating_sub(1), 1);
        let wide = random(order.saturating_sub(1), order, 2);
        let product = crate::kernels::matmult(&thin.clone().into(), &wide.into()).unwrap();
        assert!(is_refused(&product.to_dense().unwrap()), "{order}");
        let square = crate::kernels::matmult(
            &thin.clone().into(),
            &crate::kernels::transpose(&thin.into()).unwrap(),
        );
        assert!(is_refused(&square.unwrap().to_dense().unwrap()), "{order}");
        let zero = DenseMatrix::filled(order, order, 0.0).unwrap();
        assert!(is_refused(&zero), "{order}");
        let tiny = DenseMatrix::filled(order, order, 1e-310).unwrap();
        assert!(is_refused(&tiny), "{order}");
    }
    // Its last column doubles with each elimination (Wilkinson).
    let growing = DenseMatrix::from_fn(60, 60, |row, col| match (col == 59, row.cmp(&col)) {
        (true, _) | (_, std::cmp::Ordering::Equal) => 1.0,
        (_, std::cmp::Ordering::Greater) => -1.0,
        (_, std::cmp::Ordering::Less) => 0.0,
    });
    let growing = growing.unwrap();
    assert!(is_refused(&growing));
    let right = random(60, 1, 1);
    let x = factorize::solve(&growing.clone().into(), &right.clone().into()).unwrap();
    assert!(backward_error(&growing, &x.to_dense().unwrap(), &right) < 20.0);
    // Elimination overflows.
    let huge = DenseMatrix::new(2, 2, vec![1e308, 1e308, -1e308, 1e308]).unwrap();
    assert!(is_refused(&huge));
}

#[test]
fn results_of_whole_numbers_are_exact() {
    let diagonal = DenseMatrix::from_fn(3, 3, |row, col| match row == col {
        true => [49.0, 3.0, 10.0][row],
        false => 0.0,
    });
    let diagonal = diagonal.unwrap();
    let right = DenseMatrix::new(3, 1, vec![49.0, 21.0, 1.0]).unwrap();
    let [x, y] = [-1.0, 1.0].map(|sign| {
        let cells = diagonal.values().iter().map(|cell| sign * cell);
        let matrix = DenseMatrix::new(3, 3, cells.collect::<Vec<_>>()).unwrap();
        solution(&matrix, &right).unwrap().expect("regular")
    });
    assert_eq!(x.values(), [-1.0, -7.0, -0.1]);
    assert!(backward_error(&diagonal, &y, &right) < 1.0);
}

#[test]
fn runs_that_are_to_stop_end_between_blocks() {
    let interrupt = Interrupt::new();
    interrupt.set();
    for kind in KINDS {
        let matrix = kind(300);
        let right = random(300, 1, 1);
        for threads in [1, 2] {
            let stopped = || {
                let solved = interrupt.within(|| solution(&matrix, &right)).map(|_| ());
                let inverted = interrupt.within(|| inverse(&matrix)).map(|_| ());
                [solved, inverted].map(|result| result.map_err(|error| error.kind()))
            };
            let stopped = on_threads(threads, stopped);
            assert_eq!(stopped, [Err(ErrorKind::Interrupted); 2]);
        }
    }
}

#[test]
fn without_room_there_is_an_error() {
    let matrix = random(400, 400, 1);
    let budget = memory::Budget {
        bytes: 1 << 20,
        setting: "test",
    };
    let refused = memory::within(budget, || inverse(&matrix));
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::Memory);
}
