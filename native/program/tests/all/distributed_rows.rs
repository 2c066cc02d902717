//! Operators that move rows or need several passes, on stripes that end anywhere: what they give is what the operators
//! in this process give, and nothing large comes to the driver.

use std::sync::Arc;

use fulgurite_backend_local::LocalBackend;
use fulgurite_error::ErrorKind;
use fulgurite_matrix::MatrixBlock;
use fulgurite_program::OutputValue;
use fulgurite_test_numbers::is_close;

use crate::common::{Cells, Ran, exact, matrix, script};
use proptest::prelude::*;

/// Rows of the stripes that workers make: shapes stand around it.
const B: usize = 8;

/// X and Y of a script: of equal width, in stripes of different heights.
#[derive(Debug, Clone, Copy)]
struct Shape {
    rows: usize,
    cols: usize,
    cells: Cells,
}

impl Shape {
    fn matrix(self, seed: u64) -> MatrixBlock {
        matrix(self.rows, self.cols, self.cells, seed)
    }
}

/// Heights around the stripes' own, and matrices of one row and one column.
fn shapes() -> Vec<Shape> {
    let sizes = [
        (B - 1, 40),
        (B, 40),
        (B + 1, 40),
        (3 * B, 11),
        (3 * B + 1, 11),
        (1, 300),
        (300, 1),
    ];
    let shape = |cells| move |(rows, cols)| Shape { rows, cols, cells };
    let dense = sizes.into_iter().map(shape(Cells::Dense));
    dense
        .chain(sizes.into_iter().map(shape(Cells::Skewed)))
        .collect()
}

/// Runs the script where X does not fit the driver.
fn distributed(text: &str, x: &MatrixBlock, y: &MatrixBlock) -> (Ran, Arc<LocalBackend>) {
    let backend = Arc::new(LocalBackend::default());
    let ran = script(text)
        .backend(Arc::clone(&backend))
        .dataset("X", x.clone(), B)
        .dataset("Y", y.clone(), B - 3)
        .matrix("Z", y.clone())
        .config("fulgurite.memory.local", &budget(x).to_string())
        .config("fulgurite.blocksize", &B.to_string())
        .output("R")
        .run();
    (ran, backend)
}

/// Less than X takes as an operator's input alone.
fn budget(x: &MatrixBlock) -> usize {
    x.memory_bytes() - 1
}

fn local(text: &str, x: &MatrixBlock, y: &MatrixBlock) -> Ran {
    script(text)
        .matrix("X", x.clone())
        .matrix("Y", y.clone())
        .matrix("Z", y.clone())
        .output("R")
        .run()
}

fn assert_same(text: &str, x: &MatrixBlock, y: &MatrixBlock) {
    let case = format!("{text} on {} x {}", x.rows(), x.cols());
    let here = local(text, x, y);
    let expected = match &here.result {
        Ok(_) => here.matrix_of("R", &LocalBackend::default()),
        Err(expected) => {
            // What is an error here is one there, of the same kind.
            let (ran, _) = distributed(text, x, y);
            let found = ran.result.expect_err(&case);
            assert_eq!(found.kind(), expected.kind(), "{case}: {found}");
            return;
        }
    };
    let (ran, backend) = distributed(text, x, y);
    let largest = backend.counters().largest_collected as usize * 8;
    let found = match &ran.result {
        Ok(_) => ran.matrix_of("R", &*backend),
        Err(error) => panic!("{case}: {error}"),
    };
    let shape = |matrix: &MatrixBlock| (matrix.rows(), matrix.cols());
    assert_eq!(shape(&found), shape(&expected), "{case}");
    let (found, expected) = (found.to_dense().unwrap(), expected.to_dense().unwrap());
    for (at, (found, expected)) in found.values().iter().zip(expected.values()).enumerate() {
        assert!(
            is_close(*found, *expected, 1e-9),
            "{case}: {found} for {expected} in cell {at}"
        );
    }
    let dense = x.rows() * x.cols() * 8;
    // Cells are counted, which sparse matrices have not. Of a matrix of one row, aggregates of columns are as large.
    let counts = matches!(x, MatrixBlock::Dense(_)) && x.rows() > 1;
    let small = !counts || largest < dense || found.values().len() * 8 >= dense;
    assert!(small, "{case}: {largest} bytes came to the driver");
    let handed_over = matches!(ran.outcome().outputs["R"], OutputValue::Dataset { .. });
    assert_eq!(backend.counters().held, u64::from(handed_over), "{case}");
}

