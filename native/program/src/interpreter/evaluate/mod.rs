//! Evaluates a planned block: operators in order, each where it fits, values freed after their last reader.

mod table_product;
mod written;

use std::time::{Duration, Instant};

use fulgurite_dataflow::{DistributedMatrix, Form, OnBehalf, Variable};
use fulgurite_distributed::{Operator, Workers, comes_back};
use fulgurite_error::{Error, Result};
use fulgurite_hop::{Hop, HopId, HopOp, Literal, SizeOp};
use fulgurite_matrix::{
    MatrixBlock,
    memory::{self, Budget},
};
use fulgurite_operators::{
    BlockPlan, Locally, Value, guarded_operator, not_evaluated, scalar_operator,
};

use super::{
    context::{Context, Scratch},
    effects, files, frames, lists,
    placement::{self, Decision},
    transfers::{Site, Transfers},
};
use crate::{report::FusedRun, symbols::SymbolTable};

/// Evaluates the block. Gives the last root's value: of a predicate, its only root.
pub(crate) fn evaluate(
    plan: &BlockPlan,
    symbols: &mut SymbolTable,
    context: &mut Context,
) -> Result<Option<Variable>> {
    let mut scratch = std::mem::take(&mut context.scratch);
    scratch.values.resize_with(plan.dag.len(), || None);
    scratch.reads_left.extend_from_slice(&plan.reads);
    let mut evaluation = Evaluation {
        plan,
        symbols,
        context,
        scratch,
        unmade_tables: Vec::new(),
        ended: Instant::now(),
    };
    let last = evaluation.run()?;
    let mut scratch = evaluation.scratch;
    for (id, value) in scratch.assigned.drain(..) {
        if let Some(name) = plan.dag.hop(id).op.variable_written() {
            symbols.set(name, value);
        }
    }
    scratch.values.clear();
    scratch.reads_left.clear();
    context.scratch = scratch;
    Ok(last)
}

struct Evaluation<'a> {
    plan: &'a BlockPlan,
    symbols: &'a mut SymbolTable,
    context: &'a mut Context,
    /// Variables take their new values when the block is through: all its reads see the old ones.
    scratch: Scratch,
    /// Tables whose product may do without them, with their operands.
    unmade_tables: Vec<(HopId, Vec<Variable>)>,
    /// When the last operator that the report tells of was through.
    ended: Instant,
}

