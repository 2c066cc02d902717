//! From a plan to a program: which nodes share a loop, what is a call, what needs a buffer.

use fulgurite_fusion::cplan::{
    CNode, CPlan, CellTemplate, InputBinding, NodeId, RowOutput, Template,
};
use fulgurite_hop::{AggregateOp, BinaryOp, Direction, UnaryOp};

use super::shapes::{cell_shapes, row_shapes};
use super::simplify::simplify;
use super::{ColumnVectors, Home, Loop, Program, Shape, Shapes, Step};

/// Whether the generated loops compute the node themselves, rather than calling a primitive.
fn is_inline(node: &CNode) -> bool {
    match node {
        CNode::Unary(op, _) => matches!(
            op,
            UnaryOp::Sqrt
                | UnaryOp::Abs
                | UnaryOp::Floor
                | UnaryOp::Ceil
                | UnaryOp::Sign
                | UnaryOp::Not
                | UnaryOp::Sprop
                | UnaryOp::Pow2
        ),
        CNode::Binary(op, ..) => {
            !matches!(op, BinaryOp::Modulus | BinaryOp::Pow | BinaryOp::LogBase)
        }
        CNode::Ternary(..) => true,
        CNode::Reduce(op, _) => reduces_inline(*op),
        _ => false,
    }
}

fn reduces_inline(op: AggregateOp) -> bool {
    use AggregateOp::*;
    matches!(op, Sum | SumSq | Min | Max | Mean | Prod)
}

/// # Errors
/// Why the plan can't be compiled.
pub(crate) fn lower(plan: &CPlan, column_vectors: ColumnVectors) -> Result<Program, String> {
    check(plan)?;
    let (mut nodes, places) = simplify(&plan.body);
    let place = |id: NodeId| places[id.index()];
    let mut outer_product = None;
    let mut result = None;
    match &plan.template {
        Template::Outer(_) | Template::MultiAggregate(_) => {
            return Err("the Outer and MAgg templates are not compiled yet".into());
        }
        Template::Cell(cell) => {
            let value = place(cell.value);
            result = Some(match reduction(cell) {
                Some(op) => {
                    nodes.push(CNode::Reduce(op, value));
                    NodeId(nodes.len() as u32 - 1)
                }
                None => value,
            });
        }
        Template::Row(row) => match row.output {
            RowOutput::NoAggregate(id)
            | RowOutput::RowAggregate(id)
            | RowOutput::ColumnAggregate(_, id)
            | RowOutput::FullAggregate(_, id) => result = Some(place(id)),
            RowOutput::OuterProduct { left, right } => {
                outer_product = Some((place(left), place(right)));
            }
        },
    }
    let is_cell = matches!(plan.template, Template::Cell(_));
    let mut shapes = if is_cell {
        cell_shapes(&plan.inputs, &nodes, column_vectors)
    } else {
        row_shapes(&plan.inputs, &nodes)?
    };
    let output = match (&plan.template, result) {
        (Template::Cell(cell), Some(result)) => Some(match reduction(cell) {
            Some(_) => {
                shapes.nodes[result.index()] = Shape::PerRow;
                Shape::PerRow
            }
            None => Shape::Vector(0),
        }),
        (Template::Row(row), Some(result)) => {
            let shape = shapes.of(result);
            match (row.output, shape) {
                (RowOutput::RowAggregate(_), Shape::Vector(_)) => {
                    return Err("a row aggregate's value is a vector".into());
                }
                // A constant is a number in every row.
                (_, Shape::Constant) => Some(Shape::PerRow),
                (_, shape) => Some(shape),
            }
        }
        (Template::Outer(_) | Template::MultiAggregate(_), Some(_)) | (_, None) => None,
    };
    Ok(Lowering {
        inputs: plan.inputs.clone(),
        is_cell,
        homes: vec![Home::None; nodes.len()],
        levels: vec![0; nodes.len()],
        live: live_nodes(&nodes, result, outer_product),
        buffers: Vec::new(),
        result,
        output,
        outer_product,
        nodes,
        shapes,
    }
    .finish())
}

