//! Control flow over statement blocks.
//!
//! - `calls`: of user functions; `evaluation`: of functions that the run names.
//! - `parfor`: loops whose iterations run beside each other.

mod calls;
mod evaluation;
mod parfor;

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use fulgurite_dataflow::Variable;
use fulgurite_error::{Error, Position, Result};
use fulgurite_hop::{Block, Dag, EVAL, EVAL_LIST, Literal, Predicate, Program, scalar};
use fulgurite_operators::BlockPlan;

use self::{
    calls::on_enough_stack,
    parfor::{History, ParallelLoop},
};
use super::{
    compression::{Ahead, Compression},
    context::Context,
    evaluate::evaluate,
    loop_writes::{LoopWrites, used_in_ranges},
    planner::Planner,
    range::Range,
    written,
};
use crate::{evaluated::Evaluated, programs::PlannedProgram, symbols::SymbolTable};
pub use parfor::{expected_degree, run_range};

/// Where a block begins.
fn place(block: &Block) -> Option<&Position> {
    match block {
        Block::Basic { dag } => {
            let mut places = dag.roots.iter().map(|root| dag.hop(*root));
            places.find_map(|hop| hop.position.as_ref())
        }
        Block::If { position, .. }
        | Block::While { position, .. }
        | Block::For { position, .. }
        | Block::Call { position, .. } => position.as_ref(),
    }
}

/// Runs one program.
pub(crate) struct Interpreter<'p> {
    pub(super) program: &'p Program,
    pub(crate) context: Context,
    pub(super) planner: Planner,
    /// What `parfor` loops took so far, by their bodies' addresses.
    pub(super) parfors: HashMap<usize, History>,
    /// What loops use in ranges, by their bodies' addresses.
    in_ranges: HashMap<usize, BTreeSet<String>>,
    compression: Compression,
    pub(super) call_depth: usize,
    /// What `eval` has compiled; nothing where it cannot.
    pub(super) evaluated: Option<&'p Evaluated>,
}

impl<'p> Interpreter<'p> {
    pub(crate) fn new(program: &'p Program, context: Context) -> Self {
        Self::with_planner(program, context, Planner::default(), None)
    }

    /// For a program that may have run before.
    pub(crate) fn of_planned(planned: &'p PlannedProgram, context: Context) -> Self {
        let planner = Planner::with_plans(Arc::clone(&planned.plans));
        let evaluated = Some(&planned.evaluated);
        Self::with_planner(&planned.program, context, planner, evaluated)
    }

    pub(super) fn with_planner(
        program: &'p Program,
        context: Context,
        planner: Planner,
        evaluated: Option<&'p Evaluated>,
    ) -> Self {
        Interpreter {
            program,
            context,
            planner,
            parfors: HashMap::new(),
            in_ranges: HashMap::new(),
            compression: Compression::default(),
            call_depth: 0,
            evaluated,
        }
    }

    /// # Errors
    /// The first error of an operator, with its code and position.
    pub(crate) fn run(&mut self, blocks: &'p [Block], symbols: &mut SymbolTable) -> Result<()> {
        // Blocks ask before they begin; a loop whose body has none left is endless, too.
        if blocks.is_empty() {
            return self.context.still_wanted();
        }
        on_enough_stack(|| {
            blocks
                .iter()
                .try_for_each(|block| self.block(block, symbols))
        })
    }

    fn block(&mut self, block: &'p Block, symbols: &mut SymbolTable) -> Result<()> {
        self.context
            .still_wanted()
            .map_err(|error| error.at_option(place(block)))?;
        if self.scalar_code(block, symbols)? {
            return Ok(());
        }
        match block {
            Block::Basic { dag } => self.straight_line(dag, symbols).map(|_| ()),
            Block::If {
                predicate,
                then,
                otherwise,
                position,
            } => match self.holds(predicate, position.as_ref(), symbols)? {
                true => self.run(then, symbols),
                false => self.run(otherwise, symbols),
            },
            Block::While {
                predicate,
                body,
                position,
            } => {
                let at = |error: Error| error.at_option(position.as_ref());
                let label = || label("while", position.as_ref());
                let writes = self.loop_writes(body, Some(predicate), label, symbols);
                self.planner.loops.enter(body, None);
                let mut through = 0;
                while self.holds(predicate, position.as_ref(), symbols)? {
                    self.compress(body, Ahead::Through(through), label, symbols)
                        .map_err(at)?;
                    through += 1;
                    self.run(body, symbols).map_err(at)?;
                    writes
                        .after_iteration(symbols, &mut self.context)
                        .map_err(at)?;
                }
                self.planner.loops.leave();
                writes.end(symbols, &mut self.context).map_err(at)
            }
            Block::For {
                variable,
                from,
                to,
                increment,
                body,
                parallel,
                position,
            } => {
                let at = |error: Error| error.at_option(position.as_ref());
                let from = self.bound(from, symbols).map_err(at)?;
                let to = self.bound(to, symbols).map_err(at)?;
                let increment = match increment {
                    Some(increment) => Some(self.bound(increment, symbols).map_err(at)?),
                    None => None,
                };
                let range = Range::new(from, to, increment).map_err(at)?;
                self.planner.loops.enter(body, Some(variable));
                match parallel {
                    None => {
                        let label = || label(&format!("for {variable}"), position.as_ref());
                        self.compress(body, Ahead::Left(range.left()), label, symbols)
                            .map_err(at)?;
                        let writes = self.loop_writes(body, None, label, symbols);
                        for value in range {
                            symbols.set(variable, Variable::Scalar(Literal::Int(value)));
                            self.run(body, symbols).map_err(at)?;
                            writes
                                .after_iteration(symbols, &mut self.context)
                                .map_err(at)?;
                        }
                        writes.end(symbols, &mut self.context).map_err(at)?;
                    }
                    Some(parallel) => {
                        let parallel_loop = ParallelLoop {
                            variable,
                            body,
                            parallel,
                            position: position.as_ref(),
                        };
                        self.parallel_loop(&parallel_loop, range, symbols)?;
                    }
                }
                self.planner.loops.leave();
                Ok(())
            }
            Block::Call {
                function,
                arguments,
                outputs,
                position,
            } if [EVAL, EVAL_LIST].contains(&function.as_str()) => self
                .evaluate_call(function, arguments, outputs, position.as_ref(), symbols)
                .map_err(|error| error.at_option(position.as_ref())),
            Block::Call {
                function,
                arguments,
                outputs,
                position,
            } => self
                .call(function, arguments, outputs, symbols)
                .map_err(|error| error.at_option(position.as_ref())),
        }
    }

