//! Plans statement blocks for the sizes that their inputs have now, which is dynamic recompilation as the
//! normal case.
//!
//! A block's plan serves again
//! - as it is, while the sizes of the matrices it reads and the scalars that decide sizes stay the same, and the
//!   sparsity of these matrices within a [factor](fulgurite_fusion::SAME_WITHIN) of what it was planned for ([`basis`]);
//!   or while such scalars change and the size of no operator does;
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
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use fulgurite_codegen::Kept;
use fulgurite_config::{Config, Speeds};
use fulgurite_dataflow::Replan;
use fulgurite_error::Result;
use fulgurite_fusion::{
    CostConstants, FusedDag, FusionConfig, FusionStatistics, Known, Searches, fuse_known,
    is_about_as_sparse,
};
use fulgurite_hop::{
    Dag, Folding, Hop, Symbols, later_reads::ReadOnce, propagate_dag, propagate_dag_folding,
    rewrite_dag, rewrite_dag_traced, rewrites::Application,
};
use fulgurite_operators::{BlockPlan, FusedPlan, Threads};
use fulgurite_worker::Compilation;
use rustc_hash::FxHashMap;

use self::{
    basis::Basis,
    likeness::{Decided, Limits},
};
use super::{loops::Loops, symbols::SymbolTable};

/// Plans that are kept for a block.
const PLANS_PER_BLOCK: usize = 8;

/// A scalar that decides sizes is a literal in plans (which then may fuse column ranges) for this many of its
/// values. If it goes on changing, plans are made that serve all its values.
const VALUES_AS_LITERALS: u32 = 4;

/// What plans depend on beside programs and values.
pub struct Conditions<'a> {
    pub(crate) config: &'a Config,
    pub(crate) speeds: &'a Speeds,
    pub(crate) has_workers: bool,
}

impl Conditions<'_> {
    /// The speeds to plan a block with, whose matrices take this many bytes.
    ///
    /// # Errors
    /// Of a measurement on this machine's threads, which only large matrices are worth.
    pub(crate) fn cost_constants(&self, bytes: u64) -> Result<CostConstants> {
        let pool = |threads| Threads::new(threads).map(|threads| threads.pool());
        self.speeds.for_bytes(self.config, bytes, pool)
    }
}

/// What executions of a program share, and the interpreters of a `parfor`'s iterations: whoever first comes to a block
/// plans it, and the others wait.
#[derive(Default)]
pub(crate) struct Plans {
    /// By the block's address, which is stable while the program is there.
    blocks: Mutex<FxHashMap<usize, Arc<Mutex<PlannedBlock>>>>,
    /// Of all blocks: what was found for partitions serves wherever one like it comes up again.
    searches: Mutex<Searches>,
    /// What blocks leave to one reader.
    read_once: ReadOnce,
}

pub(crate) struct PlannedBlock {
    /// Variables that the block reads.
    reads: Vec<String>,
    /// Of these, the scalars whose values decide sizes, and how often that made a new plan.
    deciding: BTreeMap<String, u32>,
    /// Operators on scalars alone: one plan serves always.
    scalar_only: bool,
    /// Variables that it leaves to one reader at most.
    read_once: BTreeSet<String>,
    /// Most recently used first.
    plans: Vec<KnownPlan>,
}

/// What became of the plans that there were.
pub(crate) enum PlanOutcome {
    /// One serves as it is.
    Served,
    /// One serves with other sizes.
    Resized,
    /// A plan was made.
    Made {
        why: Replan,
        fusion: FusionStatistics,
    },
}

struct KnownPlan {
    basis: Basis,
    /// The block with the sizes that the plan was made, or resized, for; before rewrites.
    propagated: Dag,
    decided: Decided,
    plan: Arc<BlockPlan>,
}

impl Plans {
    pub(crate) fn new(read_once: ReadOnce) -> Self {
        Plans {
            read_once,
            ..Plans::default()
        }
    }

    /// What was compiled for the plans that there are.
    pub(crate) fn compilation(&self) -> Compilation {
        let mut compilation = Compilation::default();
        for block in lock(&self.blocks).values() {
            for known in &lock(block).plans {
                let compiled = known.plan.fused.iter();
                for time in compiled.filter_map(|fused| fused.compiled.compile_time()) {
                    compilation += Compilation { plans: 1, time };
                }
            }
        }
        compilation
    }

    /// The plan of a block for these variables, what became of those that there were, and how long it took, without
    /// waiting for others that plan the block. That one serves as it is shows in less time than a clock takes.
    pub(crate) fn plan(
        &self,
        block: &Mutex<PlannedBlock>,
        dag: &Dag,
        symbols: &SymbolTable,
        conditions: &Conditions,
        loops: &Loops,
    ) -> Result<(Arc<BlockPlan>, PlanOutcome, Duration)> {
        let mut block = lock(block);
        if let Some(plan) = block.known(symbols) {
            return Ok((plan, PlanOutcome::Served, Duration::ZERO));
        }
        let started = Instant::now();
        let (plan, outcome) = block.plan(dag, symbols, conditions, loops, &self.searches)?;
        Ok((plan, outcome, started.elapsed()))
    }

