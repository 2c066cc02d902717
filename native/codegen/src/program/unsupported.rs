//! What has no machine code, and why.

use std::fmt;

use fulgurite_fusion::cplan::{CNode, CPlan, NodeId, OuterOutput, RowOutput, Template};
use fulgurite_hop::AggregateOp;

use crate::aggregates::{self, AggregateForm};

/// Why a plan can't be compiled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unsupported {
    /// The plan contradicts itself, whoever would run it.
    Inconsistent(String),
    /// The aggregate over rows of the main input does not exist in fused operators.
    Aggregate(AggregateOp),
    /// The aggregate along a row that a node asks for does not exist.
    RowAggregate { op: AggregateOp, node: NodeId },
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unsupported::Inconsistent(what) => f.write_str(what),
            Unsupported::Aggregate(op) => {
                write!(f, "aggregate '{}' of a fused operator", op.code())
            }
            Unsupported::RowAggregate { op, node } => {
                let op = op.code();
                write!(f, "node {node} asks for aggregate '{op}' along a row")
            }
        }
    }
}

/// Everything about a plan that is known without its shapes.
pub(super) fn check(plan: &CPlan) -> Result<(), Unsupported> {
    plan.verify()
        .map_err(|error| Unsupported::Inconsistent(error.message().to_string()))?;
    for (at, node) in plan.body.iter().enumerate() {
        if let CNode::Reduce(op, _) = node
            && aggregates::form(*op) == AggregateForm::Unsupported
        {
            let node = NodeId(at as u32);
            return Err(Unsupported::RowAggregate { op: *op, node });
        }
    }
    let refused = over_rows(plan)
        .into_iter()
        .find(|op| !aggregates::is_incremental(*op));
    refused.map_or(Ok(()), |op| Err(Unsupported::Aggregate(op)))
}

/// The aggregates over cells or rows of the main input.
fn over_rows(plan: &CPlan) -> Vec<AggregateOp> {
    match &plan.template {
        Template::Cell(cell) => cell.aggregate.iter().map(|(op, _)| *op).collect(),
        Template::MultiAggregate(several) => several.aggregates.iter().map(|(op, _)| *op).collect(),
        Template::Group(group) => group.aggregates.iter().map(|(op, _)| *op).collect(),
        Template::Row(row) => match row.output {
            RowOutput::ColumnAggregate(op, _) | RowOutput::FullAggregate(op, _) => vec![op],
            _ => Vec::new(),
        },
        Template::Outer(outer) => match outer.output {
            OuterOutput::FullAggregate(op) => vec![op],
            _ => Vec::new(),
        },
    }
}
