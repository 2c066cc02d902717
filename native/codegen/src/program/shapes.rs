//! The shape of every node's value within a block of rows, and which vectors are equally wide.

use fulgurite_fusion::cplan::{CNode, InputBinding, NodeId};

use super::ColumnVectors;

/// What a node's value is while a block of rows is processed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Shape {
    /// The same number for every row.
    Constant,
    /// A number per row.
    PerRow,
    /// A vector per row, of the class's width.
    Vector(usize),
}

/// What a width class must be equal to. Widths are only known when operands are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum WidthSource {
    /// The columns of an input.
    Input(usize),
    Fixed(u64),
    /// Parts side by side: vectors by class, and this many numbers.
    Sum(Vec<usize>, u64),
}

#[derive(Debug)]
pub(crate) struct Shapes {
    pub nodes: Vec<Shape>,
    /// For each class, everything that defines its width: they must agree. Classes only refer to earlier ones
    /// in [`WidthSource::Sum`].
    pub classes: Vec<Vec<WidthSource>>,
}

impl Shapes {
    pub fn of(&self, node: NodeId) -> Shape {
        self.nodes[node.index()]
    }
}

/// In Cell programs every vector is a row of the tile: one class.
pub(super) fn cell_shapes(
    inputs: &[InputBinding],
    nodes: &[CNode],
    column_vectors: ColumnVectors,
) -> Shapes {
    let mut shapes: Vec<Shape> = Vec::new();
    for node in nodes {
        let shape = match node {
            CNode::Input(input) => match inputs[*input] {
                InputBinding::Scalar => Shape::Constant,
                InputBinding::ColumnVector if column_vectors == ColumnVectors::PerRow => {
                    Shape::PerRow
                }
                _ => Shape::Vector(0),
            },
            other => widest(other.operands().iter().map(|id| shapes[id.index()])),
        };
        shapes.push(shape);
    }
    Shapes {
        nodes: shapes,
        classes: vec![vec![WidthSource::Input(0)]],
    }
}

/// # Errors
/// What is wrong with the plan.
pub(super) fn row_shapes(inputs: &[InputBinding], nodes: &[CNode]) -> Result<Shapes, String> {
    let mut builder = Builder {
        shapes: Vec::new(),
        parents: Vec::new(),
        sources: Vec::new(),
    };
    for (at, node) in nodes.iter().enumerate() {
        let shape = builder.shape_of(inputs, node, at)?;
        builder.shapes.push(shape);
    }
    Ok(builder.finish())
}

fn widest(operands: impl Iterator<Item = Shape>) -> Shape {
    operands.fold(Shape::Constant, |widest, shape| match (widest, shape) {
        (Shape::Vector(class), _) | (_, Shape::Vector(class)) => Shape::Vector(class),
        (Shape::PerRow, _) | (_, Shape::PerRow) => Shape::PerRow,
        _ => Shape::Constant,
    })
}

/// Classes while they are being merged: a union-find forest.
struct Builder {
    shapes: Vec<Shape>,
    parents: Vec<usize>,
    sources: Vec<Vec<WidthSource>>,
}

impl Builder {
    fn new_class(&mut self, source: WidthSource) -> Shape {
        self.parents.push(self.parents.len());
        self.sources.push(vec![source]);
        Shape::Vector(self.parents.len() - 1)
    }

    fn root(&self, mut class: usize) -> usize {
        while self.parents[class] != class {
            class = self.parents[class];
        }
        class
    }

    fn input_class(&mut self, input: usize) -> Shape {
        let known = self
            .sources
            .iter()
            .position(|sources| sources.contains(&WidthSource::Input(input)));
        match known {
            Some(class) => Shape::Vector(class),
            None => self.new_class(WidthSource::Input(input)),
        }
    }

