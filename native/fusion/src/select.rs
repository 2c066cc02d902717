//! Candidate selection (Section 4): a plan assignment per partition by the policy, the operators that
//! follow from it, and the DAG with the fused operators in place.

use std::time::Instant;

use fulgurite_error::{Error, Result};
use fulgurite_hop::{Dag, HopId};

use crate::{
    FusedDag, FusionConfig, Policy,
    cost::CostModel,
    enumerate::mp_skip_enum,
    explain::{
        BasicCost, Choice, Explanation, FusionStatistics, OperatorCosts, PartitionExplanation,
        PlanCosts, Refusal,
    },
    explore::{Exploration, edge_refusals, explore, is_fusible_kind, prune_dominated},
    likeness::Likeness,
    multi_aggregate::combine_aggregates,
    operator::{Chooser, Operator},
    partition::{Partition, partitions, referenced_slots},
    plan_cost::{CostTable, PartitionCosts},
    reason::{Reason, TemplateReason},
    recall::Searches,
    replace::replace,
    selection::{Fate, Selection},
    view::DagView,
};

/// Fuses the operators of a DAG whose sizes are propagated.
///
/// # Errors
/// `plan` when the DAG holds fused operators already.
pub fn fuse(dag: &Dag, config: &FusionConfig) -> Result<FusedDag> {
    fuse_known(dag, config, &Known::default())
}

/// What is known of a DAG besides itself.
pub struct Known<'a> {
    /// Variables that are the same in all iterations of the loop around it. Matrices that stay are sent to the workers
    /// once, which costs nothing in the long run.
    pub stays: &'a dyn Fn(&str) -> bool,
    /// What was found before: taken for partitions like those, of the same operators and about the same sizes,
    /// without a search.
    pub searches: &'a Searches,
}

impl Default for Known<'_> {
    fn default() -> Self {
        Known {
            stays: &|_| false,
            searches: const { &Searches::none() },
        }
    }
}

/// As [`fuse`], where more is known than the DAG.
///
/// # Errors
/// As [`fuse`].
pub fn fuse_known(dag: &Dag, config: &FusionConfig, known: &Known) -> Result<FusedDag> {
    if let Some((_, hop)) = dag.iter().find(|(_, hop)| hop.op.fused().is_some()) {
        return Err(Error::plan("the DAG is fused already")
            .in_operator(hop.op.code())
            .at_option(hop.position.as_ref())
            .with_help("hand over the DAG as it was before fusion"));
    }
    let started = Instant::now();
    let view = DagView::new(dag)
        .with_outer_products_from(config.outer_product_cells)
        .with_variables_that_stay(known.stays);
    let mut exploration = explore(&view);
    if matches!(config.policy, Policy::FuseAll | Policy::FuseNoRedundancy) {
        prune_dominated(&view, &mut exploration.memo);
    }
    let explored = Instant::now();
    let costs = CostModel::new(&view, config);
    let references = referenced_slots(&view, &exploration.memo);
    let is_distributed = |hop| costs.is_distributed(hop);
    let parts = partitions(&view, &exploration.memo, &references, &is_distributed);
    let mut chooser = Chooser::new(&view, &exploration.memo, &references);
    let partitions = search(&view, config, &costs, &mut chooser, parts, known.searches);
    let selection = select(&view, config, &costs, &mut chooser);
    let selected = Instant::now();
    let replaced = replace(&view, &selection)?;
    let constructed = Instant::now();

    let refusals = refusals(&view, config, &exploration, &partitions, &selection);
    let operators = selection.operators.iter().map(|operator| {
        let covered = operator.covered.iter();
        let operator_costs = OperatorCosts {
            cost: costs.fused(operator),
            unfused: covered.map(|(hop, _)| costs.basic(*hop)).sum(),
            distributed: costs.fused_is_distributed(operator),
        };
        (operator, operator_costs)
    });
    let mut explanation = Explanation::new(
        &view,
        config.policy,
        &exploration.memo,
        partitions,
        operators,
        &replaced.operators,
        refusals,
    );
    if config.explain {
        explanation.basic_costs = basic_costs(&view, &costs);
        explanation.edge_refusals = edge_refusals(&view, &exploration);
    }
    let statistics = FusionStatistics {
        explore: explored - started,
        select: selected - explored,
        construct: constructed - selected,
        ..FusionStatistics::counts(&view, &explanation)
    };
    Ok(FusedDag {
        dag: replaced.dag,
        operators: replaced.operators,
        origins: replaced.origins,
        explanation,
        statistics,
    })
}

/// What each operator on matrices costs on its own.
fn basic_costs(view: &DagView, costs: &CostModel) -> Vec<BasicCost> {
    let on_matrices = |hop: HopId| {
        let inputs = &view.hop(hop).inputs;
        !inputs.is_empty()
            && [&[hop], &inputs[..]]
                .concat()
                .iter()
                .any(|hop| view.hop(*hop).is_matrix())
    };
    let live = view.dag.iter().map(|(hop, _)| hop);
    live.filter(|hop| view.is_live(*hop) && on_matrices(*hop))
        .map(|hop| BasicCost {
            hop,
            cost: costs.basic(hop),
            distributed: costs.is_distributed(hop),
        })
        .collect()
}

