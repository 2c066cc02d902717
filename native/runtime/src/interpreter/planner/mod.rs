//! Plans statement blocks for the sizes that their inputs have now, which is dynamic recompilation as the
//! normal case.
//!
//! A block's plan serves again
//! - as it is, while the sizes of the matrices it reads and the scalars that decide sizes stay the same, and the
//!   sparsity of these matrices within a [factor](basis::FACTOR) of what it was planned for ([`basis`]);
//! - with new sizes, while these differ from the planned ones by less than the factor and change neither what an
//!   operator may do nor whether it fits into memory ([`likeness`]). So a matrix that grows in a loop is planned for
//!   again when it has doubled.
//!
//! Else the block is planned anew. Its plans are kept, most recently used first: sizes that come and go find theirs
//! again, and since a plan serves on both sides of what it was made for, sizes around a limit do not make plans
//! alternate. What was planned, and why, is counted in the report.

mod basis;
mod likeness;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
    time::{Duration, Instant},
};

use fulgurite_error::Result;
use fulgurite_fusion::{
    CostConstants, FusedDag, FusionConfig, FusionStatistics, Known, Search, fuse_known,
};
use fulgurite_hop::{
    Dag, Folding, HopOp, Symbols, VariableInfo, propagate_dag, propagate_dag_folding, rewrite_dag,
    rewrite_dag_traced, rewrites::Application,
};

use self::{
    basis::Basis,
    likeness::{Decided, Limits},
};
use super::{BlockPlan, Context, FusedPlan, Loops, SymbolTable, Variable};
use crate::{Config, Replan, Session};

/// Plans that are kept for a block.
const PLANS_PER_BLOCK: usize = 8;

/// A scalar that decides sizes is a literal in plans (which then may fuse column ranges) for this many of its
/// values. If it goes on changing, plans are made that serve all its values.
const VALUES_AS_LITERALS: u32 = 4;

/// All plans of one execution.
#[derive(Default)]
pub(super) struct Planner {
    /// By the block's address, which is stable while the program runs.
    blocks: HashMap<*const Dag, PlannedBlock>,
    pub(super) loops: Loops,
}

struct PlannedBlock {
    /// Variables that the block reads.
    reads: Vec<String>,
    /// Of these, the scalars whose values decide sizes, and how often that made a new plan.
    deciding: BTreeMap<String, u32>,
    /// Operators on scalars alone: one plan serves always.
    scalar_only: bool,
    /// Most recently used first.
    plans: Vec<KnownPlan>,
    /// Of the plan that was last dropped.
    dropped: Option<Decided>,
}

/// A plan that was made.
struct Made {
    why: Replan,
    fusion: FusionStatistics,
}

struct KnownPlan {
    basis: Basis,
    decided: Decided,
    plan: Arc<BlockPlan>,
}

impl Planner {
    pub(super) fn plan(
        &mut self,
        dag: &Dag,
        symbols: &SymbolTable,
        context: &mut Context,
    ) -> Result<Arc<BlockPlan>> {
        let block = self
            .blocks
            .entry(std::ptr::from_ref(dag))
            .or_insert_with(|| PlannedBlock::new(dag));
        if let Some(plan) = block.known(symbols) {
            context.recorder.served();
            return Ok(plan);
        }
        let started = Instant::now();
        let (plan, made) = block.plan(dag, symbols, &context.session, &self.loops)?;
        match made {
            Some(made) => {
                let Made { why, fusion } = made;
                context.recorder.planned(started.elapsed(), why, &fusion);
            }
            None => context.recorder.resized(started.elapsed()),
        }
        Ok(plan)
    }
}

impl PlannedBlock {
    fn new(dag: &Dag) -> Self {
        let mut reads: Vec<String> = dag
            .iter()
            .filter_map(|(_, hop)| match &hop.op {
                HopOp::TransientRead(name) => Some(name.clone()),
                _ => None,
            })
            .collect();
        reads.sort_unstable();
        reads.dedup();
        PlannedBlock {
            reads,
            deciding: BTreeMap::new(),
            scalar_only: dag.iter().all(|(_, hop)| hop.is_scalar()),
            plans: Vec::new(),
            dropped: None,
        }
    }