    fn shape_of(
        &mut self,
        inputs: &[InputBinding],
        node: &CNode,
        at: usize,
    ) -> Result<Shape, String> {
        let shape = |builder: &Self, id: NodeId| builder.shapes[id.index()];
        Ok(match node {
            CNode::Input(input) => match inputs[*input] {
                InputBinding::Main | InputBinding::Matrix | InputBinding::RowVector => {
                    self.input_class(*input)
                }
                InputBinding::ColumnVector => Shape::PerRow,
                InputBinding::Scalar => Shape::Constant,
                InputBinding::Whole | InputBinding::LeftFactor | InputBinding::RightFactor => {
                    return Err(format!(
                        "node {at} reads input {input}, which is only there as a whole"
                    ));
                }
            },
            CNode::Literal(_) => Shape::Constant,
            CNode::FactorProduct { .. } => {
                return Err(format!("node {at} belongs in an Outer plan"));
            }
            CNode::Reduce(_, operand) | CNode::Cumulative(_, operand)
                if !matches!(shape(self, *operand), Shape::Vector(_)) =>
            {
                return Err(format!("node {at} runs along the row of a scalar"));
            }
            CNode::Reduce(..) => Shape::PerRow,
            CNode::Unary(..) | CNode::Binary(..) | CNode::Ternary(..) | CNode::Cumulative(..) => {
                let operands: Vec<Shape> =
                    node.operands().iter().map(|id| shape(self, *id)).collect();
                self.merge(&operands);
                widest(operands.into_iter())
            }
            CNode::VectorMatrix {
                vector,
                input,
                scalar,
            } => {
                if inputs[*input] != InputBinding::Whole {
                    return Err(format!(
                        "node {at} multiplies by input {input}, which is not there as a whole"
                    ));
                }
                if !matches!(shape(self, *vector), Shape::Vector(_)) {
                    return Err(format!("node {at} multiplies a scalar by a matrix"));
                }
                if *scalar {
                    Shape::PerRow
                } else {
                    self.input_class(*input)
                }
            }
            CNode::ColumnRange { vector, from, to } => {
                if !matches!(shape(self, *vector), Shape::Vector(_)) {
                    return Err(format!("node {at} takes columns of a scalar"));
                }
                if *from == 0 || to < from {
                    return Err(format!("node {at} takes columns {from}:{to}"));
                }
                self.new_class(WidthSource::Fixed(to - from + 1))
            }
            CNode::Concatenate(parts) => {
                let (mut classes, mut scalars) = (Vec::new(), 0);
                for part in parts {
                    match shape(self, *part) {
                        Shape::Vector(class) => classes.push(class),
                        _ => scalars += 1,
                    }
                }
                self.new_class(WidthSource::Sum(classes, scalars))
            }
        })
    }

    /// Vectors that meet in a cellwise operation are equally wide.
    fn merge(&mut self, operands: &[Shape]) {
        let mut first = None;
        for operand in operands {
            let Shape::Vector(class) = operand else {
                continue;
            };
            let class = self.root(*class);
            match first {
                None => first = Some(class),
                Some(first) if first != class => {
                    // The younger class joins the older one, so that sums keep pointing backwards.
                    let (old, young) = (first.min(class), first.max(class));
                    self.parents[young] = old;
                }
                Some(_) => {}
            }
        }
    }

    fn finish(self) -> Shapes {
        // Sums are resolved in the order of classes, so a merged class must not stand before a class that one
        // of its sources refers to: number the roots by their last member.
        let roots: Vec<usize> = (0..self.parents.len())
            .map(|class| self.root(class))
            .collect();
        let mut last: Vec<(usize, usize)> = Vec::new();
        for (class, root) in roots.iter().enumerate() {
            match last.iter_mut().find(|(known, _)| known == root) {
                Some((_, at)) => *at = class,
                None => last.push((*root, class)),
            }
        }
        last.sort_by_key(|(_, at)| *at);
        let number = |class: usize| {
            last.iter()
                .position(|(root, _)| *root == roots[class])
                .unwrap_or_default()
        };
        let mut classes: Vec<Vec<WidthSource>> = vec![Vec::new(); last.len()];
        for (class, sources) in self.sources.iter().enumerate() {
            for source in sources {
                let source = match source {
                    WidthSource::Sum(parts, scalars) => {
                        WidthSource::Sum(parts.iter().map(|part| number(*part)).collect(), *scalars)
                    }
                    other => other.clone(),
                };
                classes[number(class)].push(source);
            }
        }
        let nodes = self
            .shapes
            .iter()
            .map(|shape| match shape {
                Shape::Vector(class) => Shape::Vector(number(*class)),
                other => *other,
            })
            .collect();
        Shapes { nodes, classes }
    }
}
