//! A DAG as a local rule sees it: patterns to look for on one side, operators to make on the other.
//!
//! What is made gets its type and size from the same rules as everything else ([`crate::sizes`]), so that
//! later rules and fusion can rely on them.

use std::{cell::RefCell, collections::BTreeSet};

use fulgurite_error::Position;

use crate::{
    AggregateOp, BinaryOp, CastOp, Dag, DataGenOp, DataType, Direction, Hop, HopId, HopOp, Literal,
    UnaryOp, ValueType, VariableInfo, finite,
    sizes::{Fact, HopCall},
};

/// The part of a DAG that has been through the rules, the last HOP being the one at hand.
pub(crate) struct Editor {
    dag: Dag,
    /// How many operators read each HOP; too many, if anything, until the pass is over.
    uses: Vec<u32>,
    /// For each HOP, the one of the DAG handed in that it is, or stands for.
    origins: Vec<HopId>,
    position: Option<Position>,
    origin: HopId,
}

impl Editor {
    pub fn new() -> Self {
        Editor {
            dag: Dag::new(),
            uses: Vec::new(),
            origins: Vec::new(),
            position: None,
            origin: HopId(0),
        }
    }

    /// Appends a HOP of the DAG that is being rewritten, and makes it the one at hand.
    pub fn begin(&mut self, hop: Hop, uses: u32, origin: HopId) -> HopId {
        self.position.clone_from(&hop.position);
        self.origin = origin;
        self.uses.push(uses);
        self.origins.push(origin);
        self.dag.push(hop)
    }

    /// Notes that `value` is read in place of `id`.
    pub fn replace(&mut self, id: HopId, value: HopId) {
        self.uses[value.index()] += self.uses[id.index()];
        let known = self.dag.hop(id).characteristics;
        let size = &mut self.dag.hop_mut(value).characteristics;
        size.rows = size.rows.or(known.rows);
        size.cols = size.cols.or(known.cols);
        // What was unknown may contradict, in what fails when it runs.
        let cells = size.cells().unwrap_or(u64::MAX);
        size.nnz = size.nnz.map(|nnz| nnz.min(cells));
    }

    pub fn into_parts(self) -> (Dag, Vec<HopId>) {
        (self.dag, self.origins)
    }

    pub fn dag(&self) -> &Dag {
        &self.dag
    }

    pub fn len(&self) -> usize {
        self.dag.len()
    }

    pub fn origin(&self) -> HopId {
        self.origin
    }

    pub fn position(&self) -> Option<&Position> {
        self.position.as_ref()
    }
}

/// What a rule looks for.
impl Editor {
    pub fn hop(&self, id: HopId) -> &Hop {
        self.dag.hop(id)
    }

    pub fn op(&self, id: HopId) -> &HopOp {
        &self.dag.hop(id).op
    }

    pub fn input(&self, id: HopId, place: usize) -> Option<HopId> {
        self.dag.hop(id).inputs.get(place).copied()
    }

    pub fn is_matrix(&self, id: HopId) -> bool {
        self.dag.hop(id).is_matrix()
    }

    pub fn is_scalar(&self, id: HopId) -> bool {
        self.dag.hop(id).is_scalar()
    }

    /// A scalar that is a double, or a matrix, whose cells are.
    pub fn is_double(&self, id: HopId) -> bool {
        self.dag.hop(id).value_type == ValueType::Double
    }

    pub fn is_int(&self, id: HopId) -> bool {
        self.dag.hop(id).value_type == ValueType::Int
    }

    /// No cell is NaN or infinite, for certain.
    pub fn is_finite(&self, id: HopId) -> bool {
        finite::is_finite(&self.dag, id)
    }

    /// Leaving it out hides no error.
    pub fn cannot_fail(&self, id: HopId) -> bool {
        finite::cannot_fail(&self.dag, id)
    }

    /// How many read it.
    pub fn readers(&self, id: HopId) -> u32 {
        self.uses[id.index()]
    }

    /// Nobody else reads it, so that it is gone when this reader is.
    pub fn read_once(&self, id: HopId) -> bool {
        self.uses[id.index()] <= 1
    }

    pub fn unary(&self, id: HopId) -> Option<(UnaryOp, HopId)> {
        match (self.op(id), self.dag.hop(id).inputs.as_slice()) {
            (HopOp::Unary(op), [x]) => Some((*op, *x)),
            _ => None,
        }
    }

    pub fn binary(&self, id: HopId) -> Option<(BinaryOp, HopId, HopId)> {
        match (self.op(id), self.dag.hop(id).inputs.as_slice()) {
            (HopOp::Binary(op), [x, y]) => Some((*op, *x, *y)),
            _ => None,
        }
    }