    fn basis(&self, symbols: &SymbolTable) -> Basis {
        match self.scalar_only {
            true => Basis::default(),
            false => Basis::new(&self.reads, symbols, |name| {
                self.deciding.contains_key(name)
            }),
        }
    }

    /// The plan that serves as it is.
    fn known(&mut self, symbols: &SymbolTable) -> Option<Arc<BlockPlan>> {
        let basis = self.basis(symbols);
        let place = self
            .plans
            .iter()
            .position(|known| known.basis.serves(&basis))?;
        Some(self.use_plan(place))
    }

    fn use_plan(&mut self, place: usize) -> Arc<BlockPlan> {
        self.plans[..=place].rotate_right(1);
        Arc::clone(&self.plans[0].plan)
    }

    /// A plan that there is with new sizes, or a new one, why it was made and what that took.
    fn plan(
        &mut self,
        dag: &Dag,
        symbols: &SymbolTable,
        session: &Session,
        loops: &Loops,
    ) -> Result<(Arc<BlockPlan>, Option<Made>)> {
        if self.scalar_only {
            let plan = BlockPlan::new(dag.clone(), Vec::new());
            let plan = self.keep(Basis::default(), Decided::default(), plan);
            let made = Made {
                why: Replan::First,
                fusion: FusionStatistics::default(),
            };
            return Ok((plan, Some(made)));
        }
        let mut replan = match self.plans.is_empty() {
            true => Replan::First,
            false => self.count_values(symbols),
        };
        let sized = self.sized(dag, symbols, session)?;
        let known_deciding = self.deciding.len();
        for name in sized.deciding {
            self.deciding.entry(name).or_insert(0);
        }
        let basis = self.basis(symbols);
        if self.deciding.len() > known_deciding {
            // What older plans rest on did not name these values, so that they can't be told apart.
            if !self.plans.is_empty() {
                replan = Replan::Values;
            }
            let latest = self.plans.drain(..).next();
            self.dropped = latest.map(|known| known.decided).or(self.dropped.take());
        }
        let limits = Limits::of(session);
        for place in 0..self.plans.len() {
            let known = &mut self.plans[place];
            match known.decided.difference(&sized.dag, &limits) {
                None => {
                    let dag = known
                        .decided
                        .resized(&known.plan.dag, &sized.dag, &sized.known)?;
                    known.plan = Arc::new(known.plan.with_sizes(dag));
                    known.basis = basis.with_sparsity_of(&known.basis);
                    return Ok((self.use_plan(place), None));
                }
                Some(difference) if place == 0 && replan != Replan::Values => replan = difference,
                Some(_) => {}
            }
        }
        let mut decided = self.plans.iter().map(|known| &known.decided);
        let like = decided.find(|decided| decided.is_like(&sized.dag, &limits));
        let like = like.or(self
            .dropped
            .as_ref()
            .filter(|decided| decided.is_like(&sized.dag, &limits)));
        let searched = like.map_or(&[][..], |decided| &decided.searched);
        let fused = fuse_rewritten(&sized.dag, session, loops, searched, false)?;
        let decided = Decided::new(sized.dag, &fused);
        let fusion = fused.statistics;
        let plan = plan_of(fused);
        let made = Made {
            why: replan,
            fusion,
        };
        Ok((self.keep(basis, decided, plan), Some(made)))
    }

    fn keep(&mut self, basis: Basis, decided: Decided, plan: BlockPlan) -> Arc<BlockPlan> {
        let plan = Arc::new(plan);
        let known = KnownPlan {
            basis,
            decided,
            plan: Arc::clone(&plan),
        };
        self.plans.insert(0, known);
        self.plans.truncate(PLANS_PER_BLOCK);
        plan
    }

    /// Counts the values of scalars that changed since the latest plan.
    fn count_values(&mut self, symbols: &SymbolTable) -> Replan {
        let basis = self.basis(symbols);
        let Some(latest) = self.plans.first() else {
            return Replan::First;
        };
        let mut replan = Replan::Sizes;
        for name in latest.basis.changed_values(&basis, &self.reads) {
            let changes = self.deciding.entry(name.clone()).or_insert(0);
            *changes = changes.saturating_add(1);
            replan = Replan::Values;
        }
        replan
    }

