//! Propagation through control flow.
//!
//! The walk is an abstract interpretation: branches merge what they leave, loops run until what holds
//! before an iteration also holds after it. Merging only ever forgets, so loops end. Until then a pass may
//! believe too much, so sizes that do not fit are errors only in the final pass
//! ([`Pass::Final`]), which sees what holds always and gives the new program.

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use fulgurite_error::{Error, Position, Result};

use super::{
    Folding, ReadMetadata, Symbols, VariableInfo, dag,
    functions::Functions,
    memo::{Left, Memo},
    notes::Assigned,
    state::{Names, State},
};
use crate::{
    Block, Characteristics, Dag, DataType, Literal, Predicate, Program, ValueType, program::walk,
    scalar,
};

pub(super) fn propagate(
    program: &Program,
    symbols: &Symbols,
    metadata: ReadMetadata,
    branches: Branches,
) -> Result<(Program, Vec<Removed>)> {
    let mut walk = Walk {
        metadata,
        branches,
        removed: Vec::new(),
        functions: Functions::new(program),
        names: Names::default(),
        memo: Memo::default(),
        pass: Pass::Search,
        loops: 0,
        assigned: Assigned::new(),
        errors: Vec::new(),
    };
    let inputs = walk.names.state(symbols.clone());
    // What a call passes and what it gets back depend on each other across the program.
    for _ in 0..MOST_PASSES {
        walk.functions.begin_pass();
        walk.blocks(&program.body, &mut inputs.clone())?;
        if !walk.functions.changed() {
            break;
        }
    }
    if walk.functions.changed() {
        // Functions that call each other can be slow to settle; declarations alone are always right.
        walk.functions.forget();
    }
    walk.pass = Pass::Final;
    let body = walk.blocks(&program.body, &mut inputs.clone())?;
    let mut functions = BTreeMap::new();
    for (name, function) in &program.functions {
        let mut result = function.clone();
        // What is never called stays as it is: nothing is known of its arguments.
        if let Some(arguments) = walk.functions.arguments_of(name) {
            walk.assigned.clear();
            let mut arguments = walk.names.state(arguments);
            result.body = walk.blocks(&function.body, &mut arguments)?;
        }
        functions.insert(name.clone(), result);
    }
    match Error::all(walk.errors) {
        Some(error) => Err(error),
        None => Ok((Program { functions, body }, walk.removed)),
    }
}

/// Loops deeper than this are not searched: each level goes several times through all levels below it.
const MOST_SEARCHED_LOOPS: usize = 4;

/// Passes over the program in search of what functions are called with and return.
const MOST_PASSES: usize = 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pass {
    /// Looks for what holds always; a block that does not fit leaves unknown variables. No program is made.
    Search,
    /// What is known holds always; a block that does not fit is an error.
    Final,
}

/// Which blocks that never run are taken out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Branches {
    /// Branches not taken, where the condition is known.
    pub conditions: bool,
    /// Loops known not to be entered.
    pub loops: bool,
}

/// What was taken out.
#[derive(Debug, Clone)]
pub struct Removed {
    pub what: Removal,
    pub position: Option<Position>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removal {
    /// The other branch than the one that this condition chooses.
    Branch(bool),
    Loop,
}

pub(super) struct Walk<'a> {
    metadata: ReadMetadata<'a>,
    branches: Branches,
    removed: Vec<Removed>,
    functions: Functions<'a>,
    names: Names,
    memo: Memo,
    pass: Pass,
    /// In how many loops the walk is.
    loops: usize,
    /// Of the body that the final pass is in.
    assigned: Assigned,
    /// Of the final pass.
    errors: Vec<Error>,
}