/// The aggregate that a Cell program's loop computes itself, per row of the tile: aggregates over all cells or
/// over rows. (Columns are added up from the tile's values.) A mean is a sum until the end.
fn reduction(cell: &CellTemplate) -> Option<AggregateOp> {
    match cell.aggregate {
        Some((AggregateOp::Mean, Direction::Full | Direction::Row)) => Some(AggregateOp::Sum),
        Some((op, Direction::Full | Direction::Row)) => Some(op),
        Some((_, Direction::Col)) | None => None,
    }
}

/// References stand before their users and within bounds, and each node belongs in the template.
fn check(plan: &CPlan) -> Result<(), String> {
    if plan.inputs.first() != Some(&InputBinding::Main) {
        return Err("input 0 is not bound as the main input".into());
    }
    if plan.inputs[1..].contains(&InputBinding::Main) {
        return Err("more than one input is bound as the main input".into());
    }
    let is_cell = matches!(plan.template, Template::Cell(_));
    if is_cell && plan.inputs.contains(&InputBinding::Whole) {
        return Err("a Cell plan binds an input as a whole matrix".into());
    }
    for (at, node) in plan.body.iter().enumerate() {
        if node.operands().iter().any(|operand| operand.index() >= at) {
            return Err(format!(
                "node {at} reads a node that does not stand before it"
            ));
        }
        match node {
            CNode::Input(input) | CNode::VectorMatrix { input, .. }
                if *input >= plan.inputs.len() =>
            {
                return Err(format!(
                    "node {at} reads input {input}, which does not exist"
                ));
            }
            CNode::Input(_)
            | CNode::Literal(_)
            | CNode::Unary(..)
            | CNode::Binary(..)
            | CNode::Ternary(..) => {}
            CNode::Reduce(op @ AggregateOp::Trace, _) => {
                return Err(format!("aggregate '{}' does not exist per row", op.code()));
            }
            _ if is_cell => return Err(format!("node {at} works on rows, in a Cell plan")),
            _ => {}
        }
    }
    let aggregate = match &plan.template {
        Template::Outer(_) | Template::MultiAggregate(_) => None,
        Template::Cell(cell) => cell.aggregate.map(|(op, _)| op),
        Template::Row(row) => match row.output {
            RowOutput::ColumnAggregate(op, _) | RowOutput::FullAggregate(op, _) => Some(op),
            _ => None,
        },
    };
    match aggregate {
        Some(op) if !reduces_inline(op) => {
            return Err(format!("aggregate '{}' of a fused operator", op.code()));
        }
        _ => {}
    }
    if plan
        .outputs()
        .iter()
        .any(|id| id.index() >= plan.body.len())
    {
        return Err("the result is not a node of the body".into());
    }
    Ok(())
}

fn live_nodes(
    nodes: &[CNode],
    result: Option<NodeId>,
    outer_product: Option<(NodeId, NodeId)>,
) -> Vec<bool> {
    let mut live = vec![false; nodes.len()];
    let roots = result
        .into_iter()
        .chain(outer_product.into_iter().flat_map(|(l, r)| [l, r]));
    for root in roots {
        live[root.index()] = true;
    }
    for at in (0..nodes.len()).rev() {
        if live[at] {
            for operand in nodes[at].operands() {
                live[operand.index()] = true;
            }
        }
    }
    live
}

struct Lowering {
    inputs: Vec<InputBinding>,
    is_cell: bool,
    nodes: Vec<CNode>,
    shapes: Shapes,
    live: Vec<bool>,
    /// Steps run level by level; a node's loop or call stands at its level.
    levels: Vec<usize>,
    homes: Vec<Home>,
    buffers: Vec<Shape>,
    result: Option<NodeId>,
    output: Option<Shape>,
    outer_product: Option<(NodeId, NodeId)>,
}