    /// The block with the sizes that it has now, rewritten for them.
    fn sized(&self, dag: &Dag, symbols: &SymbolTable, session: &Session) -> Result<Sized> {
        let mut known = Symbols::new();
        for name in &self.reads {
            if let Some(variable) = symbols.find(name) {
                known.insert(name.clone(), info(variable));
            }
        }
        let (_, used) = propagate_dag(dag, &known)?;
        // Values that decide sizes are part of what the plan rests on; only these may become literals in it.
        for (name, info) in &mut known {
            if !used.constants.contains(name) {
                info.constant = None;
            }
        }
        let changing = self.deciding.iter();
        let changing: BTreeSet<String> = changing
            .filter(|(_, changes)| **changes >= VALUES_AS_LITERALS)
            .map(|(name, _)| name.clone())
            .collect();
        let (dag, _) = propagate_dag_folding(dag, &known, Folding::VariablesBut(&changing))?;
        Ok(Sized {
            dag: rewrite_dag(&dag, &session.config.rewrites_off)?,
            known,
            deciding: used.constants,
        })
    }
}

/// A block before fusion.
struct Sized {
    dag: Dag,
    /// What its sizes were propagated from.
    known: Symbols,
    deciding: BTreeSet<String>,
}

/// A DAG with propagated sizes as it is planned, for whoever reads it: with what was not chosen.
pub(crate) struct ExplainedPlan {
    /// After rewrites, before fusion.
    pub(crate) dag: Dag,
    pub(crate) fused: FusedDag,
    pub(crate) rewriting: Duration,
    pub(crate) rewrites: Vec<Application>,
}

/// Rewrites and fuses a DAG with propagated sizes, with explanations.
pub(crate) fn plan_explained(dag: &Dag, session: &Session, loops: &Loops) -> Result<ExplainedPlan> {
    let started = Instant::now();
    let (dag, rewrites) = rewrite_dag_traced(dag, &session.config.rewrites_off)?;
    let rewriting = started.elapsed();
    Ok(ExplainedPlan {
        fused: fuse_rewritten(&dag, session, loops, &[], true)?,
        dag,
        rewriting,
        rewrites,
    })
}

fn fuse_rewritten(
    dag: &Dag,
    session: &Session,
    loops: &Loops,
    searched: &[Search],
    explain: bool,
) -> Result<FusedDag> {
    let constants = session.cost_constants(matrix_bytes(dag))?;
    let config = fusion_config(&session.config, constants, session.backend.is_some());
    let config = FusionConfig { explain, ..config };
    let known = Known {
        stays: &|variable| loops.stays(variable),
        searched,
    };
    fuse_known(dag, &config, &known)
}

/// What the block's inputs and intermediates take together, where that is known.
fn matrix_bytes(dag: &Dag) -> u64 {
    let matrices = dag.iter().filter(|(_, hop)| hop.is_matrix());
    matrices
        .filter_map(|(_, hop)| hop.characteristics.memory_bytes())
        .fold(0, u64::saturating_add)
}

fn plan_of(fused: FusedDag) -> BlockPlan {
    let plans = fused
        .operators
        .into_iter()
        .map(|operator| FusedPlan {
            text: format!("{}\n{}", operator.label, operator.plan).into(),
            plan: operator.plan,
        })
        .collect();
    BlockPlan::new(fused.dag, plans)
}

fn fusion_config(config: &Config, cost: CostConstants, distributed: bool) -> FusionConfig {
    FusionConfig {
        policy: config.fusion_policy,
        cost,
        // Without workers everything runs here.
        local_memory: if distributed {
            config.memory_local
        } else {
            u64::MAX
        },
        broadcast_memory: config.memory_broadcast,
        max_plans_per_partition: MAX_PLANS_PER_PARTITION,
        ..FusionConfig::default()
    }
}

/// Planning is part of the run: what the algorithms in `examples` need, and no more than some tens of milliseconds for
/// partitions that would need far more.
const MAX_PLANS_PER_PARTITION: u64 = 1 << 11;

fn info(variable: &Variable) -> VariableInfo {
    match variable {
        Variable::Scalar(value) => VariableInfo::constant(value.clone()),
        matrix => VariableInfo::matrix(matrix.characteristics()),
    }
}
