//! Propagation through control flow.
//!
//! The walk is an abstract interpretation: branches merge what they leave, loops run until what holds
//! before an iteration also holds after it. Merging only ever forgets, so loops end. Until then a pass may
//! believe too much, so sizes that do not fit are errors only in the final pass
//! ([`Pass::Final`]), which sees what holds always and gives the new program.

use std::collections::{BTreeMap, BTreeSet};

use fulgurite_error::{Error, Position, Result};

use super::{
    Folding, ReadMetadata, Symbols, VariableInfo, dag, functions::Functions, notes::Assigned,
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
        pass: Pass::Search,
        loops: 0,
        assigned: Assigned::new(),
        errors: Vec::new(),
    };
    // What a call passes and what it gets back depend on each other across the program.
    for _ in 0..MOST_PASSES {
        walk.functions.begin_pass();
        walk.blocks(&program.body, &mut symbols.clone())?;
        if !walk.functions.changed() {
            break;
        }
    }
    if walk.functions.changed() {
        // Functions that call each other can be slow to settle; declarations alone are always right.
        walk.functions.forget();
    }
    walk.pass = Pass::Final;
    let body = walk.blocks(&program.body, &mut symbols.clone())?;
    let mut functions = BTreeMap::new();
    for (name, function) in &program.functions {
        let mut function = function.clone();
        // What is never called stays as it is: nothing is known of its arguments.
        if let Some(mut arguments) = walk.functions.arguments_of(name) {
            walk.assigned.clear();
            function.body = walk.blocks(&function.body, &mut arguments)?;
        }
        functions.insert(name.clone(), function);
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
    /// Looks for what holds always; a block that does not fit leaves unknown variables.
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
    pass: Pass,
    /// In how many loops the walk is.
    loops: usize,
    /// Of the body that the final pass is in.
    assigned: Assigned,
    /// Of the final pass.
    errors: Vec<Error>,
}

