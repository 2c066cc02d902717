//! Why an operator is fused, or not: the answer for any operator of a script.

use std::{collections::BTreeSet, fmt, str::FromStr};

use fulgurite_error::Position;
use fulgurite_error::{Error, Result};
use fulgurite_fusion::{
    explain::{BasicCost, Decision, PlanCosts},
    reason::TemplateReason,
};
use fulgurite_hop::{HopId, Seconds};
use serde::Serialize;

use super::analysis::{Analysis, BlockAnalysis};

/// Which operators are asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Question {
    /// `12`, `12:7`, `lib.dml:12` or `lib.dml:12:7`.
    Place {
        file: Option<String>,
        line: u32,
        column: Option<u32>,
    },
    /// `3.13`: HOP 13 of block 3.
    Hop { block: usize, hop: u32 },
    /// By code, whole or the part in parentheses: `ba(+*)`, `exp`.
    Code(String),
}

/// What there is to know of one operator.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Answer {
    pub block: usize,
    pub hop: HopId,
    pub code: String,
    pub position: Option<Position>,
    pub outcome: Outcome,
    /// The fused operators that compute it.
    pub fused: Vec<FusedIn>,
    /// Seconds on its own.
    pub basic_cost: Option<f64>,
    /// Why it runs on its own.
    pub reasons: Vec<TemplateReason>,
    pub neighbours: Vec<Neighbour>,
    /// Of the plans of its partition.
    pub costs: Option<PlanCosts>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Outcome {
    Fused,
    Alone,
    /// It reads, writes or makes data: no template has such operators.
    NeverFuses,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FusedIn {
    pub number: usize,
    pub label: String,
    pub covered: Vec<HopId>,
    pub cost: f64,
    pub unfused: f64,
}

/// An operator that it reads or that reads it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Neighbour {
    pub hop: HopId,
    pub code: String,
    pub role: Role,
    pub link: Link,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Role {
    Input,
    Consumer,
}

/// Whether the two are in one operator, and what keeps them apart.
#[derive(Debug, Serialize)]
#[serde(
    tag = "kind",
    rename_all = "kebab-case",
    rename_all_fields = "camelCase"
)]
pub(super) enum Link {
    Fused,
    /// A decision on costs: what was chosen, and the same plan but for this decision.
    Materialized {
        decision: Decision,
        chosen: Option<f64>,
    },
    /// No plan goes on here.
    Refused {
        by: HopId,
        reasons: Vec<TemplateReason>,
    },
    /// One of the two never fuses.
    NeverFuses,
    /// Plans go on here, but others were chosen around it.
    OtherPlan,
}

impl FromStr for Question {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let parts: Vec<&str> = text.split(':').collect();
        let number = |text: &str| text.parse::<u32>().ok().filter(|number| *number > 0);
        let place = |file: Option<&str>, line: u32, column: Option<u32>| Question::Place {
            file: file.map(str::to_owned),
            line,
            column,
        };
        match parts[..] {
            [""] => {
                return Err(Error::argument("--why needs a place or an operator").with_help(HELP));
            }
            [line] if number(line).is_some() => {
                return Ok(place(None, number(line).unwrap_or(1), None));
            }
            [first, second] => match (number(first), number(second)) {
                (Some(line), Some(column)) => return Ok(place(None, line, Some(column))),
                (None, Some(line)) => return Ok(place(Some(first), line, None)),
                _ => {}
            },
            [file, line, column] => {
                if let (Some(line), Some(column)) = (number(line), number(column)) {
                    return Ok(place(Some(file), line, Some(column)));
                }
            }
            _ => {}
        }
        if let Some((block, hop)) = text.split_once('.')
            && let (Ok(block), Ok(hop)) = (block.parse(), hop.parse())
        {
            return Ok(Question::Hop { block, hop });
        }
        Ok(Question::Code(text.to_owned()))
    }
}

const HELP: &str = "give LINE, LINE:COLUMN, FILE:LINE, BLOCK.HOP as --level hops numbers them, or an operator's code \
                    as ba(+*)";

/// The answers for all operators that the question names.
///
/// # Errors
/// `argument`, where it names none; the help says what there is.
pub(super) fn answer(analysis: &Analysis, question: &Question) -> Result<Vec<Answer>> {
    let mut answers: Vec<Answer> = Vec::new();
    for block in &analysis.blocks {
        let explainer = Explainer::new(block);
        let hops = block.dag.iter().map(|(hop, _)| hop);
        let named = hops.filter(|hop| explainer.is_asked(*hop, question));
        answers.extend(named.map(|hop| explainer.answer(hop)));
    }
    if answers.is_empty() {
        return Err(nothing(analysis, question));
    }
    // Variables stand where operators do; they are not what is asked about, if there is anything else.
    let is_operator = |answer: &Answer| answer.outcome != Outcome::NeverFuses;
    if matches!(question, Question::Place { .. }) && answers.iter().any(is_operator) {
        answers.retain(is_operator);
    }
    Ok(answers)
}

/// Of one HOP.
pub(super) fn answer_for(block: &BlockAnalysis, hop: HopId) -> Answer {
    Explainer::new(block).answer(hop)
}

