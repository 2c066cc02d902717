//! Code generation plans (Section 2.2): what a fused operator computes, independent of any back end, of
//! matrix sizes and of names. Equal plans hash alike, so that each process compiles each plan once.
//!
//! A [`CPlan`] is a template with a body of [`CNode`]s. Nodes stand in topological order; a node refers to
//! earlier nodes by [`NodeId`]. Inputs are numbered: input 0 is the main input that the skeleton iterates
//! over, the others are side inputs and scalars.

pub mod interpret;

mod canonical;
mod output_size;
mod parse;
mod text;
mod verify;

use std::hash::{Hash, Hasher};

use fulgurite_hop::{AggregateOp, BinaryOp, CumulativeOp, Direction, TernaryOp, UnaryOp};
use serde::{Deserialize, Serialize};

use crate::roles;

/// A node by its place in the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NodeId(pub u32);

impl NodeId {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A fused operator: inputs, a straight-line body, and what becomes of its value.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CPlan {
    pub template: Template,
    /// How each input is bound; input 0 is the main one.
    pub inputs: Vec<InputBinding>,
    pub body: Vec<CNode>,
}

/// How the skeleton hands an input to the body. The binding fixes the access, never a size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InputBinding {
    /// The matrix that is iterated over, cell by cell or row by row (rows x cols of the iteration space).
    Main,
    /// Same number of rows as the main input, read at the same row: a cell (Cell) or a row vector (Row), of
    /// the main input's width in Cell, of any width in Row.
    Matrix,
    /// A column vector with the main input's rows, read as a scalar at the row.
    ColumnVector,
    /// A row vector of the main input's width (of any width in Row), the same for every row.
    RowVector,
    /// A matrix used whole, as the right operand of `row %*% B` (Row), or of the multiplication that ends an
    /// Outer plan.
    Whole,
    /// U of `U %*% t(V)`: a row for each row of the main input (Outer only).
    LeftFactor,
    /// V of `U %*% t(V)`: a row for each column of the main input (Outer only).
    RightFactor,
    /// A scalar, or a 1 x 1 matrix.
    Scalar,
}

impl InputBinding {
    /// Whether skeletons read such an input in place where it is a range of a dense matrix: an offset and a stride are all that it
    /// takes. Matrices used whole, factors and an Outer plan's driver are laid out anew.
    pub(crate) fn reads_ranges(self, is_outer: bool) -> bool {
        match self {
            InputBinding::Main => !is_outer,
            InputBinding::Matrix
            | InputBinding::ColumnVector
            | InputBinding::RowVector
            | InputBinding::Scalar => true,
            InputBinding::Whole | InputBinding::LeftFactor | InputBinding::RightFactor => false,
        }
    }
}

/// Templates of Table 1 with their variants.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Template {
    Cell(CellTemplate),
    Row(RowTemplate),
    Outer(OuterTemplate),
    Group(GroupTemplate),
    #[serde(rename = "magg")]
    MultiAggregate(MultiAggregateTemplate),
}

impl Template {
    /// Whether only the stored cells of a sparse main input need a visit.
    pub fn is_sparse_safe(&self) -> bool {
        match self {
            Template::Cell(cell) => cell.sparse_safe,
            Template::MultiAggregate(aggregates) => aggregates.sparse_safe,
            Template::Outer(outer) => outer.sparse_safe,
            Template::Row(_) | Template::Group(_) => false,
        }
    }
}

/// For each cell of the main input, the scalar body gives one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CellTemplate {
    pub value: NodeId,
    pub aggregate: Option<(AggregateOp, Direction)>,
    /// The value is 0 wherever the main input is 0, so that only its non-zeros need a visit. (With min and
    /// max the zeros still take part in the aggregate.)
    pub sparse_safe: bool,
}

/// For each row of the main input, the body works on row vectors and scalars.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RowTemplate {
    pub output: RowOutput,
}