fn check(texts: &[&str]) {
    check_where(|_| true, texts);
}

fn check_where(holds: impl Fn(Shape) -> bool, texts: &[&str]) {
    for shape in shapes().into_iter().filter(|shape| holds(*shape)) {
        let (x, y) = (shape.matrix(7), shape.matrix(11));
        for text in texts {
            assert_same(text, &x, &y);
        }
    }
}

#[test]
fn ranges_of_rows() {
    check(&[
        "R = X[1:nrow(X), ]",
        "R = X[nrow(X), ]",
        "R = X[1, ncol(X)]",
        "n = nrow(X)\nR = X[max(1, n - 8):n, ]",
        "n = nrow(X)\nR = X[min(2, n):max(1, n - 1), ]",
        "n = nrow(X)\nR = colSums(X[min(2, n):max(1, n - 1), ] * 2)",
        "n = ncol(X)\nR = X[1:nrow(X), min(2, n):n]",
        "n = ncol(X)\nR = X[max(1, nrow(X) - 3):nrow(X), min(2, n):n]",
        "n = nrow(X)\nR = X[min(2, n):n, ] + Y[min(2, n):n, ]",
        "n = nrow(X)\nR = X[min(2, n):n, ] + Z[min(2, n):n, ]",
        "n = nrow(X)\nA = X * 2\nB = A[min(2, n):n, ]\nR = sum(B) + sum(A)",
        "n = ncol(X)\nR = t(X)[min(2, n):n, 1:nrow(X)]",
        "k = nrow(X) + 1\nR = X[k, ]",
        "k = 0\nR = X[k:nrow(X), ]",
    ]);
}

#[test]
fn assignments_to_ranges() {
    check(&[
        "R = X\nR[1:nrow(X), ] = Y",
        "R = X\nR[1:nrow(X), 1:ncol(X)] = Z",
        "R = X\nR[1, 1] = 7",
        "R = X\nR[nrow(X), ncol(X)] = 7",
        "n = nrow(X)\nR = X\nR[min(2, n):n, ] = Y[min(2, n):n, ]",
        "n = nrow(X)\nR = X\nR[min(2, n):max(1, n - 1), ] = Z[min(2, n):max(1, n - 1), ]",
        "n = nrow(X)\nR = X\nR[min(2, n):n, 1] = Y[min(2, n):n, ncol(X)]",
        "n = nrow(X)\nR = X\nR[min(2, n):n, 1] = Z[min(2, n):n, ncol(X)]",
        "R = X\nfor (i in 1:3) { k = 1 + i %% nrow(X)\n R[k, 1] = sum(R[k, ]) }",
        "R = Z\nR[1:nrow(X), ] = X",
        "k = nrow(X) + 1\nR = X\nR[k, ] = Y[1, ]",
        "k = ncol(X)\nR = X\nR[1, 1:k] = matrix(1, 1, k + 1)",
    ]);
}

#[test]
fn matrices_below_and_beside_each_other() {
    check(&[
        "R = rbind(X, Y)",
        "R = rbind(X, Z)",
        "R = rbind(Z, X)",
        "R = rbind(X, X)",
        "R = rbind(X, matrix(3, 1, ncol(X)), Y * 2)",
        "A = rbind(X, Y)\nR = colSums(A) + colSums(rbind(Z, A))",
        "R = rbind(X, Y)[nrow(X):(nrow(X) + 1), ]",
        "R = cbind(X, Y)",
        "R = cbind(X, Z)",
        "R = cbind(Z, X, Y)",
        "A = matrix(0, 1, ncol(X) + 1)\nR = rbind(X, A)",
    ]);
}

