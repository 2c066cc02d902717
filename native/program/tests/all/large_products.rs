//! Products of two matrices that are both too large to be sent whole: in each form they give what one operator in this
//! process gives, and run in the form that was asked for.

use std::{collections::BTreeSet, sync::Arc};

use fulgurite_backend_local::LocalBackend;
use fulgurite_matrix::MatrixBlock;
use fulgurite_program::OutputValue;

use crate::common::{Cells, Ran, exact, matrix, script};
use proptest::prelude::*;

/// Rows of the stripes that workers make: shapes stand around it.
const B: usize = 8;

/// A product with its budgets.
struct Case {
    left: MatrixBlock,
    right: MatrixBlock,
    local: usize,
    broadcast: usize,
    /// Rows of the stripes of both.
    stripes: (usize, usize),
}

impl Case {
    /// A row of each matrix fits the driver, and so does a column of the left one; nothing larger needs to.
    fn of(left: MatrixBlock, right: MatrixBlock) -> Self {
        let sides = [left.rows(), left.cols(), right.cols()];
        Case {
            local: 8 * sides.into_iter().max().unwrap_or(1),
            broadcast: 8 * right.cols(),
            stripes: (B, B - 3),
            left,
            right,
        }
    }

    fn run(&self, text: &str, form: &str) -> (Ran, Arc<LocalBackend>) {
        let backend = Arc::new(LocalBackend::default());
        let ran = script(text)
            .backend(Arc::clone(&backend))
            .dataset("X", self.left.clone(), self.stripes.0)
            .dataset("Y", self.right.clone(), self.stripes.1)
            .config("fulgurite.memory.local", &self.local.to_string())
            .config("fulgurite.memory.broadcast", &self.broadcast.to_string())
            .config("fulgurite.blocksize", &B.to_string())
            .config("fulgurite.fusion.policy", "none")
            .config("fulgurite.threads", "2")
            .config("fulgurite.placement.product", form)
            .output("R")
            .run();
        (ran, backend)
    }

    fn here(&self, text: &str) -> MatrixBlock {
        let ran = script(text)
            .matrix("X", self.left.clone())
            .matrix("Y", self.right.clone())
            .output("R")
            .run();
        ran.matrix("R")
    }

    /// The form of the product, which gave what it gives here.
    fn check(&self, form: &str) -> Option<String> {
        let text = "R = X %*% Y";
        let (ran, backend) = self.run(text, form);
        let name = format!("{} x {} as {form}", self.left.rows(), self.right.cols());
        let came = backend.counters();
        let found = ran.matrix_of("R", &*backend).to_dense().unwrap();
        assert_eq!(found, self.here(text).to_dense().unwrap(), "{name}");
        let product = form_of_product(&ran);
        // Of a left matrix with few non-zeros the driver asks first whether it selects rows.
        let is_dense = matches!(self.left, MatrixBlock::Dense(_));
        let may_select = !is_dense || self.left.nnz() <= self.left.rows();
        if !may_select && product.as_ref().is_some_and(|form| form.starts_with("rmm")) {
            let result = matches!(ran.outcome().outputs["R"], OutputValue::Matrix(_));
            // Nothing but a result that is small goes through the driver.
            assert_eq!(came.collected, u64::from(result), "{name}");
            assert_eq!(came.broadcasts, 0, "{name}");
        }
        let handed_over = matches!(ran.outcome().outputs["R"], OutputValue::Dataset { .. });
        assert_eq!(backend.counters().held, u64::from(handed_over), "{name}");
        product
    }
}

fn form_of_product(ran: &Ran) -> Option<String> {
    let operators = ran.outcome().report.operators.iter();
    let mut products = operators.filter(|operator| operator.label.starts_with("ba(+*)"));
    products.find_map(|operator| operator.form.clone())
}

#[test]
fn each_form_gives_the_product_at_the_borders_of_stripes() {
    let sizes = [
        (B - 1, 3 * B, B + 1),
        (B, B, B),
        (B + 1, 3 * B - 1, 2),
        (3 * B + 1, 3 * B + 1, 3 * B + 1),
        (1, 5 * B, 7),
        (5 * B, 2, 1),
        (4 * B, 1, 5 * B),
        (5 * B, 3 * B, 1),
        (1, 9 * B, 1),
    ];
    let kinds = [
        (Cells::Dense, Cells::Dense),
        (Cells::Skewed, Cells::Dense),
        (Cells::Dense, Cells::Skewed),
        (Cells::Scattered, Cells::Scattered),
        (Cells::None, Cells::Dense),
        (Cells::Scattered, Cells::None),
    ];
    for (rows, common, cols) in sizes {
        for (left, right) in kinds {
            let case = Case::of(
                matrix(rows, common, left, 7),
                matrix(common, cols, right, 11),
            );
            let all_dense = (left, right) == (Cells::Dense, Cells::Dense);
            for (form, begins) in [
                ("pieces", "operand 2 sent in "),
                ("rmm", "rmm: "),
                ("cpmm", "cpmm: "),
            ] {
                let found = case.check(form);
                // A matrix of one row is a row that may be sent.
                if all_dense && common > 1 {
                    let found = found.unwrap_or_default();
                    assert!(
                        found.starts_with(begins),
                        "{rows} x {common} x {cols}: {found}"
                    );
                }
            }
            case.check("auto");
        }
    }
}