    /// What there is of a block, which all interpreters of the program share.
    pub(crate) fn block(&self, dag: &Dag) -> Arc<Mutex<PlannedBlock>> {
        let mut blocks = lock(&self.blocks);
        let block = blocks.entry(std::ptr::from_ref(dag).addr());
        let block = block.or_insert_with(|| {
            let read_once = self.read_once.variables(dag);
            Arc::new(Mutex::new(PlannedBlock::new(dag, read_once)))
        });
        Arc::clone(block)
    }
}

impl PlannedBlock {
    fn new(dag: &Dag, read_once: BTreeSet<String>) -> Self {
        let mut reads: Vec<String> = dag
            .iter()
            .filter_map(|(_, hop)| hop.op.variable_read())
            .map(str::to_owned)
            .collect();
        reads.sort_unstable();
        reads.dedup();
        PlannedBlock {
            reads,
            deciding: BTreeMap::new(),
            scalar_only: dag.iter().all(|(_, hop)| hop.is_scalar()),
            read_once,
            plans: Vec::new(),
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
        let decides = |name: &str| self.deciding.contains_key(name);
        let place = match self.scalar_only {
            true => 0,
            false => self
                .plans
                .iter()
                .position(|known| known.basis.serves(&self.reads, symbols, decides))?,
        };
        (place < self.plans.len()).then(|| self.use_plan(place))
    }

    fn use_plan(&mut self, place: usize) -> Arc<BlockPlan> {
        if place > 0 {
            self.plans[..=place].rotate_right(1);
        }
        Arc::clone(&self.plans[0].plan)
    }

    /// A plan that there is, if need be with new sizes, or a new one.
    fn plan(
        &mut self,
        dag: &Dag,
        symbols: &SymbolTable,
        conditions: &Conditions,
        loops: &Loops,
        searches: &Mutex<Searches>,
    ) -> Result<(Arc<BlockPlan>, PlanOutcome)> {
        if self.scalar_only {
            let plan = BlockPlan::new(dag.clone(), Vec::new());
            let plan = self.keep(KnownPlan {
                basis: Basis::default(),
                propagated: Dag::default(),
                decided: Decided::default(),
                plan: Arc::new(plan),
            });
            let made = PlanOutcome::Made {
                why: Replan::First,
                fusion: FusionStatistics::default(),
            };
            return Ok((plan, made));
        }
        if !self.plans.is_empty() && !self.deciding.is_empty() {
            // As a rule, the scalars that decided sizes are those that do: then sizes need not be propagated once more
            // to find them. Where other ones do, sizes that follow from them are unknown here and no plan's.
            let deciding = |name: &String| self.deciding.contains_key(name);
            let sized = self.sized(dag, self.known_symbols(symbols), deciding)?;
            if let Some(plan) = self.of_same_sizes(&sized.dag, &self.basis(symbols)) {
                return Ok((plan, PlanOutcome::Served));
            }
        }
        let mut replan = match self.plans.is_empty() {
            true => Replan::First,
            false => self.count_values(symbols),
        };
        let sized = self.propagated(dag, symbols)?;
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
            self.plans.clear();
        }
        if let Some(plan) = self.of_same_sizes(&sized.dag, &basis) {
            return Ok((plan, PlanOutcome::Served));
        }
        let rewritten = rewrite_dag(&sized.dag, &conditions.config.rewrites_off)?;
        let limits = Limits::of(conditions);
        for place in 0..self.plans.len() {
            let known = &mut self.plans[place];
            match known.decided.difference(&rewritten, &limits) {
                None => {
                    let dag = known
                        .decided
                        .resized(&known.plan.dag, &rewritten, &sized.known)?;
                    known.plan = Arc::new(known.plan.with_sizes(dag));
                    known.basis = basis.with_sparsity_of(&known.basis);
                    known.propagated = sized.dag;
                    return Ok((self.use_plan(place), PlanOutcome::Resized));
                }
                Some(difference) if place == 0 && replan != Replan::Values => replan = difference,
                Some(_) => {}
            }
        }
        let mut searches = lock(searches);
        let fused = fuse_rewritten(&rewritten, conditions, loops, &searches, false)?;
        searches.add(&fused.explanation);
        drop(searches);
        let decided = Decided::new(rewritten, &fused);
        let fusion = fused.statistics;
        let plan = self.keep(KnownPlan {
            basis,
            propagated: sized.dag,
            decided,
            plan: Arc::new(plan_of(fused).leaving_to_one_reader(&self.read_once)),
        });
        let made = PlanOutcome::Made {
            why: replan,
            fusion,
        };
        Ok((plan, made))
    }

