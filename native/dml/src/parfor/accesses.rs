//! What the iterations of a `parfor` read and write of each other's.
//!
//! The walk goes through the body once, in the order of the script, and keeps which variables the iteration has
//! certainly assigned before ([`Walk::own`]): these are its own from there on. Scalars are followed as far as they are
//! linear in the counters of loops, so that an index may be computed in a statement of its own.

use std::collections::{BTreeMap, BTreeSet};

use fulgurite_error::Position;
use fulgurite_hop::Affine;

use super::{
    Known, ParallelLoop,
    affine::{Environment, Term},
    reads::{self, Read, ReadPart},
};
use crate::syntax::{
    assigned,
    ast::{Call, Expression, LoopRange, Range, Statement, StatementKind, Subscripts, Target},
};

/// What may meet something of another iteration.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Access {
    pub action: Action,
    pub region: Region,
    pub position: Position,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Read,
    Write,
    /// `R += x`.
    Add,
    /// Rows and columns are asked for, no cells.
    Shape,
}

impl Action {
    pub fn participle(self) -> &'static str {
        match self {
            Action::Read => "read",
            Action::Write => "written",
            Action::Add => "summed up",
            Action::Shape => "asked for its size",
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Region {
    Whole,
    /// Rows and columns.
    Part(Box<[Span; 2]>),
}

/// Rows or columns of a part.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Span {
    /// All, or such as nothing is known of.
    Any,
    Between(Affine<Term>, Affine<Term>),
}

/// How often a loop has gone round: whole numbers between these, as far as they are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Counter {
    pub low: Option<i128>,
    pub high: Option<i128>,
}

/// The `parfor`'s own counter.
pub(super) const OWN_COUNTER: usize = 0;

pub(super) struct Accesses {
    pub by_variable: BTreeMap<String, Vec<Access>>,
    /// [`OWN_COUNTER`] and those of loops in the body, by number.
    pub loops: Vec<Counter>,
}

impl Accesses {
    pub fn of(parallel: &ParallelLoop<'_>) -> Self {
        let mut walk = Walk {
            known: parallel.known,
            environment: Environment {
                known: parallel.known,
                values: BTreeMap::new(),
                assigned: assigned(parallel.body),
            },
            own: BTreeSet::new(),
            found: Accesses {
                by_variable: BTreeMap::new(),
                loops: Vec::new(),
            },
        };
        let value = walk.counter(parallel.range);
        walk.begin_iteration(parallel.variable, value);
        walk.statements(parallel.body);
        walk.found
    }
}

struct Walk<'a> {
    known: &'a dyn Known,
    environment: Environment<'a>,
    /// What the iteration has certainly assigned.
    own: BTreeSet<String>,
    found: Accesses,
}