#[test]
fn parts_of_a_small_result_are_combined_like_an_aggregate() {
    let product = |cols| {
        let (left, right) = (
            matrix(2, 100 * B, Cells::Dense, 7),
            matrix(100 * B, cols, Cells::Dense, 11),
        );
        let mut case = Case::of(left, right);
        case.broadcast = case.broadcast.max(64);
        let form = case.check("cpmm");
        form.expect("it runs on the workers")
    };
    assert!(product(3).ends_with("parts combined"), "{}", product(3));
    // More than may be sent comes to no driver.
    let shuffled = product(90 * B);
    assert!(
        shuffled.ends_with("parts combined by a shuffle"),
        "{shuffled}"
    );
}

#[test]
fn stripes_of_sparse_matrices_stay_sparse() {
    let (left, right) = (
        matrix(30 * B, 40 * B, Cells::Scattered, 7),
        matrix(40 * B, 50 * B, Cells::Rare, 11),
    );
    let mut case = Case::of(left, right);
    case.broadcast = 1;
    let (ran, backend) = case.run("R = X %*% Y", "rmm");
    assert!(form_of_product(&ran).is_some_and(|form| form.starts_with("rmm")));
    assert_eq!(backend.counters().largest_dense, 0);
    let found = ran.matrix_of("R", &*backend).to_dense().unwrap();
    assert_eq!(found, case.here("R = X %*% Y").to_dense().unwrap());
}

/// What reads a product of stripes finds it in the stripes of the left matrix, and nothing else is shuffled.
#[test]
fn the_product_has_the_stripes_of_the_left_matrix() {
    let side = 5 * B + 3;
    let case = Case::of(
        matrix(side, side, Cells::Dense, 7),
        matrix(side, side, Cells::Dense, 11),
    );
    let text = "R = colSums(X %*% Y * X - X)";
    let (ran, backend) = case.run(text, "rmm");
    let operators = ran.outcome().report.operators.iter();
    let forms: BTreeSet<String> = operators
        .filter_map(|operator| operator.form.clone())
        .collect();
    let expected = [
        "parts combined",
        "rmm: stripes of operand 2 go to those of operand 1",
        "stripe by stripe",
    ];
    assert!(forms.iter().eq(expected), "{forms:?}");
    assert_eq!(
        ran.matrix_of("R", &*backend).to_dense().unwrap(),
        case.here(text).to_dense().unwrap()
    );
}

#[test]
fn products_of_transposes_and_of_matrices_here() {
    let side = 3 * B + 1;
    let case = Case::of(
        matrix(side, side, Cells::Dense, 7),
        matrix(side, side, Cells::Scattered, 11),
    );
    for text in [
        "R = X %*% t(X)",
        "R = X %*% t(Y)",
        "R = t(X) %*% t(Y)",
        "R = X %*% Y %*% X",
        "R = (X + 1) %*% (Y * 2)",
        "A = X %*% Y\nR = A + A %*% X",
    ] {
        for form in ["auto", "pieces", "rmm", "cpmm"] {
            let (ran, backend) = case.run(text, form);
            let found = ran.matrix_of("R", &*backend).to_dense().unwrap();
            assert_eq!(
                found,
                case.here(text).to_dense().unwrap(),
                "{text} as {form}"
            );
        }
    }
    for form in ["pieces", "rmm", "cpmm"] {
        let backend = Arc::new(LocalBackend::default());
        let ran = script("R = X %*% Y")
            .backend(Arc::clone(&backend))
            .matrix("X", case.left.clone())
            .matrix("Y", case.right.clone())
            .config("fulgurite.memory.local", &case.local.to_string())
            .config("fulgurite.memory.broadcast", &case.broadcast.to_string())
            .config("fulgurite.blocksize", &B.to_string())
            .config("fulgurite.placement.product", form)
            .output("R")
            .run();
        let found = ran.matrix_of("R", &*backend).to_dense().unwrap();
        assert_eq!(
            found,
            case.here("R = X %*% Y").to_dense().unwrap(),
            "{form}"
        );
    }
}

/// Sums have the same bits in each run, whatever thread is first.
#[test]
fn sums_are_in_the_order_of_rows() {
    let thirds = |rows, cols, seed| {
        let cells = exact(rows, cols, seed).to_dense().unwrap();
        let cells = cells.values().iter().map(|value| value / 3.0 + 0.1);
        MatrixBlock::dense(rows, cols, cells.collect()).expect("sized for it")
    };
    let case = Case::of(thirds(5 * B, 20 * B, 7), thirds(20 * B, 3 * B, 11));
    for form in ["pieces", "rmm", "cpmm"] {
        let bits = || {
            let (ran, backend) = case.run("R = X %*% Y", form);
            let found = ran.matrix_of("R", &*backend).to_dense().unwrap();
            found
                .values()
                .iter()
                .map(|value| value.to_bits())
                .collect::<Vec<u64>>()
        };
        let first = bits();
        for _ in 0..5 {
            assert!(bits() == first, "{form}");
        }
    }
}

/// The structure of a sparse row may take more than its cells.
#[test]
fn a_row_is_sent_as_what_takes_less() {
    let case = Case::of(
        matrix(1, 7, Cells::Dense, 3),
        matrix(7, 3, Cells::Scattered, 5),
    );
    case.check("pieces");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn products_of_any_shape(
        (rows, common, cols) in (1usize..40, 2usize..40, 1usize..40),
        kinds in any::<[prop::sample::Index; 2]>(),
        form in prop::sample::select(vec!["auto", "pieces", "rmm", "cpmm"]),
        stripes in (1usize..12, 1usize..12),
    ) {
        let all = [Cells::Dense, Cells::Skewed, Cells::Scattered, Cells::Rare, Cells::None];
        let [left, right] = kinds.map(|kind| all[kind.index(all.len())]);
        let mut case = Case::of(matrix(rows, common, left, 3), matrix(common, cols, right, 5));
        case.stripes = stripes;
        case.check(form);
    }
}
