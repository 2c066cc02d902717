//! What a loop's body does with a matrix that stays: the operators that read it, by how they would read column groups.
//!
//! It is the workload tree of AWARE (Baunsgaard and Boehm, SIGMOD 2023), flattened: operators of inner loops count as often as
//! these are expected to go round.

use std::collections::BTreeMap;

use fulgurite_hop::{Block, Dag, Direction, Hop, HopId, Predicate};

/// Iterations of a loop inside, whose bounds nobody looks at.
const INNER_ITERATIONS: f64 = 10.0;

/// How often a body reads a matrix, for one iteration.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Workload {
    /// Columns of `B` in `X %*% B`, in all products together.
    pub from_left: f64,
    /// Columns of `Y` in `t(X) %*% Y`.
    pub from_right: f64,
    /// Products of the first kind.
    pub left_products: f64,
    /// Products of the second kind, which fusion puts together with those of the first where it can.
    pub right_products: f64,
    /// `t(X) %*% X`.
    pub crossed: f64,
    /// Results for each row: `rowSums(X)`.
    pub by_rows: f64,
    /// Dictionaries alone are read: `sum(X)`, `X != 0`.
    pub by_dictionaries: f64,
    /// Cells are decoded a block at a time, or the matrix is expanded.
    pub by_cells: f64,
    /// Bytes of the matrix, where its size is known before the run.
    pub bytes: Option<u64>,
}

impl Workload {
    /// Operators that read the matrix.
    pub(crate) fn reads(&self) -> f64 {
        self.left_products
            + self.right_products
            + self.crossed
            + self.by_rows
            + self.by_dictionaries
            + self.by_cells
    }

    /// Passes over the matrix that its products take where chains of them are fused.
    pub(crate) fn passes(&self) -> f64 {
        self.left_products.max(self.right_products)
    }

    /// `2 products, 1 by cells`
    pub(crate) fn text(&self) -> String {
        let counts = [
            (self.left_products + self.right_products, "in products"),
            (self.crossed, "in t(X) %*% X"),
            (self.by_rows, "by rows"),
            (self.by_dictionaries, "by dictionaries"),
            (self.by_cells, "by cells"),
        ];
        let counts = counts.into_iter().filter(|(count, _)| *count > 0.0);
        let texts: Vec<String> = counts
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        texts.join(", ")
    }

    fn add(&mut self, other: Workload, times: f64) {
        self.from_left += times * other.from_left;
        self.from_right += times * other.from_right;
        self.left_products += times * other.left_products;
        self.right_products += times * other.right_products;
        self.crossed += times * other.crossed;
        self.by_rows += times * other.by_rows;
        self.by_dictionaries += times * other.by_dictionaries;
        self.by_cells += times * other.by_cells;
        self.bytes = self.bytes.or(other.bytes);
    }
}

/// The matrices that blocks read, by variable, with what they do with each.
pub(crate) fn workloads(blocks: &[Block]) -> BTreeMap<String, Workload> {
    let mut found = BTreeMap::new();
    of_blocks(blocks, 1.0, &mut found);
    found
}

fn of_blocks(blocks: &[Block], times: f64, found: &mut BTreeMap<String, Workload>) {
    for block in blocks {
        match block {
            Block::Basic { dag } => of_dag(dag, times, found),
            Block::If {
                predicate,
                then,
                otherwise,
                ..
            } => {
                of_predicate(predicate, times, found);
                of_blocks(then, times, found);
                of_blocks(otherwise, times, found);
            }
            Block::While {
                predicate, body, ..
            } => {
                of_predicate(predicate, INNER_ITERATIONS * times, found);
                of_blocks(body, INNER_ITERATIONS * times, found);
            }
            Block::For {
                from,
                to,
                increment,
                body,
                ..
            } => {
                for predicate in [from, to].into_iter().chain(increment) {
                    of_predicate(predicate, times, found);
                }
                of_blocks(body, INNER_ITERATIONS * times, found);
            }
            // A function looks at its own variables, when it comes to a loop.
            Block::Call { .. } => {}
        }
    }
}