impl Walk<'_> {
    /// The blocks with what is known; `symbols` goes from what holds before them to what holds after.
    pub(super) fn blocks(&mut self, blocks: &[Block], symbols: &mut Symbols) -> Result<Vec<Block>> {
        let mut result = Vec::with_capacity(blocks.len());
        for block in blocks {
            self.block(block, symbols, &mut result)?;
        }
        Ok(result)
    }

    fn block(
        &mut self,
        block: &Block,
        symbols: &mut Symbols,
        result: &mut Vec<Block>,
    ) -> Result<()> {
        match block {
            Block::Basic { dag } => {
                let (dag, _) = self.dag(dag, symbols)?;
                result.push(Block::Basic { dag });
            }
            Block::If {
                predicate,
                then,
                otherwise,
                position,
            } => {
                let (predicate, value) = self.predicate(predicate, symbols)?;
                if let Some(holds) = value
                    && self.branches.conditions
                {
                    self.note_removed(Removal::Branch(holds), position.as_ref());
                    result.extend(predicate.before);
                    let taken = if holds { then } else { otherwise };
                    result.extend(self.blocks(taken, symbols)?);
                    return Ok(());
                }
                let mut after_otherwise = symbols.clone();
                let then = self.blocks(then, symbols)?;
                let otherwise = self.blocks(otherwise, &mut after_otherwise)?;
                merge_into(symbols, &after_otherwise);
                result.push(Block::If {
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
                let mut once = symbols.clone();
                if let (predicate, Some(false)) = self.predicate(predicate, &mut once)?
                    && self.branches.loops
                {
                    self.note_removed(Removal::Loop, position.as_ref());
                    result.extend(predicate.before);
                    *symbols = once;
                    return Ok(());
                }
                self.find_fixpoint(symbols, &predicate.before, body, |walk, symbols| {
                    walk.predicate(predicate, symbols)?;
                    walk.blocks(body, symbols).map(drop)
                })?;
                let (predicate, _) = self.predicate(predicate, symbols)?;
                let body = self.inside_loop(|walk| walk.blocks(body, &mut symbols.clone()))?;
                result.push(Block::While {
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
                let (from, first) = self.bound(from, symbols)?;
                let (to, last) = self.bound(to, symbols)?;
                let (increment, step) = match increment {
                    Some(increment) => {
                        let (increment, step) = self.bound(increment, symbols)?;
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
                let counter = || (variable.clone(), VariableInfo::scalar(ValueType::Int));
                self.find_fixpoint(symbols, &[], body, |walk, symbols| {
                    symbols.extend([counter()]);
                    walk.blocks(body, symbols).map(drop)
                })?;
                symbols.extend([counter()]);
                let body = self.inside_loop(|walk| walk.blocks(body, &mut symbols.clone()))?;
                result.push(Block::For {
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
                let results = match self.functions.enter(function, arguments, symbols) {
                    Some(body) => {
                        let mut inside = body.arguments;
                        if body.is_new {
                            self.searching(|walk| walk.blocks(&body.function.body, &mut inside))?;
                            self.functions.leave(function, &inside);
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
                    match results.get(place) {
                        Some(info) => symbols.insert(output.clone(), info.clone()),
                        None => symbols.remove(output),
                    };
                }
                result.push(block.clone());
            }
        }
        Ok(())
    }

    fn note_removed(&mut self, what: Removal, position: Option<&Position>) {
        if self.pass == Pass::Final {
            let position = position.cloned();
            self.removed.push(Removed { what, position });
        }
    }

    /// A DAG and the value of its first root.
    fn dag(&mut self, dag: &Dag, symbols: &mut Symbols) -> Result<(Dag, Option<Literal>)> {
        let folding = Folding::Variables;
        let outcome = dag::propagate(dag, symbols, folding, self.metadata, &self.assigned);
        if self.pass == Pass::Final {
            self.errors.extend(outcome.errors);
            self.assigned.extend(writes(dag));
        } else if !outcome.errors.is_empty() {
            symbols.extend(unknown_writes(dag));
            return Ok((dag.clone(), None));
        }
        symbols.extend(outcome.written);
        Ok((outcome.dag, outcome.value))
    }

    /// A predicate and, where it is known, whether it holds.
    fn predicate(
        &mut self,
        predicate: &Predicate,
        symbols: &mut Symbols,
    ) -> Result<(Predicate, Option<bool>)> {
        let (predicate, value) = self.header(predicate, symbols)?;
        // A string can't be a predicate; the run time says so if it comes to it.
        Ok((
            predicate,
            value.and_then(|value| scalar::truth(&value).ok()),
        ))
    }

    /// A bound of a loop and, where it is known, its value.
    fn bound(
        &mut self,
        bound: &Predicate,
        symbols: &mut Symbols,
    ) -> Result<(Predicate, Option<i64>)> {
        let (bound, value) = self.header(bound, symbols)?;
        // What is no bound fails when the loop is reached.
        let value = value.and_then(|value| scalar::loop_bound(&value).ok());
        Ok((bound, value))
    }

    fn header(
        &mut self,
        predicate: &Predicate,
        symbols: &mut Symbols,
    ) -> Result<(Predicate, Option<Literal>)> {
        let before = self.blocks(&predicate.before, symbols)?;
        let (dag, value) = self.dag(&predicate.dag, symbols)?;
        Ok((Predicate { before, dag }, value))
    }

    /// Makes `symbols` what holds before every iteration.
    fn find_fixpoint(
        &mut self,
        symbols: &mut Symbols,
        before_each: &[Block],
        body: &[Block],
        mut iteration: impl FnMut(&mut Self, &mut Symbols) -> Result<()>,
    ) -> Result<()> {
        if self.loops >= MOST_SEARCHED_LOOPS {
            for name in written_in(body).union(&written_in(before_each)) {
                symbols.remove(name);
            }
            return Ok(());
        }
        self.inside_loop(|walk| {
            walk.searching(|walk| {
                loop {
                    let mut after = symbols.clone();
                    iteration(walk, &mut after)?;
                    let before = symbols.clone();
                    merge_into(symbols, &after);
                    if *symbols == before {
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

/// Makes `symbols` what holds after either of two ways. A variable of which nothing is known is not
/// among the symbols, nor is one that is not set: what only one way knows is not known.
fn merge_into(symbols: &mut Symbols, other: &Symbols) {
    symbols.retain(|name, info| {
        let merged = other.get(name).and_then(|other| info.merge(other));
        match merged {
            Some(merged) => {
                *info = merged;
                true
            }
            None => false,
        }
    });
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
