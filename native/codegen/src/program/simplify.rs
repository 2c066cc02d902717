//! Rewrites of single nodes into cheaper ones with the same value.

use fulgurite_fusion::cplan::{CNode, NodeId};
use fulgurite_hop::{BinaryOp, UnaryOp};

/// The body with each node rewritten, and the place of each old node in it.
pub(super) fn simplify(body: &[CNode]) -> (Vec<CNode>, Vec<NodeId>) {
    let mut nodes: Vec<CNode> = Vec::new();
    let mut places: Vec<NodeId> = Vec::new();
    for node in body {
        let node = renumber(node, |id| places[id.index()]);
        let simpler = match node {
            CNode::Binary(BinaryOp::Pow, x, y) if is_literal(&nodes, y, 2.0) => {
                CNode::Unary(UnaryOp::Pow2, x)
            }
            CNode::Binary(BinaryOp::Pow, x, y) if is_literal(&nodes, y, 1.0) => {
                places.push(x);
                continue;
            }
            other => other,
        };
        nodes.push(simpler);
        places.push(NodeId(nodes.len() as u32 - 1));
    }
    (nodes, places)
}

fn is_literal(nodes: &[CNode], id: NodeId, value: f64) -> bool {
    matches!(nodes[id.index()], CNode::Literal(literal) if literal == value)
}

fn renumber(node: &CNode, place: impl Fn(NodeId) -> NodeId) -> CNode {
    match node {
        CNode::Input(_) | CNode::Literal(_) | CNode::FactorProduct { .. } => node.clone(),
        CNode::Unary(op, a) => CNode::Unary(*op, place(*a)),
        CNode::Binary(op, a, b) => CNode::Binary(*op, place(*a), place(*b)),
        CNode::Ternary(op, a, b, c) => CNode::Ternary(*op, place(*a), place(*b), place(*c)),
        CNode::Reduce(op, a) => CNode::Reduce(*op, place(*a)),
        CNode::VectorMatrix {
            vector,
            input,
            scalar,
        } => CNode::VectorMatrix {
            vector: place(*vector),
            input: *input,
            scalar: *scalar,
        },
        CNode::ColumnRange { vector, from, to } => CNode::ColumnRange {
            vector: place(*vector),
            from: *from,
            to: *to,
        },
        CNode::Concatenate(parts) => {
            CNode::Concatenate(parts.iter().map(|part| place(*part)).collect())
        }
        CNode::Cumulative(op, a) => CNode::Cumulative(*op, place(*a)),
    }
}
