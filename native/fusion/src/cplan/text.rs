//! CPlans as text: one line for the template and its inputs, one per node, one for what becomes of the values.
//!
//! What is written here parses back ([`parse`](super::parse)), to the bit.

use std::fmt;

use super::{CNode, CPlan, GroupTemplate, InputBinding, NodeId, OuterOutput, RowOutput, Template};
use fulgurite_hop::{AggregateOp, Direction};

impl InputBinding {
    const ALL: [InputBinding; 8] = [
        InputBinding::Main,
        InputBinding::Matrix,
        InputBinding::ColumnVector,
        InputBinding::RowVector,
        InputBinding::Whole,
        InputBinding::LeftFactor,
        InputBinding::RightFactor,
        InputBinding::Scalar,
    ];

    pub(super) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|binding| binding.name() == name)
    }

    pub fn name(self) -> &'static str {
        match self {
            InputBinding::Main => "main",
            InputBinding::Matrix => "matrix",
            InputBinding::ColumnVector => "column",
            InputBinding::RowVector => "row",
            InputBinding::Whole => "whole",
            InputBinding::LeftFactor => "left factor",
            InputBinding::RightFactor => "right factor",
            InputBinding::Scalar => "scalar",
        }
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "%{}", self.0)
    }
}

impl fmt::Display for CPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let template = match self.template {
            Template::Cell(_) => "Cell",
            Template::Row(_) => "Row",
            Template::Outer(_) => "Outer",
            Template::Group(_) => "Group",
            Template::MultiAggregate(_) => "MAgg",
        };
        let inputs: Vec<&str> = self.inputs.iter().map(|input| input.name()).collect();
        writeln!(f, "{template}({})", inputs.join(", "))?;
        for (index, node) in self.body.iter().enumerate() {
            writeln!(f, "  %{index} = {node}")?;
        }
        match &self.template {
            Template::Cell(cell) => {
                f.write_str("  ")?;
                match cell.aggregate {
                    None => write!(f, "each {}", cell.value)?,
                    Some((op, direction)) => {
                        write!(f, "{} {}", aggregate(op, direction), cell.value)?;
                    }
                }
                sparse_safe(f, cell.sparse_safe)
            }
            Template::Row(row) => match row.output {
                RowOutput::NoAggregate(value) => write!(f, "  rows {value}"),
                RowOutput::RowAggregate(value) => write!(f, "  cells {value}"),
                RowOutput::ColumnAggregate(op, value) => {
                    write!(f, "  {} {value}", aggregate(op, Direction::Col))
                }
                RowOutput::FullAggregate(op, value) => {
                    write!(f, "  {} {value}", aggregate(op, Direction::Full))
                }
                RowOutput::OuterProduct { left, right } => {
                    write!(f, "  sum of outer products {left} {right}")
                }
            },
            Template::Outer(outer) => {
                let value = outer.value;
                match outer.output {
                    OuterOutput::NoAggregate => write!(f, "  each {value}")?,
                    OuterOutput::FullAggregate(op) => {
                        write!(f, "  {} {value}", aggregate(op, Direction::Full))?;
                    }
                    OuterOutput::RightMultiply { input } => write!(f, "  {value} %*% in{input}")?,
                    OuterOutput::LeftMultiply { input } => {
                        write!(f, "  t({value}) %*% in{input}")?;
                    }
                }
                sparse_safe(f, outer.sparse_safe)
            }
            Template::Group(group) => {
                let aggregates = group.aggregates.iter();
                let aggregates: Vec<String> = aggregates
                    .map(|(op, value)| format!("{} {value}", aggregate(*op, Direction::Full)))
                    .collect();
                let GroupTemplate { groups, count, .. } = group;
                write!(f, "  {} by {groups} up to in{count}", aggregates.join(", "))
            }
            Template::MultiAggregate(several) => {
                let aggregates: Vec<String> = several
                    .aggregates
                    .iter()
                    .map(|(op, value)| format!("{} {value}", aggregate(*op, several.direction)))
                    .collect();
                write!(f, "  {}", aggregates.join(", "))?;
                sparse_safe(f, several.sparse_safe)
            }
        }
    }
}

/// Plans with NaNs of different bits are different plans.
fn is_another_nan(value: f64) -> bool {
    value.is_nan() && value.to_bits() != f64::NAN.to_bits()
}

fn sparse_safe(f: &mut fmt::Formatter<'_>, sparse_safe: bool) -> fmt::Result {
    f.write_str(if sparse_safe { ", sparse-safe" } else { "" })
}

fn aggregate(op: AggregateOp, direction: Direction) -> String {
    let direction = match direction {
        Direction::Full => "",
        Direction::Row => "R",
        Direction::Col => "C",
    };
    format!("ua({direction}{})", op.code())
}

impl fmt::Display for CNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CNode::Input(input) => write!(f, "in{input}"),
            CNode::Literal(value) if is_another_nan(*value) => {
                write!(f, "NaN:{:x}", value.to_bits())
            }
            CNode::Literal(value) => write!(f, "{value:?}"),
            CNode::Unary(op, a) => write!(f, "u({}) {a}", op.code()),
            CNode::Binary(op, a, b) => write!(f, "b({}) {a} {b}", op.code()),
            CNode::Ternary(op, a, b, c) => write!(f, "t({}) {a} {b} {c}", op.code()),
            CNode::Reduce(op, a) => write!(f, "reduce({}) {a}", op.code()),
            CNode::VectorMatrix {
                vector,
                input,
                scalar,
            } => {
                let result = if *scalar { " to scalar" } else { "" };
                write!(f, "{vector} %*% in{input}{result}")
            }
            CNode::ColumnRange { vector, from, to } => write!(f, "{vector}[{from}:{to}]"),
            CNode::Concatenate(parts) => {
                let parts: Vec<String> = parts.iter().map(ToString::to_string).collect();
                write!(f, "cbind({})", parts.join(" "))
            }
            CNode::Cumulative(op, a) => write!(f, "{} {a}", op.code()),
            CNode::FactorProduct { left, right } => write!(f, "in{left} dot in{right}"),
        }
    }
}
