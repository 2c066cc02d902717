//! Aggregates by groups: their bits, on any number of threads, and what they refuse.

use fulgurite_codegen::{CompiledPlan, ExecutionContext, Operand, Output, execute};
use fulgurite_error::{ErrorKind, Result};
use fulgurite_fusion::cplan::CPlan;
use fulgurite_matrix::{
    MatrixBlock,
    kernels::groups::{GroupFunction, grouped_aggregate},
};

use crate::support::matrix;

fn plan(text: &str) -> CompiledPlan {
    let plan: CPlan = text.parse().unwrap();
    CompiledPlan::compile(&plan).unwrap()
}

fn run(plan: &CompiledPlan, inputs: &[Operand<'_>], threads: usize) -> Result<MatrixBlock> {
    let context = ExecutionContext::with_threads(threads).unwrap();
    match execute(plan, inputs, &context)? {
        Output::Matrix(matrix) => Ok(matrix),
        Output::Scalar(scalar) => panic!("groups have a matrix, not {scalar}"),
    }
}

fn bits(matrix: &MatrixBlock) -> Vec<u64> {
    let dense = matrix.to_dense().unwrap();
    dense.values().iter().map(|cell| cell.to_bits()).collect()
}

/// From 1 to so many, the same for the same seed.
fn groups(rows: usize, count: usize, seed: u64) -> MatrixBlock {
    let cells = matrix(rows, 1, seed).to_dense().unwrap();
    let share = |cell: &f64| (cell + 2.0) / 4.0;
    let group = |cell: &f64| (share(cell) * count as f64).floor().min(count as f64 - 1.0) + 1.0;
    MatrixBlock::dense(rows, 1, cells.values().iter().map(group).collect()).unwrap()
}

const FIVE: &str = "Group(main, matrix, matrix, scalar)
  %0 = in0
  %1 = in1
  %2 = 1.0
  %3 = in2
  %4 = b(*) %0 %1
  ua(+) %0, ua(mean) %0, ua(+) %2, ua(min) %1, ua(+) %4 by %3 up to in3";

#[test]
fn bits_are_those_of_basic_operators_on_any_number_of_threads() {
    let plan = plan(FIVE);
    for (rows, count) in [
        (2, 1),
        (513, 3),
        (65_537, 7),
        (300_001, 1000),
        (300_001, 70_000),
    ] {
        let (x, y, by) = (
            matrix(rows, 1, 1),
            matrix(rows, 1, 2),
            groups(rows, count, 3),
        );
        let product = x.to_dense().unwrap();
        let product = product
            .values()
            .iter()
            .zip(y.to_dense().unwrap().into_vec().unwrap());
        let product = MatrixBlock::dense(rows, 1, product.map(|(x, y)| x * y).collect()).unwrap();
        let basic = [
            (&x, GroupFunction::Sum),
            (&x, GroupFunction::Mean),
            (&x, GroupFunction::Count),
            (&y, GroupFunction::Min),
            (&product, GroupFunction::Sum),
        ];
        let basic = basic.map(|(target, function)| {
            let values = grouped_aggregate(target, &by, None, function, Some(count)).unwrap();
            bits(&values)
        });
        let inputs = [
            Operand::Matrix(&x),
            Operand::Matrix(&y),
            Operand::Matrix(&by),
            Operand::Scalar(count as f64),
        ];
        for threads in [1, 2, 3] {
            let found = run(&plan, &inputs, threads).unwrap();
            assert_eq!((found.rows(), found.cols()), (count, basic.len()));
            let found = bits(&found);
            for (at, basic) in basic.iter().enumerate() {
                let column: Vec<u64> = found.iter().skip(at).step_by(5).copied().collect();
                assert_eq!(&column, basic, "{at} of {rows} rows, {count} groups");
            }
        }
    }
}

#[test]
fn sums_do_not_lose_small_cells_between_large_ones() {
    let plan =
        plan("Group(main, matrix, scalar)\n  %0 = in0\n  %1 = in1\n  ua(+) %0 by %1 up to in2");
    let rows = 120_000;
    let cell = |row: usize| match row / 3 % 4 {
        0 => 1e17,
        2 => -1e17,
        _ => 0.25,
    };
    let x = MatrixBlock::dense(rows, 1, (0..rows).map(cell).collect()).unwrap();
    let by = (0..rows).map(|row| (row % 3) as f64 + 1.0).collect();
    let by = MatrixBlock::dense(rows, 1, by).unwrap();
    let inputs = [
        Operand::Matrix(&x),
        Operand::Matrix(&by),
        Operand::Scalar(3.0),
    ];
    let sums = run(&plan, &inputs, 2).unwrap().to_dense().unwrap();
    assert_eq!(sums.values(), [5000.0; 3]);
}

#[test]
fn what_is_no_number_of_groups_is_refused() {
    let plan = plan(FIVE);
    let x = matrix(10, 1, 1);
    let run = |count: f64| {
        let inputs = [
            Operand::Matrix(&x),
            Operand::Matrix(&x),
            Operand::Matrix(&x),
            Operand::Scalar(count),
        ];
        run(&plan, &inputs, 1)
    };
    assert_eq!(run(-1.0).unwrap_err().kind(), ErrorKind::Argument);
    assert_eq!(run(1e12).unwrap_err().kind(), ErrorKind::Unsupported);
    assert_eq!(run(0.0).map(|none| none.rows()), Ok(0));
    let short = matrix(9, 1, 1);
    let inputs = [
        Operand::Matrix(&x),
        Operand::Matrix(&x),
        Operand::Matrix(&short),
        Operand::Scalar(2.0),
    ];
    let refused = self::run(&plan, &inputs, 1).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Dimension);
}
