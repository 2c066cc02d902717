//! What holds beside the values: errors before anything runs, exact sums, caching, zeros of sparse operands.

use crate::support::{
    cell_plan, matrix, matrix_vector_chain, mlogreg_inner, row_plan, sum_of_products,
    weighted_log_sum, weighted_update,
};
use fulgurite_codegen::{
    CompiledPlan, ExecutionContext, Operand, Output, PlanCache, Unsupported, execute, supports,
};
use fulgurite_error::ErrorKind;
use fulgurite_fusion::cplan::{
    CNode, CPlan, InputBinding, MultiAggregateTemplate, NodeId, OuterOutput, RowOutput, Template,
};
use fulgurite_hop::{AggregateOp, BinaryOp, Direction, UnaryOp};
use fulgurite_matrix::{CoordinateMatrix, Layout, MatrixBlock, kernels, vector_math::Cells};

#[test]
fn shapes_are_checked_before_code_runs() {
    let context = ExecutionContext::single_threaded();
    let plan = CompiledPlan::compile(&sum_of_products()).unwrap();
    let (x, y, z) = (matrix(4, 3, 1), matrix(4, 3, 2), matrix(3, 4, 3));
    let operands = [&x, &y, &z].map(Operand::Matrix);
    let error = execute(&plan, &operands, &context).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Dimension);
    assert_eq!(
        error.message(),
        "input 2 of a fused operator over a 4 x 3 matrix must be 4 x 3, not 3 x 4"
    );

    let plan = CompiledPlan::compile(&matrix_vector_chain()).unwrap();
    let v = matrix(4, 1, 2);
    let error = execute(&plan, &[Operand::Matrix(&x), Operand::Matrix(&v)], &context).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Dimension);
    let wide = matrix(3, 2, 2);
    let error = execute(
        &plan,
        &[Operand::Matrix(&x), Operand::Matrix(&wide)],
        &context,
    );
    assert_eq!(error.unwrap_err().kind(), ErrorKind::Dimension);

    let plan = CompiledPlan::compile(&mlogreg_inner(4)).unwrap();
    let (p, v) = (matrix(4, 3, 2), matrix(3, 4, 3));
    let operands = [&x, &p, &v].map(Operand::Matrix);
    let error = execute(&plan, &operands, &context).unwrap_err();
    assert_eq!(
        error.message(),
        "columns 1:4 of 3 columns in a fused operator"
    );
}

#[test]
fn what_cannot_be_compiled_says_why() {
    let plan = row_plan(
        &[InputBinding::Main],
        vec![
            CNode::Input(0),
            CNode::Reduce(AggregateOp::Trace, NodeId(0)),
        ],
        RowOutput::RowAggregate(NodeId(1)),
    );
    let reason = Unsupported::RowAggregate {
        op: AggregateOp::Trace,
        node: NodeId(1),
    };
    assert_eq!(supports(&plan), Err(reason));
    let error = CompiledPlan::compile(&plan).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert_eq!(
        error.message(),
        "this fused operator can't be compiled: node %1 asks for aggregate 'trace' along a row"
    );
    let plan = cell_plan(
        &[InputBinding::Main],
        vec![CNode::Input(0), CNode::Reduce(AggregateOp::Sum, NodeId(0))],
        None,
        false,
    );
    let inconsistent = "CPlan node %1 is not an operation of this template";
    assert_eq!(
        supports(&plan),
        Err(Unsupported::Inconsistent(inconsistent.to_string()))
    );
    let plan = cell_plan(
        &[InputBinding::Main],
        vec![CNode::Input(0)],
        Some((AggregateOp::Var, Direction::Full)),
        false,
    );
    assert_eq!(
        supports(&plan),
        Err(Unsupported::Aggregate(AggregateOp::Var))
    );
}