/// What becomes of a row's value: the variants of the Row template.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RowOutput {
    /// The vector is a row of the output (no agg; B1 when its width comes from a side input).
    NoAggregate(NodeId),
    /// The scalar is the row's cell of a column vector (row agg).
    RowAggregate(NodeId),
    /// Vectors are aggregated over all rows into a row vector (col agg).
    ColumnAggregate(AggregateOp, NodeId),
    /// Scalars are aggregated over all rows (full agg).
    FullAggregate(AggregateOp, NodeId),
    /// Sum over rows of the outer product `left' right`: t(L) %*% R with a row of L and of R per row. `left` is a
    /// vector, `right` a vector (col agg B1) or a scalar (col agg t: t(X) %*% v).
    OuterProduct { left: NodeId, right: NodeId },
}

/// For each cell (i, j) of the main input, the driver X, the scalar body reads the dot product of row i of U
/// and row j of V ([`CNode::FactorProduct`]), so that `U %*% t(V)` is never held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct OuterTemplate {
    pub value: NodeId,
    pub output: OuterOutput,
    /// The value is 0 wherever the driver is 0, so that only its non-zeros need a visit.
    pub sparse_safe: bool,
}

/// What becomes of the values of an Outer plan, f of rows x cols.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OuterOutput {
    /// f itself; sparse where the driver is sparse and the plan is sparse-safe.
    NoAggregate,
    /// All cells of f aggregated.
    FullAggregate(AggregateOp),
    /// f %*% W, with the input W of cols x width, bound [`InputBinding::Whole`]: rows x width.
    RightMultiply { input: usize },
    /// t(f) %*% W, with the input W of rows x width, bound [`InputBinding::Whole`]: cols x width.
    LeftMultiply { input: usize },
}

/// Several aggregates of scalar bodies in one scan of the main input, all in one direction. The output has for each
/// aggregate
/// * a row of one cell, if it is over all cells,
/// * a row of the main input's width, if it is over each column,
/// * a column of the main input's height, if it is over each row.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct MultiAggregateTemplate {
    pub direction: Direction,
    pub aggregates: Vec<(AggregateOp, NodeId)>,
    /// All values are 0 wherever the main input is 0. (With min and max the zeros still take part.)
    pub sparse_safe: bool,
}

/// Aggregates, for each group of rows of the main input, of scalar bodies, in one scan. A group is a whole number from 1 up to how
/// many there are, fractions are cut off; rows with another number, or NaN, are in none. The output has a row for each group and,
/// for each aggregate, as many columns as the main input. A group without rows has zeros.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct GroupTemplate {
    /// The number of the group that a row is in: the same in all of its columns.
    pub groups: NodeId,
    /// The input that says how many groups there are, bound [`InputBinding::Scalar`].
    pub count: usize,
    pub aggregates: Vec<(AggregateOp, NodeId)>,
}

/// A basic operation of the body. In Cell, Outer, MAgg and Group plans every node is a scalar; in Row plans a node is a scalar or
/// a row vector, see [`CPlan::vectors`].
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CNode {
    /// The input at the current cell or row, as its binding says. Not for [`InputBinding::Whole`].
    Input(usize),
    Literal(f64),
    Unary(UnaryOp, NodeId),
    /// Operands may be scalars or vectors of equal width; a scalar is spread.
    Binary(BinaryOp, NodeId, NodeId),
    Ternary(TernaryOp, NodeId, NodeId, NodeId),
    /// Row: a vector reduced to a scalar (rowSums, rowMaxs ...).
    Reduce(AggregateOp, NodeId),
    /// Row: vector times the whole matrix of that input, a vector of its width; a scalar when
    /// `scalar` (the matrix has one column).
    VectorMatrix {
        vector: NodeId,
        input: usize,
        scalar: bool,
    },
    /// Row: a range of columns of a vector, bounds (from 1, inclusive) fixed in the plan.
    ColumnRange {
        vector: NodeId,
        from: u64,
        to: u64,
    },
    /// Row: vectors and scalars side by side.
    Concatenate(Vec<NodeId>),
    /// Row: cumulative along the row (`t(cumsum(t(X)))`).
    Cumulative(CumulativeOp, NodeId),
    /// Outer: the dot product of the current cell's row of the left factor and of the right factor.
    FactorProduct {
        left: usize,
        right: usize,
    },
}

