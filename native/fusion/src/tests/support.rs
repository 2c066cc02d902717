//! DAGs by hand, with sizes, and a reference evaluator for them: dense, one operator after the other.

use std::collections::BTreeMap;

use fulgurite_hop::{
    AggregateOp, BinaryOp, CastOp, Characteristics, CumulativeOp, Dag, Direction, Hop, HopId,
    HopOp, Literal, ParameterizedOp, SizeOp, TernaryOp, UnaryOp, ValueType,
};
use fulgurite_test_numbers::is_close;

use crate::{
    FusedOperator,
    cplan::interpret::{Dense, interpret},
};

/// Builds DAGs; sizes follow from the inputs.
#[derive(Default)]
pub struct Build {
    pub dag: Dag,
}

impl Build {
    fn push(&mut self, op: HopOp, inputs: Vec<HopId>, rows: u64, cols: u64) -> HopId {
        let sizes = Characteristics::dims(rows, cols);
        self.dag.push(Hop::matrix(op, inputs).with(sizes))
    }

    pub fn size(&self, id: HopId) -> (u64, u64) {
        let hop = self.dag.hop(id);
        (hop.rows().unwrap(), hop.cols().unwrap())
    }

    pub fn read(&mut self, name: &str, rows: u64, cols: u64) -> HopId {
        self.push(HopOp::TransientRead(name.into()), vec![], rows, cols)
    }

    pub fn sparse(&mut self, name: &str, rows: u64, cols: u64, nnz: u64) -> HopId {
        let id = self.read(name, rows, cols);
        self.dag.hop_mut(id).characteristics.nnz = Some(nnz);
        id
    }

    pub fn scalar(&mut self, name: &str) -> HopId {
        let op = HopOp::TransientRead(name.into());
        self.dag.push(Hop::scalar(op, vec![], ValueType::Double))
    }

    pub fn int(&mut self, value: i64) -> HopId {
        self.dag.push(Hop::literal(Literal::Int(value)))
    }

    pub fn double(&mut self, value: f64) -> HopId {
        self.dag.push(Hop::literal(Literal::Double(value)))
    }

    pub fn write(&mut self, name: &str, value: HopId) -> HopId {
        let value_hop = self.dag.hop(value).clone();
        let write = Hop {
            op: HopOp::TransientWrite(name.into()),
            inputs: vec![value],
            position: None,
            ..value_hop
        };
        let id = self.dag.push(write);
        self.dag.roots.push(id);
        id
    }

    pub fn unary(&mut self, op: UnaryOp, a: HopId) -> HopId {
        let (rows, cols) = self.size(a);
        self.push(HopOp::Unary(op), vec![a], rows, cols)
    }

    pub fn binary(&mut self, op: BinaryOp, a: HopId, b: HopId) -> HopId {
        let (rows, cols) = self.spread(&[a, b]);
        self.push(HopOp::Binary(op), vec![a, b], rows, cols)
    }

    pub fn ternary(&mut self, op: TernaryOp, a: HopId, b: HopId, c: HopId) -> HopId {
        let (rows, cols) = self.spread(&[a, b, c]);
        self.push(HopOp::Ternary(op), vec![a, b, c], rows, cols)
    }

    fn spread(&self, operands: &[HopId]) -> (u64, u64) {
        let sizes = operands.iter().map(|id| self.size(*id));
        sizes.fold((0, 0), |(r, c), (rows, cols)| (r.max(rows), c.max(cols)))
    }

    pub fn aggregate(&mut self, op: AggregateOp, direction: Direction, a: HopId) -> HopId {
        let (rows, cols) = self.size(a);
        let op = HopOp::Aggregate(op, direction);
        match direction {
            Direction::Full => self.dag.push(Hop::scalar(op, vec![a], ValueType::Double)),
            Direction::Row => self.push(op, vec![a], rows, 1),
            Direction::Col => self.push(op, vec![a], 1, cols),
        }
    }

    pub fn sum(&mut self, a: HopId) -> HopId {
        self.aggregate(AggregateOp::Sum, Direction::Full, a)
    }

    pub fn row_sums(&mut self, a: HopId) -> HopId {
        self.aggregate(AggregateOp::Sum, Direction::Row, a)
    }