impl Walk<'_> {
    /// The blocks with what is known; `state` goes from what holds before them to what holds after.
    pub(super) fn blocks(&mut self, blocks: &[Block], state: &mut State) -> Result<Vec<Block>> {
        let mut result = Vec::new();
        for block in blocks {
            self.block(block, state, &mut result)?;
        }
        Ok(result)
    }

    fn block(&mut self, block: &Block, state: &mut State, result: &mut Vec<Block>) -> Result<()> {
        match block {
            Block::Basic { dag } => {
                let (dag, _) = self.dag(dag, state);
                self.push(result, || Block::Basic { dag });
            }
            Block::If {
                predicate,
                then,
                otherwise,
                position,
            } => {
                let (predicate, value) = self.predicate(predicate, state)?;
                if let Some(holds) = value
                    && self.branches.conditions
                {
                    self.note_removed(Removal::Branch(holds), position.as_ref());
                    result.extend(predicate.before);
                    let taken = if holds { then } else { otherwise };
                    result.extend(self.blocks(taken, state)?);
                    return Ok(());
                }
                let mut after_otherwise = state.clone();
                let then = self.blocks(then, state)?;
                let otherwise = self.blocks(otherwise, &mut after_otherwise)?;
                state.merge(&after_otherwise);
                self.push(result, || Block::If {
                    predicate,
                    then,
                    otherwise,
                    position: position.clone(),
                });
            }
            Block::While {
                predicate,
                body,
                position,
            } => {
                // A loop that is never entered: only what the predicate needs ran.
                let mut once = state.clone();
                if let (predicate, Some(false)) = self.predicate(predicate, &mut once)?
                    && self.branches.loops
                {
                    self.note_removed(Removal::Loop, position.as_ref());
                    result.extend(predicate.before);
                    *state = once;
                    return Ok(());
                }
                self.find_fixpoint(block, state, |walk, state| {
                    walk.predicate(predicate, state)?;
                    walk.blocks(body, state).map(drop)
                })?;
                let (predicate, _) = self.predicate(predicate, state)?;
                let body = self.inside_loop(|walk| walk.blocks(body, &mut state.clone()))?;
                self.push(result, || Block::While {
                    predicate,
                    body,
                    position: position.clone(),
                });
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
                let (from, first) = self.bound(from, state)?;
                let (to, last) = self.bound(to, state)?;
                let (increment, step) = match increment {
                    Some(increment) => {
                        let (increment, step) = self.bound(increment, state)?;
                        (Some(increment), step)
                    }
                    // Counts towards the last value, and so runs at least once.
                    None => (None, None),
                };
                let never = match (first, last, step) {
                    (Some(first), Some(last), Some(step)) => {
                        step > 0 && first > last || step < 0 && first < last
                    }
                    _ => false,
                };
                if never && self.branches.loops {
                    self.note_removed(Removal::Loop, position.as_ref());
                    for bound in [Some(from), Some(to), increment].into_iter().flatten() {
                        result.extend(bound.before);
                    }
                    return Ok(());
                }
                let counter = self.names.place(variable);
                let count = Some(Rc::new(VariableInfo::scalar(ValueType::Int)));
                self.find_fixpoint(block, state, |walk, state| {
                    state.set(counter, count.clone());
                    walk.blocks(body, state).map(drop)
                })?;
                state.set(counter, count);
                let body = self.inside_loop(|walk| walk.blocks(body, &mut state.clone()))?;
                self.push(result, || Block::For {
                    variable: variable.clone(),
                    from,
                    to,
                    increment,
                    body,
                    parallel: parallel.clone(),
                    position: position.clone(),
                });
            }
            Block::Call {
                function,
                arguments,
                outputs,
                position,
            } => {
                let names = &self.names;
                let known = |name: &str| names.info(state, name);
                let results = match self.functions.enter(function, arguments, &known) {
                    Some(entered) => {
                        if entered.is_new {
                            let mut inside = self.names.state(entered.arguments);
                            let body = &entered.function.body;
                            self.searching(|walk| walk.blocks(body, &mut inside))?;
                            let names = &self.names;
                            let left = |name: &str| names.info(&inside, name);
                            self.functions.leave(function, &left);
                        }
                        self.functions.results_of(function)
                    }
                    None => Vec::new(),
                };
                for (place, output) in outputs.iter().enumerate() {
                    if self.pass == Pass::Final {
                        let place = position.clone().map(|position| (output.clone(), position));
                        self.assigned.extend(place);
                    }
                    let info = results.get(place).cloned().map(Rc::new);
                    state.set(self.names.place(output), info);
                }
                self.push(result, || block.clone());
            }
        }
        Ok(())
    }

    /// Appends a block to the new program, if one is made.
    fn push(&self, result: &mut Vec<Block>, block: impl FnOnce() -> Block) {
        if self.pass == Pass::Final {
            result.push(block());
        }
    }

    fn note_removed(&mut self, what: Removal, position: Option<&Position>) {
        if self.pass == Pass::Final {
            let position = position.cloned();
            self.removed.push(Removed { what, position });
        }
    }

    /// A DAG and the value of its first root.
    fn dag(&mut self, dag: &Dag, state: &mut State) -> (Dag, Option<Literal>) {
        match self.pass {
            Pass::Search => {
                let left = self.memo.left(dag, state);
                let left = left.unwrap_or_else(|| self.seen(dag, state));
                left.write(state);
                (Dag::new(), left.value.clone())
            }
            Pass::Final => {
                let seen = self.memo.take(dag, state);
                let (sized, left) = seen.unwrap_or_else(|| {
                    let mut outcome = self.propagated(dag, state);
                    self.errors.append(&mut outcome.errors);
                    let sized = outcome.dag.clone();
                    (
                        sized,
                        self.memo.note_dag(dag, outcome, state, &mut self.names),
                    )
                });
                self.assigned.extend(writes(dag));
                left.write(state);
                (sized, left.value.clone())
            }
        }
    }

    fn seen(&mut self, dag: &Dag, state: &State) -> Rc<Left> {
        let mut outcome = self.propagated(dag, state);
        if !outcome.errors.is_empty() {
            outcome.written = unknown_writes(dag);
            outcome.value = None;
        }
        self.memo.note_dag(dag, outcome, state, &mut self.names)
    }

    fn propagated(&self, dag: &Dag, state: &State) -> dag::Outcome {
        let known = |name: &str| self.names.info(state, name);
        dag::propagate(
            dag,
            &known,
            Folding::Variables,
            self.metadata,
            &self.assigned,
        )
    }

    /// A predicate and, where it is known, whether it holds.
    fn predicate(
        &mut self,
        predicate: &Predicate,
        state: &mut State,
    ) -> Result<(Predicate, Option<bool>)> {
        let (predicate, value) = self.header(predicate, state)?;
        // A string can't be a predicate; the run time says so if it comes to it.
        Ok((
            predicate,
            value.and_then(|value| scalar::truth(&value).ok()),
        ))
    }

    /// A bound of a loop and, where it is known, its value.
    fn bound(&mut self, bound: &Predicate, state: &mut State) -> Result<(Predicate, Option<i64>)> {
        let (bound, value) = self.header(bound, state)?;
        // What is no bound fails when the loop is reached.
        let value = value.and_then(|value| scalar::loop_bound(&value).ok());
        Ok((bound, value))
    }

    fn header(
        &mut self,
        predicate: &Predicate,
        state: &mut State,
    ) -> Result<(Predicate, Option<Literal>)> {
        let before = self.blocks(&predicate.before, state)?;
        let (dag, value) = self.dag(&predicate.dag, state);
        Ok((Predicate { before, dag }, value))
    }

    /// Makes `state` what holds before every iteration of a loop.
    fn find_fixpoint(
        &mut self,
        block: &Block,
        state: &mut State,
        mut iteration: impl FnMut(&mut Self, &mut State) -> Result<()>,
    ) -> Result<()> {
        if self.loops >= MOST_SEARCHED_LOOPS {
            for name in written_in(std::slice::from_ref(block)) {
                state.set(self.names.place(&name), None);
            }
            return Ok(());
        }
        let (begun, is_settled) = self.memo.begin(block, state, self.functions.version());
        let entry = std::mem::replace(state, begun);
        if is_settled {
            return Ok(());
        }
        self.inside_loop(|walk| {
            walk.searching(|walk| {
                loop {
                    let version = walk.functions.version();
                    let mut after = state.clone();
                    iteration(walk, &mut after)?;
                    if !state.merge(&after) {
                        walk.memo.note_loop(block, entry, state, version);
                        return Ok(());
                    }
                }
            })
        })
    }

    fn inside_loop<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.loops += 1;
        let result = work(self);
        self.loops -= 1;
        result
    }

    fn searching<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let pass = std::mem::replace(&mut self.pass, Pass::Search);
        let result = work(self);
        self.pass = pass;
        result
    }
}