/// Ten million times 0.1: added one by one, the sum would be off by 1.6e-4, 1.6e-10 of it.
#[test]
fn sums_keep_their_digits() {
    let cells = 10_000_000;
    let block = MatrixBlock::filled(cells / 10, 10, 0.1).unwrap();
    let plan = cell_plan(
        &[InputBinding::Main],
        vec![CNode::Input(0)],
        Some((AggregateOp::Sum, Direction::Full)),
        true,
    );
    let plan = CompiledPlan::compile(&plan).unwrap();
    for threads in [1, 2] {
        let context = ExecutionContext::with_threads(threads).unwrap();
        let Output::Scalar(sum) = execute(&plan, &[Operand::Matrix(&block)], &context).unwrap()
        else {
            panic!("a full aggregate gives a scalar");
        };
        assert!((sum - 1e6).abs() <= 1e-13 * 1e6, "{sum}");
    }
}

#[test]
fn the_cache_compiles_once_and_forgets_the_oldest() {
    let cache = PlanCache::with_capacity(2);
    let plans = [sum_of_products(), matrix_vector_chain(), mlogreg_inner(3)];
    let first = cache.get_or_compile(&plans[0]).unwrap();
    let again = cache.get_or_compile(&plans[0]).unwrap();
    assert!(std::sync::Arc::ptr_eq(&first, &again));
    cache.get_or_compile(&plans[1]).unwrap();
    cache.get_or_compile(&plans[0]).unwrap();
    cache.get_or_compile(&plans[2]).unwrap();
    let statistics = cache.statistics();
    assert_eq!(
        (statistics.hits, statistics.misses, statistics.plans),
        (2, 3, 2)
    );
    // Plan 1 was not asked for the longest.
    cache.get_or_compile(&plans[0]).unwrap();
    assert_eq!(cache.statistics().hits, 3);
    cache.get_or_compile(&plans[1]).unwrap();
    assert_eq!(cache.statistics().misses, 4);
    // A plan that the cache has forgotten still runs.
    drop(cache);
    let x = matrix(3, 3, 1);
    let operands = [&x, &x, &x].map(Operand::Matrix);
    assert!(execute(&first, &operands, &ExecutionContext::single_threaded()).is_ok());
}

#[test]
fn minima_and_maxima_see_the_zeros_of_sparse_operands() {
    let values = vec![5.0, 0.0, 0.0, 7.0, 6.0, 3.0];
    let block = MatrixBlock::dense(3, 2, values).unwrap();
    let csr: MatrixBlock = block.to_csr().unwrap().into();
    let context = ExecutionContext::single_threaded();
    let minimum = |direction| {
        let plan = cell_plan(
            &[InputBinding::Main],
            vec![CNode::Input(0)],
            Some((AggregateOp::Min, direction)),
            true,
        );
        let plan = CompiledPlan::compile(&plan).unwrap();
        execute(&plan, &[Operand::Matrix(&csr)], &context).unwrap()
    };
    assert_eq!(minimum(Direction::Full), Output::Scalar(0.0));
    let rows = MatrixBlock::dense(3, 1, vec![0.0, 0.0, 3.0]).unwrap();
    assert_eq!(minimum(Direction::Row), Output::Matrix(rows));
    let cols = MatrixBlock::dense(1, 2, vec![0.0, 0.0]).unwrap();
    assert_eq!(minimum(Direction::Col), Output::Matrix(cols));
}

/// Minima of positive and maxima of negative cells are not 0, whatever the threads: totals start from infinities.
#[test]
fn minima_and_maxima_start_from_infinities() {
    let cells: Vec<f64> = (0..200_000).map(|at| f64::from(at) + 1.0).collect();
    let block = MatrixBlock::dense(2000, 100, cells).unwrap();
    let csr: MatrixBlock = block.to_csr().unwrap().into();
    let plan = CPlan {
        template: Template::MultiAggregate(MultiAggregateTemplate {
            direction: Direction::Full,
            aggregates: vec![
                (AggregateOp::Min, NodeId(0)),
                (AggregateOp::Max, NodeId(2)),
                (AggregateOp::Sum, NodeId(0)),
            ],
            sparse_safe: true,
        }),
        inputs: vec![InputBinding::Main],
        body: vec![
            CNode::Input(0),
            CNode::Literal(-1.0),
            CNode::Binary(BinaryOp::Mult, NodeId(0), NodeId(1)),
        ],
    };
    let plan = CompiledPlan::compile(&plan).unwrap();
    let expected = MatrixBlock::dense(3, 1, vec![1.0, -1.0, 2e5 * (2e5 + 1.0) / 2.0]).unwrap();
    for threads in [1, 3] {
        let context = ExecutionContext::with_threads(threads).unwrap();
        for block in [&block, &csr] {
            let totals = execute(&plan, &[Operand::Matrix(block)], &context).unwrap();
            assert_eq!(totals, Output::Matrix(expected.clone()));
        }
    }
}