    pub fn mult(&mut self, a: HopId, b: HopId) -> HopId {
        self.binary(BinaryOp::Mult, a, b)
    }

    pub fn plus(&mut self, a: HopId, b: HopId) -> HopId {
        self.binary(BinaryOp::Plus, a, b)
    }

    pub fn minus(&mut self, a: HopId, b: HopId) -> HopId {
        self.binary(BinaryOp::Minus, a, b)
    }

    pub fn matmult(&mut self, a: HopId, b: HopId) -> HopId {
        let ((rows, inner), (b_rows, cols)) = (self.size(a), self.size(b));
        assert_eq!(inner, b_rows);
        self.push(HopOp::MatMult, vec![a, b], rows, cols)
    }

    /// One transpose of each matrix, as common subexpressions are.
    pub fn t(&mut self, a: HopId) -> HopId {
        let is_known = |hop: &Hop| hop.op == HopOp::Transpose && hop.inputs == [a];
        let known = self.dag.iter().find(|(_, hop)| is_known(hop));
        if let Some((known, _)) = known {
            return known;
        }
        let (rows, cols) = self.size(a);
        self.push(HopOp::Transpose, vec![a], cols, rows)
    }

    /// `a[, from:to]`
    pub fn columns(&mut self, a: HopId, from: u64, to: u64) -> HopId {
        let (rows, _) = self.size(a);
        let bounds = [1, rows, from, to].map(|bound| self.int(bound as i64));
        let inputs = [vec![a], bounds.to_vec()].concat();
        self.push(HopOp::RightIndex, inputs, rows, to - from + 1)
    }

    /// `a[from:to, ]`
    pub fn rows(&mut self, a: HopId, from: u64, to: u64) -> HopId {
        let (_, cols) = self.size(a);
        let bounds = [from, to, 1, cols].map(|bound| self.int(bound as i64));
        let inputs = [vec![a], bounds.to_vec()].concat();
        self.push(HopOp::RightIndex, inputs, to - from + 1, cols)
    }

    pub fn cumulative(&mut self, op: CumulativeOp, a: HopId) -> HopId {
        let (rows, cols) = self.size(a);
        self.push(HopOp::Cumulative(op), vec![a], rows, cols)
    }

    pub fn outer(&mut self, op: BinaryOp, column: HopId, row: HopId) -> HopId {
        let outer = HopOp::named(ParameterizedOp::Outer, &["left", "right", "op"]);
        let name = Hop::literal(Literal::String(op.code().to_string()));
        let op = self.dag.push(name);
        let ((rows, _), (_, cols)) = (self.size(column), self.size(row));
        self.push(outer, vec![column, row, op], rows, cols)
    }

    /// `aggregate(target, groups, fn, ngroups, weights)`
    pub fn by_group(
        &mut self,
        (target, groups): (HopId, HopId),
        function: &str,
        count: u64,
        weights: Option<HopId>,
    ) -> HopId {
        let name = Hop::literal(Literal::String(function.to_string()));
        let mut names = vec!["target", "groups", "fn", "ngroups"];
        let mut inputs = vec![target, groups, self.dag.push(name), self.int(count as i64)];
        if let Some(weights) = weights {
            names.push("weights");
            inputs.push(weights);
        }
        let (_, cols) = self.size(target);
        let op = HopOp::named(ParameterizedOp::GroupedAggregate, &names);
        self.push(op, inputs, count, cols)
    }

    pub fn cbind(&mut self, parts: &[HopId]) -> HopId {
        let cols = parts.iter().map(|part| self.size(*part).1).sum();
        let (rows, _) = self.size(parts[0]);
        self.push(HopOp::CBind, parts.to_vec(), rows, cols)
    }
}

