//! Which blocks may be scalar code, as far as their operators say. Types and sizes decide the rest, when they run.

use std::collections::BTreeSet;

use fulgurite_hop::{Block, Dag, Program};

use super::straight::may_be_code as operator_may_be_code;

/// Whether all operators of the blocks, and of the functions that they call, are those of code, and their DAGs are as
/// `asked`.
pub(super) fn may_be_code(
    blocks: &[Block],
    program: &Program,
    asked: &dyn Fn(&Dag) -> bool,
) -> bool {
    let mut scan = Scan {
        program,
        asked,
        functions: BTreeSet::new(),
    };
    scan.blocks(blocks)
}

struct Scan<'p> {
    program: &'p Program,
    asked: &'p dyn Fn(&Dag) -> bool,
    /// Those that were looked at.
    functions: BTreeSet<&'p str>,
}

impl<'p> Scan<'p> {
    fn blocks(&mut self, blocks: &'p [Block]) -> bool {
        blocks.iter().all(|block| self.block(block))
    }

    fn block(&mut self, block: &'p Block) -> bool {
        let own = match block {
            Block::Basic { dag } => self.dag(dag),
            Block::If { .. } | Block::While { .. } => true,
            Block::For { parallel, .. } => parallel.is_none(),
            Block::Call { function, .. } => match self.program.functions.get(function) {
                None => false,
                Some(function) => {
                    !self.functions.insert(&function.name) || self.blocks(&function.body)
                }
            },
        };
        let mut predicates = block.predicates().into_iter();
        own && predicates
            .all(|predicate| self.blocks(&predicate.before) && self.dag(&predicate.dag))
            && block.bodies().into_iter().all(|body| self.blocks(body))
    }

    fn dag(&self, dag: &Dag) -> bool {
        (self.asked)(dag) && dag.iter().all(|(_, hop)| operator_may_be_code(dag, hop))
    }
}