#[test]
fn running_aggregates() {
    check(&[
        "R = cumsum(X)",
        "R = cumprod(X / 4)",
        "R = cummin(X)",
        "R = cummax(X)",
        "R = cumsum(cumsum(X * 2))",
        "R = cummin(X / 0)",
        "R = cummax(X / 0)",
    ]);
}

#[test]
fn rows_and_columns_that_are_removed() {
    check(&[
        "R = removeEmpty(target=X, margin=\"rows\")",
        "R = removeEmpty(target=X, margin=\"cols\")",
        "R = removeEmpty(target=X, margin=\"rows\", select=(rowSums(Y) > 0))",
        "R = removeEmpty(target=X * 0, margin=\"rows\")",
        "R = removeEmpty(target=X, margin=\"rows\", select=(rowSums(X) > 1e9))",
        "A = removeEmpty(target=X, margin=\"rows\")\nR = colSums(A) + nrow(A)",
        "A = removeEmpty(target=X, margin=\"rows\")\nR = rbind(A, X, A)",
        "A = X\nA[1, 1] = 0 / 0\nR = removeEmpty(target=A, margin=\"rows\")",
        "R = removeEmpty(target=X, margin=\"rows\", select=matrix(1, nrow(X) + 1, 1))",
    ]);
    // A vector that is as large as a matrix that does not fit does not fit either.
    let fits = |shape: Shape| shape.rows > 1 && shape.cols > 1;
    let texts = [
        "R = removeEmpty(target=X, margin=\"rows\", select=(t(rowSums(Z)) > 0))",
        "R = removeEmpty(target=X, margin=\"cols\", select=(colSums(X) > 1e9))",
        "R = removeEmpty(target=X, margin=\"cols\", select=(colSums(Y) > 0))",
        "R = removeEmpty(target=X, margin=\"cols\", select=(t(colSums(Z)) > 0))",
    ];
    check_where(fits, &texts);
}

#[test]
fn rows_in_another_order() {
    check(&["R = rev(X)", "R = rev(X * 2) + Y"]);
    let wide = |shape: Shape| shape.cols > 10;
    let texts = [
        "R = order(target=X, by=1)",
        "R = order(target=X, by=ncol(X), decreasing=TRUE)",
        "R = order(target=X, by=1, index.return=TRUE)",
        "R = order(target=X, by=1, decreasing=TRUE, index.return=TRUE)",
        "R = order(target=X + Y, by=matrix(\"1 1\", 1, 2)) * 2",
        "k = ncol(X) + 1\nR = order(target=X, by=k)",
        "R = order(target=X / Y, by=1)",
    ];
    check_where(wide, &texts);
}

/// An order takes two vectors of the driver beside its keys: wide matrices alone are worth it.
#[test]
fn rows_are_ordered_where_keys_fit_the_driver() {
    let shape = Shape {
        rows: 5 * B + 3,
        cols: 11,
        cells: Cells::Dense,
    };
    let (x, y) = (shape.matrix(7), shape.matrix(11));
    for text in [
        "R = order(target=X, by=3)",
        "R = order(target=X, by=3, decreasing=TRUE)",
        "R = order(target=X, by=matrix(\"3 1\", 1, 2))",
        "R = order(target=X, by=2, index.return=TRUE)",
    ] {
        assert_same(text, &x, &y);
    }
}

#[test]
fn rows_are_ordered_by_ranges_where_keys_do_not_fit_the_driver() {
    let texts = [
        "R = order(target=X, by=1)",
        "R = order(target=X, by=1, decreasing=TRUE)",
        "R = order(target=X, by=1, index.return=TRUE)",
        "R = order(target=X, by=1, decreasing=TRUE, index.return=TRUE)",
        "R = order(target=X / Y, by=1)",
        "R = order(target=X / Y, by=1, decreasing=TRUE, index.return=TRUE)",
        "R = order(target=X * 0, by=1, index.return=TRUE) + X",
    ];
    check_columns(&texts);
    let shape = |rows| Shape {
        rows,
        cols: 2,
        cells: Cells::Dense,
    };
    for rows in [10 * B - 1, 10 * B, 10 * B + 1] {
        let (x, y) = (shape(rows).matrix(7), shape(rows).matrix(11));
        assert_same("R = order(target=X, by=matrix(\"2 1\", 1, 2))", &x, &y);
        assert_same("R = order(target=X, by=2, decreasing=TRUE)", &x, &y);
    }
}

