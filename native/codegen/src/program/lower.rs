//! From a plan to a program: which nodes share a loop, what is a call, what needs a buffer.

use fulgurite_fusion::cplan::{
    CNode, CPlan, InputBinding, NodeId, OuterOutput, RowOutput, Template,
};
use fulgurite_hop::{AggregateOp, Direction, TernaryOp};

use super::shapes::{cell_shapes, row_shapes};
use super::simplify::simplify;
use super::unsupported::{Unsupported, check};
use super::{ColumnVectors, FactorProduct, Home, Loop, Program, Shape, Shapes, Step, Taken};
use crate::aggregates;
use crate::cellwise::has_instructions;

/// Whether the generated loops compute the node themselves, rather than calling a primitive.
fn is_inline(node: &CNode) -> bool {
    match node {
        CNode::Reduce(op, _) => aggregates::is_incremental(*op),
        node => has_instructions(node),
    }
}

/// # Errors
/// Why the plan can't be compiled.
pub(crate) fn lower(plan: &CPlan, column_vectors: ColumnVectors) -> Result<Program, Unsupported> {
    check(plan)?;
    let (mut nodes, places) = simplify(&plan.body);
    let place = |id: NodeId| places[id.index()];
    let mut inputs = plan.inputs.clone();
    let factor_products = bind_factor_products(&mut inputs, &mut nodes);
    let mut outer_product = None;
    let mut outer_product_turned = false;
    let mut results = Vec::new();
    let mut taken = Vec::new();
    let (shapes, output) = if let Template::Row(row) = &plan.template {
        match row.output {
            RowOutput::OuterProduct { left, right } => {
                outer_product = Some((place(left), place(right)));
            }
            _ => results.extend(plan.outputs().into_iter().map(place)),
        }
        let shapes = row_shapes(&inputs, &nodes).map_err(Unsupported::Inconsistent)?;
        if let Some((left, right)) = &mut outer_product {
            // Inputs may come as CSR rows, and the main one does where any does.
            let stored = |id: &NodeId| match nodes[id.index()] {
                CNode::Input(input) if inputs[input] == InputBinding::Main => 2,
                CNode::Input(_) => 1,
                _ => 0,
            };
            let is_vector = |id: &NodeId| matches!(shapes.of(*id), Shape::Vector(_));
            outer_product_turned =
                !is_vector(left) || is_vector(right) && stored(right) > stored(left);
            if outer_product_turned {
                std::mem::swap(left, right);
            }
        }
        let output = results.first().map(|result| match shapes.of(*result) {
            // A constant is a number in every row.
            Shape::Constant => Shape::PerRow,
            shape => shape,
        });
        (shapes, output)
    } else {
        results.extend(read_by_skeleton(plan).into_iter().map(place));
        if let Template::Outer(outer) = &plan.template
            && outer.sparse_safe
        {
            for result in &mut results {
                *result = zero_where_the_driver_is(&mut nodes, *result);
            }
        }
        let reductions = reductions(&plan.template);
        for (result, op) in results.iter_mut().zip(&reductions) {
            *result = push(&mut nodes, CNode::Reduce(*op, *result));
        }
        let mut shapes = cell_shapes(&inputs, &nodes, column_vectors);
        for result in results.iter().take(reductions.len()) {
            shapes.nodes[result.index()] = Shape::PerRow;
        }
        if takes_cells(&plan.template) {
            let has_groups = matches!(plan.template, Template::Group(_));
            taken = take_out(&inputs, &nodes, &mut results, has_groups);
        }
        let output = match (reductions.is_empty(), results.is_empty()) {
            (false, _) => Some(Shape::PerRow),
            (true, false) => Some(Shape::Vector(0)),
            (true, true) => None,
        };
        (shapes, output)
    };
    let live = live_nodes(&nodes, &results, outer_product);
    let is_row = matches!(plan.template, Template::Row(_));
    Ok(Lowering {
        inputs,
        factor_products,
        is_row,
        homes: vec![Home::None; nodes.len()],
        levels: vec![0; nodes.len()],
        live,
        buffers: Vec::new(),
        results,
        taken,
        output,
        outer_product,
        outer_product_turned,
        nodes,
        shapes,
    }
    .finish())
}

