//! The DAG of high-level operators of one statement block.

use std::fmt;

use fulgurite_error::Position;
use serde::{Deserialize, Serialize};

use crate::{BinaryOp, Characteristics, DataType, HopOp, Literal, ParameterizedOp, ValueType};

/// `outer`: an operator on each pair of cells of a column and of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Combination {
    pub op: BinaryOp,
    /// The input that is the column.
    pub column: usize,
    /// The input that is the row.
    pub row: usize,
}

/// `aggregate`: a function of the rows of each of so many groups. Inputs by their places.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grouping<'a> {
    /// The function as DML writes it.
    pub function: &'a str,
    pub target: usize,
    pub groups: usize,
    pub weights: Option<usize>,
    /// How many groups there are.
    pub count: usize,
}

/// A HOP by its place in its [`Dag`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HopId(pub u32);

impl HopId {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for HopId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// One operator: what it does, to what, and what is known of its result.
#[derive(Debug, Clone, PartialEq)]
pub struct Hop {
    pub op: HopOp,
    pub inputs: Vec<HopId>,
    pub data_type: DataType,
    pub value_type: ValueType,
    pub characteristics: Characteristics,
    pub position: Option<Position>,
}

impl Hop {
    /// A matrix operator whose size is not known yet.
    pub fn matrix(op: HopOp, inputs: Vec<HopId>) -> Self {
        Hop {
            op,
            inputs,
            data_type: DataType::Matrix,
            value_type: ValueType::Double,
            characteristics: Characteristics::UNKNOWN,
            position: None,
        }
    }

    pub fn scalar(op: HopOp, inputs: Vec<HopId>, value_type: ValueType) -> Self {
        Hop {
            op,
            inputs,
            data_type: DataType::Scalar,
            value_type,
            characteristics: Characteristics::SCALAR,
            position: None,
        }
    }

    pub fn literal(literal: Literal) -> Self {
        let value_type = literal.value_type();
        Hop::scalar(HopOp::Literal(literal), Vec::new(), value_type)
    }

    pub fn at(mut self, position: &Position) -> Self {
        self.position = Some(position.clone());
        self
    }

    pub fn with(mut self, characteristics: Characteristics) -> Self {
        self.characteristics = characteristics;
        self
    }

    pub fn is_matrix(&self) -> bool {
        self.data_type == DataType::Matrix
    }

    pub fn is_scalar(&self) -> bool {
        self.data_type == DataType::Scalar
    }

    pub fn rows(&self) -> Option<u64> {
        self.characteristics.rows
    }

    pub fn cols(&self) -> Option<u64> {
        self.characteristics.cols
    }
}

/// HOPs in topological order (inputs stand before their consumers) and the roots in script order.
///
/// Roots are transient and persistent writes and statements with effects (`print`, `stop`, `assert`);
/// they are evaluated in order. In a predicate's DAG the only root is the scalar itself.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Dag {
    hops: Vec<Hop>,
    pub roots: Vec<HopId>,
}

impl Dag {
    pub fn new() -> Self {
        Dag::default()
    }

    /// Appends an operator; its inputs must be in the DAG already.
    pub fn push(&mut self, hop: Hop) -> HopId {
        debug_assert!(
            hop.inputs
                .iter()
                .all(|input| input.index() < self.hops.len())
        );
        self.hops.push(hop);
        HopId(self.hops.len() as u32 - 1)
    }

    /// Whether an operator is a table with a row or a column for each category of a vector: a product reads a sequence and the
    /// categories in its place, if nobody else does.
    pub fn is_one_hot(&self, id: HopId) -> bool {
        let hop = self.hop(id);
        let mut sides = hop.inputs.iter().take(2);
        hop.op.is_table() && sides.any(|side| self.hop(*side).op.is_sequence())
    }

    /// What `outer` combines, and how; `None` of other operators, where the operator to combine with is not known, and of what is no
    /// column and row.
    pub fn combination(&self, id: HopId) -> Option<Combination> {
        let hop = self.hop(id);
        let (ParameterizedOp::Outer, places) = hop.op.with_named_inputs()? else {
            return None;
        };
        let place = |name: &str| places.get(name).copied();
        let op = self.hop(*hop.inputs.get(place("op")?)?).op.constant()?;
        let Literal::String(code) = op else {
            return None;
        };
        let (column, row) = (place("left")?, place("right")?);
        let size = |place: usize| Some(self.hop(*hop.inputs.get(place)?).characteristics);
        let may_be_one = |size: Option<u64>| size.is_none_or(|size| size == 1);
        if !may_be_one(size(column)?.cols) || !may_be_one(size(row)?.rows) {
            return None;
        }
        Some(Combination {
            op: BinaryOp::from_code(code)?,
            column,
            row,
        })
    }

    /// What `aggregate` takes together; `None` of other operators, and where the function is not known or the number of groups is
    /// not given.
    pub fn grouping(&self, id: HopId) -> Option<Grouping<'_>> {
        let hop = self.hop(id);
        let (ParameterizedOp::GroupedAggregate, places) = hop.op.with_named_inputs()? else {
            return None;
        };
        let place = |name: &str| places.get(name).copied();
        let function = self.hop(*hop.inputs.get(place("fn")?)?).op.constant()?;
        let Literal::String(function) = function else {
            return None;
        };
        Some(Grouping {
            function,
            target: place("target")?,
            groups: place("groups")?,
            weights: place("weights"),
            count: place("ngroups")?,
        })
    }

    pub fn hop(&self, id: HopId) -> &Hop {
        &self.hops[id.index()]
    }

    pub fn hop_mut(&mut self, id: HopId) -> &mut Hop {
        &mut self.hops[id.index()]
    }

    pub fn len(&self) -> usize {
        self.hops.len()
    }

    pub fn is_empty(&self) -> bool {
        self.hops.is_empty()
    }

    /// All HOPs, inputs first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (HopId, &Hop)> + ExactSizeIterator {
        self.hops
            .iter()
            .enumerate()
            .map(|(index, hop)| (HopId(index as u32), hop))
    }

    /// For each HOP, who reads it: once per input slot, so `X * X` reads X twice.
    pub fn consumers(&self) -> Vec<Vec<HopId>> {
        let mut consumers = vec![Vec::new(); self.hops.len()];
        for (id, hop) in self.iter() {
            for input in &hop.inputs {
                consumers[input.index()].push(id);
            }
        }
        consumers
    }
}
