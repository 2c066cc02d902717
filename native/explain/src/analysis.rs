//! What the compiler did with each statement block: the one source of all levels and formats.

use std::{path::Path, sync::Arc};

use fulgurite_error::{Position, Result};
use fulgurite_fusion::{FusedDag, FusionStatistics, Policy, explain::PlanCosts};
use fulgurite_hop::{Argument, Block, Dag, Hop, HopId, Predicate, Program};
use fulgurite_program::{
    FrontEnd, Loops, Session, expected_compression, expected_degree, expected_scalar_code,
    expected_writes, plan_explained,
};

use super::places::{Place, places};

pub(super) struct Analysis {
    pub source: String,
    folder: Arc<Path>,
    pub policy: Policy,
    pub functions: Vec<(String, Vec<Section>)>,
    pub body: Vec<Section>,
    /// Numbered from 1 in the order of the script, functions first.
    pub blocks: Vec<BlockAnalysis>,
    pub front: FrontEnd,
    /// Around the block that is planned.
    loops: Loops,
}

/// Control flow around blocks.
pub(super) enum Section {
    /// By its place among the blocks.
    Block(usize),
    If {
        predicate: Vec<Section>,
        then: Vec<Section>,
        otherwise: Vec<Section>,
    },
    While {
        predicate: Vec<Section>,
        /// What it keeps parts of.
        writes: Option<String>,
        /// Whether it would run as scalar code.
        is_compiled: bool,
        body: Vec<Section>,
    },
    For {
        variable: String,
        /// What a loop that is no `parfor` keeps parts of.
        writes: Option<String>,
        /// Whether it would run as scalar code.
        is_compiled: bool,
        /// Of a `parfor`, how many iterations would run at a time.
        parallel: Option<String>,
        /// `from`, `to` and `by`.
        bounds: Vec<(&'static str, Vec<Section>)>,
        body: Vec<Section>,
    },
    Call {
        function: String,
        arguments: Vec<String>,
        outputs: Vec<String>,
    },
}

/// A DAG, and what became of it. HOPs go by their numbers before fusion everywhere.
pub(super) struct BlockAnalysis {
    /// Where the script is: paths are seen from there.
    folder: Arc<Path>,
    pub number: usize,
    pub position: Option<Position>,
    pub dag: Dag,
    pub fused: FusedDag,
    /// What is executed, inputs first: one node for each HOP of the fused DAG.
    pub plan: Vec<PlanNode>,
}

/// An operator of the chosen plan. Its id and its inputs' are places in the plan.
pub(super) struct PlanNode {
    /// The HOP that it is; of a fused operator, the last one covered. `None` for what takes an operator's result
    /// apart, or turns an operand round.
    pub origin: Option<HopId>,
    /// How it is called: the HOP's number, or `+1` where there was none before fusion.
    pub name: String,
    pub inputs: Vec<HopId>,
    /// The number of the fused operator.
    pub fused: Option<usize>,
    pub place: Place,
    /// Why it is on the workers, if it would fit the driver.
    pub reason: Option<String>,
    /// How workers run it.
    pub form: Option<String>,
    /// A range that is not built: fused operators read it where it lies.
    pub in_place: bool,
    /// A table that its product does without, as a rule.
    pub is_unmade: bool,
    /// Seconds by the cost model, of operators on matrices.
    pub cost: Option<f64>,
}

/// What is explained, and for which session.
#[derive(Clone, Copy)]
struct Compiled<'a> {
    program: &'a Program,
    session: &'a Session,
}

impl Analysis {
    /// Plans all blocks with propagated sizes; at run time they are planned with the actual ones.
    pub fn new(
        program: &Program,
        session: &Session,
        front: FrontEnd,
        source: &str,
    ) -> Result<Analysis> {
        let compiled = Compiled { program, session };
        let mut analysis = Analysis {
            source: source.to_owned(),
            folder: Path::new(source).parent().unwrap_or(Path::new("")).into(),
            policy: session.config.fusion_policy,
            functions: Vec::new(),
            body: Vec::new(),
            blocks: Vec::new(),
            front,
            loops: Loops::default(),
        };
        for function in program.functions.values() {
            let sections = analysis.sections(&function.body, compiled)?;
            analysis.functions.push((function.name.clone(), sections));
        }
        analysis.body = analysis.sections(&program.body, compiled)?;
        Ok(analysis)
    }