/// The values that leave the body. How many rows are in a group needs none.
fn read_by_skeleton(plan: &CPlan) -> Vec<NodeId> {
    let Template::Group(group) = &plan.template else {
        return plan.outputs();
    };
    let values = group.aggregates.iter();
    let values = values.filter(|aggregate| !plan.counts_rows(**aggregate));
    std::iter::once(group.groups)
        .chain(values.map(|(_, value)| *value))
        .collect()
}

/// The aggregates that the loop over cells computes itself, per row of the tile: those over all cells, or one over
/// rows. A mean is a sum until the end.
fn reductions(template: &Template) -> Vec<AggregateOp> {
    if takes_cells(template) {
        return Vec::new();
    }
    let ops: Vec<AggregateOp> = match template {
        Template::Cell(cell) => cell.aggregate.iter().map(|(op, _)| *op).collect(),
        Template::MultiAggregate(several) => several.aggregates.iter().map(|(op, _)| *op).collect(),
        Template::Outer(outer) => match outer.output {
            OuterOutput::FullAggregate(op) => vec![op],
            _ => Vec::new(),
        },
        Template::Row(_) | Template::Group(_) => Vec::new(),
    };
    ops.into_iter().map(aggregates::unfinished).collect()
}

/// Whether skeletons take the values of cells into aggregates: those over columns, by groups, and several over rows. They are summed
/// up as the basic operators do it.
fn takes_cells(template: &Template) -> bool {
    match template {
        Template::Cell(cell) => matches!(cell.aggregate, Some((_, Direction::Col))),
        Template::MultiAggregate(several) => several.direction != Direction::Full,
        Template::Group(_) => true,
        Template::Outer(_) | Template::Row(_) => false,
    }
}

/// Where the values of aggregates are, behind the numbers of groups if there are any. Cells of inputs are taken from where they
/// are; what remains are the results, each once.
fn take_out(
    inputs: &[InputBinding],
    nodes: &[CNode],
    results: &mut Vec<NodeId>,
    has_groups: bool,
) -> Vec<Taken> {
    let mut computed = Vec::new();
    let mut place = |(at, id): (usize, &NodeId)| match nodes[id.index()] {
        CNode::Input(input)
            if matches!(inputs[input], InputBinding::Main | InputBinding::Matrix)
                // One number for each row is all that groups need.
                || has_groups && at == 0 && inputs[input] == InputBinding::ColumnVector =>
        {
            Taken::Input(input)
        }
        _ => {
            let known = computed.iter().position(|known| known == id);
            Taken::Result(known.unwrap_or_else(|| {
                computed.push(*id);
                computed.len() - 1
            }))
        }
    };
    let taken = results.iter().enumerate().map(&mut place).collect();
    *results = computed;
    taken
}

/// Turns products of factors into further inputs, which the skeleton computes tile by tile.
fn bind_factor_products(inputs: &mut Vec<InputBinding>, nodes: &mut [CNode]) -> Vec<FactorProduct> {
    let mut products: Vec<FactorProduct> = Vec::new();
    for node in nodes {
        let CNode::FactorProduct { left, right } = *node else {
            continue;
        };
        let known = products
            .iter()
            .find(|known| (known.left, known.right) == (left, right));
        let input = match known {
            Some(known) => known.input,
            None => {
                let input = inputs.len();
                inputs.push(InputBinding::Matrix);
                products.push(FactorProduct { left, right, input });
                input
            }
        };
        *node = CNode::Input(input);
    }
    products
}

/// Sparse-safe values are 0 where the driver is, also where 0 times them would be NaN: what is skipped in a sparse
/// driver is 0 in a dense one.
fn zero_where_the_driver_is(nodes: &mut Vec<CNode>, value: NodeId) -> NodeId {
    let driver = push(nodes, CNode::Input(0));
    let zero = push(nodes, CNode::Literal(0.0));
    push(
        nodes,
        CNode::Ternary(TernaryOp::IfElse, driver, value, zero),
    )
}

fn push(nodes: &mut Vec<CNode>, node: CNode) -> NodeId {
    nodes.push(node);
    NodeId(nodes.len() as u32 - 1)
}