#[test]
fn factors_must_fit_the_driver_and_each_other() {
    let context = ExecutionContext::single_threaded();
    let plan =
        CompiledPlan::compile(&weighted_update(OuterOutput::RightMultiply { input: 3 })).unwrap();
    let (x, u, v) = (matrix(6, 4, 1), matrix(6, 3, 2), matrix(4, 3, 3));
    let message = |u: &MatrixBlock, v: &MatrixBlock, w: &MatrixBlock| {
        let operands = [&x, u, v, w].map(Operand::Matrix);
        let error = execute(&plan, &operands, &context).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Dimension);
        error.message().to_string()
    };
    assert_eq!(
        message(&v, &v, &v),
        "input 1 of a fused operator over a 6 x 4 matrix must be 6 rows, not 4 x 3"
    );
    assert_eq!(
        message(&u, &u, &v),
        "input 2 of a fused operator over a 6 x 4 matrix must be 4 rows, not 6 x 3"
    );
    assert_eq!(
        message(&u, &matrix(4, 2, 3), &v),
        "factors of 3 and of 2 columns meet in a fused operator"
    );
    assert_eq!(
        message(&u, &v, &u),
        "input 3 of a fused operator must have 4 rows, not 6"
    );
}

#[test]
fn outer_over_csr_keeps_the_structure_of_the_driver() {
    let plan = CompiledPlan::compile(&weighted_update(OuterOutput::NoAggregate)).unwrap();
    let x: MatrixBlock = matrix(20, 10, 1).to_csr().unwrap().into();
    let (u, v, w) = (matrix(20, 3, 2), matrix(10, 3, 3), matrix(10, 2, 4));
    let operands = [&x, &u, &v, &w].map(Operand::Matrix);
    let context = ExecutionContext::single_threaded();
    let Output::Matrix(MatrixBlock::Csr(f)) = execute(&plan, &operands, &context).unwrap() else {
        panic!("a CSR matrix");
    };
    let MatrixBlock::Csr(x) = &x else {
        panic!("a CSR matrix");
    };
    assert_eq!((f.pointers(), f.indices()), (x.pointers(), x.indices()));
}

/// A value that is NaN where the driver is 0 does not count there, whether zeros are skipped or computed.
#[test]
fn sparse_safe_outer_plans_are_zero_where_the_driver_is() {
    let plan = CompiledPlan::compile(&weighted_log_sum()).unwrap();
    let (u, v) = (
        MatrixBlock::filled(9, 2, -1.0).unwrap(),
        MatrixBlock::filled(7, 2, 1.0).unwrap(),
    );
    let context = ExecutionContext::single_threaded();
    for zeros in [60, 5] {
        let cells = (0..63)
            .map(|at| if at < zeros { 0.0 } else { 2.0 })
            .collect();
        let dense = MatrixBlock::dense(9, 7, cells).unwrap();
        let csr: MatrixBlock = dense.to_csr().unwrap().into();
        for x in [&dense, &csr] {
            let x_only = [x, &u, &v].map(Operand::Matrix);
            let Output::Scalar(total) = execute(&plan, &x_only, &context).unwrap() else {
                panic!("a full aggregate gives a scalar");
            };
            assert!(
                total.is_nan(),
                "logarithms of negative products count at non-zeros"
            );
        }
        let nothing = MatrixBlock::filled(9, 7, 0.0).unwrap();
        let operands = [&nothing, &u, &v].map(Operand::Matrix);
        assert_eq!(
            execute(&plan, &operands, &context).unwrap(),
            Output::Scalar(0.0)
        );
    }
}