    fn keep(&mut self, known: KnownPlan) -> Arc<BlockPlan> {
        let plan = Arc::clone(&known.plan);
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

    /// The plan for the same operators on the same sizes: scalars differ that decide sizes, and the sizes do not, as for
    /// batches of rows in turn.
    fn of_same_sizes(&mut self, propagated: &Dag, basis: &Basis) -> Option<Arc<BlockPlan>> {
        let same = |known: &KnownPlan| has_sizes_of(&known.propagated, propagated);
        let place = self.plans.iter().position(same)?;
        let known = &mut self.plans[place];
        known.basis = basis.clone().with_sparsity_of(&known.basis);
        Some(self.use_plan(place))
    }

    fn known_symbols(&self, symbols: &SymbolTable) -> Symbols {
        let known = self.reads.iter().filter_map(|name| {
            let variable = symbols.find(name)?;
            Some((name.clone(), variable.info()))
        });
        known.collect()
    }

    /// The block with the sizes that it has now.
    fn propagated(&self, dag: &Dag, symbols: &SymbolTable) -> Result<Propagated> {
        let known = self.known_symbols(symbols);
        let (_, used) = propagate_dag(dag, &known)?;
        let sized = self.sized(dag, known, |name| used.constants.contains(name))?;
        Ok(Propagated {
            deciding: used.constants,
            ..sized
        })
    }

    /// The block with the sizes that follow from these scalars. They are part of what the plan rests on; only they may
    /// become literals in it.
    fn sized(
        &self,
        dag: &Dag,
        mut known: Symbols,
        decides: impl Fn(&String) -> bool,
    ) -> Result<Propagated> {
        for (name, info) in &mut known {
            if !decides(name) {
                info.constant = None;
            }
        }
        let changing = self.deciding.iter();
        let changing: BTreeSet<String> = changing
            .filter(|(_, changes)| **changes >= VALUES_AS_LITERALS)
            .map(|(name, _)| name.clone())
            .collect();
        let (dag, _) = propagate_dag_folding(dag, &known, Folding::VariablesBut(&changing))?;
        Ok(Propagated {
            dag,
            known,
            deciding: BTreeSet::new(),
        })
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A block with sizes, before rewrites.
struct Propagated {
    dag: Dag,
    /// What its sizes were propagated from.
    known: Symbols,
    deciding: BTreeSet<String>,
}

/// The same operators on the same sizes, and about as many non-zeros: rewrites and plans are the same.
fn has_sizes_of(planned: &Dag, now: &Dag) -> bool {
    let has_size_of = |was: &Hop, is: &Hop| {
        let (was_size, is_size) = (was.characteristics, is.characteristics);
        was.op == is.op
            && (&was.inputs, was.data_type, was.value_type)
                == (&is.inputs, is.data_type, is.value_type)
            && (was_size.rows, was_size.cols) == (is_size.rows, is_size.cols)
            && is_about_as_sparse(&was_size, &is_size)
    };
    let mut pairs = planned.iter().zip(now.iter());
    planned.len() == now.len()
        && planned.roots == now.roots
        && pairs.all(|((_, was), (_, is))| has_size_of(was, is))
}

/// A DAG with propagated sizes as it is planned, for whoever reads it: with what was not chosen.
pub struct ExplainedPlan {
    /// After rewrites, before fusion.
    pub dag: Dag,
    pub fused: FusedDag,
    pub rewriting: Duration,
    pub rewrites: Vec<Application>,
}

/// Rewrites and fuses a DAG with propagated sizes, with explanations.
pub fn plan_explained(dag: &Dag, conditions: &Conditions, loops: &Loops) -> Result<ExplainedPlan> {
    let started = Instant::now();
    let (dag, rewrites) = rewrite_dag_traced(dag, &conditions.config.rewrites_off)?;
    let rewriting = started.elapsed();
    Ok(ExplainedPlan {
        fused: fuse_rewritten(&dag, conditions, loops, &Searches::none(), true)?,
        dag,
        rewriting,
        rewrites,
    })
}

fn fuse_rewritten(
    dag: &Dag,
    conditions: &Conditions,
    loops: &Loops,
    searches: &Searches,
    explain: bool,
) -> Result<FusedDag> {
    let constants = conditions.cost_constants(matrix_bytes(dag))?;
    let config = fusion_config(conditions.config, constants, conditions.has_workers);
    let config = FusionConfig { explain, ..config };
    let known = Known {
        stays: &|variable| loops.stays(variable),
        searches,
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

/// A block as it is evaluated, of what fusion made of it.
pub fn plan_of(fused: FusedDag) -> BlockPlan {
    let plans = fused
        .operators
        .into_iter()
        .map(|operator| FusedPlan {
            compiled: Kept::default(),
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
        // Without workers everything runs here, if it fits.
        local_memory: if distributed {
            config.memory_local
        } else {
            u64::MAX
        },
        memory_limit: config.memory_local,
        broadcast_memory: config.memory_broadcast,
        ..FusionConfig::default()
    }
}