    /// The operands of this operator, in both orders if it commutes.
    pub fn operands(&self, id: HopId, wanted: BinaryOp) -> Vec<(HopId, HopId)> {
        match self.binary(id) {
            Some((op, x, y)) if op == wanted && op.is_commutative() => vec![(x, y), (y, x)],
            Some((op, x, y)) if op == wanted => vec![(x, y)],
            _ => Vec::new(),
        }
    }

    /// The matrix and the scalar of `X op s`, or of `s op X` where `op` commutes.
    pub fn matrix_and_scalar(&self, id: HopId, wanted: BinaryOp) -> Option<(HopId, HopId)> {
        let fits = |(x, s): &(HopId, HopId)| self.is_matrix(*x) && self.is_scalar(*s);
        self.operands(id, wanted).into_iter().find(fits)
    }

    pub fn aggregate(&self, id: HopId) -> Option<(AggregateOp, Direction, HopId)> {
        match (self.op(id), self.dag.hop(id).inputs.as_slice()) {
            (HopOp::Aggregate(op, direction), [x]) => Some((*op, *direction, *x)),
            _ => None,
        }
    }

    pub fn product(&self, id: HopId) -> Option<(HopId, HopId)> {
        match (self.op(id), self.dag.hop(id).inputs.as_slice()) {
            (HopOp::MatMult, [x, y]) => Some((*x, *y)),
            _ => None,
        }
    }

    /// X, if the HOP is t(X).
    pub fn transposed(&self, id: HopId) -> Option<HopId> {
        (*self.op(id) == HopOp::Transpose)
            .then(|| self.input(id, 0))
            .flatten()
    }

    /// The number in all cells of a `matrix(s, rows, cols)`.
    pub fn filled_with(&self, id: HopId) -> Option<HopId> {
        if *self.op(id) != HopOp::DataGen(DataGenOp::Fill) {
            return None;
        }
        let value = self.input(id, 0)?;
        (self.dag.hop(value).value_type != ValueType::String).then_some(value)
    }

    /// The literal number in all cells of a `matrix(c, rows, cols)`.
    pub fn filled_with_number(&self, id: HopId) -> Option<f64> {
        self.number(self.filled_with(id)?)
    }

    /// The number that a HOP is, if it is a literal.
    pub fn number(&self, id: HopId) -> Option<f64> {
        match self.literal(id)? {
            value @ (Literal::Double(_) | Literal::Int(_)) => value.as_f64(),
            Literal::Boolean(_) | Literal::String(_) => None,
        }
    }

    pub fn literal(&self, id: HopId) -> Option<&Literal> {
        self.op(id).constant()
    }

    /// Rows and columns of a matrix, if both are known.
    pub fn shape(&self, id: HopId) -> Option<(u64, u64)> {
        let hop = self.dag.hop(id);
        match hop.data_type {
            DataType::Matrix => Some((hop.rows()?, hop.cols()?)),
            _ => None,
        }
    }

    pub fn cells(&self, id: HopId) -> Option<u64> {
        let (rows, cols) = self.shape(id)?;
        rows.checked_mul(cols)
    }

    pub fn is_single_cell(&self, id: HopId) -> bool {
        self.shape(id) == Some((1, 1))
    }

    pub fn is_column(&self, id: HopId) -> bool {
        self.shape(id).is_some_and(|(_, cols)| cols == 1)
    }

    pub fn is_row(&self, id: HopId) -> bool {
        self.shape(id).is_some_and(|(rows, _)| rows == 1)
    }

    /// An operator that works cell by cell on matrices.
    pub fn is_cellwise(&self, id: HopId) -> bool {
        let op = self.op(id);
        self.is_matrix(id) && matches!(op, HopOp::Unary(_) | HopOp::Binary(_) | HopOp::Ternary(_))
    }

    /// Both are known to have the same rows and columns.
    pub fn same_shape(&self, left: HopId, right: HopId) -> bool {
        self.shape(left).is_some() && self.shape(left) == self.shape(right)
    }

    /// Whether `value` can be read in place of `id`: same data type and value type, so that the texts they
    /// print as stay the same, and not a known other shape.
    pub fn can_stand_for(&self, value: HopId, id: HopId) -> bool {
        let (value, hop) = (self.dag.hop(value), self.dag.hop(id));
        let same = |left: Option<u64>, right: Option<u64>| {
            left.is_none() || right.is_none() || left == right
        };
        value.data_type == hop.data_type
            && value.value_type == hop.value_type
            && same(value.rows(), hop.rows())
            && same(value.cols(), hop.cols())
    }

    /// `value`, if it can be read in place of `id`.
    pub fn standing_for(&self, value: HopId, id: HopId) -> Option<HopId> {
        self.can_stand_for(value, id).then_some(value)
    }
}

