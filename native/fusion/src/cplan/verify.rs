//! Consistency of CPlans that come from outside this process.

use fulgurite_error::{Error, Result};

use super::{CNode, CPlan, InputBinding, NodeId, RowOutput, Template};

impl CPlan {
    /// The nodes whose values leave the body.
    pub fn outputs(&self) -> Vec<NodeId> {
        match self.template {
            Template::Cell(cell) => vec![cell.value],
            Template::Row(row) => match row.output {
                RowOutput::NoAggregate(value)
                | RowOutput::RowAggregate(value)
                | RowOutput::ColumnAggregate(_, value)
                | RowOutput::FullAggregate(_, value) => vec![value],
                RowOutput::OuterProduct { left, right } => vec![left, right],
            },
        }
    }

    /// Checks that nodes read earlier nodes, inputs exist and are bound as they are read, and vectors and
    /// scalars stand where they may.
    ///
    /// # Errors
    /// `plan`, naming the node.
    pub fn verify(&self) -> Result<()> {
        let refuse = |message: String| {
            Err(Error::plan(message)
                .with_help("use the same version of Fulgurite on the driver and on the workers"))
        };
        let bad = |node: usize, what: &str| refuse(format!("CPlan node %{node} {what}"));
        let mains = self
            .inputs
            .iter()
            .filter(|input| **input == InputBinding::Main);
        if self.inputs.first() != Some(&InputBinding::Main) || mains.count() != 1 {
            return refuse("a CPlan needs input 0, and no other, to be the main input".into());
        }
        let is_cell = matches!(self.template, Template::Cell(_));
        for (index, node) in self.body.iter().enumerate() {
            if node
                .operands()
                .iter()
                .any(|operand| operand.index() >= index)
            {
                return bad(index, "reads a node that does not stand before it");
            }
            let binding = match node {
                CNode::Input(input) | CNode::VectorMatrix { input, .. } => {
                    match self.inputs.get(*input) {
                        Some(binding) => Some(*binding),
                        None => return bad(index, "reads an input that does not exist"),
                    }
                }
                _ => None,
            };
            let is_product = matches!(node, CNode::VectorMatrix { .. });
            if binding.is_some_and(|binding| (binding == InputBinding::Whole) != is_product) {
                return bad(index, "reads an input in a way it is not bound");
            }
            let is_scalar_code = matches!(
                node,
                CNode::Input(_)
                    | CNode::Literal(_)
                    | CNode::Unary(..)
                    | CNode::Binary(..)
                    | CNode::Ternary(..)
            );
            if is_cell && !is_scalar_code {
                return bad(
                    index,
                    "works on vectors, which the Cell template has none of",
                );
            }
        }
        if self
            .outputs()
            .iter()
            .any(|output| output.index() >= self.body.len())
        {
            return bad(self.body.len(), "is the output but does not exist");
        }
        // Only now all references are known to be good.
        let vectors = self.vectors();
        for (index, node) in self.body.iter().enumerate() {
            let needs_vector = matches!(
                node,
                CNode::Reduce(..)
                    | CNode::VectorMatrix { .. }
                    | CNode::ColumnRange { .. }
                    | CNode::Cumulative(..)
            );
            if needs_vector
                && !node
                    .operands()
                    .iter()
                    .all(|operand| vectors[operand.index()])
            {
                return bad(index, "needs a vector");
            }
        }
        let Template::Row(row) = self.template else {
            return Ok(());
        };
        let (value, is_vector) = match row.output {
            RowOutput::NoAggregate(value) | RowOutput::ColumnAggregate(_, value) => (value, true),
            RowOutput::RowAggregate(value) | RowOutput::FullAggregate(_, value) => (value, false),
            RowOutput::OuterProduct { left, .. } => (left, true),
        };
        match vectors[value.index()] == is_vector {
            true => Ok(()),
            false => bad(
                value.index(),
                "is a scalar where the output is a vector, or the reverse",
            ),
        }
    }
}