    /// Runs a loop or a call if it is scalar code; says whether it was.
    fn scalar_code(&mut self, block: &'p Block, symbols: &mut SymbolTable) -> Result<bool> {
        let (of, position) = match block {
            Block::Basic { .. }
            | Block::If { .. }
            | Block::For {
                parallel: Some(_), ..
            } => return Ok(false),
            Block::While { position, .. } => ("while", position),
            Block::For {
                variable,
                position,
                parallel: None,
                ..
            } => (variable.as_str(), position),
            Block::Call {
                function, position, ..
            } => (function.as_str(), position),
        };
        let label = || match block {
            Block::For { .. } => label(&format!("for {of}"), position.as_ref()),
            _ => label(of, position.as_ref()),
        };
        let code = Arc::clone(&self.planner.scalar_code);
        let (program, context) = (self.program, &mut self.context);
        code.run(block, label, program, self.call_depth, symbols, context)
            .map_err(|error| error.at_option(position.as_ref()))
    }

    /// What a loop keeps parts of; nothing where there are no workers.
    fn loop_writes(
        &mut self,
        body: &'p [Block],
        condition: Option<&Predicate>,
        label: impl FnOnce() -> String,
        symbols: &mut SymbolTable,
    ) -> LoopWrites {
        if !written::in_reach(&self.context.session) {
            return LoopWrites::default();
        }
        let in_ranges = self.in_ranges.entry(body.as_ptr().addr());
        let in_ranges = in_ranges.or_insert_with(|| used_in_ranges(body, condition));
        LoopWrites::begin(in_ranges, label, symbols, &self.context)
    }

    /// Compresses what a loop reads, see [`Compression`].
    fn compress(
        &mut self,
        body: &[Block],
        ahead: Ahead,
        label: impl Fn() -> String,
        symbols: &mut SymbolTable,
    ) -> Result<()> {
        self.compression
            .before(body, ahead, label, symbols, &self.context)
    }

    /// Compresses inputs that the program reads several times.
    ///
    /// # Errors
    /// `memory`.
    pub(crate) fn compress_inputs(&mut self, symbols: &mut SymbolTable) -> Result<()> {
        let program = self.program;
        self.compression
            .inputs(&program.body, symbols, &self.context)
    }

    /// The plan of a block for these variables.
    pub(crate) fn plan_of(&mut self, dag: &Dag, symbols: &SymbolTable) -> Result<Arc<BlockPlan>> {
        self.planner.plan(dag, symbols, &mut self.context)
    }

    fn straight_line(&mut self, dag: &Dag, symbols: &mut SymbolTable) -> Result<Option<Variable>> {
        let plan = self.planner.plan(dag, symbols, &mut self.context)?;
        if let Some(limit) = &self.context.limit {
            limit.check(&plan.dag, symbols)?;
        }
        evaluate(&plan, symbols, &mut self.context)
    }

    fn predicate(
        &mut self,
        predicate: &'p Predicate,
        symbols: &mut SymbolTable,
    ) -> Result<Literal> {
        self.run(&predicate.before, symbols)?;
        match self.straight_line(&predicate.dag, symbols)? {
            Some(Variable::Scalar(value)) => Ok(value),
            Some(_) => Err(
                Error::validation("a predicate must be a scalar, this is a matrix")
                    .with_help("take one cell out of it with as.scalar()"),
            ),
            None => Err(Error::internal("a predicate without a value")),
        }
    }

    fn holds(
        &mut self,
        predicate: &'p Predicate,
        position: Option<&Position>,
        symbols: &mut SymbolTable,
    ) -> Result<bool> {
        self.predicate(predicate, symbols)
            .and_then(|value| scalar::truth(&value))
            .map_err(|error| error.at_option(position))
    }

    fn bound(&mut self, predicate: &'p Predicate, symbols: &mut SymbolTable) -> Result<i64> {
        let value = self.predicate(predicate, symbols)?;
        scalar::loop_bound(&value)
    }
}

/// A loop, as the report calls it: `parfor i a.dml:3`.
pub(super) fn label(of: &str, position: Option<&Position>) -> String {
    match position {
        Some(position) => format!("{of} {}:{}", position.source.name, position.line),
        None => of.to_owned(),
    }
}
