//! Branches and loops.

use std::collections::BTreeSet;

use fulgurite_error::{Code, Error, Position, Result};
use fulgurite_hop::{
    Block, DataType, Dialect, HopId, Literal, Parallel, Predicate, ValueType, scalar,
};

use super::{
    Lowering,
    block::BlockBuilder,
    describe, refuse_constant_name,
    scope::{Scope, Variable},
};
use crate::{
    parfor::{self, Known, LoopOptions, ParallelLoop, ReadLater},
    syntax::{
        assigned,
        ast::{Call, Expression, ExpressionKind, LoopOption, LoopRange, Statement},
    },
};

/// How deeply loops may nest in one body. Each level may have to be looked at twice to know the types in
/// it, so the work doubles from level to level.
const MAX_LOOP_NESTING: u32 = 10;

impl Lowering<'_> {
    pub(super) fn if_statement(
        &mut self,
        predicate: &Expression,
        then: &[Statement],
        otherwise: &[Statement],
        position: &Position,
    ) -> Result<()> {
        if let Some(holds) = self.known_condition(predicate, "if")? {
            // No end of the block: what follows is straight-line code.
            let (taken, dropped) = if holds {
                (then, otherwise)
            } else {
                (otherwise, then)
            };
            let phantom = self.scope_after_dropped(dropped);
            self.statements(taken)?;
            self.scope.add_phantoms(phantom);
            return Ok(());
        }
        self.flush();
        let predicate = self.condition(predicate, "if")?;
        let before = self.scope.clone();
        let then = self.inner(then)?;
        let after_then = std::mem::replace(&mut self.scope, before);
        let otherwise = self.inner(otherwise)?;
        self.scope = after_then.merge(&self.scope);
        self.blocks.push(Block::If {
            predicate,
            then,
            otherwise,
            position: Some(position.clone()),
        });
        Ok(())
    }

    pub(super) fn while_loop(
        &mut self,
        predicate: &Expression,
        body: &[Statement],
        position: &Position,
    ) -> Result<()> {
        if self.known_condition(predicate, "while")? == Some(false) {
            let phantom = self.scope_after_dropped(body);
            self.scope.add_phantoms(phantom);
            return Ok(());
        }
        self.flush();
        let ((predicate, body), head) = self.until_stable(body, position, |lowering| {
            let predicate = lowering.condition(predicate, "while")?;
            Ok((predicate, lowering.inner(body)?))
        })?;
        self.scope = head.merge(&self.scope);
        self.blocks.push(Block::While {
            predicate,
            body,
            position: Some(position.clone()),
        });
        Ok(())
    }

    pub(super) fn for_loop(
        &mut self,
        variable: &str,
        range: &LoopRange,
        body: &[Statement],
        parallel: Option<&[LoopOption]>,
        position: &Position,
    ) -> Result<()> {
        refuse_constant_name(variable).map_err(|error| error.at(position))?;
        self.flush();
        let from = self.bound(&range.from, "the first value of a loop")?;
        let to = self.bound(&range.to, "the last value of a loop")?;
        let increment = match &range.increment {
            Some(increment) => Some(self.increment(increment)?),
            // SystemML's parallel loops count up alone.
            None if parallel.is_some() && self.options.dialect == Dialect::SystemMl => {
                let one = ExpressionKind::Literal(Literal::Int(1));
                Some(self.increment(&Expression {
                    kind: one,
                    position: position.clone(),
                })?)
            }
            None => None,
        };
        let before = self.scope.clone();
        let statements = body;
        let (body, head) = self.until_stable(body, position, |lowering| {
            let counter = Variable::new(DataType::Scalar, ValueType::Int);
            lowering.scope.set(variable, counter);
            lowering.inner(body)
        })?;
        // `from:to` counts up or down and so runs at least once; a seq may run zero times, and what a
        // parallel iteration assigns need not arrive.
        if (range.is_seq && range.increment.is_some()) || parallel.is_some() {
            self.scope = head.merge(&self.scope);
        }
        let parallel = match parallel {
            None => None,
            Some(options) => {
                let (parallel_loop, scopes) = ((variable, range, statements), (&before, &head));
                Some(self.parallel(parallel_loop, options, scopes, position)?)
            }
        };
        self.blocks.push(Block::For {
            variable: variable.to_owned(),
            from,
            to,
            increment,
            body,
            parallel,
            position: Some(position.clone()),
        });
        Ok(())
    }

    /// What `parfor` adds to the loop, after it was shown to be free of races.
    fn parallel(
        &mut self,
        (variable, range, body): (&str, &LoopRange, &[Statement]),
        options: &[LoopOption],
        (before, head): (&Scope, &Scope),
        position: &Position,
    ) -> Result<Box<Parallel>> {
        let options = LoopOptions::new(options, |option| self.option_value(option))?;
        let nothing = ReadLater::new();
        let accumulated = parfor::analyse(&ParallelLoop {
            variable,
            range,
            body,
            known: &AtLoop {
                lowering: self,
                before,
                head,
            },
            read_later: self.live_after.at(position).unwrap_or(&nothing),
            check: options.check,
        })?;
        Ok(Box::new(Parallel {
            results: BTreeSet::new(),
            accumulated,
            degree: options.degree,
            mode: options.mode,
        }))
    }

    fn option_value(&mut self, option: &LoopOption) -> Result<Option<Literal>> {
        // A bare word, as in mode=LOCAL, is a string.
        if self.has_user_call(&option.value) {
            return Ok(None);
        }
        let block = self.take_block();
        let value = self.expression(&option.value);
        let scratch = std::mem::replace(&mut self.block, block);
        Ok(scratch.constant(value?).cloned())
    }

    /// What would be known after a branch that is not taken. Scripts may go on to read its variables
    /// where only a run can tell that they do not, so they have to have types. Whether the branch is
    /// valid does not matter: often it is dropped because what it needs is not there.
    fn scope_after_dropped(&mut self, statements: &[Statement]) -> Scope {
        let mut aside = Lowering::new(self.options, self.modules, self.namespace);
        aside.is_main = self.is_main;
        aside.loop_nesting = self.loop_nesting;
        aside.scope = self.scope.clone();
        match aside.statements(statements) {
            // Up to an error, the scope is as good as it gets.
            Ok(()) | Err(_) => aside.scope,
        }
    }

    /// Lowers statements into blocks of their own.
    pub(super) fn inner(&mut self, statements: &[Statement]) -> Result<Vec<Block>> {
        let outer = std::mem::take(&mut self.blocks);
        let result = self.statements(statements);
        self.flush();
        let inner = std::mem::replace(&mut self.blocks, outer);
        result.map(|()| inner)
    }

    /// Lowers a loop until what is known at its head also holds when it comes back there; gives what
    /// `lower` built last, and the scope at the head.
    fn until_stable<T>(
        &mut self,
        body: &[Statement],
        position: &Position,
        mut lower: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<(T, Scope)> {
        if self.loop_nesting >= MAX_LOOP_NESTING {
            return Err(Error::validation(format!(
                "loops nested more than {MAX_LOOP_NESTING} levels deep"
            ))
            .with_code(Code::NestedTooDeeply)
            .at(position)
            .with_help("move the inner loops into a function"));
        }
        let assigned = assigned(body);
        let mut head = self.scope.clone();
        head.forget_values(&assigned);
        loop {
            self.scope = head.clone();
            self.loop_nesting += 1;
            let built = lower(self);
            self.loop_nesting -= 1;
            let built = built?;
            let mut merged = head.merge(&self.scope);
            merged.forget_values(&assigned);
            // What the body alone defines is not there the first time: reading it at the head is an
            // error, whatever comes back.
            if head.names().all(|name| merged.get(name) == head.get(name)) {
                return Ok((built, head));
            }
            head = merged;
        }
    }

    /// The value of a condition that constants decide. Looks only: builds nothing.
    fn known_condition(
        &mut self,
        expression: &Expression,
        statement: &str,
    ) -> Result<Option<bool>> {
        if self.has_user_call(expression) {
            return Ok(None);
        }
        let block = self.take_block();
        let value = self.expression(expression);
        let scratch = std::mem::replace(&mut self.block, block);
        let value = value?;
        if scratch.hop(value).is_matrix() && self.options.dialect == Dialect::SystemDs {
            return Ok(None);
        }
        check_condition(&scratch, value, statement, &expression.position)?;
        let Some(constant) = scratch.constant(value) else {
            return Ok(None);
        };
        scalar::truth(constant)
            .map(Some)
            .map_err(|error| error.at(&expression.position))
    }

    /// The predicate of a branch or loop; the current block is ended already.
    fn condition(&mut self, expression: &Expression, statement: &str) -> Result<Predicate> {
        self.predicate(expression, |lowering, value| {
            let position = &expression.position;
            let is_matrix = lowering.block.hop(value).is_matrix();
            if is_matrix && lowering.options.dialect == Dialect::SystemDs {
                // The only cell.
                return Ok(lowering.block.as_scalar(value, ValueType::Double, position));
            }
            check_condition(&lowering.block, value, statement, position).map(|()| value)
        })
    }

    fn bound(&mut self, expression: &Expression, what: &str) -> Result<Predicate> {
        self.predicate(expression, |lowering, value| {
            let checked = lowering.check_number(value, what, &expression.position);
            checked.map(|()| value)
        })
    }

    fn increment(&mut self, expression: &Expression) -> Result<Predicate> {
        self.predicate(expression, |lowering, value| {
            lowering.check_number(value, "the increment of a loop", &expression.position)?;
            let is_zero =
                |literal: &Literal| literal.as_f64().map(scalar::double_to_int) == Some(0);
            if lowering.block.constant(value).is_some_and(is_zero) {
                return Err(Error::validation("the increment of a loop is 0")
                    .with_code(Code::LoopIncrement)
                    .at(&expression.position)
                    .with_help("increments are whole numbers"));
            }
            Ok(value)
        })
    }

    fn predicate(
        &mut self,
        expression: &Expression,
        checked: impl FnOnce(&mut Self, HopId) -> Result<HopId>,
    ) -> Result<Predicate> {
        let outer = std::mem::take(&mut self.blocks);
        let hoisted = self.hoist(expression);
        self.flush();
        let before = std::mem::replace(&mut self.blocks, outer);
        let value = self.expression(&hoisted?)?;
        let value = checked(self, value)?;
        let dag = self.take_block().finish_predicate(value);
        Ok(Predicate { before, dag })
    }
}