/// Deterministic small integers for every variable that the DAG reads: sums and products of them are exact
/// in any order.
pub fn variables(dag: &Dag, seed: u64) -> BTreeMap<String, Dense> {
    let mut variables = BTreeMap::new();
    for (id, hop) in dag.iter() {
        if let HopOp::TransientRead(name) = &hop.op {
            let (rows, cols) = match hop.is_scalar() {
                true => (1, 1),
                false => (hop.rows().unwrap() as usize, hop.cols().unwrap() as usize),
            };
            let value = |i: usize, j: usize| {
                let mut x = seed ^ (u64::from(id.0) << 40) ^ ((i as u64) << 20) ^ j as u64;
                for _ in 0..3 {
                    x = (x ^ (x >> 30))
                        .wrapping_mul(0xbf58_476d_1ce4_e5b9)
                        .wrapping_add(1);
                }
                (x >> 33) as f64 % 5.0 - 2.0
            };
            variables.insert(name.clone(), Dense::from_fn(rows, cols, value));
        }
    }
    variables
}

/// Runs a DAG, fused or not; gives the variables that it writes.
pub fn run(
    dag: &Dag,
    operators: &[FusedOperator],
    variables: &BTreeMap<String, Dense>,
) -> BTreeMap<String, Dense> {
    let mut values: Vec<Dense> = Vec::new();
    let mut written = BTreeMap::new();
    for (id, hop) in dag.iter() {
        let inputs: Vec<&Dense> = hop.inputs.iter().map(|id| &values[id.index()]).collect();
        let value = match &hop.op {
            HopOp::Literal(literal) => Dense::scalar(literal.as_f64().unwrap_or(f64::NAN)),
            HopOp::TransientRead(name) => variables[name].clone(),
            HopOp::TransientWrite(name) => {
                written.insert(name.clone(), inputs[0].clone());
                inputs[0].clone()
            }
            HopOp::Fused(number) => {
                let plan = &operators[*number].plan;
                let inputs: Vec<Dense> = inputs.into_iter().cloned().collect();
                interpret(plan, &inputs).unwrap()
            }
            HopOp::Parameterized(ParameterizedOp::Outer, _) => {
                let op = dag.combination(id).unwrap().op;
                run_basic(&HopOp::Binary(op), &inputs[..2])
            }
            HopOp::Parameterized(ParameterizedOp::GroupedAggregate, _) => {
                let grouping = dag.grouping(id).unwrap();
                let weights = grouping.weights.map(|slot| inputs[slot]);
                let count = inputs[grouping.count].values[0] as usize;
                let (target, groups) = (inputs[grouping.target], inputs[grouping.groups]);
                by_group(grouping.function, count, target, groups, weights)
            }
            HopOp::Size(SizeOp::NRow) => Dense::scalar(inputs[0].rows as f64),
            HopOp::Size(SizeOp::NCol) => Dense::scalar(inputs[0].cols as f64),
            basic => run_basic(basic, &inputs),
        };
        if hop.is_matrix() {
            let size = (Some(value.rows as u64), Some(value.cols as u64));
            assert_eq!(size, (hop.rows(), hop.cols()), "{}", hop.op.code());
        }
        values.push(value);
    }
    written
}

/// Of each group and column.
fn by_group(
    function: &str,
    count: usize,
    target: &Dense,
    groups: &Dense,
    weights: Option<&Dense>,
) -> Dense {
    Dense::from_fn(count, target.cols, |group, col| {
        let members =
            (0..target.rows).filter(|row| groups.at(*row, 0).floor() == group as f64 + 1.0);
        let weight = |row: usize| weights.map_or(1.0, |weights| weights.at(row, 0));
        let cells = || members.clone().map(|row| target.at(row, col) * weight(row));
        let rows = members.clone().count();
        let total: f64 = cells().sum();
        match function {
            "sum" => total,
            "count" => members.clone().map(weight).sum(),
            _ if rows == 0 => 0.0,
            "mean" => total / members.clone().map(weight).sum::<f64>(),
            "min" => cells().reduce(|x, y| BinaryOp::Min.eval(x, y)).unwrap(),
            "max" => cells().reduce(|x, y| BinaryOp::Max.eval(x, y)).unwrap(),
            other => panic!("the reference evaluator has no aggregate {other}"),
        }
    })
}