impl CNode {
    /// The nodes it reads.
    pub fn operands(&self) -> Vec<NodeId> {
        match self {
            CNode::Input(_) | CNode::Literal(_) | CNode::FactorProduct { .. } => Vec::new(),
            CNode::Unary(_, a)
            | CNode::Reduce(_, a)
            | CNode::Cumulative(_, a)
            | CNode::VectorMatrix { vector: a, .. }
            | CNode::ColumnRange { vector: a, .. } => vec![*a],
            CNode::Binary(_, a, b) => vec![*a, *b],
            CNode::Ternary(_, a, b, c) => vec![*a, *b, *c],
            CNode::Concatenate(parts) => parts.clone(),
        }
    }
}

impl CNode {
    /// The inputs it reads.
    pub fn inputs(&self) -> Vec<usize> {
        match self {
            CNode::Input(input) | CNode::VectorMatrix { input, .. } => vec![*input],
            CNode::FactorProduct { left, right } => vec![*left, *right],
            _ => Vec::new(),
        }
    }

    /// The same operation on other nodes and inputs.
    pub fn map(&self, node: impl Fn(NodeId) -> NodeId, input: impl Fn(usize) -> usize) -> CNode {
        match self {
            CNode::Input(number) => CNode::Input(input(*number)),
            CNode::Literal(value) => CNode::Literal(*value),
            CNode::Unary(op, a) => CNode::Unary(*op, node(*a)),
            CNode::Binary(op, a, b) => CNode::Binary(*op, node(*a), node(*b)),
            CNode::Ternary(op, a, b, c) => CNode::Ternary(*op, node(*a), node(*b), node(*c)),
            CNode::Reduce(op, a) => CNode::Reduce(*op, node(*a)),
            CNode::VectorMatrix {
                vector,
                input: number,
                scalar,
            } => CNode::VectorMatrix {
                vector: node(*vector),
                input: input(*number),
                scalar: *scalar,
            },
            CNode::ColumnRange { vector, from, to } => CNode::ColumnRange {
                vector: node(*vector),
                from: *from,
                to: *to,
            },
            CNode::Concatenate(parts) => {
                CNode::Concatenate(parts.iter().map(|part| node(*part)).collect())
            }
            CNode::Cumulative(op, a) => CNode::Cumulative(*op, node(*a)),
            CNode::FactorProduct { left, right } => CNode::FactorProduct {
                left: input(*left),
                right: input(*right),
            },
        }
    }
}

impl CPlan {
    /// Whether the result is a number, not a matrix.
    pub fn gives_scalar(&self) -> bool {
        match &self.template {
            Template::Cell(cell) => matches!(cell.aggregate, Some((_, Direction::Full))),
            Template::Row(row) => matches!(row.output, RowOutput::FullAggregate(..)),
            Template::Outer(outer) => matches!(outer.output, OuterOutput::FullAggregate(_)),
            Template::MultiAggregate(_) | Template::Group(_) => false,
        }
    }

    /// How many rows are in a group: the sum of ones.
    pub fn counts_rows(&self, (op, value): (AggregateOp, NodeId)) -> bool {
        matches!(self.body.get(value.index()), Some(CNode::Literal(1.0)))
            && roles::as_mean(op).is_none()
            && roles::Fold::of(op) == roles::Fold::Sum
    }

    /// Whether empty rows of the main input take neither memory nor time: only its stored cells, or rows that store any, are visited.
    pub fn passes_over_empty_rows(&self) -> bool {
        let is_main = |id: NodeId| self.body.get(id.index()) == Some(&CNode::Input(0));
        match &self.template {
            Template::Row(row) => match row.output {
                RowOutput::OuterProduct { left, right } => is_main(left) || is_main(right),
                _ => false,
            },
            template => template.is_sparse_safe(),
        }
    }

    /// Whether the skeleton reads this input in place where it is a range of a dense matrix.
    pub fn reads_ranges(&self, input: usize) -> bool {
        let is_outer = matches!(self.template, Template::Outer(_));
        let binding = self.inputs.get(input);
        binding.is_some_and(|binding| binding.reads_ranges(is_outer))
    }

    /// Whether the skeleton goes by rows or cells, and may decode a compressed matrix a block at a time.
    pub fn decodes_rows(&self) -> bool {
        match self.template {
            Template::Cell(_)
            | Template::Row(_)
            | Template::Group(_)
            | Template::MultiAggregate(_) => true,
            Template::Outer(_) => false,
        }
    }