impl Lowering {
    fn finish(mut self) -> Program {
        let constants = self.place_constants();
        self.assign_levels();
        self.assign_homes();
        let steps = self.steps();
        let (reads_dense, reads_csr) = self.reads(&steps);
        Program {
            inputs: self.inputs,
            nodes: self.nodes,
            shapes: self.shapes,
            homes: self.homes,
            steps,
            buffers: self.buffers,
            constants,
            output: self.output,
            outer_product: self.outer_product,
            reads_dense,
            reads_csr,
        }
    }

    fn live_ids(&self) -> Vec<NodeId> {
        (0..self.nodes.len())
            .filter(|at| self.live[*at])
            .map(|at| NodeId(at as u32))
            .collect()
    }

    fn node(&self, id: NodeId) -> &CNode {
        &self.nodes[id.index()]
    }

    /// Inputs and literals need no step; constants are evaluated once, before the program runs.
    fn place_constants(&mut self) -> Vec<NodeId> {
        let mut constants = Vec::new();
        for id in self.live_ids() {
            let home = match self.node(id) {
                CNode::Input(input) => Home::Input(*input),
                _ if self.shapes.of(id) == Shape::Constant => {
                    constants.push(id);
                    Home::Constant
                }
                _ => continue,
            };
            self.homes[id.index()] = home;
        }
        constants
    }

    /// Whether a step computes the node.
    fn is_computed(&self, id: NodeId) -> bool {
        !matches!(self.node(id), CNode::Input(_) | CNode::ColumnRange { .. })
            && self.shapes.of(id) != Shape::Constant
    }

    /// The shape of the loop that computes an inline node.
    fn loop_shape(&self, id: NodeId) -> Shape {
        match self.node(id) {
            CNode::Reduce(..) if self.is_cell => Shape::Vector(0),
            CNode::Reduce(_, operand) => self.shapes.of(*operand),
            _ => self.shapes.of(id),
        }
    }

    fn is_inline(&self, id: NodeId) -> bool {
        is_inline(self.node(id))
    }

    /// Both are computed inline, in loops of one shape, and the first gives a value to the second in the loop.
    fn can_share_loop(&self, producer: NodeId, consumer: NodeId) -> bool {
        self.is_computed(producer)
            && self.is_inline(producer)
            && self.is_inline(consumer)
            && !matches!(self.node(producer), CNode::Reduce(..))
            && self.loop_shape(producer) == self.loop_shape(consumer)
    }

    fn assign_levels(&mut self) {
        for id in self.live_ids() {
            if self.homes[id.index()] != Home::None {
                continue;
            }
            let level = self
                .node(id)
                .operands()
                .into_iter()
                .map(|operand| {
                    let level = self.levels[operand.index()];
                    let shared = !self.is_computed(operand) || self.can_share_loop(operand, id);
                    // A view is ready when its base is.
                    level + usize::from(!shared)
                })
                .max();
            self.levels[id.index()] = level.unwrap_or(0);
        }
    }

    fn in_same_loop(&self, producer: NodeId, consumer: NodeId) -> bool {
        self.can_share_loop(producer, consumer)
            && self.levels[producer.index()] == self.levels[consumer.index()]
    }

    /// Values that another step reads get a buffer, the result the output.
    fn assign_homes(&mut self) {
        for id in self.live_ids() {
            if self.homes[id.index()] != Home::None {
                continue;
            }
            if let CNode::ColumnRange { vector, from, .. } = self.node(id) {
                self.homes[id.index()] = Home::View {
                    of: *vector,
                    skip: from - 1,
                };
                continue;
            }
            let crosses = self.live_ids().into_iter().any(|consumer| {
                self.node(consumer).operands().contains(&id) && !self.in_same_loop(id, consumer)
            });
            let is_result = self.result == Some(id);
            let in_outer_product = self
                .outer_product
                .is_some_and(|(left, right)| left == id || right == id);
            let reduces = matches!(self.node(id), CNode::Reduce(..));
            if is_result && self.output == Some(self.shapes.of(id)) {
                self.homes[id.index()] = Home::Output;
            } else if crosses || is_result || in_outer_product || reduces || !self.is_inline(id) {
                self.homes[id.index()] = Home::Buffer(self.buffers.len());
                self.buffers.push(self.shapes.of(id));
            }
        }
    }

    fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        let computed: Vec<NodeId> = self
            .live_ids()
            .into_iter()
            .filter(|id| self.is_computed(*id))
            .collect();
        let last = computed.iter().map(|id| self.levels[id.index()]).max();
        for level in 0..=last.unwrap_or(0) {
            let mut loops: Vec<Loop> = Vec::new();
            for id in &computed {
                if self.levels[id.index()] != level {
                    continue;
                }
                if !self.is_inline(*id) {
                    steps.push(Step::Call(*id));
                    continue;
                }
                let shape = self.loop_shape(*id);
                let at = loops
                    .iter()
                    .position(|known| known.shape == shape)
                    .unwrap_or(loops.len());
                if at == loops.len() {
                    loops.push(Loop {
                        shape,
                        nodes: Vec::new(),
                        stores: Vec::new(),
                        reductions: Vec::new(),
                    });
                }
                if matches!(self.node(*id), CNode::Reduce(..)) {
                    loops[at].reductions.push(*id);
                } else {
                    loops[at].nodes.push(*id);
                    if self.homes[id.index()] != Home::None {
                        loops[at].stores.push((*id, self.homes[id.index()]));
                    }
                }
            }
            steps.extend(loops.into_iter().map(Step::Loop));
        }
        if let (Some(result), Some(shape)) = (self.result, self.output)
            && self.homes[result.index()] != Home::Output
        {
            // An input, a constant, a view, or a value to be spread: a loop that only copies.
            steps.push(Step::Loop(Loop {
                shape,
                nodes: Vec::new(),
                stores: vec![(result, Home::Output)],
                reductions: Vec::new(),
            }));
        }
        if let Some((left, right)) = self.outer_product {
            steps.push(Step::OuterProduct { left, right });
        }
        steps
    }

    /// For each input, whether a step reads its rows as dense vectors, and whether one can read CSR rows.
    fn reads(&self, steps: &[Step]) -> (Vec<bool>, Vec<bool>) {
        let mut dense = vec![false; self.inputs.len()];
        let mut csr = vec![false; self.inputs.len()];
        let mut read = |id: NodeId, takes_csr: bool| match self.node(id) {
            CNode::Input(input) if takes_csr => csr[*input] = true,
            CNode::Input(input) => dense[*input] = true,
            CNode::ColumnRange { .. } => {
                if let Some(input) = self.viewed_input(id) {
                    dense[input] = true;
                }
            }
            _ => {}
        };
        for step in steps {
            match step {
                Step::Loop(step) => {
                    let computed = step.nodes.iter().chain(&step.reductions);
                    for operand in computed.flat_map(|id| self.node(*id).operands()) {
                        read(operand, false);
                    }
                    for (id, _) in &step.stores {
                        read(*id, false);
                    }
                }
                Step::Call(id) => match self.node(*id) {
                    CNode::VectorMatrix { vector, .. } => read(*vector, true),
                    other => other.operands().into_iter().for_each(|o| read(o, false)),
                },
                Step::OuterProduct { left, right } => {
                    read(*left, true);
                    read(*right, false);
                }
            }
        }
        (dense, csr)
    }

    /// The input under a chain of views, if it is one.
    fn viewed_input(&self, mut id: NodeId) -> Option<usize> {
        loop {
            match self.node(id) {
                CNode::ColumnRange { vector, .. } => id = *vector,
                CNode::Input(input) => return Some(*input),
                _ => return None,
            }
        }
    }
}
