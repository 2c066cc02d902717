//! Pictures of DAGs: HOPs as boxes, fused operators (or partitions) as coloured regions around them.
//!
//! [`pictures`] says what is drawn; [`dot`], [`svg`] and [`html`] say how; `layout` says where boxes stand, `fold`
//! how tall pictures become wide ones, [`frames`] what control flow is around blocks.

pub(super) mod dot;
pub(super) mod html;
pub(super) mod svg;

mod fold;
mod frames;
mod layout;

use fulgurite_fusion::explain::{Decision, OperatorExplanation, PartitionExplanation};
use fulgurite_hop::{Bytes, HopId, Seconds, memory};
use fulgurite_program::ExplainLevel;

use frames::Frame;

use super::{
    analysis::{Analysis, BlockAnalysis, shortened},
    why::{self, Answer},
};

/// One block.
pub(crate) struct Picture<'a> {
    pub block: &'a BlockAnalysis,
    pub title: String,
    /// Control flow around it, from the outside.
    pub frames: Vec<Frame>,
    /// Costs of the block's plans, where the level is about plans.
    pub subtitle: Option<String>,
    pub nodes: Vec<Node>,
    /// By places among the nodes, from what is read to what reads it.
    pub edges: Vec<Edge>,
    pub regions: Vec<Region>,
}

pub(crate) struct Node {
    pub hop: HopId,
    /// `13 ba(+*)`
    pub label: String,
    /// The size, then the expression of the script, then costs.
    pub lines: Vec<String>,
    /// Of the block's time by the cost model, if the operator is not fused.
    pub share: Option<f64>,
    pub kind: NodeKind,
    pub is_materialized: bool,
    /// The regions that it is in: several, where something is computed more than once.
    pub regions: Vec<usize>,
    pub answer: Answer,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NodeKind {
    /// A variable or a file.
    Data,
    Operator,
}

pub(crate) struct Edge {
    pub from: usize,
    pub to: usize,
    /// Both ends are in this region.
    pub region: Option<usize>,
    /// A decision of the search: materialized or not.
    pub decision: Option<bool>,
}

pub(crate) struct Region {
    /// `fused(0) Row ba(+*)`
    pub label: String,
    pub detail: String,
    /// The lines of the script that a fused operator comes from.
    pub lines: Vec<String>,
    /// Of the block's time by the cost model.
    pub share: Option<f64>,
    /// Of [`COLOURS`].
    pub colour: usize,
}

impl Region {
    /// Costs, and the share of the block's time.
    pub fn caption(&self) -> String {
        match self.share {
            Some(share) => format!("{}, {:.0} % of the block", self.detail, 100.0 * share),
            None => self.detail.clone(),
        }
    }
}

/// What a box has room for.
const MOST_LETTERS: usize = 44;

/// A fill for light pages, one for dark ones and a stroke for both, in turn for the operators of a block, in an order
/// that also tells neighbours apart for the colour-blind.
pub(crate) const COLOURS: [(&str, &str, &str); 6] = [
    ("#cfe2f3", "#1c3d5a", "#3b7dd8"),
    ("#fde7c3", "#5a4213", "#d08a1d"),
    ("#d9ead3", "#24482b", "#4f9d5d"),
    ("#ead1dc", "#552a40", "#c05a8c"),
    ("#e0d7f2", "#3a2d5c", "#7d63c4"),
    ("#d0ece7", "#1d4a43", "#2f9e8f"),
];

/// Blocks with something to see, in the order of the script.
pub(crate) fn pictures(analysis: &Analysis, level: ExplainLevel) -> Vec<Picture<'_>> {
    let blocks = analysis.blocks.iter().zip(frames::of_blocks(analysis));
    blocks
        .filter(|(block, _)| block.has_matrices())
        .map(|(block, frames)| Picture::new(block, frames, level))
        .collect()
}

impl<'a> Picture<'a> {
    fn new(block: &'a BlockAnalysis, frames: Vec<Frame>, level: ExplainLevel) -> Self {
        let explanation = &block.fused.explanation;
        let (regions, members): (Vec<Region>, Vec<&[HopId]>) = match level {
            ExplainLevel::Plan => {
                let operators = explanation.operators.iter().enumerate();
                operators
                    .map(|(number, each)| (operator_region(block, number, each), &each.covered[..]))
                    .unzip()
            }
            ExplainLevel::Partitions => {
                let partitions = explanation.partitions.iter().enumerate();
                partitions
                    .map(|(number, each)| {
                        (partition_region(number, each), &each.partition.hops[..])
                    })
                    .unzip()
            }
            _ => (Vec::new(), Vec::new()),
        };
        let drawn = drawn(block);
        let nodes = drawn.iter().map(|hop| {
            let in_region = |place: &usize| members[*place].contains(hop);
            let regions = (0..members.len()).filter(in_region).collect();
            node(block, *hop, regions, level)
        });
        let mut picture = Picture {
            block,
            title: block.title(),
            frames,
            subtitle: match level {
                ExplainLevel::Hops => None,
                _ => block.plan_costs().map(|costs| costs.to_string()),
            },
            nodes: nodes.collect(),
            edges: Vec::new(),
            regions,
        };
        picture.edges = picture.edges(&drawn, level);
        picture
    }

