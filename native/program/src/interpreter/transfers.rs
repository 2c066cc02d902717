//! Operators that would fit the driver and run on the workers all the same because they read what workers have (*SystemML on
//! Spark*, Section 3.3): where all readers of it can run there, and less comes to the driver and goes from it than if it
//! were brought here ([`Transfers::stays`]).

use std::{collections::BTreeSet, fmt};

use fulgurite_config::Config;
use fulgurite_dataflow::Form;
use fulgurite_distributed::{
    InputFacts, InputPlace, Operand, OperandPlace, Output, RowWise, Slot, Workforce, composition,
    form, large_product, row_wise,
};
use fulgurite_error::Result;
use fulgurite_fusion::CostConstants;
use fulgurite_hop::{Bytes, Characteristics, Dag, Hop, HopId, Literal, memory};
use fulgurite_operators::BlockPlan;

use super::spread::{Product, Spread, job_seconds, sending_seconds};
use crate::session::Session;

/// How far readers of readers are looked at.
const FURTHEST: usize = 12;

/// Where a matrix is, or will be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Site {
    Here,
    Workers { transposed: bool },
}

/// Why an operator that fits the driver runs on the workers.
#[derive(Debug, Clone, PartialEq)]
pub enum Reason {
    /// Its input is there.
    InputStays(Stays),
    /// It computes for long.
    Spread(Spread),
}

/// A result stays with the workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stays {
    /// What it would move to bring the result here, and to send it back to readers that do not fit here.
    pub collected: u64,
    /// What readers have sent and give.
    pub moved: u64,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::InputStays(stays) => write!(
                f,
                "its input stays there: {} would be moved, {} are",
                Bytes(Some(stays.collected)),
                Bytes(Some(stays.moved))
            ),
            Reason::Spread(spread) => spread.fmt(f),
        }
    }
}

/// What is moved through the driver's link, and in how many jobs.
#[derive(Debug, Clone, Copy, Default)]
struct Moved {
    bytes: u64,
    jobs: u64,
}

impl Moved {
    fn plus(self, other: Moved) -> Self {
        Moved {
            bytes: self.bytes.saturating_add(other.bytes),
            jobs: self.jobs + other.jobs,
        }
    }

    fn seconds(self, cost: &CostConstants) -> f64 {
        sending_seconds(cost, self.bytes) + self.jobs as f64 * job_seconds(cost)
    }
}

/// Decides what stays with the workers, from a block's plan and where its values are.
pub struct Transfers<'a> {
    pub plan: &'a BlockPlan,
    pub config: &'a Config,
    pub cost: CostConstants,
    /// Of values that are there already.
    pub known: &'a dyn Fn(HopId) -> Option<Site>,
}

