//! Plans blocks as an interpreter comes to them.

use std::sync::{Arc, Mutex};

use fulgurite_error::Result;
use fulgurite_hop::Dag;
use fulgurite_operators::BlockPlan;
use fulgurite_worker::Compilation;
use rustc_hash::FxHashMap;

use super::{context::Context, scalar_code::ScalarCode};
use crate::{
    loops::Loops,
    plans::{PlanOutcome, PlannedBlock, Plans},
    symbols::SymbolTable,
};

/// All plans of a program, and where in its loops one interpreter is.
#[derive(Default)]
pub(super) struct Planner {
    plans: Arc<Plans>,
    /// Of the blocks that this interpreter has come to, by their addresses: it asks the others for a block once.
    blocks: FxHashMap<usize, Arc<Mutex<PlannedBlock>>>,
    pub(super) loops: Loops,
    /// Of loops and calls that need no plans.
    pub(super) scalar_code: Arc<ScalarCode>,
}

impl Planner {
    /// For a program that has these plans so far.
    pub(super) fn with_plans(plans: Arc<Plans>) -> Self {
        Planner {
            plans,
            ..Planner::default()
        }
    }

    /// For an interpreter that runs iterations of the loop that this one is in.
    pub(super) fn of_iterations(&self) -> Self {
        Planner {
            plans: Arc::clone(&self.plans),
            loops: self.loops.clone(),
            scalar_code: Arc::clone(&self.scalar_code),
            blocks: FxHashMap::default(),
        }
    }

    /// What was compiled for the plans that there are.
    pub(super) fn compilation(&self) -> Compilation {
        self.plans.compilation()
    }

    pub(super) fn plan(
        &mut self,
        dag: &Dag,
        symbols: &SymbolTable,
        context: &mut Context,
    ) -> Result<Arc<BlockPlan>> {
        let conditions = context.session.conditions();
        let plans = &self.plans;
        let block = self.blocks.entry(std::ptr::from_ref(dag).addr());
        let block = block.or_insert_with(|| plans.block(dag));
        let (plan, outcome, elapsed) = plans.plan(block, dag, symbols, &conditions, &self.loops)?;
        match outcome {
            PlanOutcome::Served => context.recorder.lock().served(elapsed),
            PlanOutcome::Resized => context.recorder.lock().resized(elapsed),
            PlanOutcome::Made { why, fusion } => {
                let first = dag.iter().find_map(|(_, hop)| hop.position.as_ref());
                tracing::debug!(
                    line = first.map(|position| position.line),
                    ?why,
                    ?elapsed,
                    ?fusion,
                    "planned a block"
                );
                context.recorder.lock().planned(elapsed, why, &fusion);
                // With workers, some of the operators are theirs to compile.
                if context.session.backend.is_none() {
                    let operators = plan.fused.iter();
                    let operators = operators.map(|fused| (&fused.plan, &fused.compiled));
                    let cache = &context.session.plan_cache;
                    let compile = || {
                        cache.compile_ahead(operators);
                        Ok(())
                    };
                    context.threads.run(compile)?;
                }
            }
        }
        Ok(plan)
    }
}