#[test]
fn sparse_safe_maps_of_csr_stay_csr() {
    let plan = cell_plan(
        &[InputBinding::Main, InputBinding::Matrix],
        vec![
            CNode::Input(0),
            CNode::Input(1),
            CNode::Binary(BinaryOp::Mult, NodeId(0), NodeId(1)),
        ],
        None,
        true,
    );
    let plan = CompiledPlan::compile(&plan).unwrap();
    let x: MatrixBlock = matrix(20, 10, 1).to_csr().unwrap().into();
    let y = matrix(20, 10, 2);
    let operands = [Operand::Matrix(&x), Operand::Matrix(&y)];
    let context = ExecutionContext::single_threaded();
    let Output::Matrix(product) = execute(&plan, &operands, &context).unwrap() else {
        panic!("a map gives a matrix");
    };
    assert_eq!(product.layout(), Layout::Csr);
    assert_eq!(product.get(3, 4), x.get(3, 4) * y.get(3, 4));
}

/// Compiled code cuts its work into tiles and rows, basic kernels into tasks.
#[test]
fn functions_give_the_same_bits_as_basic_operators() {
    let context = ExecutionContext::single_threaded();
    let bits_of_cells = |plan: &CPlan, operands: &[Operand]| {
        let plan = CompiledPlan::compile(plan).unwrap();
        let Output::Matrix(result) = execute(&plan, operands, &context).unwrap() else {
            panic!("a Cell plan without aggregate gives a matrix")
        };
        bits(&result)
    };
    for (rows, cols) in [(7, 1), (37, 13), (5, 1030)] {
        let (x, y) = (matrix(rows, cols, 1), matrix(rows, cols, 2));
        for op in UnaryOp::ALL.iter().filter(|op| op.vector_form().is_some()) {
            let body = vec![CNode::Input(0), CNode::Unary(*op, NodeId(0))];
            let plan = cell_plan(&[InputBinding::Main], body, None, false);
            let fused = bits_of_cells(&plan, &[Operand::Matrix(&x)]);
            let basic = kernels::unary_over_slices(&x, |x, out| op.eval_cells(x, out));
            assert_eq!(fused, bits(&basic.unwrap()), "{op:?}, {rows} x {cols}");
        }
        for op in BinaryOp::ALL.iter().filter(|op| op.vector_form().is_some()) {
            let basic = |right: kernels::Operand| {
                let over = |x: Cells, y: Cells, out: &mut [f64]| op.eval_cells(x, y, out);
                bits(&kernels::binary_over_slices((&x).into(), right, over).unwrap())
            };
            let node = CNode::Binary(*op, NodeId(0), NodeId(1));
            let body = vec![CNode::Input(0), CNode::Input(1), node.clone()];
            let plan = cell_plan(
                &[InputBinding::Main, InputBinding::Matrix],
                body,
                None,
                false,
            );
            let fused = bits_of_cells(&plan, &[Operand::Matrix(&x), Operand::Matrix(&y)]);
            assert_eq!(fused, basic((&y).into()), "{op:?}, {rows} x {cols}");
            for right in [0.5, 1.0, 1.7, 2.0, 3.0, -2.0] {
                let body = vec![CNode::Input(0), CNode::Literal(right), node.clone()];
                let plan = cell_plan(&[InputBinding::Main], body, None, false);
                let fused = bits_of_cells(&plan, &[Operand::Matrix(&x)]);
                assert_eq!(
                    fused,
                    basic(right.into()),
                    "{op:?} {right}, {rows} x {cols}"
                );
            }
        }
    }
}

fn bits(block: &MatrixBlock) -> Vec<u64> {
    let dense = block.to_dense().unwrap();
    dense.values().iter().map(|cell| cell.to_bits()).collect()
}

