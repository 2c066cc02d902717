//! Random DAGs of the operators that fusion is about.

use fulgurite_hop::{
    AggregateOp, BinaryOp, CumulativeOp, Dag, Direction, HopId, TernaryOp, UnaryOp,
};
use proptest::prelude::*;

use super::support::Build;

/// A step picks an operator and operands by number; steps whose operands don't fit are left out.
pub type Step = (u8, u16, u16, u16);

pub fn steps(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(
        (any::<u8>(), any::<u16>(), any::<u16>(), any::<u16>()),
        count,
    )
}

/// Inputs are X and Y (rows x cols), Z (rows x 3), B (cols x 3), D (3 x cols), vectors of all shapes, and a
/// scalar.
pub fn dag(steps: &[Step], rows: u64, cols: u64, nnz: Option<u64>) -> Dag {
    let mut b = Build::default();
    let x = match nnz {
        Some(nnz) => b.sparse("X", rows, cols, nnz),
        None => b.read("X", rows, cols),
    };
    let mut pool = vec![
        x,
        b.read("Y", rows, cols),
        b.read("Z", rows, 3),
        b.read("B", cols, 3),
        b.read("D", 3, cols),
        b.read("u", rows, 1),
        b.read("v", cols, 1),
        b.read("r", 1, cols),
        b.scalar("s"),
        b.int(2),
        b.double(0.25),
    ];
    let inputs = pool.len();
    for step in steps {
        if let Some(hop) = apply(&mut b, &pool, *step) {
            pool.push(hop);
        }
    }
    let consumers = b.dag.consumers();
    for (index, hop) in pool.iter().enumerate().skip(inputs) {
        // What nothing reads, and now and then what something reads too.
        if consumers[hop.index()].is_empty() || index % 7 == 3 {
            b.write(&format!("out{index}"), *hop);
        }
    }
    b.dag
}

