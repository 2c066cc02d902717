//! Plans statement blocks for the sizes that their inputs have now, which is dynamic recompilation as the
//! normal case. A plan serves again while the sizes, layouts and places of the matrices it reads, and the
//! scalars that decide sizes, stay the same.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
    time::{Duration, Instant},
};

use fulgurite_error::Result;
use fulgurite_fusion::{CostConstants, FusedDag, FusionConfig, fuse};
use fulgurite_hop::{
    Characteristics, Dag, Folding, HopOp, Symbols, ValueType, VariableInfo, propagate_dag,
    propagate_dag_folding, rewrite_dag, rewrite_dag_traced, rewrites::Application,
};

use super::{BlockPlan, Context, FusedPlan, SymbolTable, Variable};
use crate::{Config, Session};

/// All plans of one execution.
#[derive(Default)]
pub(super) struct Planner {
    /// By the block's address, which is stable while the program runs.
    blocks: HashMap<*const Dag, PlannedBlock>,
}

struct PlannedBlock {
    /// Variables that the block reads.
    reads: Vec<String>,
    /// Of these, the scalars whose values decide sizes.
    deciding: BTreeSet<String>,
    /// Operators on scalars alone: one plan serves always.
    scalar_only: bool,
    plans: HashMap<Vec<Fact>, Arc<BlockPlan>>,
}

/// What a plan rests on, for one variable.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Fact {
    Undefined,
    Scalar(ValueType),
    /// A scalar that decides sizes, as text (which is exact).
    Constant(ValueType, String),
    Matrix {
        rows: Option<u64>,
        cols: Option<u64>,
        /// The power of two below the share of non-zeros; `None` for dense matrices.
        sparsity: Option<i32>,
        distributed: bool,
        transposed: bool,
    },
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
        if let Some(plan) = block.plans.get(&block.key(symbols)) {
            return Ok(Arc::clone(plan));
        }
        let started = Instant::now();
        let (plan, deciding) = if block.scalar_only {
            (BlockPlan::new(dag.clone(), Vec::new()), BTreeSet::new())
        } else {
            plan(dag, &block.reads, symbols, &context.session)?
        };
        if !deciding.is_subset(&block.deciding) {
            // Keys did not hold these values, so that older plans can't be told apart.
            block.plans.clear();
            block.deciding.extend(deciding);
        }
        let plan = Arc::new(plan);
        block.plans.insert(block.key(symbols), Arc::clone(&plan));
        context.recorder.planned(started.elapsed());
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
            deciding: BTreeSet::new(),
            scalar_only: dag.iter().all(|(_, hop)| hop.is_scalar()),
            plans: HashMap::new(),
        }
    }

    fn key(&self, symbols: &SymbolTable) -> Vec<Fact> {
        if self.scalar_only {
            return Vec::new();
        }
        let fact = |name: &String| match symbols.find(name) {
            None => Fact::Undefined,
            Some(Variable::Scalar(value)) if self.deciding.contains(name) => {
                Fact::Constant(value.value_type(), value.to_string())
            }
            Some(Variable::Scalar(value)) => Fact::Scalar(value.value_type()),
            Some(matrix) => {
                let known = matrix.characteristics();
                Fact::Matrix {
                    rows: known.rows,
                    cols: known.cols,
                    sparsity: known.nnz.map(|_| known.sparsity().log2().floor() as i32),
                    distributed: matrix.is_distributed(),
                    transposed: matches!(matrix, Variable::Distributed(matrix) if matrix.transposed),
                }
            }
        };
        self.reads.iter().map(fact).collect()
    }
}

/// The plan, and the scalar variables that decided sizes in it.
fn plan(
    dag: &Dag,
    reads: &[String],
    symbols: &SymbolTable,
    session: &Session,
) -> Result<(BlockPlan, BTreeSet<String>)> {
    let mut known = Symbols::new();
    for name in reads {
        if let Some(variable) = symbols.find(name) {
            known.insert(name.clone(), info(variable));
        }
    }
    let (_, used) = propagate_dag(dag, &known)?;
    // Values that decide sizes are part of the plan's key; only these may become literals in it.
    for (name, info) in &mut known {
        if !used.constants.contains(name) {
            info.constant = None;
        }
    }
    let (dag, _) = propagate_dag_folding(dag, &known, Folding::Variables)?;
    let plan = fuse_planned(&dag, session)?;
    Ok((plan_of(plan), used.constants))
}

/// A DAG with propagated sizes as it is planned, for whoever reads it: with what was not chosen.
pub(crate) struct ExplainedPlan {
    /// After rewrites, before fusion.
    pub(crate) dag: Dag,
    pub(crate) fused: FusedDag,
    pub(crate) rewriting: Duration,
    pub(crate) rewrites: Vec<Application>,
}

/// As [`fuse_planned`], with explanations.
pub(crate) fn plan_explained(dag: &Dag, session: &Session) -> Result<ExplainedPlan> {
    let started = Instant::now();
    let (dag, rewrites) = rewrite_dag_traced(dag, &session.config.rewrites_off)?;
    let rewriting = started.elapsed();
    Ok(ExplainedPlan {
        fused: fuse_rewritten(&dag, session, true)?,
        dag,
        rewriting,
        rewrites,
    })
}

/// Rewrites and fuses a DAG with propagated sizes.
fn fuse_planned(dag: &Dag, session: &Session) -> Result<FusedDag> {
    let dag = rewrite_dag(dag, &session.config.rewrites_off)?;
    fuse_rewritten(&dag, session, false)
}

fn fuse_rewritten(dag: &Dag, session: &Session, explain: bool) -> Result<FusedDag> {
    let constants = session.cost_constants(matrix_bytes(dag))?;
    let config = fusion_config(&session.config, constants, session.backend.is_some());
    fuse(dag, &FusionConfig { explain, ..config })
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
        ..FusionConfig::default()
    }
}

fn info(variable: &Variable) -> VariableInfo {
    match variable {
        Variable::Scalar(value) => VariableInfo::constant(value.clone()),
        matrix => {
            let Characteristics { rows, cols, nnz } = matrix.characteristics();
            VariableInfo::matrix(Characteristics::new(rows, cols, nnz))
        }
    }
}