/// As many rows as this would take minutes to pass over, and pointers to them 80 GB.
#[test]
fn empty_rows_of_ultra_sparse_matrices_take_nothing() {
    let rows = 10_000_000_000;
    let cells = vec![2.0, 3.0, -1.0];
    let numbers = vec![7i64, 7, rows as i64 - 1];
    let coordinates = CoordinateMatrix::new(rows, 5, numbers, vec![0, 4, 2], cells).unwrap();
    let x: MatrixBlock = coordinates.into();
    let operands = [Operand::Matrix(&x)];
    let context = ExecutionContext::with_threads(2).unwrap();
    let square = vec![CNode::Input(0), CNode::Unary(UnaryOp::Pow2, NodeId(0))];
    let run = |aggregate| {
        let plan = cell_plan(&[InputBinding::Main], square.clone(), aggregate, true);
        let plan = CompiledPlan::compile(&plan).unwrap();
        execute(&plan, &operands, &context).unwrap()
    };
    let Output::Matrix(squares) = run(None) else {
        panic!("a matrix");
    };
    assert_eq!(
        (squares.layout(), squares.values()),
        (Layout::Coordinate, &[4.0, 9.0, 1.0][..])
    );
    assert_eq!(
        run(Some((AggregateOp::Sum, Direction::Full))),
        Output::Scalar(14.0)
    );
    assert_eq!(
        run(Some((AggregateOp::Min, Direction::Full))),
        Output::Scalar(0.0)
    );
    let sums = MatrixBlock::dense(1, 5, vec![4.0, 0.0, 1.0, 0.0, 9.0]).unwrap();
    assert_eq!(
        run(Some((AggregateOp::Sum, Direction::Col))),
        Output::Matrix(sums)
    );

    let v = MatrixBlock::filled(5, 1, 1.0).unwrap();
    let chain = CompiledPlan::compile(&matrix_vector_chain()).unwrap();
    let operands = [Operand::Matrix(&x), Operand::Matrix(&v)];
    let expected = MatrixBlock::dense(5, 1, vec![10.0, 0.0, 1.0, 0.0, 15.0]).unwrap();
    assert_eq!(
        execute(&chain, &operands, &context).unwrap(),
        Output::Matrix(expected)
    );
}

/// To the bit: which zero, and NaN whichever side it is on.
#[test]
fn extremes_with_numbers_are_those_of_the_language() {
    let cells = [
        -0.0,
        0.0,
        1.5,
        -1.5,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        2.0,
        -2.0,
        1e-310,
        -0.0,
    ];
    let x = MatrixBlock::dense(1, cells.len(), cells.to_vec()).unwrap();
    let context = ExecutionContext::single_threaded();
    for op in [BinaryOp::Min, BinaryOp::Max] {
        for number in [
            0.0,
            -0.0,
            1.5,
            -1.5,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NAN,
        ] {
            for operands in [[NodeId(0), NodeId(1)], [NodeId(1), NodeId(0)]] {
                let [left, right] = operands;
                for leaf in [CNode::Literal(number), CNode::Input(1)] {
                    let inputs = [InputBinding::Main, InputBinding::Scalar];
                    let inputs = &inputs[..1 + usize::from(leaf == CNode::Input(1))];
                    let operands = [Operand::Matrix(&x), Operand::Scalar(number)];
                    let body = vec![CNode::Input(0), leaf, CNode::Binary(op, left, right)];
                    let plan = cell_plan(inputs, body, None, false);
                    let plan = CompiledPlan::compile(&plan).unwrap();
                    let output = execute(&plan, &operands[..inputs.len()], &context).unwrap();
                    let Output::Matrix(found) = output else {
                        panic!("a matrix");
                    };
                    for (cell, found) in cells.iter().zip(found.to_dense().unwrap().values()) {
                        let (a, b) = if left.0 == 0 {
                            (*cell, number)
                        } else {
                            (number, *cell)
                        };
                        let expected = op.eval(a, b);
                        let same = found.to_bits() == expected.to_bits();
                        assert!(
                            same || (found.is_nan() && expected.is_nan()),
                            "{op:?}({a}, {b}) = {found}, not {expected}"
                        );
                    }
                }
            }
        }
    }
}