impl Evaluation<'_> {
    /// Runs all operators. Gives the last root's value.
    fn run(&mut self) -> Result<Option<Variable>> {
        let plan = self.plan;
        let mut last = None;
        for id in &plan.schedule {
            let hop = plan.dag.hop(*id);
            let value = match hop.op.constant() {
                Some(value) => Some(Variable::Scalar(value.clone())),
                None => guarded_operator(hop, || self.operator(*id, hop))?,
            };
            if plan.reads[id.index()] > 0 {
                self.scratch.values[id.index()] = value;
            } else {
                last = value;
            }
        }
        Ok(last)
    }

    fn operator(&mut self, id: HopId, hop: &Hop) -> Result<Option<Variable>> {
        if let Some(name) = hop.op.variable_read() {
            return self.read(name).map(Some);
        }
        self.context.session.interrupt.check()?;
        let _on_behalf = self.on_behalf(id);
        if let Some(value) = self.product_of_unmade_table(id, hop)? {
            return Ok(Some(value));
        }
        let plan = self.plan;
        let mut inputs = std::mem::take(&mut self.scratch.inputs);
        for input in &plan.inputs[id.index()] {
            inputs.push(self.take(*input)?);
        }
        let value = self.on_inputs(id, hop, &mut inputs)?;
        inputs.clear();
        self.scratch.inputs = inputs;
        Ok(value)
    }

    /// Runs an operator on its inputs, which it may leave or take.
    fn on_inputs(
        &mut self,
        id: HopId,
        hop: &Hop,
        inputs: &mut Vec<Variable>,
    ) -> Result<Option<Variable>> {
        if let Some(value) = self.on_written(id, hop, inputs)? {
            return Ok(Some(value));
        }
        match &hop.op {
            HopOp::TransientWrite(name) => {
                let value = inputs.pop();
                let mut value = value.ok_or_else(|| Error::internal("a write without a value"))?;
                if let Variable::Distributed(matrix) = &mut value
                    && !self.plan.is_read_once(name)
                {
                    // Else the one who reads it computes it, stripe by stripe.
                    matrix.persist()?;
                }
                self.scratch.assigned.push((id, value));
                Ok(None)
            }
            HopOp::PersistentRead(options) => {
                let started = self.started();
                let value = files::read(options, inputs, &self.context.session)?;
                frames::check_read(hop, &value)?;
                self.record(id, value.is_distributed(), started);
                Ok(Some(value))
            }
            HopOp::PersistentWrite(options) => {
                let started = self.started();
                let distributed = inputs.first().is_some_and(Variable::is_distributed);
                files::write(options, std::mem::take(inputs), &self.context.session)?;
                self.record(id, distributed, started);
                Ok(None)
            }
            HopOp::Print => {
                let line = effects::line(inputs)?;
                let printed = self.context.session.print(&line);
                // Who takes the lines may take a while.
                self.ended = Instant::now();
                printed.map(|()| None)
            }
            HopOp::Stop => Err(effects::stop(inputs)),
            HopOp::Assert => effects::assert(inputs).map(|()| None),
            HopOp::Size(size) => self.size(*size, inputs).map(Some),
            _ if lists::concerns(hop, inputs) => {
                lists::execute(hop, std::mem::take(inputs), &self.context.session).map(Some)
            }
            _ if frames::concerns(hop, inputs) => {
                let started = self.started();
                let (inputs, session) = (std::mem::take(inputs), &self.context.session);
                let run = || frames::execute(hop, inputs, session);
                let value = match self.budget() {
                    Some(budget) => memory::within(budget, run),
                    None => run(),
                }?;
                self.record(id, false, started);
                Ok(Some(value))
            }
            _ if inputs.iter().all(Variable::is_scalar) && hop.is_scalar() => {
                let stream = self.context.session.config.rand_stream;
                let literals = inputs
                    .iter()
                    .map(Variable::as_scalar)
                    .collect::<Result<Vec<_>>>()?;
                let value = scalar_operator(hop, &literals, stream)?;
                Ok(Some(value.into()))
            }
            _ if self.leaves_table_unmade(id, inputs) => {
                self.unmade_tables.push((id, std::mem::take(inputs)));
                Ok(None)
            }
            _ => self.on_matrices(id, hop, inputs).map(Some),
        }
    }

    /// A variable's value. Its last reader in a block that assigns the variable anew owns it.
    fn read(&mut self, name: &str) -> Result<Variable> {
        if self.plan.assigns(name) {
            return self.symbols.take(name);
        }
        self.symbols.get(name).cloned()
    }

    /// An operator's value for one of its readers: the value itself for the last one.
    fn take(&mut self, id: HopId) -> Result<Variable> {
        let missing = || not_evaluated(id);
        let left = &mut self.scratch.reads_left[id.index()];
        *left = left.saturating_sub(1);
        let slot = &mut self.scratch.values[id.index()];
        match *left {
            0 => slot.take().ok_or_else(missing),
            _ => {
                if let Some(Variable::Distributed(matrix)) = slot {
                    // Read more than once: it is computed once only if it is kept.
                    matrix.persist()?;
                }
                slot.clone().ok_or_else(missing)
            }
        }
    }

    fn size(&self, size: SizeOp, inputs: &[Variable]) -> Result<Variable> {
        let input = inputs
            .first()
            .filter(|input| !input.is_scalar())
            .ok_or_else(|| Error::validation("a scalar has no rows and columns"))?;
        let known = input.characteristics();
        let size = match size {
            SizeOp::NRow => known.rows,
            SizeOp::NCol => known.cols,
            SizeOp::Length => known.cells(),
        };
        let size = size.and_then(|size| i64::try_from(size).ok());
        let size = size.ok_or_else(|| Error::internal("a matrix without a size"))?;
        Ok(Variable::Scalar(Literal::Int(size)))
    }

    /// Runs an operator that reads or gives a matrix where it fits.
    fn on_matrices(
        &mut self,
        id: HopId,
        hop: &Hop,
        inputs: &mut Vec<Variable>,
    ) -> Result<Variable> {
        let started = self.started();
        let transposed_left = self.plan.transposed_left[id.index()];
        if let (true, [Variable::Distributed(matrix)]) = (hop.op.is_transpose(), &inputs[..]) {
            return Ok(Variable::Distributed(matrix.clone().transpose()));
        }
        let known = |hop: HopId| self.site(hop);
        let decision = placement::decide(self.plan, id, inputs, &self.context.session, &known)?;
        if decision != Decision::Local {
            // Workers get matrices of their own.
            for input in inputs.iter_mut() {
                if let Variable::Range(range) = input {
                    *input = Variable::matrix(range.to_dense()?.into());
                }
            }
        }
        match decision {
            Decision::Local => {
                let ranges = placement::bytes_of_ranges(inputs);
                let mut values = Vec::new();
                for input in inputs.drain(..) {
                    values.push(local(input)?);
                }
                let held = values.iter().map(bytes).fold(ranges, u64::saturating_add);
                let scanned = self.scanned(id, &values);
                if let Some(progress) = self.context.session.interrupt.progress() {
                    progress.begins(rows(&values));
                }
                let value = self.here().run(self.plan, id, values)?;
                let elapsed = self.record(id, false, started);
                self.context.threads.linger_after(elapsed);
                let session = &self.context.session;
                session
                    .speeds
                    .observe_read(&session.config, scanned, elapsed);
                let meter = &mut self.context.meter;
                meter.note(|| held.saturating_add(bytes(&value)));
                Ok(value.into())
            }
            Decision::Turned => {
                let [matrix] = &inputs[..] else {
                    return Err(Error::internal("a transpose reads one matrix"));
                };
                let matrix = self.workers()?.distributed(matrix)?;
                Ok(Variable::Distributed(matrix.transpose()))
            }
            Decision::Distributed(cut) => {
                let left_transposed =
                    placement::bring_left_operand_to_stripes(transposed_left, &cut, inputs)?;
                let operator = self.operator_for_workers(id, left_transposed);
                let (value, form) = self.workers()?.run(&operator, &cut, inputs)?;
                self.settled(id, value, &form, started)
            }
            Decision::Composed(composition) => {
                if composition.reads_more_than_once() {
                    for input in inputs.iter_mut() {
                        if let Variable::Distributed(matrix) = input {
                            matrix.persist()?;
                        }
                    }
                }
                let operator = self.operator_for_workers(id, false);
                let value = self.workers()?.compose(composition, &operator, inputs)?;
                let form = Form::of_composition(composition.form());
                self.settled(id, value, &form, started)
            }
        }
    }

    /// Bytes of a dense matrix of which a fused operator reads every cell once.
    fn scanned(&self, id: HopId, inputs: &[Value]) -> u64 {
        match (inputs.first(), self.plan.cplan(id)) {
            (Some(Value::Matrix(block @ MatrixBlock::Dense(_))), Some(fused))
                if fused.plan.reads_all_of_main() =>
            {
                block.memory_bytes() as u64
            }
            _ => 0,
        }
    }

    /// What the operator asks of workers is asked in its name; without workers nobody asks.
    fn on_behalf(&self, id: HopId) -> Option<OnBehalf> {
        self.context.session.backend.as_ref()?;
        self.plan.labels[id.index()].clone().map(OnBehalf::of)
    }

    fn workers(&self) -> Result<Workers<'_>> {
        self.context.session.workers()
    }

    fn operator_for_workers(&self, id: HopId, left_transposed: bool) -> Operator<'_> {
        Operator {
            hop: self.plan.dag.hop(id),
            plan: self.plan.cplan(id).map(|fused| &fused.plan),
            label: self.plan.labels[id.index()].as_deref().unwrap_or_default(),
            left_transposed,
        }
    }

    /// What workers gave: it stays with them unless it is small.
    fn settled(
        &mut self,
        id: HopId,
        mut value: Variable,
        form: &Form,
        started: Instant,
    ) -> Result<Variable> {
        if let Variable::Distributed(matrix) = &mut value {
            if !matrix.stripes.dims_known() {
                matrix.persist()?;
            }
            let bytes = matrix.stripes.memory_bytes();
            let small = comes_back(bytes, &self.context.session.config);
            if small && !self.stays(id, matrix)? {
                value = Variable::Matrix(matrix.collect()?);
            }
        }
        self.record(id, true, started);
        if let Some(label) = &self.plan.labels[id.index()] {
            self.context.recorder.lock().form(label, form);
        }
        Ok(value)
    }

    /// Whether a small result stays with the workers, for its readers to be there too.
    fn stays(&self, id: HopId, result: &DistributedMatrix) -> Result<bool> {
        let session = &self.context.session;
        let known = |hop: HopId| match hop == id {
            true => Some(Site::Workers {
                transposed: result.transposed,
            }),
            false => self.site(hop),
        };
        let transfers = Transfers {
            plan: self.plan,
            config: &session.config,
            cost: session.known_speeds(),
            known: &known,
        };
        Ok(transfers.stays(id).is_some())
    }

    /// Where a value is that is there already.
    fn site(&self, id: HopId) -> Option<Site> {
        if self.unmade_tables.iter().any(|(table, _)| *table == id) {
            return Some(Site::Here);
        }
        let variable = || self.plan.dag.hop(id).op.variable_read();
        let value = self.scratch.values[id.index()].as_ref();
        let value = value.or_else(|| self.symbols.find(variable()?));
        value.map(placement::site)
    }

    /// What operators run with in this process.
    fn here(&self) -> Locally<'_> {
        let session = &self.context.session;
        Locally {
            cache: &session.plan_cache,
            threads: &self.context.threads,
            stream: session.config.rand_stream,
            budget: self.budget(),
        }
    }

    /// What an allocation of an operator may take. Where there are workers, the budget decides what runs there; what runs here all
    /// the same is asked of the system alone.
    fn budget(&self) -> Option<Budget> {
        let session = &self.context.session;
        (!session.in_task && session.backend.is_none()).then_some(Budget {
            bytes: session.config.memory_local,
            setting: "fulgurite.memory.local",
        })
    }

    /// When the operator that runs now has begun. Without workers that is when the last one was through: a small operator
    /// takes as long as to ask for the time a few times.
    fn started(&self) -> Instant {
        match self.context.session.backend {
            None => self.ended,
            Some(_) => Instant::now(),
        }
    }

    /// Tells the report that an operator is through. Gives the time that it took.
    fn record(&mut self, id: HopId, distributed: bool, started: Instant) -> Duration {
        self.ended = Instant::now();
        if let Some(progress) = self.context.session.interrupt.progress() {
            progress.is_through();
        }
        let elapsed = self.ended.saturating_duration_since(started);
        if let Some(label) = &self.plan.labels[id.index()] {
            let fused = self.plan.cplan(id).map(|fused| FusedRun {
                plan: &fused.text,
                sizes: self.plan.sizes(id),
            });
            let mut recorder = self.context.recorder.lock();
            recorder.operator(label, distributed, elapsed, fused);
        }
        elapsed
    }
}