fn nothing(analysis: &Analysis, question: &Question) -> Error {
    let hops = analysis.blocks.iter().flat_map(|block| {
        let hops = block
            .dag
            .iter()
            .filter(|(hop, _)| block.is_on_matrices(*hop));
        hops.map(|(_, hop)| hop)
    });
    let (what, known): (String, Vec<String>) = match question {
        Question::Place { line, column, .. } => {
            let mut places: Vec<(u32, u32)> = hops
                .filter_map(|hop| hop.position.as_ref())
                .map(|position| (position.line, position.column))
                .collect();
            places.sort_unstable();
            let on_line = places.iter().filter(|(place, _)| place == line);
            let on_line: Vec<String> = on_line
                .map(|(line, column)| format!("{line}:{column}"))
                .collect();
            let known = match on_line.is_empty() {
                false => on_line,
                true => places.iter().map(|(line, _)| line.to_string()).collect(),
            };
            let column = column.map(|column| format!(", column {column}"));
            (
                format!("at line {line}{}", column.unwrap_or_default()),
                known,
            )
        }
        Question::Hop { block, hop } => {
            let blocks = analysis.blocks.iter().filter(|block| block.has_matrices());
            let known =
                blocks.map(|block| format!("{0}.0 to {0}.{1}", block.number, block.dag.len() - 1));
            (format!("called {block}.{hop}"), known.collect())
        }
        Question::Code(code) => {
            let codes: BTreeSet<String> = hops.map(|hop| hop.op.code()).collect();
            (format!("called '{code}'"), codes.into_iter().collect())
        }
    };
    let mut seen = BTreeSet::new();
    let known: Vec<String> = known
        .into_iter()
        .filter(|name| seen.insert(name.clone()))
        .collect();
    let message = format!("no operator on matrices stands {what} after rewrites");
    Error::argument(message).with_help(format!("there are {}; {HELP}", known.join(", ")))
}

struct Explainer<'a> {
    block: &'a BlockAnalysis,
    consumers: Vec<Vec<HopId>>,
}

impl<'a> Explainer<'a> {
    fn new(block: &'a BlockAnalysis) -> Self {
        Explainer {
            consumers: block.dag.consumers(),
            block,
        }
    }

    fn is_asked(&self, id: HopId, question: &Question) -> bool {
        let hop = self.block.dag.hop(id);
        match question {
            Question::Hop { block, hop } => {
                *block == self.block.number && *hop == id.0 && self.block.is_on_matrices(id)
            }
            Question::Code(code) => {
                let own = hop.op.code();
                let inner = own
                    .split_once('(')
                    .and_then(|(_, rest)| rest.strip_suffix(')'));
                self.block.is_on_matrices(id) && (own == *code || inner == Some(code))
            }
            Question::Place { file, line, column } => {
                let Some(position) = hop
                    .position
                    .as_ref()
                    .filter(|_| self.block.is_on_matrices(id))
                else {
                    return false;
                };
                let is_file = |file: &String| position.source.name.ends_with(file.as_str());
                let end = position.column + position.length.max(1);
                position.line == *line
                    && file.as_ref().is_none_or(is_file)
                    && column.is_none_or(|column| (position.column..end).contains(&column))
            }
        }
    }

    fn answer(&self, id: HopId) -> Answer {
        let hop = self.block.dag.hop(id);
        let explanation = &self.block.fused.explanation;
        let fused: Vec<FusedIn> = self
            .block
            .operators_of(id)
            .into_iter()
            .filter_map(|number| {
                let operator = explanation.operators.get(number)?;
                Some(FusedIn {
                    number,
                    label: operator.label.clone(),
                    covered: operator.covered.clone(),
                    cost: operator.costs.cost,
                    unfused: operator.costs.unfused,
                })
            })
            .collect();
        let refusal = explanation
            .refusals
            .iter()
            .find(|refusal| refusal.hop == id);
        let inputs = distinct(&hop.inputs);
        let inputs = inputs.map(|input| self.neighbour(input, Role::Input, id, input));
        let consumers = distinct(&self.consumers[id.index()]);
        let consumers = consumers.map(|other| self.neighbour(other, Role::Consumer, other, id));
        let mut partitions = explanation.partitions.iter();
        let partition = partitions.find(|each| each.partition.hops.contains(&id));
        let is_own = |cost: &&BasicCost| cost.hop == id;
        Answer {
            block: self.block.number,
            hop: id,
            code: hop.op.code(),
            position: hop.position.clone(),
            outcome: match (fused.is_empty(), self.can_fuse(id)) {
                (false, _) => Outcome::Fused,
                (true, true) => Outcome::Alone,
                (true, false) => Outcome::NeverFuses,
            },
            fused,
            basic_cost: explanation
                .basic_costs
                .iter()
                .find(is_own)
                .map(|cost| cost.cost),
            reasons: refusal
                .map(|refusal| refusal.reasons.clone())
                .unwrap_or_default(),
            neighbours: inputs.chain(consumers).flatten().collect(),
            costs: partition.and_then(|partition| partition.costs),
        }
    }