fn apply(b: &mut Build, pool: &[HopId], (kind, p, q, r): Step) -> Option<HopId> {
    // Later operands are likelier, so that DAGs get deep.
    let pick = |n: u16| {
        let n = usize::from(n);
        let recent = pool.len().saturating_sub(4);
        match n % 3 {
            0 => pool[recent + (n / 3) % (pool.len() - recent)],
            _ => pool[(n / 3) % pool.len()],
        }
    };
    let (a, c, d) = (pick(p), pick(q), pick(r));
    let is_matrix = |id: HopId| b.dag.hop(id).is_matrix();
    if !is_matrix(a) {
        return None;
    }
    let ((rows, cols), (c_rows, c_cols)) = (b.size(a), b.size(c));
    // Spread over a: a scalar, a vector, or of a's shape.
    let fits = |id: HopId| {
        let (id_rows, id_cols) = b.size(id);
        !is_matrix(id) || ((id_rows == rows || id_rows == 1) && (id_cols == cols || id_cols == 1))
    };
    let small = |n: u64| n <= 4096;
    match kind % 27 {
        0..=4 if fits(c) => {
            const OPS: [BinaryOp; 8] = [
                BinaryOp::Plus,
                BinaryOp::Minus,
                BinaryOp::Mult,
                BinaryOp::Mult,
                BinaryOp::Max,
                BinaryOp::Min,
                BinaryOp::Greater,
                BinaryOp::NotEqual,
            ];
            let op = OPS[usize::from(r) % OPS.len()];
            Some(
                match is_matrix(c) && b.size(c) == (rows, cols) && r % 2 == 0 {
                    true => b.binary(op, c, a),
                    false => b.binary(op, a, c),
                },
            )
        }
        5 => {
            const OPS: [UnaryOp; 3] = [UnaryOp::Abs, UnaryOp::Sign, UnaryOp::Not];
            Some(b.unary(OPS[usize::from(r) % OPS.len()], a))
        }
        6 if fits(c) && fits(d) => {
            const OPS: [TernaryOp; 3] =
                [TernaryOp::IfElse, TernaryOp::PlusMult, TernaryOp::MinusMult];
            Some(b.ternary(OPS[usize::from(q) % OPS.len()], a, c, d))
        }
        7 => {
            const OPS: [AggregateOp; 5] = [
                AggregateOp::Sum,
                AggregateOp::SumSq,
                AggregateOp::Min,
                AggregateOp::Max,
                AggregateOp::Prod,
            ];
            const DIRECTIONS: [Direction; 4] = [
                Direction::Row,
                Direction::Row,
                Direction::Col,
                Direction::Full,
            ];
            let op = OPS[usize::from(q) % OPS.len()];
            let direction = DIRECTIONS[usize::from(r) % DIRECTIONS.len()];
            Some(match r % 8 {
                0 => {
                    const PLACES: [AggregateOp; 2] = [AggregateOp::IndexMax, AggregateOp::IndexMin];
                    b.aggregate(PLACES[usize::from(q) % 2], Direction::Row, a)
                }
                // What is not exact goes out at once: a comparison of it could tip over.
                1 => {
                    let mean = b.aggregate(AggregateOp::Mean, direction, a);
                    let name = format!("mean{}", b.dag.len());
                    b.write(&name, mean);
                    return None;
                }
                2 => {
                    const SPREADS: [AggregateOp; 2] = [AggregateOp::Var, AggregateOp::Sd];
                    let spread = b.aggregate(SPREADS[usize::from(q) % 2], Direction::Row, a);
                    let name = format!("spread{}", b.dag.len());
                    b.write(&name, spread);
                    return None;
                }
                _ => b.aggregate(op, direction, a),
            })
        }
        8 | 9 if is_matrix(c) && cols == c_rows && small(c_cols) => Some(b.matmult(a, c)),
        10 | 11 if is_matrix(c) && rows == c_rows && small(cols) && small(c_cols) => {
            let t = b.t(a);
            Some(b.matmult(t, c))
        }
        12 if cols > 1 => {
            let from = 1 + u64::from(q) % cols;
            Some(b.columns(a, from, cols.min(from + u64::from(r) % 3)))
        }
        13 if is_matrix(c) && rows == c_rows && cols + c_cols <= 128 => Some(b.cbind(&[a, c])),
        14 => {
            let op = CumulativeOp::ALL[usize::from(r) % CumulativeOp::ALL.len()];
            Some(match q % 4 {
                0 => b.cumulative(op, a),
                _ => {
                    let t = b.t(a);
                    let cumulated = b.cumulative(op, t);
                    b.t(cumulated)
                }
            })
        }
        15 if rows > 2 => {
            let from = 1 + u64::from(q) % rows;
            Some(b.rows(a, from, rows.min(from + u64::from(r) % 3)))
        }
        // A pool as ours has few factors that fit by chance: an outer product of its inputs.
        16 | 17 => {
            let t = b.t(pool[3]);
            let product = b.matmult(pool[2], t);
            match b.size(product) == (rows, cols) {
                true => Some(b.mult(a, product)),
                false => Some(product),
            }
        }
        18 if is_matrix(c) && cols == c_cols && small(c_rows) => {
            let t = b.t(c);
            Some(b.matmult(a, t))
        }
        21 => Some(b.t(a)),
        // Full aggregates that share an input.
        19 | 20 if fits(c) => {
            let product = b.mult(a, c);
            Some(match r % 2 {
                0 => b.aggregate(AggregateOp::SumSq, Direction::Full, a),
                _ => b.sum(product),
            })
        }
        // Aggregates of columns or of rows that do.
        22 if fits(c) => {
            let direction = [Direction::Row, Direction::Col][usize::from(r) % 2];
            let other = [AggregateOp::Mean, AggregateOp::SumSq, AggregateOp::Max];
            let other = b.aggregate(other[usize::from(q) % 3], direction, a);
            let name = format!("other{}", b.dag.len());
            b.write(&name, other);
            let product = b.mult(a, c);
            Some(b.aggregate(AggregateOp::Sum, direction, product))
        }
        23 if is_matrix(c) && cols == 1 && c_rows == 1 && small(c_cols) => {
            const OPS: [BinaryOp; 4] = [
                BinaryOp::Minus,
                BinaryOp::Mult,
                BinaryOp::Max,
                BinaryOp::Equal,
            ];
            Some(b.outer(OPS[usize::from(r) % OPS.len()], a, c))
        }
        // Aggregates by groups, of a column with others beside it or of a matrix.
        24 | 25 if is_matrix(c) && c_rows == rows && c_cols == 1 && rows > 1 => {
            let weights = is_matrix(d) && b.size(d) == (rows, 1) && r % 2 == 0;
            const FUNCTIONS: [&str; 5] = ["sum", "count", "min", "max", "mean"];
            let count = 1 + u64::from(q) % 4;
            let other = FUNCTIONS[usize::from(r) % 5];
            let other = b.by_group((a, c), other, count, None);
            let name = format!("grouped{}", b.dag.len());
            b.write(&name, other);
            let function = FUNCTIONS[usize::from(p) % 4];
            let weights = weights.then_some(d);
            let sums = b.by_group((c, c), "sum", count, None);
            let name = format!("grouped{}", b.dag.len());
            b.write(&name, sums);
            Some(b.by_group((a, c), function, count, weights))
        }
        26 if rows > 1 => {
            let groups = b.aggregate(AggregateOp::Max, Direction::Row, a);
            let groups = b.unary(UnaryOp::Abs, groups);
            let sums = b.by_group((a, groups), "sum", 2, None);
            let name = format!("grouped{}", b.dag.len());
            b.write(&name, sums);
            let square = b.mult(a, a);
            Some(b.by_group((square, groups), "max", 2, None))
        }
        _ => None,
    }
}
