//! Construction of CPlans from chosen operators (Section 2.2).
//!
//! Equal expressions give equal plans, see [`CPlan::canonical`].

use std::collections::HashMap;

use fulgurite_error::{Error, Result};
use fulgurite_hop::{AggregateOp, Combination, Direction, HopId, UnaryOp};

use crate::{
    cplan::{
        CNode, CPlan, CellTemplate, GroupTemplate, InputBinding, MultiAggregateTemplate, NodeId,
        OuterOutput, OuterTemplate, RowOutput, RowTemplate, Template,
    },
    memo::{Slots, TemplateType},
    operator::{Operator, access},
    roles::{self, CellFunction, GroupFunction, Role},
    template::outer,
    view::DagView,
};

/// A plan and how it stands in the DAG.
pub(crate) struct Constructed {
    pub plan: CPlan,
    pub inputs: Vec<PlanInput>,
    /// The plan gives the transpose of its root.
    pub gives_transpose: bool,
    /// MAgg and Group: where each root's aggregate is among those that the plan gives.
    pub places: Vec<Place>,
}

/// An aggregate among several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub number: usize,
    /// The plan gives the sum, of so many cells.
    pub mean_of: Option<u64>,
}

/// What an input of a plan is bound to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PlanInput {
    pub hop: HopId,
    /// The plan reads the transpose.
    pub transposed: bool,
}

pub(crate) fn construct(view: &DagView, operator: &Operator) -> Result<Constructed> {
    let mut builder = Builder {
        view,
        operator,
        inputs: vec![(operator.inputs[operator.main].0, InputBinding::Main)],
        body: Vec::new(),
        vectors: Vec::new(),
        covered: operator.covered.iter().copied().collect(),
        known: HashMap::new(),
        values: HashMap::new(),
    };
    // Operands are listed before what reads them; the roots' aggregations are the template's own.
    for (hop, _) in &operator.covered {
        if !operator.roots().any(|root| root == *hop) {
            builder.add(*hop)?;
        }
    }
    let root = operator.root;
    let mut gives_transpose = false;
    let mut places = Vec::new();
    let template = match operator.template {
        TemplateType::Cell => Template::Cell(builder.cell(root)?),
        TemplateType::Row => Template::Row(RowTemplate {
            output: builder.row(root)?,
        }),
        TemplateType::Outer => {
            let product = outer::multiplication(view, root, builder.references(root));
            gives_transpose = product.is_some_and(|product| product.gives_transpose);
            Template::Outer(builder.outer(root, product)?)
        }
        TemplateType::Group => Template::Group(builder.group(&mut places)?),
        TemplateType::MultiAggregate => {
            Template::MultiAggregate(builder.multi_aggregate(&mut places)?)
        }
    };
    let plan = CPlan {
        template,
        inputs: builder.inputs.iter().map(|(_, bound)| *bound).collect(),
        body: builder.body,
    };
    let (plan, inputs) = plan.canonical();
    let inputs = inputs.into_iter().map(|number| {
        let (hop, bound) = builder.inputs[number];
        let is_outer = operator.template == TemplateType::Outer;
        PlanInput {
            hop,
            transposed: is_outer && outer::lies_down(view, hop, bound),
        }
    });
    Ok(Constructed {
        plan,
        inputs: inputs.collect(),
        gives_transpose,
        places,
    })
}

struct Builder<'a> {
    view: &'a DagView<'a>,
    operator: &'a Operator,
    inputs: Vec<(HopId, InputBinding)>,
    body: Vec<CNode>,
    /// Per node: a row vector (Row) rather than a scalar.
    vectors: Vec<bool>,
    covered: HashMap<HopId, Slots>,
    known: HashMap<CNode, NodeId>,
    values: HashMap<HopId, NodeId>,
}