/// How the script's X is held, and what may go through the driver.
struct Means {
    stripe_rows: usize,
    local: usize,
    broadcast: usize,
}

fn assert_same_by(text: &str, x: &MatrixBlock, y: &MatrixBlock, means: &Means) -> u64 {
    let case = format!("{text} on {} x {}", x.rows(), x.cols());
    let expected = local(text, x, y).matrix_of("R", &LocalBackend::default());
    let backend = Arc::new(LocalBackend::default());
    let ran = script(text)
        .backend(Arc::clone(&backend))
        .dataset("X", x.clone(), means.stripe_rows)
        .dataset("Y", y.clone(), means.stripe_rows)
        .config("fulgurite.memory.local", &means.local.to_string())
        .config("fulgurite.memory.broadcast", &means.broadcast.to_string())
        .config("fulgurite.blocksize", &B.to_string())
        .output("R")
        .run();
    if let Err(error) = &ran.result {
        panic!("{case}: {error}");
    }
    let largest = backend.counters().largest_collected;
    let found = ran.matrix_of("R", &*backend);
    assert_eq!(
        (found.rows(), found.cols()),
        (expected.rows(), expected.cols()),
        "{case}"
    );
    let (found, expected) = (found.to_dense().unwrap(), expected.to_dense().unwrap());
    for (at, (found, expected)) in found.values().iter().zip(expected.values()).enumerate() {
        let same = found == expected || (found.is_nan() && expected.is_nan());
        assert!(same, "{case}: {found} for {expected} in cell {at}");
    }
    largest
}

/// Rows and columns that 210, 240, 300 or 360 cells fill.
fn sides(cells: usize) -> Vec<(usize, usize)> {
    let rows = [1, 2, 3, 10, 30, cells / 6, cells / 2, cells];
    rows.into_iter().map(|rows| (rows, cells / rows)).collect()
}

#[test]
fn cells_in_another_shape() {
    let sizes = [(30, 7), (7, 30), (40, 6), (300, 1), (1, 300), (36, 10)];
    for (rows, cols) in sizes {
        for cells in [Cells::Dense, Cells::Skewed] {
            let shape = Shape { rows, cols, cells };
            let (x, y) = (shape.matrix(7), shape.matrix(11));
            for (to_rows, to_cols) in sides(rows * cols) {
                for by_row in ["TRUE", "FALSE"] {
                    let reshaped = |of| {
                        format!("R = matrix({of}, rows={to_rows}, cols={to_cols}, byrow={by_row})")
                    };
                    // A dense row fits, X and the result do not. Heads of stripes go through the driver, or cells
                    // travel one by one.
                    let local = (rows * cols * 8).max(x.memory_bytes()) + 8;
                    for (stripe_rows, broadcast) in [(B, 1 << 20), (B, 64), (5, 1 << 20)] {
                        let means = Means {
                            stripe_rows,
                            local,
                            broadcast,
                        };
                        assert_same_by(&reshaped("X"), &x, &y, &means);
                        assert_same_by(&reshaped("X / Y"), &x, &y, &means);
                        assert_same_by(&reshaped("t(X)"), &x, &y, &means);
                    }
                }
            }
        }
    }
}

#[test]
fn rows_of_another_shape_that_end_where_stripes_end_stay_where_they_are() {
    let (x, y) = (exact(64, 12, 7), exact(64, 12, 11));
    let means = Means {
        stripe_rows: B,
        local: budget(&x),
        broadcast: 1 << 20,
    };
    // All that comes to the driver is where stripes begin, and how high they are.
    let aligned = "R = matrix(X, rows=128, cols=6)";
    assert_eq!(assert_same_by(aligned, &x, &y, &means), 8 * 2);
    // Stripes of 96 cells, rows of 64: the second of each two stripes begins with half a row.
    let uneven = "R = matrix(X, rows=12, cols=64)";
    assert_eq!(assert_same_by(uneven, &x, &y, &means), 4 * 32);
}

