//! What is read after each `parfor` of a body, so that an iteration may not leave its own value there.

use std::collections::BTreeMap;

use fulgurite_error::Position;

use super::reads;
use crate::syntax::ast::{
    Call, Expression, LoopRange, Statement, StatementKind, Subscripts, Target,
};

/// Variables that are read before they are assigned again, and where.
pub(crate) type ReadLater = BTreeMap<String, Position>;

/// By the loop's place in the script.
#[derive(Debug, Default)]
pub(crate) struct LiveAfter {
    at: BTreeMap<(u32, u32), ReadLater>,
    /// Within a look at what an iteration reads, before what is live after it is known.
    looks_ahead: bool,
}

impl LiveAfter {
    /// Of all `parfor`s in a body; `outputs` are read at its end.
    pub fn of(body: &[Statement], outputs: ReadLater) -> Self {
        let mut found = LiveAfter::default();
        found.statements(body, outputs);
        found
    }

    pub fn at(&self, parfor: &Position) -> Option<&ReadLater> {
        self.at.get(&(parfor.line, parfor.column))
    }

    /// Gives what is live before the statements.
    fn statements(&mut self, statements: &[Statement], after: ReadLater) -> ReadLater {
        let mut live = after;
        for statement in statements.iter().rev() {
            live = self.statement(statement, live);
        }
        live
    }

    fn statement(&mut self, statement: &Statement, mut live: ReadLater) -> ReadLater {
        match &statement.kind {
            StatementKind::Assign {
                target,
                value,
                accumulate,
            } => {
                assign(target, *accumulate, &mut live);
                read(value, &mut live);
            }
            StatementKind::MultiAssign { targets, call, .. } => {
                for target in targets.iter().rev() {
                    assign(target, false, &mut live);
                }
                read_call(call, &mut live);
            }
            StatementKind::Call(call) => read_call(call, &mut live),
            StatementKind::If {
                predicate,
                then,
                otherwise,
            } => {
                let after_otherwise = live.clone();
                live = self.statements(then, live);
                live.extend(self.statements(otherwise, after_otherwise));
                read(predicate, &mut live);
            }
            StatementKind::While { predicate, body } => {
                read(predicate, &mut live);
                live = self.repeated(body, None, live);
            }
            StatementKind::For {
                variable,
                range,
                body,
                parallel,
                ..
            } => {
                if *parallel && !self.looks_ahead {
                    let at = (statement.position.line, statement.position.column);
                    self.at.insert(at, live.clone());
                }
                live = self.repeated(body, Some(variable), live);
                read_range(range, &mut live);
            }
        }
        live
    }

    /// What is live where a loop comes round: after it, or in the next iteration.
    ///
    /// One look at an iteration tells that: which variables it reads and assigns does not depend on what is live after it.
    fn repeated(
        &mut self,
        body: &[Statement],
        counter: Option<&String>,
        after: ReadLater,
    ) -> ReadLater {
        let mut at_head = after;
        let within = std::mem::replace(&mut self.looks_ahead, true);
        let mut live = self.statements(body, at_head.clone());
        self.looks_ahead = within;
        if let Some(counter) = counter {
            live.remove(counter);
        }
        for (name, position) in live {
            at_head.entry(name).or_insert(position);
        }
        if !self.looks_ahead {
            self.statements(body, at_head.clone());
        }
        at_head
    }
}

fn assign(target: &Target, accumulate: bool, live: &mut ReadLater) {
    match &target.subscripts {
        None if !accumulate => {
            live.remove(&target.variable);
        }
        subscripts => {
            let place = live.entry(target.variable.clone());
            place.or_insert_with(|| target.position.clone());
            if let Some(subscripts) = subscripts {
                read_subscripts(subscripts, live);
            }
        }
    }
}

fn read_range(range: &LoopRange, live: &mut ReadLater) {
    for bound in [&range.from, &range.to].into_iter().chain(&range.increment) {
        read(bound, live);
    }
}

fn read(expression: &Expression, live: &mut ReadLater) {
    reads::of_expression(expression, &|_| true, &mut |read| note(read, live));
}

fn read_call(call: &Call, live: &mut ReadLater) {
    reads::of_call(call, &|_| true, &mut |read| note(read, live));
}

fn read_subscripts(subscripts: &Subscripts, live: &mut ReadLater) {
    reads::of_subscripts(subscripts, &|_| true, &mut |read| note(read, live));
}

fn note(read: reads::Read<'_>, live: &mut ReadLater) {
    live.insert(read.variable.to_owned(), read.position.clone());
}
