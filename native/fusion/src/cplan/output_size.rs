//! The size of what a plan gives, from the sizes of its inputs: plans themselves are free of sizes.

use fulgurite_hop::{Characteristics, Direction};

use super::{CNode, CPlan, NodeId, OuterOutput, RowOutput, Template};

impl CPlan {
    /// The size of the output on inputs of these sizes, in the plan's order; a scalar's is 1 x 1. `None` where a size that
    /// it takes is not known. Non-zeros are at most those of the main input, where the plan visits no other cells.
    ///
    /// ```
    /// use fulgurite_fusion::cplan::{CNode, CPlan, CellTemplate, InputBinding, NodeId, Template};
    /// use fulgurite_hop::{AggregateOp, Characteristics, Direction};
    ///
    /// let row_sums = CPlan {
    ///     template: Template::Cell(CellTemplate {
    ///         value: NodeId(0),
    ///         aggregate: Some((AggregateOp::Sum, Direction::Row)),
    ///         sparse_safe: true,
    ///     }),
    ///     inputs: vec![InputBinding::Main],
    ///     body: vec![CNode::Input(0)],
    /// };
    /// let size = row_sums.output_size(&[Characteristics::dims(1000, 10)]);
    /// assert_eq!(size, Some(Characteristics::dims(1000, 1)));
    /// ```
    pub fn output_size(&self, inputs: &[Characteristics]) -> Option<Characteristics> {
        let main = inputs.first()?;
        let size = |rows, cols| Some(Characteristics::new(Some(rows?), Some(cols?), None));
        let stored = |sparse_safe: bool| match sparse_safe {
            true => Some(*main).filter(Characteristics::dims_known),
            false => size(main.rows, main.cols),
        };
        let cols_of = |input: usize| inputs.get(input)?.cols;
        match &self.template {
            Template::Cell(cell) => match cell.aggregate {
                None => stored(cell.sparse_safe),
                Some((_, Direction::Full)) => size(Some(1), Some(1)),
                Some((_, Direction::Row)) => size(main.rows, Some(1)),
                Some((_, Direction::Col)) => size(Some(1), main.cols),
            },
            Template::MultiAggregate(several) => {
                let count = Some(several.aggregates.len() as u64);
                match several.direction {
                    Direction::Full => size(count, Some(1)),
                    Direction::Row => size(main.rows, count),
                    Direction::Col => size(count, main.cols),
                }
            }
            // How many groups there are is in none of the sizes.
            Template::Group(_) => None,
            Template::Outer(outer) => match outer.output {
                OuterOutput::NoAggregate => stored(outer.sparse_safe),
                OuterOutput::FullAggregate(_) => size(Some(1), Some(1)),
                OuterOutput::RightMultiply { input } => size(main.rows, cols_of(input)),
                OuterOutput::LeftMultiply { input } => size(main.cols, cols_of(input)),
            },
            Template::Row(row) => {
                let widths = self.widths(inputs);
                let width = |node: NodeId| *widths.get(node.index())?;
                match row.output {
                    RowOutput::NoAggregate(vector) => size(main.rows, width(vector)),
                    RowOutput::RowAggregate(_) => size(main.rows, Some(1)),
                    RowOutput::ColumnAggregate(_, vector) => size(Some(1), width(vector)),
                    RowOutput::FullAggregate(..) => size(Some(1), Some(1)),
                    RowOutput::OuterProduct { left, right } => size(width(left), width(right)),
                }
            }
        }
    }

    /// Of a Row plan's nodes: cells of a vector, 1 of a scalar.
    fn widths(&self, inputs: &[Characteristics]) -> Vec<Option<u64>> {
        let vectors = self.vectors();
        let mut widths: Vec<Option<u64>> = Vec::with_capacity(self.body.len());
        for (node, is_vector) in self.body.iter().zip(&vectors) {
            let of = |id: &NodeId| *widths.get(id.index())?;
            let width = match node {
                _ if !is_vector => Some(1),
                CNode::Input(input) | CNode::VectorMatrix { input, .. } => {
                    inputs.get(*input).and_then(|size| size.cols)
                }
                CNode::ColumnRange { from, to, .. } => Some((to + 1).saturating_sub(*from)),
                CNode::Concatenate(parts) => parts
                    .iter()
                    .try_fold(0u64, |sum, part| Some(sum.saturating_add(of(part)?))),
                // Scalars are spread over a vector; which vector it is does not matter.
                other => {
                    let operands = other.operands();
                    let mut operands = operands.iter();
                    operands.find(|id| vectors[id.index()]).and_then(of)
                }
            };
            widths.push(width);
        }
        widths
    }
}