/// The value here. The decision to run locally has checked that it fits.
fn local(variable: Variable) -> Result<Value> {
    Ok(match variable {
        Variable::Scalar(literal) => Value::Scalar(literal),
        Variable::Matrix(matrix) => Value::Matrix(matrix.into_block()),
        Variable::Distributed(matrix) => Value::Matrix(matrix.collect()?.into_block()),
        Variable::Range(range) => Value::Range(range),
        Variable::List(_) => {
            return Err(Error::validation("a list stands where a matrix is needed"));
        }
        Variable::Frame(_) => {
            return Err(Error::validation("a frame stands where a matrix is needed")
                .with_help("as.matrix() makes a matrix of a frame of numbers"));
        }
        Variable::Written(_) => return Err(Error::internal("parts are not in their places")),
    })
}

/// Of the longest matrix among these.
fn rows(values: &[Value]) -> u64 {
    let rows = values.iter().map(|value| match value {
        Value::Matrix(block) => block.rows() as u64,
        Value::Range(range) => range.rows() as u64,
        Value::Scalar(_) => 0,
    });
    rows.max().unwrap_or(0)
}

fn bytes(value: &Value) -> u64 {
    match value {
        Value::Matrix(block) => block.memory_bytes() as u64,
        // Its matrix is held anyway.
        Value::Range(_) | Value::Scalar(_) => 0,
    }
}