#[test]
fn cells_that_do_not_fill_another_shape_are_an_error() {
    let (x, y) = (exact(30, 7, 7), exact(30, 7, 11));
    for text in [
        "k = nrow(X)\nwhile (k > 20) { k = k - 1 }\nR = matrix(X, rows=k, cols=10)",
        "R = matrix(X, rows=30, cols=8)",
        "R = matrix(X, rows=7, cols=31, byrow=FALSE)",
    ] {
        assert_same(text, &x, &y);
    }
    // A row has to fit.
    let (ran, _) = distributed("R = matrix(X, rows=1, cols=210)", &x, &y);
    let error = ran.result.expect_err("a row is as large as X");
    assert_eq!(error.kind(), fulgurite_error::ErrorKind::Memory, "{error}");
}

#[test]
fn diagonals() {
    let shape = |rows, cols| Shape {
        rows,
        cols,
        cells: Cells::Dense,
    };
    for side in [2 * B - 1, 2 * B, 2 * B + 1] {
        let square = shape(side, side).matrix(7);
        assert_same("R = diag(X)", &square, &square);
        assert_same("R = diag(X * 2) + rowSums(X)", &square, &square);
    }
    for rows in [200, 205] {
        let vector = shape(rows, 1).matrix(7);
        assert_same("R = diag(X)", &vector, &vector);
        assert_same("R = rowSums(diag(X * 2))", &vector, &vector);
    }
    let wide = shape(B, 40).matrix(7);
    assert_same("R = diag(X)", &wide, &wide);
}

#[test]
fn contingency_tables() {
    // Halves from -4 to 4 become categories from 1 on.
    check(&[
        "R = table(X * 2 + 9, Y * 2 + 9)",
        "R = table(X * 2 + 9, Y * 2 + 9, abs(X))",
        "R = table(X * 2 + 9, Z * 2 + 9, 3, 12, 20)",
        "R = table(X * 2 + 9, 1)",
        "R = table(X * 2 + 9, Y * 2)",
    ]);
}

/// Column vectors that do not fit the driver, whose last stripes are of different heights.
fn check_columns(texts: &[&str]) {
    let sizes = [20 * B - 1, 20 * B, 20 * B + 1];
    for (rows, cells) in sizes
        .into_iter()
        .flat_map(|rows| [(rows, Cells::Dense), (rows, Cells::Skewed)])
    {
        let shape = Shape {
            rows,
            cols: 1,
            cells,
        };
        let (x, y) = (shape.matrix(7), shape.matrix(11));
        for text in texts {
            assert_same(text, &x, &y);
        }
    }
}

#[test]
fn moments_and_covariances() {
    check_columns(&[
        "R = moment(X, 2)",
        "R = moment(X, 3) + moment(X + 1000, 4)",
        "R = moment(X, abs(Y) + 1, 2)",
        "R = moment(X, 5)",
        "R = cov(X, Y)",
        "R = cov(X, Z * X)",
        "R = cov(X, Y, abs(Z) + 1)",
    ]);
    check_where(
        |shape| shape.cols > 1,
        &["R = moment(X, 2)", "R = cov(X, Y)"],
    );
}

#[test]
fn order_statistics() {
    check_columns(&[
        "R = median(X)",
        "R = median(X / 3, abs(Y) * 2 + 1)",
        "R = quantile(X, 0.3)",
        "R = quantile(X * 1e300 / 7, matrix(\"0 0.1 0.5 0.77 1\", 5, 1))",
        "R = quantile(X, abs(Y) * 2 + 1, 0.9)",
        "R = quantile(X, 1.5)",
        "R = quantile(X / Y, matrix(\"0 0.25 1\", 3, 1))",
        "R = interQuartileMean(X)",
        "R = interQuartileMean(X / 3, abs(Y) * 2 + 1)",
    ]);
    check_where(|shape| shape.cols > 1, &["R = median(X)"]);
}