fn run_basic(op: &HopOp, inputs: &[&Dense]) -> Dense {
    let rows = inputs.iter().map(|input| input.rows).max().unwrap();
    let cols = inputs.iter().map(|input| input.cols).max().unwrap();
    // Vectors and scalars are spread.
    let cell = |input: &Dense, i: usize, j: usize| {
        input.at(
            if input.rows == 1 { 0 } else { i },
            if input.cols == 1 { 0 } else { j },
        )
    };
    match op {
        HopOp::Unary(op) => Dense::from_fn(rows, cols, |i, j| op.eval(inputs[0].at(i, j))),
        HopOp::Binary(op) => Dense::from_fn(rows, cols, |i, j| {
            op.eval(cell(inputs[0], i, j), cell(inputs[1], i, j))
        }),
        HopOp::Ternary(op) => Dense::from_fn(rows, cols, |i, j| {
            op.eval(
                cell(inputs[0], i, j),
                cell(inputs[1], i, j),
                cell(inputs[2], i, j),
            )
        }),
        HopOp::Aggregate(op, direction) => inputs[0].aggregate(*op, *direction).unwrap(),
        HopOp::MatMult => Dense::from_fn(inputs[0].rows, inputs[1].cols, |i, j| {
            (0..inputs[0].cols)
                .map(|k| inputs[0].at(i, k) * inputs[1].at(k, j))
                .sum()
        }),
        HopOp::Transpose => {
            Dense::from_fn(inputs[0].cols, inputs[0].rows, |i, j| inputs[0].at(j, i))
        }
        HopOp::RightIndex => {
            let bound = |slot: usize| inputs[slot].values[0] as usize - 1;
            let (row, col) = (bound(1), bound(3));
            let (rows, cols) = (bound(2) - row + 1, bound(4) - col + 1);
            Dense::from_fn(rows, cols, |i, j| inputs[0].at(row + i, col + j))
        }
        HopOp::Cast(CastOp::AsScalar) => inputs[0].clone(),
        HopOp::Cumulative(op) => {
            let next = |state: f64, x: f64| match op {
                CumulativeOp::Sum => state + x,
                CumulativeOp::Prod => state * x,
                CumulativeOp::Min => BinaryOp::Min.eval(state, x),
                CumulativeOp::Max => BinaryOp::Max.eval(state, x),
            };
            let mut result = inputs[0].clone();
            for i in result.cols..result.values.len() {
                result.values[i] = next(result.values[i - result.cols], result.values[i]);
            }
            result
        }
        HopOp::CBind => {
            let rows =
                (0..inputs[0].rows).flat_map(|i| inputs.iter().map(move |input| input.row(i)));
            let values: Vec<f64> = rows.flatten().copied().collect();
            Dense::new(inputs[0].rows, values.len() / inputs[0].rows, values)
        }
        other => panic!("the reference evaluator has no {}", other.code()),
    }
}

/// Equal up to rounding.
pub fn assert_close(
    actual: &BTreeMap<String, Dense>,
    expected: &BTreeMap<String, Dense>,
    what: &str,
) {
    assert_eq!(
        actual.keys().collect::<Vec<_>>(),
        expected.keys().collect::<Vec<_>>()
    );
    for (name, expected) in expected {
        let actual = &actual[name];
        assert_eq!(
            (actual.rows, actual.cols),
            (expected.rows, expected.cols),
            "{name}: {what}"
        );
        for (a, b) in actual.values.iter().zip(&expected.values) {
            assert!(is_close(*a, *b, 1e-9), "{name}: {a} is not {b}\n{what}");
        }
    }
}

/// Expression (2), the inner loop of multinomial logistic regression, with the sizes of X and classes.
///
/// Q = P[, 1:k] * (X %*% v); H = t(X) %*% (Q - P[, 1:k] * rowSums(Q))
pub fn expression_2(rows: u64, cols: u64, classes: u64) -> Dag {
    let mut b = Build::default();
    let x = b.read("X", rows, cols);
    let v = b.read("v", cols, classes);
    let p = b.read("P", rows, classes + 1);
    let p = b.columns(p, 1, classes);
    let xv = b.matmult(x, v);
    let q = b.mult(p, xv);
    let sums = b.row_sums(q);
    let scaled = b.mult(p, sums);
    let difference = b.minus(q, scaled);
    let xt = b.t(x);
    let h = b.matmult(xt, difference);
    b.write("H", h);
    b.dag
}