impl Transfers<'_> {
    /// Whether an operator's result, which workers have, stays with them: if all its readers can run there, that moves
    /// fewer bytes than to bring it here, and does not take longer for the jobs that it needs.
    pub fn stays(&self, id: HopId) -> Option<Stays> {
        let hop = self.dag().hop(id);
        let is_result = !reads_variable(hop) && hop.op.constant().is_none();
        if !self.config.pull || !is_result {
            return None;
        }
        let bytes = memory::output_bytes(hop)?;
        let readers = self.plan.readers(id);
        let goes_back = readers.iter().any(|reader| !self.fits(*reader));
        let collected = Moved {
            bytes: bytes.saturating_mul(1 + u64::from(goes_back)),
            jobs: 1,
        };
        let kept = self.kept(id, &mut BTreeSet::new(), FURTHEST)?;
        let is_less = kept.bytes < collected.bytes
            && kept.seconds(&self.cost) <= collected.seconds(&self.cost);
        is_less.then_some(Stays {
            collected: collected.bytes,
            moved: kept.bytes,
        })
    }

    /// What an operator that fits the driver saves by reading those of its inputs that workers have there; `None` where
    /// they are to come here.
    pub fn pulls(&self, there: &[HopId]) -> Option<Stays> {
        let is_variable = |hop: &HopId| reads_variable(self.dag().hop(*hop));
        let results = there.iter().filter(|input| !is_variable(input));
        let mut saved: Option<Stays> = None;
        for input in results {
            let stays = self.stays(*input)?;
            saved = saved
                .into_iter()
                .chain([stays])
                .max_by_key(|stays| stays.collected);
        }
        saved
    }

    /// Whether an operator on the workers gives the driver one result of all stripes.
    pub fn is_aggregate(&self, id: HopId) -> bool {
        let bytes = memory::output_bytes(self.dag().hop(id));
        let is_large = bytes.is_some_and(|bytes| bytes > self.config.memory_local);
        let cut = self.cut(id, None, FURTHEST / 2);
        !is_large && cut.is_some_and(|cut| matches!(cut.output, Output::Aggregate { .. }))
    }

    /// In what form workers are expected to run an operator; `None` where they are not expected to.
    ///
    /// # Errors
    /// Of the backend, which may be asked for its capacity.
    pub fn form(&self, id: HopId, session: &Session) -> Result<Option<Form>> {
        let hop = self.dag().hop(id);
        let inputs = &self.plan.inputs[id.index()];
        let Some(cut) = self.cut(id, None, FURTHEST / 2) else {
            let facts = self.facts(id, None, FURTHEST / 2);
            return Ok(composition(&hop.op, &facts)
                .map(|composition| Form::of_composition(composition.form())));
        };
        if self.selects_rows(id) && cut.cuts_left_operand_by_columns() {
            return Ok(Some(Form::of_selection()));
        }
        let is_there = |input: &HopId| self.site(*input) != Site::Here;
        let cells = |input: HopId| self.dag().hop(input).characteristics.cells();
        let lead = cut
            .inputs
            .iter()
            .zip(inputs)
            .filter(|(slot, _)| matches!(slot, Slot::Rows | Slot::Columns))
            .max_by_key(|(_, input)| (is_there(input), cells(**input)))
            .map(|(_, lead)| self.origin(*lead));
        let operands = inputs.iter().enumerate().map(|(number, input)| {
            let operand = self.dag().hop(*input);
            Operand {
                characteristics: operand.characteristics,
                bytes: memory::output_bytes(operand),
                place: match is_there(input) {
                    _ if operand.is_scalar() => OperandPlace::Scalar,
                    false => OperandPlace::Here,
                    true if Some(self.origin(*input)) == lead => OperandPlace::InStripes,
                    true => OperandPlace::Elsewhere,
                },
                first: inputs
                    .iter()
                    .position(|other| other == input)
                    .unwrap_or(number),
            }
        });
        let operands: Vec<Operand> = operands.collect();
        let plan = self.plan.cplan(id).map(|fused| &fused.plan);
        let result = memory::output_bytes(hop).filter(|_| hop.is_matrix());
        let product = large_product(
            &hop.op,
            &cut,
            &operands,
            hop.characteristics,
            self.config,
            || Workforce::of(&session.workers()?),
        )?;
        let known = (&operands[..], product);
        Ok(Some(form(plan, &cut, known, result, self.config)))
    }

    /// A product with `table(seq(1, n), index)`, which has a one in each row.
    fn selects_rows(&self, id: HopId) -> bool {
        let hop = self.dag().hop(id);
        let op = |place: usize, of: &Hop| {
            let input = of.inputs.get(place)?;
            Some(self.dag().hop(*input))
        };
        let Some(left) = op(0, hop).filter(|_| hop.op.is_product()) else {
            return false;
        };
        left.op.is_table()
            && op(0, left).is_some_and(|rows| rows.op.is_sequence())
            && op(2, left)
                .and_then(|weights| weights.op.constant()?.as_f64())
                .is_some_and(|weight| weight == 1.0)
    }

    /// Where a matrix is, or is expected to be.
    pub fn site(&self, id: HopId) -> Site {
        self.site_within(id, FURTHEST / 2)
    }

    fn dag(&self) -> &Dag {
        &self.plan.dag
    }

    fn fits(&self, id: HopId) -> bool {
        let bytes = self.plan.operation_bytes(id);
        bytes.is_some_and(|bytes| bytes <= self.config.memory_local)
    }

    /// What is moved if a value stays with the workers; `None` where it has a reader that needs it here. Readers that were
    /// looked at before cost nothing more.
    fn kept(&self, id: HopId, seen: &mut BTreeSet<HopId>, further: usize) -> Option<Moved> {
        let readers = self.plan.readers(id);
        if readers.is_empty() || further == 0 {
            return None;
        }
        let mut moved = Moved::default();
        for reader in readers {
            if seen.insert(*reader) {
                moved = moved.plus(self.reader(*reader, id, seen, further - 1)?);
            }
        }
        // Read more than once, it is computed once by a job of its own.
        moved.jobs += u64::from(readers.len() > 1);
        Some(moved)
    }

    /// What is moved if an operator reads `value` on the workers.
    fn reader(
        &self,
        id: HopId,
        value: HopId,
        seen: &mut BTreeSet<HopId>,
        further: usize,
    ) -> Option<Moved> {
        let hop = self.dag().hop(id);
        if hop.op.size_asked().is_some() {
            return Some(Moved::default());
        }
        let on_workers = Some((value, Site::Workers { transposed: false }));
        let cut = self.cut(id, on_workers, further)?;
        let fits = self.fits(id);
        let mut moved = Moved::default();
        for (slot, input) in cut.inputs.iter().zip(&self.plan.inputs[id.index()]) {
            let operand = self.dag().hop(*input);
            if operand.is_scalar() {
                continue;
            }
            let is_cut = matches!(slot, Slot::Rows | Slot::Columns);
            let bytes = memory::output_bytes(operand)?;
            moved.bytes =
                moved
                    .bytes
                    .saturating_add(match self.site_given(*input, on_workers, further) {
                        Site::Workers { .. }
                            if is_cut && self.origin(*input) == self.origin(value) =>
                        {
                            0
                        }
                        // Shuffled to common stripes.
                        Site::Workers { .. } if is_cut => bytes,
                        Site::Workers { .. } => return None,
                        // What does not fit here has it sent anyway.
                        Site::Here if !fits => 0,
                        Site::Here if bytes <= self.config.memory_broadcast => bytes,
                        Site::Here => return None,
                    });
        }
        if !fits {
            return Some(moved);
        }
        let collected = Moved {
            bytes: memory::output_bytes(hop)?,
            jobs: 1,
        };
        let given = match cut.output {
            Output::Aggregate { .. } => collected,
            Output::Rows => {
                let mut beyond = seen.clone();
                match self.kept(id, &mut beyond, further) {
                    Some(kept) if kept.seconds(&self.cost) <= collected.seconds(&self.cost) => {
                        *seen = beyond;
                        kept
                    }
                    _ => collected,
                }
            }
        };
        Some(moved.plus(given))
    }

    fn site_within(&self, id: HopId, further: usize) -> Site {
        if let Some(site) = (self.known)(id) {
            return site;
        }
        let hop = self.dag().hop(id);
        let there = Site::Workers { transposed: false };
        let is_large =
            |bytes: Option<u64>| bytes.is_some_and(|bytes| bytes > self.config.memory_local);
        if reads_variable(hop) {
            return match is_large(memory::output_bytes(hop)) {
                true => there,
                false => Site::Here,
            };
        }
        if hop.is_scalar() || further == 0 {
            return Site::Here;
        }
        let too_large = is_large(self.plan.operation_bytes(id));
        let reads_workers = || {
            let mut inputs = self.plan.inputs[id.index()].iter();
            inputs.any(|input| self.site_within(*input, further - 1) != Site::Here)
        };
        if !too_large && !reads_workers() {
            return Site::Here;
        }
        match self.cut(id, None, further - 1).map(|cut| cut.output) {
            Some(Output::Rows) => there,
            // Sums that are too large for the driver are shuffled.
            Some(Output::Aggregate { .. }) if is_large(memory::output_bytes(hop)) => there,
            Some(Output::Aggregate { .. }) => Site::Here,
            None if too_large => there,
            None => Site::Here,
        }
    }

    fn site_given(&self, id: HopId, given: Option<(HopId, Site)>, further: usize) -> Site {
        match given {
            Some((known, site)) if known == id => match (self.known)(id) {
                Some(there @ Site::Workers { .. }) => there,
                _ => site,
            },
            _ => self.site_within(id, further.min(FURTHEST / 2)),
        }
    }

    /// How an operator is cut by rows where its inputs are.
    fn cut(&self, id: HopId, given: Option<(HopId, Site)>, further: usize) -> Option<RowWise> {
        let plan = self.plan.cplan(id).map(|fused| &fused.plan);
        row_wise(
            &self.dag().hop(id).op,
            plan,
            &self.facts(id, given, further),
        )
    }

    /// What is known of an operator's inputs.
    fn facts(
        &self,
        id: HopId,
        given: Option<(HopId, Site)>,
        further: usize,
    ) -> Vec<InputFacts<'_>> {
        static SOME_SCALAR: Literal = Literal::Double(f64::NAN);
        let transposed_left = self.plan.transposed_left[id.index()];
        let inputs = self.plan.inputs[id.index()].iter().enumerate();
        inputs
            .map(|(slot, input)| {
                let operand = self.dag().hop(*input);
                let transposed = transposed_left && slot == 0;
                let place = match self.site_given(*input, given, further) {
                    _ if operand.is_scalar() => InputPlace::Local,
                    Site::Here => InputPlace::Local,
                    Site::Workers { transposed: lies } if lies != transposed => {
                        InputPlace::TransposedStripes
                    }
                    Site::Workers { .. } => InputPlace::Stripes,
                };
                InputFacts {
                    characteristics: turned(operand, transposed),
                    scalar: operand
                        .op
                        .constant()
                        .or(operand.is_scalar().then_some(&SOME_SCALAR)),
                    place,
                }
            })
            .collect()
    }

    /// The operator or variable whose stripes a value has.
    fn origin(&self, mut id: HopId) -> HopId {
        for _ in 0..FURTHEST {
            let hop = self.dag().hop(id);
            let cells = |input: &&HopId| self.dag().hop(**input).characteristics.cells();
            let Some(RowWise {
                inputs,
                output: Output::Rows,
            }) = self.cut(id, None, FURTHEST / 2)
            else {
                return id;
            };
            if reads_variable(hop) {
                return id;
            }
            let cut = inputs.iter().zip(&self.plan.inputs[id.index()]);
            let lead = cut
                .filter(|(slot, _)| **slot == Slot::Rows)
                .map(|(_, input)| input)
                .filter(|input| self.site(**input) != Site::Here)
                .max_by_key(cells);
            match lead {
                Some(lead) => id = *lead,
                None => return id,
            }
        }
        id
    }
}

