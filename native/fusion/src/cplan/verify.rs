//! Consistency of CPlans that come from outside this process.

use fulgurite_error::{Error, Result};

use super::{CNode, CPlan, InputBinding, NodeId, OuterOutput, OuterTemplate, RowOutput, Template};
use crate::roles::{Fold, of_function};

impl CPlan {
    /// The nodes whose values leave the body.
    pub fn outputs(&self) -> Vec<NodeId> {
        match &self.template {
            Template::Cell(cell) => vec![cell.value],
            Template::Outer(outer) => vec![outer.value],
            Template::MultiAggregate(several) => {
                several.aggregates.iter().map(|(_, value)| *value).collect()
            }
            Template::Group(group) => {
                let values = group.aggregates.iter().map(|(_, value)| *value);
                std::iter::once(group.groups).chain(values).collect()
            }
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
        let is_row = matches!(self.template, Template::Row(_));
        let is_outer = matches!(self.template, Template::Outer(_));
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
            let is_bound = |binding: InputBinding| match binding {
                InputBinding::Whole => is_product,
                InputBinding::LeftFactor | InputBinding::RightFactor => false,
                _ => !is_product,
            };
            if binding.is_some_and(|binding| !is_bound(binding)) {
                return bad(index, "reads an input in a way it is not bound");
            }
            if let CNode::FactorProduct { left, right } = node {
                let factors = (self.inputs.get(*left), self.inputs.get(*right));
                if factors
                    != (
                        Some(&InputBinding::LeftFactor),
                        Some(&InputBinding::RightFactor),
                    )
                {
                    return bad(index, "needs a left and a right factor");
                }
            }
            let is_scalar_code = matches!(
                node,
                CNode::Input(_)
                    | CNode::Literal(_)
                    | CNode::Unary(..)
                    | CNode::Binary(..)
                    | CNode::Ternary(..)
            );
            let is_factor_product = matches!(node, CNode::FactorProduct { .. });
            if !(is_scalar_code || is_row && !is_factor_product || is_outer && is_factor_product) {
                return bad(index, "is not an operation of this template");
            }
        }
        if self
            .outputs()
            .iter()
            .any(|output| output.index() >= self.body.len())
        {
            return bad(self.body.len(), "is the output but does not exist");
        }
        if self.outputs().is_empty() {
            return refuse("a MAgg plan needs at least one aggregate".into());
        }
        if let Template::Outer(OuterTemplate {
            output: OuterOutput::RightMultiply { input } | OuterOutput::LeftMultiply { input },
            ..
        }) = self.template
            && self.inputs.get(input) != Some(&InputBinding::Whole)
        {
            return refuse(format!(
                "an Outer plan multiplies with input {input}, which is not whole"
            ));
        }
        if let Template::Group(group) = &self.template {
            if group.aggregates.is_empty() {
                return refuse("a Group plan needs at least one aggregate".into());
            }
            if self.inputs.get(group.count) != Some(&InputBinding::Scalar) {
                let count = group.count;
                return refuse(format!(
                    "a Group plan takes the number of groups from input {count}, which is no scalar"
                ));
            }
            let is_taken = |op| {
                matches!(Fold::of(op), Fold::Sum | Fold::Mean | Fold::Extreme)
                    && of_function(op).is_none()
            };
            if let Some((op, _)) = group.aggregates.iter().find(|(op, _)| !is_taken(*op)) {
                let op = op.code();
                return refuse(format!("a Group plan has no aggregate '{op}'"));
            }
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
            RowOutput::OuterProduct { left, right } => match vectors[left.index()] {
                true => (left, true),
                false => (right, true),
            },
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