/// What a rule makes: operators at the place of the one at hand. `None` where operands certainly don't fit.
impl Editor {
    pub fn make(&mut self, op: HopOp, inputs: &[HopId]) -> Option<HopId> {
        let info = self.infer(&op, inputs)?;
        for input in inputs {
            self.uses[input.index()] += 1;
        }
        Some(self.append(Hop {
            op,
            inputs: inputs.to_vec(),
            data_type: info.data_type,
            value_type: info.value_type,
            characteristics: info.characteristics,
            position: None,
        }))
    }

    pub fn make_unary(&mut self, op: UnaryOp, x: HopId) -> Option<HopId> {
        self.make(HopOp::Unary(op), &[x])
    }

    pub fn make_binary(&mut self, op: BinaryOp, x: HopId, y: HopId) -> Option<HopId> {
        self.make(HopOp::Binary(op), &[x, y])
    }

    /// An `outer` as `like`, of other operands.
    pub fn make_combination(
        &mut self,
        like: HopId,
        op: BinaryOp,
        column: HopId,
        row: HopId,
    ) -> Option<HopId> {
        let combination = self.dag.combination(like)?;
        let code = self.make_literal(Literal::String(op.code().into()));
        let outer = self.hop(like).clone();
        let inputs = (0..outer.inputs.len()).map(|place| match place {
            place if place == combination.column => column,
            place if place == combination.row => row,
            _ => code,
        });
        self.make(outer.op, &inputs.collect::<Vec<_>>())
    }

    pub fn make_product(&mut self, x: HopId, y: HopId) -> Option<HopId> {
        self.make(HopOp::MatMult, &[x, y])
    }

    /// t(x); of a t(y), y itself.
    pub fn make_transpose(&mut self, x: HopId) -> Option<HopId> {
        match self.transposed(x) {
            Some(y) => Some(y),
            None => self.make(HopOp::Transpose, &[x]),
        }
    }

    pub fn make_aggregate(
        &mut self,
        op: AggregateOp,
        direction: Direction,
        x: HopId,
    ) -> Option<HopId> {
        self.make(HopOp::Aggregate(op, direction), &[x])
    }

    pub fn make_cast(&mut self, op: CastOp, x: HopId) -> Option<HopId> {
        self.make(HopOp::Cast(op), &[x])
    }

    pub fn make_literal(&mut self, value: Literal) -> HopId {
        self.append(Hop::literal(value))
    }

    pub fn make_double(&mut self, value: f64) -> HopId {
        self.make_literal(Literal::Double(value))
    }

    /// `None` for sizes that no int holds.
    pub fn make_size(&mut self, size: u64) -> Option<HopId> {
        Some(self.make_literal(Literal::Int(i64::try_from(size).ok()?)))
    }

    /// A matrix of this shape with the same number in all cells.
    pub fn make_fill(&mut self, value: HopId, (rows, cols): (u64, u64)) -> Option<HopId> {
        let (rows, cols) = (self.make_size(rows)?, self.make_size(cols)?);
        self.make(HopOp::DataGen(DataGenOp::Fill), &[value, rows, cols])
    }

    /// A matrix of zeros as large as another one, whose size is known.
    pub fn make_zeros_like(&mut self, id: HopId) -> Option<HopId> {
        let shape = self.shape(id)?;
        let zero = self.make_double(0.0);
        self.make_fill(zero, shape)
    }

    fn append(&mut self, hop: Hop) -> HopId {
        self.uses.push(0);
        self.origins.push(self.origin);
        self.dag.push(Hop {
            position: self.position.clone(),
            ..hop
        })
    }

    /// Type and size of an operator on these inputs.
    fn infer(&self, op: &HopOp, inputs: &[HopId]) -> Option<VariableInfo> {
        let mut small = Dag::new();
        let mut facts = Vec::with_capacity(inputs.len());
        let mut places = Vec::with_capacity(inputs.len());
        for (place, input) in inputs.iter().enumerate() {
            // The same input twice stays one HOP: index bounds that are one are known to be equal.
            if let Some(first) = inputs[..place].iter().position(|other| other == input) {
                places.push(places[first]);
                continue;
            }
            let hop = self.dag.hop(*input);
            facts.push(Fact {
                info: VariableInfo {
                    data_type: hop.data_type,
                    value_type: hop.value_type,
                    characteristics: hop.characteristics,
                    constant: self.literal(*input).cloned(),
                },
                rests_on: BTreeSet::new(),
            });
            places.push(small.push(Hop {
                inputs: Vec::new(),
                ..hop.clone()
            }));
        }
        let used = RefCell::new(BTreeSet::new());
        let id = small.push(Hop::matrix(op.clone(), places));
        HopCall::new(&small, id, &facts, &used).infer().ok()
    }
}
