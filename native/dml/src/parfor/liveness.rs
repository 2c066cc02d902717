//! What is read after each `parfor` of a body, so that an iteration may not leave its own value there.

use std::collections::BTreeMap;

use fulgurite_error::Position;

use super::reads;
use crate::syntax::ast::{
    Call, Expression, LoopRange, Statement, StatementKind, Subscripts, Target,
};

/// Variables that are read before they are assigned again, and where.
pub(crate) type ReadLater = BTreeMap<String, Position>;

/// The same, while it is looked for.
type Live<'s> = BTreeMap<&'s str, &'s Position>;

/// By the loop's place in the script.
#[derive(Debug, Default)]
pub(crate) struct LiveAfter {
    at: BTreeMap<(u32, u32), ReadLater>,
    /// Within a look at what an iteration reads, before what is live after it is known.
    looks_ahead: bool,
}

impl LiveAfter {
    /// Of all `parfor`s in a body; `outputs` are read at its end.
    pub fn of(body: &[Statement], outputs: &ReadLater) -> Self {
        let mut found = LiveAfter::default();
        if has_parfor(body) {
            let outputs = outputs.iter();
            found.statements(
                body,
                outputs.map(|(name, at)| (name.as_str(), at)).collect(),
            );
        }
        found
    }

    pub fn at(&self, parfor: &Position) -> Option<&ReadLater> {
        self.at.get(&(parfor.line, parfor.column))
    }

    /// Gives what is live before the statements.
    fn statements<'s>(&mut self, statements: &'s [Statement], after: Live<'s>) -> Live<'s> {
        let mut live = after;
        for statement in statements.iter().rev() {
            live = self.statement(statement, live);
        }
        live
    }

    fn statement<'s>(&mut self, statement: &'s Statement, mut live: Live<'s>) -> Live<'s> {
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
                    let owned = live
                        .iter()
                        .map(|(name, at)| ((*name).to_owned(), (*at).clone()));
                    self.at.insert(at, owned.collect());
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
    fn repeated<'s>(
        &mut self,
        body: &'s [Statement],
        counter: Option<&String>,
        after: Live<'s>,
    ) -> Live<'s> {
        let mut at_head = after;
        let within = std::mem::replace(&mut self.looks_ahead, true);
        let mut live = self.statements(body, at_head.clone());
        self.looks_ahead = within;
        if let Some(counter) = counter {
            live.remove(counter.as_str());
        }
        for (name, position) in live {
            at_head.entry(name).or_insert(position);
        }
        if !self.looks_ahead && has_parfor(body) {
            self.statements(body, at_head.clone());
        }
        at_head
    }
}

/// Whether a `parfor` stands in a body, at any depth.
fn has_parfor(body: &[Statement]) -> bool {
    body.iter().any(|statement| match &statement.kind {
        StatementKind::If {
            then, otherwise, ..
        } => has_parfor(then) || has_parfor(otherwise),
        StatementKind::While { body, .. } => has_parfor(body),
        StatementKind::For { body, parallel, .. } => *parallel || has_parfor(body),
        StatementKind::Assign { .. }
        | StatementKind::MultiAssign { .. }
        | StatementKind::Call(_) => false,
    })
}

fn assign<'s>(target: &'s Target, accumulate: bool, live: &mut Live<'s>) {
    match &target.subscripts {
        None if !accumulate => {
            live.remove(target.variable.as_str());
        }
        subscripts => {
            live.entry(&target.variable).or_insert(&target.position);
            if let Some(subscripts) = subscripts {
                read_subscripts(subscripts, live);
            }
        }
    }
}

fn read_range<'s>(range: &'s LoopRange, live: &mut Live<'s>) {
    for bound in [&range.from, &range.to].into_iter().chain(&range.increment) {
        read(bound, live);
    }
}

fn read<'s>(expression: &'s Expression, live: &mut Live<'s>) {
    reads::of_expression(expression, &|_| true, &mut |read| note(read, live));
}

fn read_call<'s>(call: &'s Call, live: &mut Live<'s>) {
    reads::of_call(call, &|_| true, &mut |read| note(read, live));
}

fn read_subscripts<'s>(subscripts: &'s Subscripts, live: &mut Live<'s>) {
    reads::of_subscripts(subscripts, &|_| true, &mut |read| note(read, live));
}

fn note<'s>(read: reads::Read<'s>, live: &mut Live<'s>) {
    live.insert(read.variable, read.position);
}
