//! Facts about a DAG that templates, costs and construction all ask for: shapes, consumers, how an
//! operand is spread, what a column range selects.

use fulgurite_hop::{Combination, Dag, DataType, Grouping, Hop, HopId, Literal, ZeroCarriers};

use crate::{FusionConfig, roles::Role};

/// A DAG with its consumers.
pub(crate) struct DagView<'a> {
    pub dag: &'a Dag,
    /// Consumers of hop i, once per input slot, are `consumers[starts[i]..starts[i + 1]]`.
    consumers: Vec<HopId>,
    starts: Vec<u32>,
    /// Reachable from a root.
    live: Vec<bool>,
    roots: Vec<bool>,
    /// Transposes that end `t(cumsum(t(X)))`.
    along_rows: Vec<bool>,
    zeros: ZeroCarriers,
    /// Variables that are the same in all iterations of the loop around the DAG.
    stays: Vec<bool>,
    /// Outer products of fewer cells are not worth a plan of their own.
    pub outer_product_cells: u64,
}

/// Rows and columns of a matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    pub rows: u64,
    pub cols: u64,
}

impl Shape {
    pub fn is_column_vector(self) -> bool {
        self.rows > 1 && self.cols == 1
    }

    /// More than one row and more than one column.
    pub fn is_wide(self) -> bool {
        self.rows > 1 && self.cols > 1
    }

    pub fn is_single_cell(self) -> bool {
        self.rows == 1 && self.cols == 1
    }
}

/// How an operand meets the cells of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spread {
    /// Of the result's shape.
    Full,
    /// A column vector beside each of the result's columns.
    Column,
    /// A row vector under each of the result's rows.
    Row,
    /// A scalar or a 1 x 1 matrix.
    Scalar,
}

impl<'a> DagView<'a> {
    pub fn new(dag: &'a Dag) -> Self {
        let mut live = vec![false; dag.len()];
        for root in &dag.roots {
            live[root.index()] = true;
        }
        let roots = live.clone();
        let mut starts = vec![0u32; dag.len() + 1];
        for (id, hop) in dag.iter().rev() {
            if live[id.index()] {
                for input in &hop.inputs {
                    live[input.index()] = true;
                    starts[input.index() + 1] += 1;
                }
            }
        }
        for i in 0..dag.len() {
            starts[i + 1] += starts[i];
        }
        let mut next = starts.clone();
        let mut consumers = vec![HopId(0); starts[dag.len()] as usize];
        for (id, hop) in dag.iter().filter(|(id, _)| live[id.index()]) {
            for input in &hop.inputs {
                let place = &mut next[input.index()];
                consumers[*place as usize] = id;
                *place += 1;
            }
        }
        let mut view = DagView {
            dag,
            consumers,
            starts,
            live,
            roots,
            along_rows: along_rows(dag),
            zeros: ZeroCarriers::default(),
            stays: Vec::new(),
            outer_product_cells: FusionConfig::default().outer_product_cells,
        };
        view.zeros = ZeroCarriers::new(dag, |id| view.is_live(id));
        view
    }

    /// Changes the size from which outer products are explored.
    pub fn with_outer_products_from(mut self, cells: u64) -> Self {
        self.outer_product_cells = cells;
        self
    }

    /// Tells which variables are the same in all iterations of the loop around the DAG.
    pub fn with_variables_that_stay(mut self, stays: &dyn Fn(&str) -> bool) -> Self {
        let reads_what_stays = |(_, hop): (HopId, &Hop)| hop.op.variable_read().is_some_and(stays);
        self.stays = self.dag.iter().map(reads_what_stays).collect();
        self
    }

    /// It reads a variable that is the same in all iterations of the loop around the DAG.
    pub fn stays(&self, id: HopId) -> bool {
        self.stays.get(id.index()).copied().unwrap_or(false)
    }