fn check_condition(
    block: &BlockBuilder,
    value: HopId,
    statement: &str,
    position: &Position,
) -> Result<()> {
    let hop = block.hop(value);
    let help = match hop.data_type {
        DataType::Scalar if hop.value_type != ValueType::String => return Ok(()),
        DataType::Scalar => "compare the string with another one",
        DataType::Matrix => {
            "take one cell with as.scalar(), or all of them with sum(), min() or max()"
        }
        DataType::Frame | DataType::List => "take one element with as.scalar()",
    };
    Err(Error::validation(format!(
        "the condition of '{statement}' must be a boolean or a number, not {}",
        describe(hop)
    ))
    .with_code(Code::ConditionType)
    .at(position)
    .with_help(help))
}

/// What is known where a `parfor` stands: in its header of the values before it, in its body of those that the body
/// leaves alone.
struct AtLoop<'a, 'l> {
    lowering: &'a Lowering<'l>,
    before: &'a Scope,
    head: &'a Scope,
}

impl Known for AtLoop<'_, '_> {
    fn constant(&self, variable: &str) -> Option<i64> {
        whole(self.head.get(variable)?.constant.as_ref()?)
    }

    fn argument(&self, name: &str) -> Option<i64> {
        whole(self.lowering.options.arguments.get(name)?)
    }

    fn is_int(&self, variable: &str) -> bool {
        let known = self.head.get(variable);
        known.is_some_and(|known| {
            (known.data_type, known.value_type) == (DataType::Scalar, ValueType::Int)
                && known.conflict.is_none()
        })
    }

    fn data_type(&self, variable: &str) -> Option<DataType> {
        self.before.get(variable).map(|known| known.data_type)
    }

    fn is_user_function(&self, call: &Call) -> bool {
        let lowering = self.lowering;
        lowering.modules.resolve(lowering.namespace, call).is_some()
    }
}

fn whole(value: &Literal) -> Option<i64> {
    match value {
        Literal::Int(value) => Some(*value),
        Literal::Double(value) if value.fract() == 0.0 && value.abs() < 2f64.powi(53) => {
            Some(*value as i64)
        }
        _ => None,
    }
}