    fn edges(&self, drawn: &[HopId], level: ExplainLevel) -> Vec<Edge> {
        let partitions = match level {
            ExplainLevel::Hops => &[],
            _ => &self.block.fused.explanation.partitions[..],
        };
        let decisions = || partitions.iter().flat_map(|partition| &partition.decisions);
        let mut edges = Vec::new();
        for (to, node) in self.nodes.iter().enumerate() {
            let mut inputs = self.block.dag.hop(node.hop).inputs.clone();
            inputs.sort_unstable();
            inputs.dedup();
            for input in inputs {
                let Ok(from) = drawn.binary_search(&input) else {
                    continue;
                };
                let is_shared = |region: &&usize| self.nodes[from].regions.contains(region);
                let is_here = |decision: &&Decision| {
                    (decision.point.consumer, decision.point.target) == (node.hop, input)
                };
                edges.push(Edge {
                    from,
                    to,
                    region: node.regions.iter().find(is_shared).copied(),
                    decision: decisions()
                        .find(is_here)
                        .map(|decision| decision.materialize),
                });
            }
        }
        edges
    }
}

/// What is needed and is on matrices; in ascending order.
fn drawn(block: &BlockAnalysis) -> Vec<HopId> {
    let mut needed = vec![false; block.dag.len()];
    for root in &block.dag.roots {
        needed[root.index()] = true;
    }
    for (id, hop) in block.dag.iter().rev() {
        if needed[id.index()] {
            for input in &hop.inputs {
                needed[input.index()] = true;
            }
        }
    }
    let hops = block.dag.iter().map(|(id, _)| id);
    hops.filter(|id| needed[id.index()] && block.is_on_matrices(*id))
        .collect()
}

fn node(block: &BlockAnalysis, id: HopId, regions: Vec<usize>, level: ExplainLevel) -> Node {
    let hop = block.dag.hop(id);
    let mut lines = vec![match hop.is_matrix() {
        true => hop.characteristics.to_string(),
        false => hop.data_type.to_string(),
    }];
    let op = &hop.op;
    let is_variable = op.variable_read().is_some() || op.variable_written().is_some();
    let is_data = is_variable || op.reads_file() || op.writes_file();
    let answer = why::answer_for(block, id);
    if level == ExplainLevel::Hops {
        lines.push(Bytes(memory::operation_bytes(&block.dag, id)).to_string());
    } else if let Some(cost) = answer.basic_cost.filter(|_| !is_data) {
        lines.push(format!("{} alone", Seconds(cost)));
    }
    if !is_data {
        let line = block.line(id).map_or(String::new(), |line| line + ": ");
        let expression = line + &block.expression(id, &[]);
        lines.insert(1, shortened(&expression, MOST_LETTERS));
    }
    let own = block.node(id).filter(|node| node.fused.is_none());
    let cost = own
        .and_then(|node| node.cost)
        .filter(|_| level == ExplainLevel::Plan);
    Node {
        hop: id,
        label: format!("{id} {}", hop.op.code()),
        lines,
        share: cost.map(|cost| block.share(cost)),
        kind: match is_data {
            true => NodeKind::Data,
            false => NodeKind::Operator,
        },
        is_materialized: level != ExplainLevel::Hops && block.is_materialization_point(id),
        regions,
        answer,
    }
}

fn operator_region(block: &BlockAnalysis, number: usize, operator: &OperatorExplanation) -> Region {
    let costs = &operator.costs;
    Region {
        label: format!("fused({number}) {}", operator.label),
        lines: block.in_the_script(&operator.roots, &operator.covered),
        share: Some(block.share(costs.cost)),
        detail: format!(
            "{}, unfused {}",
            Seconds(costs.cost),
            Seconds(costs.unfused)
        ),
        colour: number % COLOURS.len(),
    }
}

fn partition_region(number: usize, partition: &PartitionExplanation) -> Region {
    let costs = partition.costs.map(|costs| costs.to_string());
    Region {
        label: format!("partition {number}"),
        lines: Vec::new(),
        share: None,
        detail: costs.unwrap_or_default(),
        colour: number % COLOURS.len(),
    }
}