    pub fn hop(&self, id: HopId) -> &'a Hop {
        self.dag.hop(id)
    }

    pub fn role(&self, id: HopId) -> Role {
        Role::of(&self.hop(id).op)
    }

    pub fn is_live(&self, id: HopId) -> bool {
        self.live[id.index()]
    }

    /// A root of the DAG.
    pub fn is_root(&self, id: HopId) -> bool {
        self.roots[id.index()]
    }

    /// Live consumers, once per input slot.
    pub fn consumers(&self, id: HopId) -> &[HopId] {
        let (start, end) = (self.starts[id.index()], self.starts[id.index() + 1]);
        &self.consumers[start as usize..end as usize]
    }

    /// The shape of a matrix, where known.
    pub fn shape(&self, id: HopId) -> Option<Shape> {
        let hop = self.hop(id);
        if hop.data_type != DataType::Matrix {
            return None;
        }
        Some(Shape {
            rows: hop.rows()?,
            cols: hop.cols()?,
        })
    }

    /// Matrices of the same shape at whose zeros this one is zero too, itself included.
    pub fn zero_carriers(&self, id: HopId) -> &[HopId] {
        self.zeros.of(id)
    }

    /// How the operand in `slot` of an operator that works cell by cell meets the result.
    pub fn spread(&self, id: HopId, slot: usize) -> Option<Spread> {
        let operand = *self.hop(id).inputs.get(slot)?;
        spread_of(self, operand, self.shape(id)?)
    }

    /// `t(cumsum(t(X)))`, or another cumulative operator: runs along the rows of X.
    pub fn is_along_rows(&self, id: HopId) -> bool {
        self.along_rows[id.index()]
    }

    /// What `outer` combines, and how.
    pub fn combination(&self, id: HopId) -> Option<Combination> {
        self.dag.combination(id)
    }

    /// What a grouped aggregate takes together.
    pub fn grouping(&self, id: HopId) -> Option<Grouping<'a>> {
        self.dag.grouping(id)
    }

    /// `t(L) %*% R`: the transpose.
    pub fn transposed_left(&self, id: HopId) -> Option<HopId> {
        let hop = self.hop(id);
        let left = *hop.inputs.first()?;
        let is_transpose = self.role(left) == Role::Transpose && !self.is_along_rows(left);
        (self.role(id) == Role::Product && is_transpose).then_some(left)
    }

    /// A matrix product over a transpose: fused operators may read what the transpose reads instead of it.
    pub fn is_transpose_of_product(&self, consumer: HopId, target: HopId) -> bool {
        self.role(consumer) == Role::Product && self.role(target) == Role::Transpose
    }

    /// What the HOP is the transpose of, or itself.
    pub fn untransposed(&self, id: HopId) -> HopId {
        match self.role(id) == Role::Transpose {
            true => self.hop(id).inputs[0],
            false => id,
        }
    }

    /// What a covered operator reads at `slot`. A fused `t(L) %*% R` reads L: walking L by rows needs no
    /// transpose.
    pub fn operand(&self, id: HopId, slot: usize) -> HopId {
        match self.transposed_left(id) {
            Some(transpose) if slot == 0 => self.hop(transpose).inputs[0],
            _ => self.hop(id).inputs[slot],
        }
    }

    /// A range of a dense matrix that nobody reads but operators that may be fused: fused, they read it where it lies.
    pub fn may_be_in_place(&self, id: HopId) -> bool {
        let hop = self.hop(id);
        let of = hop.inputs.first().copied();
        let is_of_dense = of.is_some_and(|of| {
            self.shape(of).is_some() && !self.hop(of).characteristics.is_stored_sparse()
        });
        let fuses = |reader: &HopId| !matches!(self.role(*reader), Role::Outside(_));
        self.role(id) == Role::Range
            && self.shape(id).is_some()
            && is_of_dense
            && !self.is_root(id)
            && self.consumers(id).iter().all(fuses)
    }

    /// First and last column (from 1) of `X[, a:b]`; `None` when rows are left out or bounds unknown.
    pub fn column_range(&self, id: HopId) -> Option<(u64, u64)> {
        let hop = self.hop(id);
        let (input, output) = (self.shape(*hop.inputs.first()?)?, self.shape(id)?);
        if output.rows != input.rows {
            return None;
        }
        let bound = |slot: usize| self.integer(*hop.inputs.get(slot)?);
        // Either bound follows from the other and the width.
        let from = match (bound(3), bound(4)) {
            (Some(from), _) => from,
            (None, Some(to)) => to.checked_add(1)?.checked_sub(output.cols)?,
            (None, None) if output.cols == input.cols => 1,
            (None, None) => return None,
        };
        let to = from.checked_add(output.cols)?.checked_sub(1)?;
        (1 <= from && from <= to && to <= input.cols).then_some((from, to))
    }

    /// The value of a literal that is a positive integer.
    fn integer(&self, id: HopId) -> Option<u64> {
        match self.hop(id).op.constant()? {
            Literal::Int(value) => u64::try_from(*value).ok(),
            Literal::Double(value) if *value >= 1.0 && value.fract() == 0.0 => Some(*value as u64),
            _ => None,
        }
    }
}

fn along_rows(dag: &Dag) -> Vec<bool> {
    let mut along_rows = vec![false; dag.len()];
    let input = |hop: HopId| dag.hop(hop).inputs.first().copied();
    let role = |hop: HopId| Role::of(&dag.hop(hop).op);
    for (id, hop) in dag.iter().filter(|(_, hop)| hop.op.is_transpose()) {
        let cumulative = hop.inputs.first().copied();
        let cumulative = cumulative.filter(|hop| matches!(role(*hop), Role::Cumulative(_)));
        // What ends one such expression does not begin another: it lies along rows already.
        let begins = |first: HopId| role(first) == Role::Transpose && !along_rows[first.index()];
        along_rows[id.index()] = cumulative.and_then(input).is_some_and(begins);
    }
    along_rows
}

/// How `operand` meets the cells of a result of this shape.
pub(crate) fn spread_of(view: &DagView, operand: HopId, result: Shape) -> Option<Spread> {
    match view.hop(operand).data_type {
        DataType::Scalar => return Some(Spread::Scalar),
        DataType::Matrix => {}
        DataType::Frame | DataType::List => return None,
    }
    let shape = view.shape(operand)?;
    if shape == result {
        Some(Spread::Full)
    } else if shape.is_single_cell() {
        Some(Spread::Scalar)
    } else if shape.rows == result.rows && shape.cols == 1 {
        Some(Spread::Column)
    } else if shape.cols == result.cols && shape.rows == 1 {
        Some(Spread::Row)
    } else {
        None
    }
}