fn of_predicate(predicate: &Predicate, times: f64, found: &mut BTreeMap<String, Workload>) {
    of_blocks(&predicate.before, times, found);
    of_dag(&predicate.dag, times, found);
}

fn of_dag(dag: &Dag, times: f64, found: &mut BTreeMap<String, Workload>) {
    for (id, hop) in dag.iter() {
        for (place, input) in hop.inputs.iter().enumerate() {
            let (of, is_transposed) = turned(dag, *input);
            let Some(name) = dag.hop(of).op.variable_read() else {
                continue;
            };
            if !dag.hop(of).is_matrix() || hop.inputs[..place].contains(input) {
                continue;
            }
            if let Some(mut read) = how(dag, id, hop, place, is_transposed) {
                read.bytes = dag.hop(of).characteristics.memory_bytes();
                found.entry(name.to_owned()).or_default().add(read, times);
            }
        }
    }
}

/// What a transposition is of, and whether it is one.
fn turned(dag: &Dag, id: HopId) -> (HopId, bool) {
    let hop = dag.hop(id);
    match (hop.op.is_transpose(), hop.inputs.first()) {
        (true, Some(of)) => (*of, true),
        _ => (id, false),
    }
}

/// How an operator reads the matrix at this place; `None` where it does not look at cells.
fn how(dag: &Dag, id: HopId, hop: &Hop, place: usize, is_transposed: bool) -> Option<Workload> {
    let mut read = Workload::default();
    let is_written = hop.op.variable_written().is_some();
    if is_written || hop.op.size_asked().is_some() || (hop.op.is_transpose() && !is_transposed) {
        return None;
    }
    let shape = |id: HopId| dag.hop(id).characteristics;
    let width = |size: Option<u64>| size.unwrap_or(1).max(1) as f64;
    if hop.op.is_product() {
        let other = hop.inputs.get(1 - place.min(1)).copied();
        let is_crossed = place == 0
            && is_transposed
            && other.is_some_and(|other| Some(&other) == dag.hop(hop.inputs[0]).inputs.first());
        match (place, is_transposed) {
            (0, true) if is_crossed => read.crossed = 1.0,
            (0, false) => {
                read.left_products = 1.0;
                read.from_left = other.map_or(1.0, |other| width(shape(other).cols));
            }
            (0, true) => {
                read.right_products = 1.0;
                read.from_right = other.map_or(1.0, |other| width(shape(other).cols));
            }
            (_, false) => {
                let left = hop.inputs[0];
                let (left_of, is_left_turned) = turned(dag, left);
                if is_left_turned && left_of == hop.inputs[place] {
                    // It is the crossed one, which the other place counts.
                    return None;
                }
                read.right_products = 1.0;
                read.from_right = width(shape(left).rows);
            }
            (_, true) => read.by_cells = 1.0,
        }
        return Some(read);
    }
    if is_transposed {
        read.by_cells = 1.0;
        return Some(read);
    }
    if let Some((_, direction)) = hop.op.aggregate() {
        match direction {
            Direction::Row => read.by_rows = 1.0,
            Direction::Col | Direction::Full => read.by_dictionaries = 1.0,
        }
        return Some(read);
    }
    let is_alone = hop.inputs.iter().enumerate().all(|(at, input)| {
        let other = dag.hop(*input);
        at == place || !other.is_matrix() || other.characteristics.rows == Some(1)
    });
    let gives_as_many = shape(id).rows == shape(hop.inputs[place]).rows
        && shape(id).cols == shape(hop.inputs[place]).cols
        && shape(id).rows.is_some();
    match is_alone && gives_as_many && hop.op.is_light_on_cells() {
        true => read.by_dictionaries = 1.0,
        false => read.by_cells = 1.0,
    }
    Some(read)
}