/// Sets each partition's assignment in the chooser, and tells what else was there to choose from.
fn search<'a>(
    view: &'a DagView<'a>,
    config: &FusionConfig,
    costs: &CostModel<'a>,
    chooser: &mut Chooser<'a>,
    partitions: Vec<Partition>,
    known: &Searches,
) -> Vec<PartitionExplanation> {
    let mut table = CostTable::new(view.dag.len());
    let mut explained = Vec::with_capacity(partitions.len());
    for partition in partitions {
        let mut plans = PartitionCosts::new(view, costs, chooser, &partition, &mut table);
        let search = (config.policy == Policy::Cost).then(|| {
            let likeness = Likeness::new(&plans);
            match known.of(&likeness) {
                Some(known) => known.recalled(likeness, &mut plans),
                None => mp_skip_enum(&mut plans, likeness, config.max_plans_per_partition),
            }
        });
        let choice = Choice::new(&partition, search.as_ref(), config.policy);
        let costs = config
            .explain
            .then(|| PlanCosts::new(&mut plans, &partition, search.as_ref(), &choice));
        let decisions = choice.decisions(&mut plans, config.explain);
        choice.assign(&mut plans);
        explained.push(PartitionExplanation {
            partition,
            decisions,
            costs,
            search,
        });
    }
    explained
}

/// From the roots of the DAG down: what must be there materialised, and by which operator.
pub(crate) fn select(
    view: &DagView,
    config: &FusionConfig,
    costs: &CostModel,
    chooser: &mut Chooser,
) -> Selection {
    let mut demanded = vec![false; view.dag.len()];
    for root in &view.dag.roots {
        demanded[root.index()] = true;
    }
    let mut selection = Selection {
        operators: Vec::new(),
        fate: vec![Fate::Gone; view.dag.len()],
        forbidden: Vec::new(),
    };
    for (hop, operator) in view.dag.iter().rev() {
        if !demanded[hop.index()] {
            continue;
        }
        let forbidden = &mut selection.forbidden;
        let mut allow = |operator: &Operator| match costs.check(operator) {
            Ok(()) => true,
            Err(reason) => {
                let template = Some(operator.template);
                forbidden.push((hop, TemplateReason { template, reason }));
                false
            }
        };
        let fused = match config.policy {
            Policy::None => None,
            _ => chooser.operator(hop, &mut allow).cloned(),
        };
        match fused {
            Some(mut fused) => {
                chooser.choose_main(&mut fused);
                for (input, _) in &fused.inputs {
                    demanded[input.index()] = true;
                }
                for (covered, _) in &fused.covered {
                    let fate = &mut selection.fate[covered.index()];
                    if *fate == Fate::Gone {
                        *fate = Fate::Covered;
                    }
                }
                selection.fate[hop.index()] = Fate::Root;
                selection.operators.push(fused);
            }
            None => {
                for input in &operator.inputs {
                    demanded[input.index()] = true;
                }
                selection.fate[hop.index()] = Fate::Basic;
            }
        }
    }
    selection.operators.reverse();
    if config.policy != Policy::None {
        combine_aggregates(view, costs, chooser, &mut selection, config.max_aggregates);
    }
    selection
}

/// Why operators of kinds that can fuse stay on their own.
fn refusals(
    view: &DagView,
    config: &FusionConfig,
    exploration: &Exploration,
    partitions: &[PartitionExplanation],
    selection: &Selection,
) -> Vec<Refusal> {
    let mut partition_of = vec![usize::MAX; view.dag.len()];
    for (index, partition) in partitions.iter().enumerate() {
        for hop in &partition.partition.hops {
            partition_of[hop.index()] = index;
        }
    }
    let mut covered = vec![false; view.dag.len()];
    for (hop, _) in selection
        .operators
        .iter()
        .flat_map(|operator| &operator.covered)
    {
        covered[hop.index()] = true;
    }
    let selected = |reason| {
        vec![TemplateReason {
            template: None,
            reason,
        }]
    };
    let mut refusals = Vec::new();
    for (hop, operator) in view.dag.iter() {
        let is_alone = selection.fate[hop.index()] == Fate::Basic && !covered[hop.index()];
        if !is_alone || !is_fusible_kind(view, hop) {
            continue;
        }
        let explored = exploration
            .refused
            .binary_search_by_key(&hop, |(hop, _)| *hop);
        let forbidden = selection.forbidden.iter().filter(|(root, _)| *root == hop);
        let forbidden: Vec<TemplateReason> = forbidden.map(|(_, reason)| *reason).collect();
        let search = partitions
            .get(partition_of[hop.index()])
            .and_then(|partition| partition.search.as_ref());
        let reasons = if config.policy == Policy::None {
            selected(Reason::Policy)
        } else if let Ok(index) = explored {
            exploration.refused[index].1.clone()
        } else if !forbidden.is_empty() {
            forbidden
        } else if partition_of[hop.index()] == usize::MAX {
            selected(Reason::NothingToFuseWith)
        } else {
            match (search, config.policy) {
                (Some(search), _) if search.unfused || search.assignment.contains(&true) => {
                    selected(Reason::LostOnCost {
                        chosen: search.cost,
                        fuse_all: search.cost_fuse_all,
                    })
                }
                (None, Policy::FuseNoRedundancy) => selected(Reason::Policy),
                _ => selected(Reason::Conflict),
            }
        };
        refusals.push(Refusal {
            hop,
            code: operator.op.code(),
            position: operator.position.clone(),
            reasons,
        });
    }
    refusals
}
