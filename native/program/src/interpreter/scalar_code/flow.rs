//! Blocks as a graph: straight-line code, and where the run goes after it.

use std::collections::HashMap;

use fulgurite_error::Position;
use fulgurite_hop::{Argument, Block, Dag, Function, Predicate, Program};

pub(super) type NodeId = usize;

/// A graph of the blocks of a region or a function.
pub(super) struct Flow<'p> {
    pub(super) nodes: Vec<Node<'p>>,
    pub(super) entry: NodeId,
    /// By their places.
    pub(super) variables: Vec<&'p str>,
    places: HashMap<&'p str, usize>,
    /// How many loops count.
    pub(super) ranges: usize,
}

pub(super) struct Node<'p> {
    pub(super) step: Step<'p>,
    /// What errors tell that know no place.
    pub(super) position: Option<&'p Position>,
}

pub(super) enum Step<'p> {
    Straight {
        dag: &'p Dag,
        next: NodeId,
    },
    Branch {
        dag: &'p Dag,
        /// The predicate of a `while`.
        is_loop: bool,
        yes: NodeId,
        no: NodeId,
    },
    /// A bound, or the increment, of the range with this number: its place is 0, 1 or 2.
    Bound {
        dag: &'p Dag,
        range: usize,
        place: usize,
        next: NodeId,
    },
    Range {
        range: usize,
        has_increment: bool,
        next: NodeId,
    },
    Next {
        range: usize,
        variable: usize,
        body: NodeId,
        end: NodeId,
    },
    Call {
        function: &'p Function,
        arguments: &'p [Argument],
        outputs: &'p [String],
        next: NodeId,
    },
    End,
}

impl<'p> Flow<'p> {
    /// Nothing where blocks are no code: a `parfor`, a function that is not there.
    pub(super) fn of(blocks: &'p [Block], program: &'p Program) -> Option<Self> {
        let mut flow = Flow {
            nodes: Vec::new(),
            entry: 0,
            variables: Vec::new(),
            places: HashMap::new(),
            ranges: 0,
        };
        let end = flow.node(Step::End, None);
        flow.entry = flow.blocks(blocks, None, end, program)?;
        Some(flow)
    }

    pub(super) fn place_of(&self, variable: &str) -> Option<usize> {
        self.places.get(variable).copied()
    }

    /// The place of a variable, which it gets now if it has none.
    pub(super) fn variable(&mut self, name: &'p str) -> usize {
        let next = self.variables.len();
        let place = *self.places.entry(name).or_insert(next);
        if place == next {
            self.variables.push(name);
        }
        place
    }

    fn node(&mut self, step: Step<'p>, position: Option<&'p Position>) -> NodeId {
        self.nodes.push(Node { step, position });
        self.nodes.len() - 1
    }

    /// The first node of blocks that go on at `next`. `around` is the place of the predicate that they are part of.
    fn blocks(
        &mut self,
        blocks: &'p [Block],
        around: Option<&'p Position>,
        mut next: NodeId,
        program: &'p Program,
    ) -> Option<NodeId> {
        for block in blocks.iter().rev() {
            next = self.block(block, around, next, program)?;
        }
        Some(next)
    }

    fn block(
        &mut self,
        block: &'p Block,
        around: Option<&'p Position>,
        next: NodeId,
        program: &'p Program,
    ) -> Option<NodeId> {
        Some(match block {
            Block::Basic { dag } => {
                self.names(dag);
                self.node(Step::Straight { dag, next }, around)
            }
            Block::If {
                predicate,
                then,
                otherwise,
                position,
            } => {
                let yes = self.blocks(then, around, next, program)?;
                let no = self.blocks(otherwise, around, next, program)?;
                let branch = |dag| Step::Branch {
                    dag,
                    is_loop: false,
                    yes,
                    no,
                };
                self.predicate(predicate, branch, position.as_ref().or(around), program)?
            }
            Block::While {
                predicate,
                body,
                position,
            } => {
                // The body goes back to the predicate, which knows where the body begins: a node stands for it until then.
                let again = self.node(Step::End, None);
                let yes = self.blocks(body, around, again, program)?;
                let branch = |dag| Step::Branch {
                    dag,
                    is_loop: true,
                    yes,
                    no: next,
                };
                let first =
                    self.predicate(predicate, branch, position.as_ref().or(around), program)?;
                self.redirect(again, first);
                first
            }
            Block::For {
                parallel: Some(_), ..
            } => return None,
            Block::For {
                variable,
                from,
                to,
                increment,
                body,
                parallel: None,
                position,
            } => {
                let around_bounds = position.as_ref().or(around);
                let range = self.ranges;
                self.ranges += 1;
                let variable = self.variable(variable);
                let head = self.node(Step::End, None);
                let body = self.blocks(body, around, head, program)?;
                self.nodes[head].step = Step::Next {
                    range,
                    variable,
                    body,
                    end: next,
                };
                let has_increment = increment.is_some();
                let start = Step::Range {
                    range,
                    has_increment,
                    next: head,
                };
                let mut first = self.node(start, around_bounds);
                let bounds = [Some(from), Some(to), increment.as_ref()];
                for (place, bound) in bounds.into_iter().enumerate().rev() {
                    let Some(bound) = bound else { continue };
                    let next = first;
                    let step = |dag| Step::Bound {
                        dag,
                        range,
                        place,
                        next,
                    };
                    first = self.predicate(bound, step, around_bounds, program)?;
                }
                first
            }
            Block::Call {
                function,
                arguments,
                outputs,
                position,
            } => {
                for argument in arguments {
                    if let Argument::Variable { variable, .. } = argument {
                        self.variable(variable);
                    }
                }
                for output in outputs {
                    self.variable(output);
                }
                let step = Step::Call {
                    function: program.functions.get(function)?,
                    arguments,
                    outputs,
                    next,
                };
                self.node(step, position.as_ref().or(around))
            }
        })
    }

    fn predicate(
        &mut self,
        predicate: &'p Predicate,
        step: impl FnOnce(&'p Dag) -> Step<'p>,
        around: Option<&'p Position>,
        program: &'p Program,
    ) -> Option<NodeId> {
        self.names(&predicate.dag);
        let node = self.node(step(&predicate.dag), around);
        self.blocks(&predicate.before, around, node, program)
    }

    /// Whoever went on at `from` goes on at `to`.
    fn redirect(&mut self, from: NodeId, to: NodeId) {
        let changed = |next: &mut NodeId| {
            if *next == from {
                *next = to;
            }
        };
        for node in &mut self.nodes {
            match &mut node.step {
                Step::Straight { next, .. }
                | Step::Bound { next, .. }
                | Step::Range { next, .. }
                | Step::Call { next, .. } => changed(next),
                Step::Branch { yes, no, .. } => [yes, no].into_iter().for_each(changed),
                Step::Next { body, end, .. } => [body, end].into_iter().for_each(changed),
                Step::End => {}
            }
        }
    }

    fn names(&mut self, dag: &'p Dag) {
        for (_, hop) in dag.iter() {
            let read = hop.op.variable_read();
            if let Some(name) = read.or_else(|| hop.op.variable_written()) {
                self.variable(name);
            }
        }
    }
}