/// The variables that blocks set, in whatever depth.
pub(crate) fn written_in(blocks: &[Block]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    walk(blocks, &mut |block| match block {
        Block::Basic { dag } => names.extend(unknown_writes(dag).into_keys()),
        Block::For { variable, .. } => {
            names.insert(variable.clone());
        }
        Block::Call { outputs, .. } => names.extend(outputs.iter().cloned()),
        Block::If { .. } | Block::While { .. } => {}
    });
    names
}

/// The variables that a DAG writes, and where the script assigns them.
fn writes(dag: &Dag) -> impl Iterator<Item = (String, Position)> {
    dag.iter().filter_map(|(_, hop)| {
        let name = hop.op.variable_written()?;
        Some((name.to_owned(), hop.position.clone()?))
    })
}

fn unknown_writes(dag: &Dag) -> Symbols {
    let write = |hop: &crate::Hop| {
        let name = hop.op.variable_written()?;
        let info = VariableInfo {
            data_type: hop.data_type,
            value_type: hop.value_type,
            characteristics: match hop.data_type {
                DataType::Scalar => Characteristics::SCALAR,
                DataType::Matrix | DataType::Frame | DataType::List => Characteristics::UNKNOWN,
            },
            constant: None,
        };
        Some((name.to_owned(), info))
    };
    dag.iter().filter_map(|(_, hop)| write(hop)).collect()
}