#[test]
fn aggregates_by_group() {
    check_columns(&[
        "R = aggregate(target=X, groups=Y * 2 + 9, fn=\"sum\")",
        "R = aggregate(target=X, groups=Y + 6.5, fn=\"count\")",
        "R = aggregate(target=X, groups=Y * 2 + 9, fn=\"mean\", ngroups=20)",
        "R = aggregate(target=X, groups=Y * 2 + 9, fn=\"mean\", ngroups=7)",
        "R = aggregate(target=X, groups=Y * 2 + 9, fn=\"variance\", ngroups=17)",
        "R = aggregate(target=X / 3, groups=Y + 5, fn=\"variance\", weights=abs(Z) + 1)",
        "R = aggregate(target=X, groups=Y / Y + Z, fn=\"variance\", ngroups=3)",
        "R = aggregate(target=X, groups=Y + 6, fn=\"centralmoment\", order=3)",
        "R = aggregate(target=X, groups=Y, fn=\"sum\")",
        "R = aggregate(target=X, groups=Y / Y, fn=\"sum\")",
        "R = aggregate(target=X, groups=Y + 6, fn=\"largest\")",
    ]);
    // Many rows of several columns.
    let wide = Shape {
        rows: 8 * B + 3,
        cols: 11,
        cells: Cells::Dense,
    };
    let (x, y) = (wide.matrix(7), wide.matrix(11));
    let text = "R = aggregate(target=X, groups=Y[,1] * 2 + 9, fn=\"sum\", ngroups=9)";
    assert_same(text, &x, &y);
    let text = "R = aggregate(target=X, groups=Y[,1] * 2 + 9, fn=\"mean\", ngroups=9)";
    let (ran, _) = distributed(text, &x, &y);
    let refused = ran.result.expect_err("columns are summed up only");
    assert_eq!(refused.kind(), ErrorKind::Unsupported);
}

#[test]
fn sums_of_diagonals() {
    let side = 2 * B + 1;
    let square = Shape {
        rows: side,
        cols: side,
        cells: Cells::Dense,
    };
    let (x, y) = (square.matrix(7), square.matrix(11));
    assert_same("R = trace(X + Y)", &x, &y);
}

#[test]
fn triangles_of_stripes() {
    for (rows, cols) in [(2 * B + 1, 2 * B + 1), (3 * B + 2, B), (B + 1, 4 * B)] {
        let shape = Shape {
            rows,
            cols,
            cells: Cells::Dense,
        };
        let (x, y) = (shape.matrix(7), shape.matrix(11));
        for text in [
            "R = lower.tri(target=X)",
            "R = lower.tri(target=X + Y, diag=TRUE, values=TRUE)",
            "R = upper.tri(target=X, values=TRUE)",
            "R = upper.tri(target=Y, diag=TRUE)",
        ] {
            assert_same(text, &x, &y);
        }
    }
}

#[test]
fn tables_that_are_larger_than_the_driver_stay_with_the_workers() {
    let rows = 300;
    let categories = |seed| {
        let cells = exact(rows, 1, seed);
        let cells = cells
            .to_dense()
            .unwrap()
            .values()
            .iter()
            .map(|x| x * 2.0 + 9.0)
            .collect();
        MatrixBlock::dense(rows, 1, cells).expect("sized for it")
    };
    let (x, y) = (categories(7), categories(11));
    for text in [
        "R = table(seq(1, nrow(X)), X)",
        "R = table(t(seq(1, nrow(X))), X)",
        "R = table(seq(1, nrow(X)), Y, X)",
        "R = t(table(seq(1, nrow(X)), X)) %*% Y",
    ] {
        assert_same(text, &x, &y);
    }
}

#[test]
fn products_of_two_large_matrices() {
    let shape = |rows, cols| Shape {
        rows,
        cols,
        cells: Cells::Dense,
    };
    for side in [3 * B - 1, 3 * B, 3 * B + 1] {
        let (x, y) = (shape(side, side).matrix(7), shape(side, side).matrix(11));
        for text in [
            "R = X %*% Y",
            "R = X %*% Z",
            "R = t(X) %*% Y",
            "R = X %*% t(Y)",
            "R = t(X) %*% t(Y)",
            "R = t(X %*% Y) %*% (X %*% Y)",
        ] {
            assert_same(text, &x, &y);
        }
    }
}