    /// Whether the skeleton reads every cell of a dense main input once: an Outer plan goes by its driver's cells, and some columns
    /// may be passed over.
    pub fn reads_all_of_main(&self) -> bool {
        let skips = |node: &CNode| matches!(node, CNode::ColumnRange { .. });
        let may_skip = match self.template {
            Template::Outer(_) => true,
            // Rows are counted without a look at them.
            Template::Group(_) => !self.body.contains(&CNode::Input(0)),
            Template::Cell(_) | Template::Row(_) | Template::MultiAggregate(_) => false,
        };
        !may_skip && !self.body.iter().any(skips)
    }

    /// For each node, whether it is a row vector (Row plans) rather than a scalar.
    pub fn vectors(&self) -> Vec<bool> {
        let is_row = matches!(self.template, Template::Row(_));
        let mut vectors: Vec<bool> = Vec::with_capacity(self.body.len());
        for node in &self.body {
            let any = |ids: &[NodeId]| ids.iter().any(|id| vectors[id.index()]);
            let vector = is_row
                && match node {
                    CNode::Input(input) => matches!(
                        self.inputs[*input],
                        InputBinding::Main | InputBinding::Matrix | InputBinding::RowVector
                    ),
                    CNode::Literal(_) | CNode::Reduce(..) | CNode::FactorProduct { .. } => false,
                    CNode::VectorMatrix { scalar, .. } => !scalar,
                    CNode::ColumnRange { .. } | CNode::Concatenate(_) => true,
                    other => any(&other.operands()),
                };
            vectors.push(vector);
        }
        vectors
    }

    /// A number that is the same for equal plans in every process and release of the same version.
    pub fn fingerprint(&self) -> u64 {
        // FNV-1a: std's hasher does not promise the same value across releases.
        let mut hasher = Fnv::default();
        self.hash(&mut hasher);
        hasher.finish()
    }
}

struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Fnv(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Fnv {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

/// Literals are equal when their bits are: 0.0 and -0.0 are different plans, a NaN equals itself.
impl PartialEq for CNode {
    fn eq(&self, other: &Self) -> bool {
        use CNode::*;
        match (self, other) {
            (Input(a), Input(b)) => a == b,
            (Literal(a), Literal(b)) => a.to_bits() == b.to_bits(),
            (Unary(f, a), Unary(g, b)) => (f, a) == (g, b),
            (Binary(f, a, b), Binary(g, c, d)) => (f, a, b) == (g, c, d),
            (Ternary(f, a, b, c), Ternary(g, d, e, h)) => (f, a, b, c) == (g, d, e, h),
            (Reduce(f, a), Reduce(g, b)) => (f, a) == (g, b),
            (
                VectorMatrix {
                    vector: a,
                    input: i,
                    scalar: s,
                },
                VectorMatrix {
                    vector: b,
                    input: j,
                    scalar: t,
                },
            ) => (a, i, s) == (b, j, t),
            (
                ColumnRange {
                    vector: a,
                    from: f,
                    to: t,
                },
                ColumnRange {
                    vector: b,
                    from: g,
                    to: u,
                },
            ) => (a, f, t) == (b, g, u),
            (Concatenate(a), Concatenate(b)) => a == b,
            (FactorProduct { left: a, right: b }, FactorProduct { left: c, right: d }) => {
                (a, b) == (c, d)
            }
            (Cumulative(f, a), Cumulative(g, b)) => (f, a) == (g, b),
            _ => false,
        }
    }
}

impl Eq for CNode {}

impl Hash for CNode {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::mem::discriminant(self).hash(state);
        self.operands().hash(state);
        match self {
            CNode::Input(input) => input.hash(state),
            CNode::Literal(value) => value.to_bits().hash(state),
            CNode::Unary(op, _) => op.hash(state),
            CNode::Binary(op, ..) => op.hash(state),
            CNode::Ternary(op, ..) => op.hash(state),
            CNode::Reduce(op, _) => op.hash(state),
            CNode::VectorMatrix { input, scalar, .. } => (input, scalar).hash(state),
            CNode::ColumnRange { from, to, .. } => (from, to).hash(state),
            CNode::Cumulative(op, _) => op.hash(state),
            CNode::FactorProduct { left, right } => (left, right).hash(state),
            CNode::Concatenate(_) => {}
        }
    }
}
