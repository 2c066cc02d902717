//! A plan as straight-line steps over a block of rows: what the code generator translates one to one.
//!
//! While a block of `rows` rows is processed, a node's value is a constant (the same for all rows), one number
//! per row, or one vector per row. Cellwise nodes that can share a loop do; everything else is a call of a
//! primitive that works on the whole block. Values that cross from one step to another live in scratch buffers.
//!
//! All templates become such programs. In Row the block is a few rows of the main input. In Cell, MAgg and Outer it
//! is a tile: a few rows by a segment of columns, or (`ColumnVectors::PerCell`) one row of any cells, with every
//! input gathered cell by cell.

mod layout;
mod lower;
mod places;
mod shapes;
mod simplify;
mod unsupported;

pub(crate) use layout::{Layout, WHOLE_SLOTS};
pub(crate) use lower::lower;
pub(crate) use places::{Location, Read, Stride};
pub(crate) use shapes::{Shape, Shapes, WidthSource};
pub use unsupported::Unsupported;

use fulgurite_fusion::cplan::{CNode, InputBinding, NodeId};

/// How a Cell program sees inputs bound as column vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ColumnVectors {
    /// One number per row of the tile.
    PerRow,
    /// One number per cell: whoever runs the program has spread them.
    PerCell,
}

#[derive(Debug)]
pub(crate) struct Program {
    /// The plan's inputs, then those that stand for products of factors.
    pub inputs: Vec<InputBinding>,
    pub factor_products: Vec<FactorProduct>,
    /// The simplified body, in topological order.
    pub nodes: Vec<CNode>,
    pub shapes: Shapes,
    /// Of each input; per row where no node reads it.
    pub input_shapes: Vec<Shape>,
    /// Where a step finds a node's value that another step computed.
    pub homes: Vec<Home>,
    pub steps: Vec<Step>,
    /// Scratch buffers, by the shape they hold.
    pub buffers: Vec<Shape>,
    /// Nodes whose value is the same for every row and not an input: evaluated before the program runs.
    pub constants: Vec<NodeId>,
    /// The shape of the values the program writes to its output; `None` when it only accumulates an outer product.
    pub output: Option<Shape>,
    /// How many results there are: numbers of a row stand side by side in the output, vectors in equal parts of it, one
    /// after the other.
    pub results: usize,
    /// Of aggregates that skeletons take cells into: where the cells of each are.
    pub taken: Vec<Taken>,
    /// Operands of the outer product that the program accumulates.
    pub outer_product: Option<(NodeId, NodeId)>,
    /// The product's operands are the plan's in reverse, and so its transpose is the result: an input on the left
    /// is read as it is stored, and is what the kernels expect to be the wider one.
    pub outer_product_turned: bool,
    /// Inputs some step reads as plain rows, so that CSR rows must be made dense for it.
    pub reads_dense: Vec<bool>,
    /// Inputs that a primitive can read as CSR rows.
    pub reads_csr: Vec<bool>,
}

/// Floating-point operations in the time that a cell is read in.
const OPERATIONS_PER_READ: f64 = 8.0;

impl Program {
    /// Parts of the output, each with a vector for each row; one where rows have numbers.
    pub fn output_parts(&self) -> usize {
        match self.output {
            Some(Shape::Vector(_)) => self.results.max(1),
            Some(Shape::PerRow | Shape::Constant) | None => 1,
        }
    }

    /// Whether rows meet whole matrices, or each other's cells in an outer product.
    pub fn has_products(&self) -> bool {
        let is_product = |node: &CNode| matches!(node, CNode::VectorMatrix { .. });
        self.outer_product.is_some() || self.nodes.iter().any(is_product)
    }

    /// What a cell takes, in cells that are only read.
    pub fn work_per_cell(&self) -> usize {
        let nodes = self.nodes.iter().zip(&self.shapes.nodes);
        let cell_by_cell = nodes.filter(|(_, shape)| matches!(shape, Shape::Vector(_)));
        let operations = cell_by_cell.map(|(node, _)| match node {
            CNode::Unary(op, ..) => op.flops(),
            CNode::Binary(op, _, right) => op.flops_with(self.literal(*right)),
            CNode::Ternary(op, ..) => op.flops(),
            _ => 0.0,
        });
        1 + (operations.sum::<f64>() / OPERATIONS_PER_READ) as usize
    }

    fn literal(&self, id: NodeId) -> Option<f64> {
        match self.nodes.get(id.index()) {
            Some(CNode::Literal(value)) => Some(*value),
            _ => None,
        }
    }

    /// The inputs that a program over cells reads cell by cell from operands: not scalars, and not those that stand
    /// for products of factors.
    pub fn operands_of_cells(&self) -> impl Iterator<Item = (usize, InputBinding)> {
        let inputs = self.inputs.iter().copied().enumerate();
        inputs.filter(|(input, binding)| {
            use InputBinding::*;
            matches!(binding, Main | Matrix | ColumnVector | RowVector)
                && !self
                    .factor_products
                    .iter()
                    .any(|known| known.input == *input)
        })
    }
}

/// Where a node's value lives between steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Home {
    /// Nowhere: the node is dead, or only used inside the loop that computes it.
    None,
    Input(usize),
    /// A slot of the frame: [`Layout::constant`].
    Constant,
    Buffer(usize),
    /// The columns of another node's value, from `skip` on.
    View {
        of: NodeId,
        skip: u64,
    },
    /// The output; numbers at this place of the row.
    Output(usize),
}

/// `U %*% t(V)` at the cells of a tile, which the body reads as an input of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FactorProduct {
    /// The input with a row for each row of the main input.
    pub left: usize,
    /// The input with a row for each column of the main input.
    pub right: usize,
    /// The program's input for the products.
    pub input: usize,
}

/// Cells that a skeleton takes into an aggregate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Taken {
    /// Those of an input, where they are.
    Input(usize),
    /// Those of a result.
    Result(usize),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Step {
    Loop(Loop),
    /// A primitive computes the node's value into its home.
    Call(NodeId),
    /// Adds the block's outer product to the accumulator.
    OuterProduct {
        left: NodeId,
        right: NodeId,
    },
}

/// One pass over a vector per row, or over the numbers of all rows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Loop {
    pub shape: Shape,
    /// Cellwise nodes it computes, in topological order.
    pub nodes: Vec<NodeId>,
    /// Values it writes to the node's home, or to the output.
    pub stores: Vec<(NodeId, Home)>,
    /// `Reduce` nodes that it computes from its values.
    pub reductions: Vec<NodeId>,
}