fn turned(operand: &Hop, transposed: bool) -> Characteristics {
    let known = operand.characteristics;
    match transposed {
        true => Characteristics::new(known.cols, known.rows, known.nnz),
        false => known,
    }
}

/// Whether a product that the plan has will be spread, by the sizes that it was planned with.
pub fn expected_spread(
    transfers: &Transfers,
    id: HopId,
    session: &Session,
) -> Result<Option<Spread>> {
    let (plan, inputs) = (transfers.plan, &transfers.plan.inputs[id.index()]);
    let mut operands: Vec<HopId> = inputs
        .iter()
        .copied()
        .filter(|input| plan.dag.hop(*input).is_matrix())
        .collect();
    let all_here = operands
        .iter()
        .all(|input| transfers.site(*input) == Site::Here);
    if !Product::is_one(plan, id) || !all_here {
        return Ok(None);
    }
    let transposed_left = plan.transposed_left[id.index()];
    let sizes: Vec<Characteristics> = inputs
        .iter()
        .enumerate()
        .map(|(slot, input)| turned(plan.dag.hop(*input), transposed_left && slot == 0))
        .collect();
    operands.sort_unstable();
    operands.dedup();
    let sent = operands
        .iter()
        .map(|input| memory::output_bytes(plan.dag.hop(*input)))
        .try_fold(0u64, |sum, bytes| Some(sum.saturating_add(bytes?)));
    let product = sent.and_then(|sent| Product::of(plan, id, &sizes, sent));
    product.map_or(Ok(None), |product| product.spread(session))
}
/// It reads a variable or a file.
fn reads_variable(hop: &Hop) -> bool {
    hop.op.variable_read().is_some() || hop.op.reads_file()
}