    /// Sizes that are not known before the run decide some plans.
    pub fn has_unknown_sizes(&self) -> bool {
        let is_unknown = |hop: &Hop| hop.is_matrix() && !hop.characteristics.dims_known();
        let mut dags = self.blocks.iter().map(|block| &block.dag);
        dags.any(|dag| dag.iter().any(|(_, hop)| is_unknown(hop)))
    }

    pub fn statistics(&self) -> FusionStatistics {
        let blocks = self.blocks.iter().map(|block| block.fused.statistics);
        blocks.fold(FusionStatistics::default(), FusionStatistics::plus)
    }

    fn sections(&mut self, blocks: &[Block], compiled: Compiled<'_>) -> Result<Vec<Section>> {
        blocks
            .iter()
            .map(|block| self.section(block, compiled))
            .collect()
    }

    fn section(&mut self, block: &Block, compiled: Compiled<'_>) -> Result<Section> {
        Ok(match block {
            Block::Basic { dag } => self.block(dag, compiled)?,
            Block::If {
                predicate,
                then,
                otherwise,
                ..
            } => Section::If {
                predicate: self.predicate(predicate, compiled)?,
                then: self.sections(then, compiled)?,
                otherwise: self.sections(otherwise, compiled)?,
            },
            Block::While {
                predicate, body, ..
            } => {
                self.loops.enter(body, None);
                let section = Section::While {
                    predicate: self.predicate(predicate, compiled)?,
                    writes: noted(
                        expected_writes(body, Some(predicate), compiled.session),
                        expected_compression(body, compiled.session),
                    ),
                    is_compiled: expected_scalar_code(block, compiled.program, compiled.session),
                    body: self.sections(body, compiled)?,
                };
                self.loops.leave();
                section
            }
            Block::For {
                variable,
                from,
                to,
                increment,
                body,
                parallel,
                ..
            } => {
                let headers = [
                    ("from", Some(from)),
                    ("to", Some(to)),
                    ("by", increment.as_ref()),
                ];
                let mut bounds = Vec::new();
                for (name, header) in headers {
                    if let Some(header) = header {
                        bounds.push((name, self.predicate(header, compiled)?));
                    }
                }
                let degree = parallel.as_ref().map(|parallel| {
                    expected_degree(compiled.program, body, parallel, compiled.session)
                });
                let writes = match parallel {
                    Some(_) => None,
                    None => noted(
                        expected_writes(body, None, compiled.session),
                        expected_compression(body, compiled.session),
                    ),
                };
                self.loops.enter(body, Some(variable));
                let body = self.sections(body, compiled)?;
                self.loops.leave();
                Section::For {
                    variable: variable.clone(),
                    writes,
                    is_compiled: expected_scalar_code(block, compiled.program, compiled.session),
                    parallel: degree,
                    bounds,
                    body,
                }
            }
            Block::Call {
                function,
                arguments,
                outputs,
                ..
            } => Section::Call {
                function: function.clone(),
                arguments: arguments.iter().map(argument).collect(),
                outputs: outputs.clone(),
            },
        })
    }

    fn predicate(&mut self, predicate: &Predicate, compiled: Compiled<'_>) -> Result<Vec<Section>> {
        let mut sections = self.sections(&predicate.before, compiled)?;
        sections.push(self.block(&predicate.dag, compiled)?);
        Ok(sections)
    }