impl Builder<'_> {
    fn node(&mut self, node: CNode, vector: bool) -> NodeId {
        if let Some(known) = self.known.get(&node) {
            return *known;
        }
        let id = NodeId(self.body.len() as u32);
        self.known.insert(node.clone(), id);
        self.body.push(node);
        self.vectors.push(vector);
        id
    }

    fn is_vector(&self, node: NodeId) -> bool {
        self.vectors[node.index()]
    }

    fn any_vector(&self, nodes: &[NodeId]) -> bool {
        nodes.iter().any(|node| self.is_vector(*node))
    }

    /// The number of an input under its binding.
    fn input(&mut self, hop: HopId, bound: InputBinding) -> usize {
        let is_main = hop == self.inputs[0].0 && bound == InputBinding::Matrix;
        let wanted = (hop, if is_main { InputBinding::Main } else { bound });
        let place = self.inputs.iter().position(|input| *input == wanted);
        place.unwrap_or_else(|| {
            self.inputs.push(wanted);
            self.inputs.len() - 1
        })
    }

    /// The inputs of a covered operator that are covered too.
    fn references(&self, hop: HopId) -> Slots {
        self.covered.get(&hop).copied().unwrap_or(Slots::NONE)
    }

    fn access(&self, hop: HopId, slot: usize) -> Result<(HopId, InputBinding)> {
        let references = self.references(hop);
        access(self.view, self.operator.template, hop, references, slot)
            .ok_or_else(|| self.broken(hop))
    }

    /// The number of what a covered operator reads whole, or as a factor, at a slot.
    fn whole(&mut self, hop: HopId, slot: usize) -> Result<usize> {
        let (read, bound) = self.access(hop, slot)?;
        Ok(self.input(read, bound))
    }

    /// The value that a covered operator reads at a slot.
    fn operand(&mut self, hop: HopId, slot: usize) -> Result<NodeId> {
        let references = self.references(hop);
        let input = self.view.hop(hop).inputs[slot];
        if references.contains(slot) {
            let value = self.values.get(&input).copied();
            return value.ok_or_else(|| self.broken(hop));
        }
        let (read, bound) = self.access(hop, slot)?;
        if let (InputBinding::Scalar, Some(value)) = (bound, inlined(self.view, hop, read)) {
            return Ok(self.node(CNode::Literal(value), false));
        }
        let is_row = self.operator.template == TemplateType::Row;
        let vector = is_row && matches!(bound, InputBinding::Matrix | InputBinding::RowVector);
        let input = self.input(read, bound);
        Ok(self.node(CNode::Input(input), vector))
    }

    fn add(&mut self, hop: HopId) -> Result<()> {
        let value = self.value(hop)?;
        self.values.insert(hop, value);
        Ok(())
    }

    /// The node of a covered operator that keeps the rows.
    fn value(&mut self, hop: HopId) -> Result<NodeId> {
        let operator = self.view.hop(hop);
        match self.view.role(hop) {
            Role::CellWise(CellFunction::Unary(op)) => {
                let a = self.operand(hop, 0)?;
                Ok(self.unary(op, a))
            }
            Role::CellWise(CellFunction::Binary(op)) => {
                let a = self.operand(hop, 0)?;
                let right = inlined(self.view, hop, operator.inputs[1]);
                if let Some(op) = roles::of_one_operand(op, right) {
                    return Ok(self.unary(op, a));
                }
                let b = self.operand(hop, 1)?;
                let vector = self.any_vector(&[a, b]);
                Ok(self.node(CNode::Binary(op, a, b), vector))
            }
            Role::CellWise(CellFunction::Ternary(op)) => {
                let a = self.operand(hop, 0)?;
                let (b, c) = (self.operand(hop, 1)?, self.operand(hop, 2)?);
                let vector = self.any_vector(&[a, b, c]);
                Ok(self.node(CNode::Ternary(op, a, b, c), vector))
            }
            Role::Transpose => self.operand(hop, 0),
            Role::Cumulative(op) => {
                let a = self.operand(hop, 0)?;
                // Of a single cell in each row, that cell.
                Ok(match self.is_vector(a) {
                    true => self.node(CNode::Cumulative(op, a), true),
                    false => a,
                })
            }
            Role::Aggregate(op, Direction::Row) => {
                let a = self.operand(hop, 0)?;
                Ok(self.reduce(op, a))
            }
            Role::Product if self.operator.template == TemplateType::Outer => {
                let (left, right) = (self.whole(hop, 0)?, self.whole(hop, 1)?);
                Ok(self.node(CNode::FactorProduct { left, right }, false))
            }
            Role::Product => {
                let vector = self.operand(hop, 0)?;
                let input = self.whole(hop, 1)?;
                let scalar = operator.cols() == Some(1);
                let node = CNode::VectorMatrix {
                    vector,
                    input,
                    scalar,
                };
                Ok(self.node(node, !scalar))
            }
            Role::Range => {
                let vector = self.operand(hop, 0)?;
                let range = self.view.column_range(hop);
                let (from, to) = range.ok_or_else(|| self.broken(hop))?;
                let range = self.node(CNode::ColumnRange { vector, from, to }, true);
                // One column of a row is a scalar; any of these reductions gives the cell itself.
                match from == to {
                    true => Ok(self.reduce(roles::OF_ONE_CELL, range)),
                    false => Ok(range),
                }
            }
            Role::Beside => {
                let parts = (0..operator.inputs.len()).map(|slot| self.operand(hop, slot));
                let parts = parts.collect::<Result<Vec<_>>>()?;
                Ok(self.node(CNode::Concatenate(parts), true))
            }
            Role::Combination => {
                let combination = self.view.combination(hop);
                let Combination { op, column, row } =
                    combination.ok_or_else(|| self.broken(hop))?;
                let (a, b) = (self.operand(hop, column)?, self.operand(hop, row)?);
                Ok(self.node(CNode::Binary(op, a, b), true))
            }
            Role::Aggregate(_, Direction::Col | Direction::Full)
            | Role::Grouped
            | Role::Outside(_) => Err(self.broken(hop)),
        }
    }

    fn unary(&mut self, op: UnaryOp, a: NodeId) -> NodeId {
        let vector = self.is_vector(a);
        self.node(CNode::Unary(op, a), vector)
    }

    /// A row's value reduced to a scalar; a scalar is a row of one column.
    fn reduce(&mut self, op: AggregateOp, a: NodeId) -> NodeId {
        match (self.is_vector(a), roles::of_function(op)) {
            (true, _) => self.node(CNode::Reduce(op, a), false),
            (false, Some((_, function))) => self.unary(function, a),
            (false, None) => a,
        }
    }

    fn cell(&mut self, root: HopId) -> Result<CellTemplate> {
        let (value, aggregate) = match self.view.role(root) {
            Role::Aggregate(op, direction) => (self.operand(root, 0)?, Some((op, direction))),
            Role::Product => {
                let (a, b) = (self.operand(root, 0)?, self.operand(root, 1)?);
                let (product, sum) = roles::DOT_PRODUCT;
                let product = self.node(CNode::Binary(product, a, b), false);
                (product, Some((sum, Direction::Full)))
            }
            Role::CellWise(_)
            | Role::Transpose
            | Role::Range
            | Role::Beside
            | Role::Combination
            | Role::Grouped
            | Role::Cumulative(_)
            | Role::Outside(_) => (self.value(root)?, None),
        };
        Ok(CellTemplate {
            value,
            aggregate,
            sparse_safe: self.operator.sparse_safe,
        })
    }

    fn outer(
        &mut self,
        root: HopId,
        product: Option<outer::Multiplication>,
    ) -> Result<OuterTemplate> {
        let (value, output) = match (product, self.view.role(root)) {
            (Some(product), _) => {
                let values = self.values.get(&product.values).copied();
                let slot = usize::from(!self.references(root).contains(1));
                let input = self.whole(root, slot)?;
                let output = match product.transposes_values {
                    true => OuterOutput::LeftMultiply { input },
                    false => OuterOutput::RightMultiply { input },
                };
                (values.ok_or_else(|| self.broken(root))?, output)
            }
            (None, Role::Aggregate(op, _)) => {
                (self.operand(root, 0)?, OuterOutput::FullAggregate(op))
            }
            (
                None,
                Role::CellWise(_)
                | Role::Product
                | Role::Transpose
                | Role::Range
                | Role::Beside
                | Role::Combination
                | Role::Grouped
                | Role::Cumulative(_)
                | Role::Outside(_),
            ) => (self.value(root)?, OuterOutput::NoAggregate),
        };
        Ok(OuterTemplate {
            value,
            output,
            sparse_safe: self.operator.sparse_safe,
        })
    }

    /// Equal aggregates are one; a mean is a sum, which other roots may share.
    fn multi_aggregate(&mut self, places: &mut Vec<Place>) -> Result<MultiAggregateTemplate> {
        let mut aggregates: Vec<(AggregateOp, NodeId)> = Vec::new();
        let mut directions = Vec::new();
        for root in self.operator.roots() {
            let cell = self.cell(root)?;
            let (op, direction) = cell.aggregate.ok_or_else(|| self.broken(root))?;
            directions.push(direction);
            let (op, mean_of) = match roles::as_mean(op) {
                Some(sum) => (sum, Some(self.cells_under(root, direction)?)),
                None => (op, None),
            };
            let aggregate = (op, cell.value);
            let known = aggregates.iter().position(|known| *known == aggregate);
            let number = known.unwrap_or_else(|| {
                aggregates.push(aggregate);
                aggregates.len() - 1
            });
            places.push(Place { number, mean_of });
        }
        let root = self.operator.root;
        let direction = *directions.first().ok_or_else(|| self.broken(root))?;
        if directions.iter().any(|other| *other != direction) {
            return Err(self.broken(root));
        }
        Ok(MultiAggregateTemplate {
            direction,
            aggregates,
            sparse_safe: self.operator.sparse_safe,
        })
    }

    /// All roots are aggregates over the same groups; equal ones are one.
    fn group(&mut self, places: &mut Vec<Place>) -> Result<GroupTemplate> {
        let mut aggregates: Vec<(AggregateOp, NodeId)> = Vec::new();
        let mut by = None;
        for root in self.operator.roots() {
            let grouping = self.view.grouping(root).ok_or_else(|| self.broken(root))?;
            let function = GroupFunction::of_name(grouping.function);
            let function = function.ok_or_else(|| self.broken(root))?;
            let weights = grouping.weights.map(|slot| self.operand(root, slot));
            let value = match (function, weights.transpose()?) {
                (GroupFunction::Count, None) => self.node(CNode::Literal(1.0), false),
                (GroupFunction::Count, Some(weights)) => weights,
                (GroupFunction::Aggregate(_), None) => self.operand(root, grouping.target)?,
                (GroupFunction::Aggregate(_), Some(weights)) => {
                    let (product, _) = roles::DOT_PRODUCT;
                    let target = self.operand(root, grouping.target)?;
                    self.node(CNode::Binary(product, target, weights), false)
                }
            };
            // Others have the same, though they may stand in the DAG more than once, and be covered here and read there.
            if by.is_none() {
                let groups = self.operand(root, grouping.groups)?;
                by = Some((groups, self.whole(root, grouping.count)?));
            }
            let aggregate = (function.aggregate(), value);
            let known = aggregates.iter().position(|known| *known == aggregate);
            let number = known.unwrap_or_else(|| {
                aggregates.push(aggregate);
                aggregates.len() - 1
            });
            places.push(Place {
                number,
                mean_of: None,
            });
        }
        let (groups, count) = by.ok_or_else(|| self.broken(self.operator.root))?;
        Ok(GroupTemplate {
            groups,
            count,
            aggregates,
        })
    }

    /// How many cells an aggregate in this direction takes in.
    fn cells_under(&self, root: HopId, direction: Direction) -> Result<u64> {
        let shape = self.view.hop(root).inputs.first();
        let shape = shape.and_then(|input| self.view.shape(*input));
        let shape = shape.ok_or_else(|| self.broken(root))?;
        Ok(match direction {
            Direction::Full => shape.rows.saturating_mul(shape.cols),
            Direction::Row => shape.cols,
            Direction::Col => shape.rows,
        })
    }

    fn row(&mut self, root: HopId) -> Result<RowOutput> {
        match self.view.role(root) {
            Role::Aggregate(op, direction @ (Direction::Col | Direction::Full)) => {
                let a = self.operand(root, 0)?;
                let (op, a) = match (roles::of_function(op), direction) {
                    (Some((sum, function)), Direction::Col) => (sum, self.unary(function, a)),
                    (Some((sum, _)), _) => (sum, self.reduce(op, a)),
                    (None, Direction::Full) => (op, self.reduce(op, a)),
                    (None, _) => (op, a),
                };
                Ok(match self.is_vector(a) {
                    true => RowOutput::ColumnAggregate(op, a),
                    false => RowOutput::FullAggregate(op, a),
                })
            }
            Role::Product if self.view.transposed_left(root).is_some() => {
                let (left, right) = (self.operand(root, 0)?, self.operand(root, 1)?);
                if self.is_vector(left) || self.is_vector(right) {
                    return Ok(RowOutput::OuterProduct { left, right });
                }
                let (product, sum) = roles::DOT_PRODUCT;
                let product = self.node(CNode::Binary(product, left, right), false);
                Ok(RowOutput::FullAggregate(sum, product))
            }
            Role::CellWise(_)
            | Role::Aggregate(_, Direction::Row)
            | Role::Product
            | Role::Transpose
            | Role::Range
            | Role::Beside
            | Role::Combination
            | Role::Grouped
            | Role::Cumulative(_)
            | Role::Outside(_) => {
                let value = self.value(root)?;
                Ok(match self.is_vector(value) {
                    true => RowOutput::NoAggregate(value),
                    false => RowOutput::RowAggregate(value),
                })
            }
        }
    }

    fn broken(&self, hop: HopId) -> Error {
        let operator = self.view.hop(hop);
        Error::internal("a selected fusion plan has no code generation plan")
            .in_operator(operator.op.code())
            .at_option(operator.position.as_ref())
            .with_help("run with fulgurite.fusion.policy=none, and report this script")
    }
}

/// Literals that are part of a plan. Others (step sizes, tolerances) are inputs, so that scripts and
/// recompilations that differ in them share one plan; but for bounds, which are one instruction if they are known not to be NaN.
fn inlined(view: &DagView, reader: HopId, hop: HopId) -> Option<f64> {
    let value = view.hop(hop).op.constant()?.as_f64()?;
    let is_bound = matches!(view.role(reader), Role::CellWise(function) if function.is_bound());
    (is_bound || (2.0 * value).fract() == 0.0).then_some(value)
}