fn live_nodes(
    nodes: &[CNode],
    results: &[NodeId],
    outer_product: Option<(NodeId, NodeId)>,
) -> Vec<bool> {
    let mut live = vec![false; nodes.len()];
    let roots = results
        .iter()
        .copied()
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
    factor_products: Vec<FactorProduct>,
    is_row: bool,
    nodes: Vec<CNode>,
    shapes: Shapes,
    live: Vec<bool>,
    /// Steps run level by level; a node's loop or call stands at its level.
    levels: Vec<usize>,
    homes: Vec<Home>,
    buffers: Vec<Shape>,
    results: Vec<NodeId>,
    taken: Vec<Taken>,
    output: Option<Shape>,
    outer_product: Option<(NodeId, NodeId)>,
    outer_product_turned: bool,
}

impl Lowering {
    fn finish(mut self) -> Program {
        let constants = self.place_constants();
        self.assign_levels();
        self.assign_homes();
        let steps = self.steps();
        let (reads_dense, reads_csr) = self.reads(&steps);
        let mut input_shapes = vec![Shape::PerRow; self.inputs.len()];
        for (node, shape) in self.nodes.iter().zip(&self.shapes.nodes) {
            if let CNode::Input(input) = node {
                input_shapes[*input] = *shape;
            }
        }
        Program {
            inputs: self.inputs,
            input_shapes,
            factor_products: self.factor_products,
            nodes: self.nodes,
            shapes: self.shapes,
            homes: self.homes,
            steps,
            buffers: self.buffers,
            constants,
            output: self.output,
            results: self.results.len(),
            taken: self.taken,
            outer_product: self.outer_product,
            outer_product_turned: self.outer_product_turned,
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
            CNode::Reduce(..) if !self.is_row => Shape::Vector(0),
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

    /// Per node, whether a loop or call reads it that is not the loop that computes it.
    fn read_by_other_loops(&self) -> Vec<bool> {
        let mut crosses = vec![false; self.nodes.len()];
        for consumer in self.live_ids() {
            for operand in self.node(consumer).operands() {
                crosses[operand.index()] |= !self.in_same_loop(operand, consumer);
            }
        }
        crosses
    }

    /// Values that another step reads get a buffer, the result the output.
    fn assign_homes(&mut self) {
        let crosses = self.read_by_other_loops();
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
            let crosses = crosses[id.index()];
            let result = self.results.iter().position(|result| *result == id);
            let in_outer_product = self
                .outer_product
                .is_some_and(|(left, right)| left == id || right == id);
            let reduces = matches!(self.node(id), CNode::Reduce(..));
            if let Some(place) = result
                && self.output == Some(self.shapes.of(id))
            {
                self.homes[id.index()] = Home::Output(place);
            } else if crosses
                || result.is_some()
                || in_outer_product
                || reduces
                || !self.is_inline(id)
            {
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
        for (place, result) in self.results.iter().enumerate() {
            let Some(shape) = self.output else { continue };
            if !matches!(self.homes[result.index()], Home::Output(_)) {
                // An input, a constant, a view, or a value to be spread: a loop that only copies.
                steps.push(Step::Loop(Loop {
                    shape,
                    nodes: Vec::new(),
                    stores: vec![(*result, Home::Output(place))],
                    reductions: Vec::new(),
                }));
            }
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

#[cfg(test)]
mod tests {
    use fulgurite_fusion::cplan::RowTemplate;

    use super::*;

    /// `t(left) %*% right` of two inputs.
    fn product_of(left: u32, right: u32) -> Program {
        let output = RowOutput::OuterProduct {
            left: NodeId(left),
            right: NodeId(right),
        };
        let plan = CPlan {
            template: Template::Row(RowTemplate { output }),
            inputs: vec![InputBinding::Main, InputBinding::Matrix],
            body: vec![CNode::Input(0), CNode::Input(1)],
        };
        lower(&plan, ColumnVectors::PerRow).expect("Row plans end in outer products")
    }

    #[test]
    fn a_product_of_two_inputs_reads_the_main_one_as_it_is_stored() {
        for (left, right) in [(0, 1), (1, 0)] {
            let program = product_of(left, right);
            assert!(
                program.reads_csr[0] && !program.reads_dense[0],
                "{program:?}"
            );
            assert_eq!(program.outer_product_turned, right == 0);
        }
    }
}