    fn block(&mut self, dag: &Dag, compiled: Compiled<'_>) -> Result<Section> {
        let session = compiled.session;
        let planned = plan_explained(dag, &session.conditions(), &self.loops)?;
        self.front.rewrite += planned.rewriting;
        self.front.rewrites.extend(planned.rewrites);
        let positions = planned
            .dag
            .iter()
            .filter_map(|(_, hop)| hop.position.as_ref());
        let first = positions.min_by_key(|position| (position.line, position.column));
        self.blocks.push(BlockAnalysis {
            folder: Arc::clone(&self.folder),
            number: self.blocks.len() + 1,
            position: first.cloned(),
            plan: plan(&planned.fused, session)?,
            dag: planned.dag,
            fused: planned.fused,
        });
        Ok(Section::Block(self.blocks.len() - 1))
    }
}

/// What is said of a loop beside its header.
fn noted(writes: Option<String>, compression: Option<String>) -> Option<String> {
    match (writes, compression) {
        (Some(writes), Some(compression)) => Some(format!("{writes}; {compression}")),
        (writes, compression) => writes.or(compression),
    }
}

impl BlockAnalysis {
    /// Only such blocks have something to fuse.
    pub fn has_matrices(&self) -> bool {
        self.dag.iter().any(|(_, hop)| hop.is_matrix())
    }

    /// `block 3 mlogreg.dml:40`
    pub fn title(&self) -> String {
        match &self.position {
            Some(position) => format!("block {} {}", self.number, self.seen(position)),
            None => format!("block {}", self.number),
        }
    }

    /// What a fused operator computes in the user's words, `line 7: HV = t(X) %*% (Q - P)`: the lines that its HOPs come from, or
    /// expressions of what it gives where there is no script.
    pub fn in_the_script(&self, roots: &[HopId], covered: &[HopId]) -> Vec<String> {
        let places = roots.iter().chain(covered);
        let mut places: Vec<&Position> = places
            .filter_map(|hop| self.dag.hop(*hop).position.as_ref())
            .collect();
        places.sort_by_key(|place| (&place.source.name, place.line));
        places.dedup_by_key(|place| (place.source.name.as_str(), place.line));
        let lines: Vec<String> = places
            .iter()
            .filter_map(|place| {
                let text = place.source.line(place.line)?;
                Some(format!(
                    "{}: {}",
                    self.place(place),
                    shortened(text.trim(), MOST_LETTERS)
                ))
            })
            .collect();
        match lines.is_empty() {
            true => roots
                .iter()
                .map(|root| self.expression(*root, covered))
                .collect(),
            false => lines,
        }
    }

    /// An expression over what a HOP reads beyond those that are covered: variables, and HOPs by number.
    pub fn expression(&self, hop: HopId, covered: &[HopId]) -> String {
        let name = |input: HopId| {
            let own = self.dag.hop(input);
            let is_named = own.op.constant().is_some() || own.op.variable_read().is_some();
            let is_on_scalars = own.is_scalar() && !self.is_on_matrices(input);
            match covered.contains(&input) || is_named || is_on_scalars {
                true => None,
                false => Some(self.variable(input).unwrap_or_else(|| format!("#{input}"))),
            }
        };
        shortened(&self.dag.expression_down_to(hop, &name), MOST_LETTERS)
    }

    /// The variable that holds a value after the block.
    fn variable(&self, hop: HopId) -> Option<String> {
        let mut hops = self.dag.iter().map(|(_, hop)| hop);
        hops.find_map(|writer| {
            let name = writer.op.variable_written()?;
            (writer.inputs.first() == Some(&hop)).then(|| name.to_owned())
        })
    }

    /// `line 7` of the script, where that is known.
    pub fn line(&self, hop: HopId) -> Option<String> {
        let position = self.dag.hop(hop).position.as_ref()?;
        Some(self.place(position))
    }

    fn place(&self, position: &Position) -> String {
        let is_own = |own: &Position| own.source.name == position.source.name;
        match self.position.as_ref().is_some_and(is_own) {
            true => format!("line {}", position.line),
            false => self.seen(position),
        }
    }