#[cfg(test)]
mod tests {
    use fulgurite_hop::{AggregateOp, BinaryOp};

    use super::*;
    use crate::cplan::{InputBinding, OuterTemplate, RowTemplate};

    fn row(output: RowOutput, body: Vec<CNode>) -> CPlan {
        CPlan {
            template: Template::Row(RowTemplate { output }),
            inputs: vec![
                InputBinding::Main,
                InputBinding::Whole,
                InputBinding::ColumnVector,
            ],
            body,
        }
    }

    #[test]
    fn rows_are_as_wide_as_what_made_them() {
        let inputs = [(1000, 10), (10, 3), (1000, 1)];
        let inputs = inputs.map(|(rows, cols)| Characteristics::dims(rows, cols));
        let body = vec![
            CNode::Input(0),
            CNode::VectorMatrix {
                vector: NodeId(0),
                input: 1,
                scalar: false,
            },
            CNode::Input(2),
            CNode::Binary(BinaryOp::Mult, NodeId(2), NodeId(1)),
            CNode::Concatenate(vec![NodeId(3), NodeId(2)]),
            CNode::ColumnRange {
                vector: NodeId(4),
                from: 2,
                to: 3,
            },
            CNode::Reduce(AggregateOp::Sum, NodeId(5)),
        ];
        let size = |output| {
            let size = row(output, body.clone()).output_size(&inputs).unwrap();
            (size.rows.unwrap(), size.cols.unwrap())
        };
        assert_eq!(size(RowOutput::NoAggregate(NodeId(3))), (1000, 3));
        assert_eq!(size(RowOutput::NoAggregate(NodeId(4))), (1000, 4));
        assert_eq!(size(RowOutput::NoAggregate(NodeId(5))), (1000, 2));
        assert_eq!(size(RowOutput::RowAggregate(NodeId(6))), (1000, 1));
        let sums = RowOutput::ColumnAggregate(AggregateOp::Sum, NodeId(0));
        assert_eq!(size(sums), (1, 10));
        let full = RowOutput::FullAggregate(AggregateOp::Sum, NodeId(6));
        assert_eq!(size(full), (1, 1));
        let product = |right| RowOutput::OuterProduct {
            left: NodeId(0),
            right,
        };
        assert_eq!(size(product(NodeId(4))), (10, 4));
        assert_eq!(size(product(NodeId(6))), (10, 1));
    }

    #[test]
    fn what_visits_only_the_stored_cells_gives_no_more() {
        let outer = |sparse_safe, output| CPlan {
            template: Template::Outer(OuterTemplate {
                value: NodeId(0),
                output,
                sparse_safe,
            }),
            inputs: vec![
                InputBinding::Main,
                InputBinding::LeftFactor,
                InputBinding::RightFactor,
                InputBinding::Whole,
            ],
            body: vec![CNode::FactorProduct { left: 1, right: 2 }],
        };
        let main = Characteristics::dims(1000, 500).with_nnz(70);
        let others = [(1000, 20), (500, 20), (500, 7)];
        let others = others.map(|(rows, cols)| Characteristics::dims(rows, cols));
        let size = |plan: CPlan| plan.output_size(&[main, others[0], others[1], others[2]]);
        assert_eq!(size(outer(true, OuterOutput::NoAggregate)), Some(main));
        assert_eq!(
            size(outer(false, OuterOutput::NoAggregate)),
            Some(Characteristics::dims(1000, 500))
        );
        let multiplied = OuterOutput::RightMultiply { input: 3 };
        assert_eq!(
            size(outer(true, multiplied)),
            Some(Characteristics::dims(1000, 7))
        );
        let unknown =
            outer(true, OuterOutput::NoAggregate).output_size(&[Characteristics::UNKNOWN]);
        assert_eq!(unknown, None);
    }
}