#[test]
fn cell_wise_operators_with_named_inputs() {
    check(&[
        "R = replace(target=X, pattern=0, replacement=-7)",
        "R = replace(target=X / 0, pattern=0 / 0, replacement=1)",
        "R = ifelse(X > 0, Y, Z)",
        "R = outer(X[, 1], t(Y[1:2, 1]), \"*\")",
    ]);
}

/// Generated matrices that do not fit the driver.
fn generated(text: &str, stripe_rows: usize, stream: &str) {
    let run = |budget: &str| {
        let backend = Arc::new(LocalBackend::default());
        let ran = script(text)
            .backend(Arc::clone(&backend))
            .config("fulgurite.memory.local", budget)
            .config("fulgurite.blocksize", &stripe_rows.to_string())
            .config("fulgurite.rand.stream", stream)
            .output("R")
            .run();
        (
            ran.matrix_of("R", &*backend).to_dense().unwrap(),
            backend.counters(),
        )
    };
    let ((here, none), (there, some)) = (run("1g"), run("2k"));
    assert_eq!(here, there, "{text}");
    assert_eq!(none.tasks, 0, "{text}");
    assert!(some.tasks > 0, "{text}");
}

#[test]
fn generated_matrices_are_the_same_whatever_the_stripes() {
    for stripe_rows in [7, 100, 1000, 5000] {
        for text in [
            "R = rand(rows=2003, cols=3, seed=7)",
            "R = rand(rows=2003, cols=3, seed=7, min=-1, max=2, sparsity=0.2)",
            "R = rand(rows=1001, cols=2, pdf=\"normal\", seed=3)",
            "R = rand(rows=300, cols=4, pdf=\"poisson\", lambda=2, seed=3, sparsity=0.5)",
            "R = seq(1, 1000)",
            "R = seq(0.1, 90, 0.1)",
            "R = seq(900, -100)",
            "R = matrix(3, 1000, 2)",
        ] {
            generated(text, stripe_rows, "systemml");
        }
        generated(
            "R = rand(rows=2003, cols=3, seed=7, sparsity=0.6)",
            stripe_rows,
            "systemds",
        );
    }
}

#[test]
fn a_random_matrix_without_a_seed_is_one_matrix() {
    let backend = Arc::new(LocalBackend::default());
    let ran = script("A = rand(rows=500, cols=4)\nR = sum(abs(A - A))")
        .backend(backend)
        .config("fulgurite.memory.local", "2k")
        .output("R")
        .run();
    assert_eq!(ran.number("R"), 0.0);
}

#[test]
fn transposes_in_stripes_of_their_own() {
    // The only row of a column's transpose is as large as the column, which does not fit.
    let fits = |shape: Shape| shape.cols > 1;
    let texts = [
        "R = t(X) + 1",
        "R = t(X) * t(Y)",
        "R = rowSums(t(X))",
        "R = t(X)",
        "A = t(X) * 2\nR = t(A) + X",
        "R = rbind(t(X), t(Y))",
        "R = cbind(t(X), t(Y))",
    ];
    check_where(fits, &texts);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn ranges_anywhere(
        rows in 2usize..40,
        cols in 2usize..12,
        sparse in any::<bool>(),
        bounds in any::<[prop::sample::Index; 4]>(),
    ) {
        let cells = if sparse { Cells::Skewed } else { Cells::Dense };
        let shape = Shape { rows, cols, cells };
        let range = |size: usize, at: usize| {
            let (a, b) = (bounds[at].index(size) + 1, bounds[at + 1].index(size) + 1);
            format!("{}:{}", a.min(b), a.max(b))
        };
        let range = format!("{}, {}", range(rows, 0), range(cols, 2));
        let (x, y) = (shape.matrix(3), shape.matrix(5));
        for value in ["Y", "Z"] {
            assert_same(&format!("R = X[{range}] + {value}[{range}]"), &x, &y);
            assert_same(&format!("R = X\nR[{range}] = {value}[{range}] * 2"), &x, &y);
        }
    }
}