    /// Some template has this kind of operator.
    fn can_fuse(&self, id: HopId) -> bool {
        let explanation = &self.block.fused.explanation;
        let mut edges = explanation.edge_refusals.iter();
        explanation.memo.iter().any(|group| group.hop == id)
            || explanation.refusals.iter().any(|refusal| refusal.hop == id)
            || edges.any(|edge| edge.consumer == id || edge.input == id)
    }

    fn neighbour(&self, id: HopId, role: Role, consumer: HopId, input: HopId) -> Option<Neighbour> {
        let hop = self.block.dag.hop(id);
        self.block.is_on_matrices(id).then(|| Neighbour {
            hop: id,
            code: hop.op.code(),
            role,
            link: self.link(consumer, input),
        })
    }

    fn link(&self, consumer: HopId, input: HopId) -> Link {
        let explanation = &self.block.fused.explanation;
        let mut operators = explanation.operators.iter();
        if operators.any(|each| each.covered.contains(&consumer) && each.covered.contains(&input)) {
            return Link::Fused;
        }
        if !self.can_fuse(consumer) || !self.can_fuse(input) {
            return Link::NeverFuses;
        }
        let mut edges = explanation.edge_refusals.iter();
        if let Some(edge) = edges.find(|edge| edge.consumer == consumer && edge.input == input) {
            return Link::Refused {
                by: edge.refused_by,
                reasons: edge.reasons.clone(),
            };
        }
        for partition in &explanation.partitions {
            let mut decisions = partition.decisions.iter();
            let here = |decision: &&Decision| {
                decision.point.consumer == consumer && decision.point.target == input
            };
            if let Some(decision) = decisions.find(here).filter(|decision| decision.materialize) {
                return Link::Materialized {
                    decision: *decision,
                    chosen: partition.costs.map(|costs| costs.chosen),
                };
            }
        }
        Link::OtherPlan
    }
}

fn distinct(hops: &[HopId]) -> impl Iterator<Item = HopId> {
    let mut hops = hops.to_vec();
    hops.sort_unstable();
    hops.dedup();
    hops.into_iter()
}

impl Answer {
    /// In one line, for tables.
    pub fn summary(&self) -> String {
        match self.outcome {
            Outcome::Fused => {
                let operators = self.fused.iter();
                let names = operators.map(|each| format!("fused({}) {}", each.number, each.label));
                format!("in {}", names.collect::<Vec<_>>().join(", "))
            }
            Outcome::Alone => format!("not fused: {}", list(&self.reasons)),
            Outcome::NeverFuses => "no template has such operators".to_owned(),
        }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Answer {
            block, hop, code, ..
        } = self;
        write!(f, "{code}, HOP {hop} of block {block}")?;
        match &self.position {
            Some(position) => writeln!(f, " @ {position}")?,
            None => writeln!(f)?,
        }
        match self.basic_cost {
            Some(cost) if self.outcome == Outcome::Alone => {
                writeln!(f, "  {}; {} alone", self.summary(), Seconds(cost))?;
            }
            _ => writeln!(f, "  {}", self.summary())?,
        }
        for FusedIn {
            number,
            covered,
            cost,
            unfused,
            ..
        } in &self.fused
        {
            let covered: Vec<String> = covered.iter().map(HopId::to_string).collect();
            writeln!(
                f,
                "  fused({number}) computes HOPs {} in {}, unfused {}",
                covered.join(" "),
                Seconds(*cost),
                Seconds(*unfused)
            )?;
        }
        let told = |neighbour: &&Neighbour| !matches!(neighbour.link, Link::NeverFuses);
        for neighbour in self.neighbours.iter().filter(told) {
            let role = match neighbour.role {
                Role::Input => "input",
                Role::Consumer => "consumer",
            };
            writeln!(
                f,
                "  {role} {} {}: {}",
                neighbour.hop, neighbour.code, neighbour.link
            )?;
        }
        if let Some(costs) = &self.costs {
            writeln!(f, "  its partition: {costs}")?;
        }
        Ok(())
    }
}

impl Link {
    /// It says more than that there was nothing to fuse.
    pub fn is_worth_telling(&self) -> bool {
        !matches!(self, Link::Fused | Link::NeverFuses)
    }
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Link::Fused => f.write_str("fused with it"),
            Link::Materialized { decision, chosen } => {
                f.write_str("the value between them is materialized")?;
                if let (Some(otherwise), Some(chosen)) = (decision.otherwise, chosen) {
                    write!(
                        f,
                        ": fused, the plan would take {} instead of {}",
                        Seconds(otherwise),
                        Seconds(*chosen)
                    )?;
                }
                Ok(())
            }
            Link::Refused { by, reasons } => write!(f, "HOP {by} refuses: {}", list(reasons)),
            Link::NeverFuses => f.write_str("one of the two reads, writes or makes data"),
            Link::OtherPlan => f.write_str("the chosen operators leave this edge out"),
        }
    }
}

fn list(reasons: &[TemplateReason]) -> String {
    let reasons: Vec<String> = reasons.iter().map(ToString::to_string).collect();
    reasons.join("; ")
}