impl Walk<'_> {
    fn statements(&mut self, statements: &[Statement]) {
        for statement in statements {
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &Statement) {
        match &statement.kind {
            StatementKind::Assign {
                target,
                value,
                accumulate,
            } => {
                self.read(value);
                let value = self.environment.affine(value);
                self.assign(target, value, *accumulate);
            }
            StatementKind::MultiAssign { targets, call, .. } => {
                self.read_call(call);
                for target in targets {
                    self.assign(target, None, false);
                }
            }
            StatementKind::Call(call) => self.read_call(call),
            StatementKind::If {
                predicate,
                then,
                otherwise,
            } => {
                self.read(predicate);
                let before = (self.own.clone(), self.environment.values.clone());
                self.statements(then);
                let own = std::mem::replace(&mut self.own, before.0);
                let values = std::mem::replace(&mut self.environment.values, before.1);
                self.statements(otherwise);
                self.own.retain(|name| own.contains(name));
                let same =
                    |name: &String, value: &mut Affine<Term>| values.get(name) == Some(value);
                self.environment.values.retain(same);
            }
            StatementKind::While { predicate, body } => {
                self.forget_assigned(body);
                self.read(predicate);
                let before = self.own.clone();
                self.statements(body);
                self.own = before;
                self.forget_assigned(body);
            }
            StatementKind::For {
                variable,
                range,
                body,
                parallel,
                ..
            } => self.inner_loop(variable, range, body, *parallel, &statement.position),
        }
    }

    fn inner_loop(
        &mut self,
        variable: &str,
        range: &LoopRange,
        body: &[Statement],
        parallel: bool,
        position: &Position,
    ) {
        for bound in [&range.from, &range.to].into_iter().chain(&range.increment) {
            self.read(bound);
        }
        let value = self.counter(range);
        let before = self.own.clone();
        self.note(variable, Action::Write, Region::Whole, position);
        self.forget_assigned(body);
        self.begin_iteration(variable, value);
        self.statements(body);
        // `from:to` runs at least once; what a parfor assigns does not arrive.
        if parallel || (range.is_seq && range.increment.is_some()) {
            self.own = before;
        }
        self.forget_assigned(body);
        self.environment.values.remove(variable);
    }

    fn begin_iteration(&mut self, variable: &str, value: Affine<Term>) {
        self.own.insert(variable.to_owned());
        self.environment.values.insert(variable.to_owned(), value);
    }

    /// What the variable of a loop is, with a counter for how often it has gone round.
    fn counter(&mut self, range: &LoopRange) -> Affine<Term> {
        let number = self.found.loops.len();
        let counter = Affine::term(Term::Counter(number));
        let from = self.environment.affine(&range.from);
        let to = self.environment.affine(&range.to);
        let distance = from.as_ref().zip(to).and_then(|(from, to)| {
            let distance = to.minus(from)?;
            distance.number()
        });
        let increment = range.increment.as_ref();
        let increment = increment.map(|increment| self.environment.affine(increment)?.number());
        let (step, bounds) = match (increment, distance) {
            (None, None) => (1, Counter::default()),
            (None, Some(distance)) => (1, between(distance.min(0), distance.max(0))),
            (Some(Some(step)), Some(distance)) if step != 0 => {
                // A loop that is never entered has no iterations to tell apart.
                (step, between(0, (distance / step).max(0)))
            }
            (Some(Some(step)), None) if step != 0 => {
                let bounds = Counter {
                    low: Some(0),
                    high: None,
                };
                (step, bounds)
            }
            // By a step that is not known: a whole number other than 0.
            _ => (1, Counter::default()),
        };
        let value = match (from, number) {
            (Some(from), _) => counter.times(step).and_then(|steps| from.plus(&steps)),
            // The first value is the same for all iterations.
            (None, OWN_COUNTER) => {
                let from = Affine::term(Term::Invariant(String::new()));
                counter.times(step).and_then(|steps| from.plus(&steps))
            }
            (None, _) => None,
        };
        let (value, bounds) = match value {
            Some(value) => (value, bounds),
            None => (counter, Counter::default()),
        };
        self.found.loops.push(bounds);
        value
    }

    fn assign(&mut self, target: &Target, value: Option<Affine<Term>>, accumulate: bool) {
        let (variable, position) = (&target.variable, &target.position);
        if let Some(subscripts) = &target.subscripts {
            self.read_subscripts(subscripts);
            let region = self.part(subscripts);
            if accumulate {
                self.note(variable, Action::Read, region.clone(), position);
            }
            self.note(variable, Action::Write, region, position);
            return;
        }
        self.environment.values.remove(variable);
        match accumulate {
            true => self.note(variable, Action::Add, Region::Whole, position),
            false => {
                self.note(variable, Action::Write, Region::Whole, position);
                self.own.insert(variable.clone());
                if let Some(value) = value {
                    self.environment.values.insert(variable.clone(), value);
                }
            }
        }
    }

    /// Notes an access, unless it is to what the iteration has assigned itself.
    fn note(&mut self, variable: &str, action: Action, region: Region, position: &Position) {
        if self.own.contains(variable) {
            return;
        }
        let accesses = self.found.by_variable.entry(variable.to_owned());
        accesses.or_default().push(Access {
            action,
            region,
            position: position.clone(),
        });
    }

    fn note_read(&mut self, read: Read<'_>) {
        let (action, region) = match read.part {
            ReadPart::Whole => (Action::Read, Region::Whole),
            ReadPart::Shape => (Action::Shape, Region::Whole),
            ReadPart::Indexed(subscripts) => (Action::Read, self.part(subscripts)),
        };
        self.note(read.variable, action, region, read.position);
    }

    fn read(&mut self, expression: &Expression) {
        let known = self.known;
        let is_user_function = |call: &Call| known.is_user_function(call);
        reads::of_expression(expression, &is_user_function, &mut |read| {
            self.note_read(read);
        });
    }

    fn read_call(&mut self, call: &Call) {
        let known = self.known;
        let is_user_function = |call: &Call| known.is_user_function(call);
        reads::of_call(call, &is_user_function, &mut |read| self.note_read(read));
    }

    fn read_subscripts(&mut self, subscripts: &Subscripts) {
        let known = self.known;
        let is_user_function = |call: &Call| known.is_user_function(call);
        reads::of_subscripts(subscripts, &is_user_function, &mut |read| {
            self.note_read(read);
        });
    }

    fn part(&self, subscripts: &Subscripts) -> Region {
        Region::Part(Box::new([
            self.span(&subscripts.rows),
            self.span(&subscripts.cols),
        ]))
    }

    fn span(&self, range: &Range) -> Span {
        let affine = |bound: &Expression| self.environment.affine(bound);
        let bounds = match range {
            Range::All => None,
            Range::Single(index) => affine(index).map(|index| (index.clone(), index)),
            Range::Between(from, to) => affine(from).zip(affine(to)),
        };
        bounds.map_or(Span::Any, |(from, to)| Span::Between(from, to))
    }

    /// What statements that may run again or not at all assign is not known around them.
    fn forget_assigned(&mut self, statements: &[Statement]) {
        let assigned = assigned(statements);
        self.environment
            .values
            .retain(|name, _| !assigned.contains(name));
    }
}

fn between(low: i128, high: i128) -> Counter {
    Counter {
        low: Some(low),
        high: Some(high),
    }
}