    /// `mlogreg.dml:40`, from the folder of the script.
    fn seen(&self, position: &Position) -> String {
        let name = Path::new(&position.source.name);
        let seen = name.strip_prefix(&self.folder).unwrap_or(name);
        format!("{}:{}", seen.display(), position.line)
    }

    /// What share of the block's operators the model says one takes.
    pub fn share(&self, cost: f64) -> f64 {
        let all: f64 = self.plan.iter().filter_map(|node| node.cost).sum();
        if all > 0.0 { cost / all } else { 0.0 }
    }

    /// A variable or an operator worth showing: it is a matrix, or reads one.
    pub fn is_on_matrices(&self, hop: HopId) -> bool {
        let hop = self.dag.hop(hop);
        let reads = |input: &HopId| self.dag.hop(*input).is_matrix();
        hop.is_matrix() || hop.inputs.iter().any(reads)
    }

    /// The plan's operator that gives this HOP, if it is there for others to read.
    pub fn node(&self, hop: HopId) -> Option<&PlanNode> {
        let operators = &self.fused.explanation.operators;
        self.plan.iter().find(|node| {
            let operator = node.fused.and_then(|number| operators.get(number));
            node.origin == Some(hop)
                || operator.is_some_and(|operator| operator.roots.contains(&hop))
        })
    }

    /// How the plan calls one of its operators.
    pub fn name(&self, id: HopId) -> &str {
        self.plan.get(id.index()).map_or("?", |node| &node.name)
    }

    /// Of all partitions together.
    pub fn plan_costs(&self) -> Option<PlanCosts> {
        let partitions = self.fused.explanation.partitions.iter();
        partitions
            .filter_map(|partition| partition.costs)
            .reduce(PlanCosts::plus)
    }

    /// The fused operators that compute this HOP, alone or among others.
    pub fn operators_of(&self, hop: HopId) -> Vec<usize> {
        let operators = self.fused.explanation.operators.iter().enumerate();
        let covering = operators.filter(|(_, operator)| operator.covered.contains(&hop));
        covering.map(|(number, _)| number).collect()
    }

    /// Read by several operators, and there for them to read.
    pub fn is_materialization_point(&self, hop: HopId) -> bool {
        let mut partitions = self.fused.explanation.partitions.iter();
        self.node(hop).is_some()
            && partitions.any(|part| part.partition.materialization_points.contains(&hop))
    }
}

/// As much of a line or an expression as a reader takes in.
const MOST_LETTERS: usize = 160;

/// The first letters of a text.
pub(super) fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None => text.to_owned(),
    }
}

/// The operators of the fused DAG under the names that they had before fusion.
fn plan(fused: &FusedDag, session: &Session) -> Result<Vec<PlanNode>> {
    let explanation = &fused.explanation;
    let placed = places(fused, session)?;
    let mut added = 0;
    let nodes = fused.dag.iter().zip(placed).map(|((id, hop), placed)| {
        let origin = fused.origins.get(id.index()).copied().flatten();
        let number = hop.op.fused();
        let operator = number.and_then(|number| explanation.operators.get(number));
        let basic = || {
            let mut costs = explanation.basic_costs.iter();
            let of_origin = costs.find(|cost| Some(cost.hop) == origin)?;
            hop.op
                .variable_written()
                .is_none()
                .then_some(of_origin.cost)
        };
        let name = match origin {
            Some(origin) => origin.to_string(),
            None => {
                added += 1;
                format!("+{added}")
            }
        };
        PlanNode {
            origin,
            name,
            inputs: hop.inputs.clone(),
            fused: number,
            place: placed.place,
            reason: placed.reason.map(|reason| reason.to_string()),
            form: placed.form.map(|form| form.to_string()),
            in_place: placed.in_place,
            is_unmade: placed.is_unmade,
            cost: operator.map(|operator| operator.costs.cost).or_else(basic),
        }
    });
    Ok(nodes.collect())
}

fn argument(argument: &Argument) -> String {
    match argument {
        Argument::Variable { variable, .. } => variable.clone(),
        Argument::Literal { value, .. } => value.to_string(),
    }
}
