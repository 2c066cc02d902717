//! Assignments and calls for their effect.

use fulgurite_error::{Code, Error, Position, Result};
use fulgurite_hop::{DataType, HopId};

use super::{Lowering, describe, refuse_constant_name, scope::Variable};
use crate::{
    builtins, parfor,
    syntax::{
        self, Mention,
        ast::{Call, Expression, ExpressionKind, Statement, StatementKind, Subscripts, Target},
    },
};

/// Whether a statement that is no branch and no loop calls `time()`.
fn asks_for_the_time(statement: &Statement) -> bool {
    match &statement.kind {
        StatementKind::Assign { .. }
        | StatementKind::MultiAssign { .. }
        | StatementKind::Call(_) => {}
        StatementKind::If { .. } | StatementKind::While { .. } | StatementKind::For { .. } => {
            return false;
        }
    }
    let mut asks = false;
    syntax::mentions_of_statements(std::slice::from_ref(statement), &mut |mention| {
        let is_time = |call: &Call| call.namespace.is_none() && call.name == "time";
        asks |= matches!(mention, Mention::Call(call) if is_time(call));
    });
    asks
}

impl Lowering<'_> {
    pub(super) fn statement(&mut self, statement: &Statement) -> Result<()> {
        syntax::on_enough_stack(|| self.statement_here(statement))
    }

    fn statement_here(&mut self, statement: &Statement) -> Result<()> {
        if !asks_for_the_time(statement) {
            return self.statement_in_block(statement);
        }
        // Within a block, operators run in any order.
        self.flush();
        self.statement_in_block(statement)?;
        self.flush();
        Ok(())
    }

    fn statement_in_block(&mut self, statement: &Statement) -> Result<()> {
        match &statement.kind {
            StatementKind::Assign {
                target,
                value,
                accumulate,
            } => self.assignment(target, value, *accumulate),
            StatementKind::MultiAssign {
                targets,
                call,
                position,
            } => self.multi_assignment(targets, call, position),
            StatementKind::Call(call) => self.call_statement(call),
            StatementKind::If {
                predicate,
                then,
                otherwise,
            } => self.if_statement(predicate, then, otherwise, &statement.position),
            StatementKind::While { predicate, body } => {
                self.while_loop(predicate, body, &statement.position)
            }
            StatementKind::For {
                variable,
                range,
                body,
                parallel,
                options,
            } => {
                parfor::check_names(options)?;
                let parallel = parallel.then_some(&options[..]);
                self.for_loop(variable, range, body, parallel, &statement.position)
            }
        }
    }

    fn assignment(&mut self, target: &Target, value: &Expression, accumulate: bool) -> Result<()> {
        refuse_constant_name(&target.variable).map_err(|error| error.at(&target.position))?;
        let is_whole = target.subscripts.is_none() && !accumulate;
        if is_whole && self.is_bound_read(&target.variable, value) {
            return Ok(());
        }
        if is_whole
            && let ExpressionKind::Call(call) = &value.kind
            && let Some((name, function)) = self.modules.resolve(self.namespace, call)
        {
            let outputs = vec![(target.variable.clone(), target.position.clone())];
            return self.user_call(call, name, function, outputs);
        }
        if is_whole
            && let ExpressionKind::Call(call) = &value.kind
            && let Some(evaluates) = self.evaluates(call)
        {
            return self.evaluation(call, evaluates, &target.variable);
        }
        let subscripts = self.hoist_subscripts(target.subscripts.as_deref())?;
        let value = self.hoist(value)?;
        let mut id = self.expression(&value)?;
        if accumulate {
            let current = match &subscripts {
                Some(subscripts) => {
                    self.right_index(&target.variable, subscripts, &target.position)?
                }
                None => self.read_variable(&target.variable, &target.position)?,
            };
            id = self.block.plus(current, id, &value.position)?;
        }
        self.assign_target(target, subscripts.as_ref(), id)
    }

    /// `X = read(...)`, where the caller gave X.
    fn is_bound_read(&self, variable: &str, value: &Expression) -> bool {
        let ExpressionKind::Call(call) = &value.kind else {
            return false;
        };
        self.is_main
            && call.namespace.is_none()
            && call.name == "read"
            && self.options.inputs.contains_key(variable)
            && self.modules.resolve(self.namespace, call).is_none()
    }

    pub(super) fn assign_target(
        &mut self,
        target: &Target,
        subscripts: Option<&Subscripts>,
        id: HopId,
    ) -> Result<()> {
        refuse_constant_name(&target.variable).map_err(|error| error.at(&target.position))?;
        let id = match subscripts {
            Some(subscripts) => self.left_index(target, subscripts, id)?,
            None => id,
        };
        self.assign(&target.variable, id, &target.position);
        Ok(())
    }

    /// What the caller wants the variable to be, if anything; else `id`.
    fn assumed(&mut self, variable: &str, id: HopId, position: &Position) -> HopId {
        let assumed = self.options.assumed.get(variable);
        match assumed.filter(|_| self.is_main && self.block.hop(id).is_scalar()) {
            Some(value) => self.block.literal(value.clone(), position),
            None => id,
        }
    }

    /// Notes the new value of a variable.
    pub(super) fn assign(&mut self, variable: &str, id: HopId, position: &Position) {
        let id = self.assumed(variable, id, position);
        let hop = self.block.hop(id);
        let known = Variable {
            constant: self.block.constant(id).cloned(),
            elements: self.element_types(id),
            characteristics: hop.characteristics,
            ..Variable::new(hop.data_type, hop.value_type)
        };
        self.scope.set(variable, known);
        self.block.assign(variable, id, position);
    }

    fn multi_assignment(
        &mut self,
        targets: &[Target],
        call: &Call,
        position: &Position,
    ) -> Result<()> {
        let count_mismatch = |results: usize| {
            Error::validation(format!(
                "'{}' gives {results} result{}, but {} variable{} stand for them",
                call.qualified_name(),
                if results == 1 { "" } else { "s" },
                targets.len(),
                if targets.len() == 1 { "" } else { "s" },
            ))
            .with_code(Code::ResultCount)
            .at(position)
        };
        let Some((name, function)) = self.modules.resolve(self.namespace, call) else {
            let value = Expression {
                position: call.position.clone(),
                kind: ExpressionKind::Call(call.clone()),
            };
            return match targets {
                [target] => self.assignment(target, &value, false),
                _ => {
                    // An unknown or unsupported function is the greater mistake.
                    let builtin = self.find_builtin(call)?;
                    match builtin.may_give(targets.len()) {
                        true => self.builtin_results(targets, builtin, call),
                        false => Err(count_mismatch(builtin.results())),
                    }
                }
            };
        };
        let fits = match self.takes_first_results(function) {
            true => targets.len() <= function.results.len(),
            false => targets.len() == function.results.len() || targets.len() == 1,
        };
        if !fits {
            return Err(count_mismatch(function.results.len()));
        }
        let mut outputs = Vec::new();
        let mut parts = Vec::new();
        for target in targets {
            refuse_constant_name(&target.variable).map_err(|error| error.at(&target.position))?;
            match &target.subscripts {
                None => outputs.push((target.variable.clone(), target.position.clone())),
                Some(subscripts) => {
                    let temporary = self.temporary();
                    outputs.push((temporary.clone(), target.position.clone()));
                    parts.push((target, subscripts, temporary));
                }
            }
        }
        self.user_call(call, name, function, outputs)?;
        for (target, subscripts, temporary) in parts {
            let subscripts = self.hoist_subscripts(Some(subscripts))?;
            let value = self.read_variable(&temporary, &target.position)?;
            self.assign_target(target, subscripts.as_ref(), value)?;
        }
        Ok(())
    }

    /// `[a, b] = f(...)` for a built-in function.
    fn builtin_results(
        &mut self,
        targets: &[Target],
        builtin: &'static builtins::Builtin,
        call: &Call,
    ) -> Result<()> {
        let mut subscripts = Vec::new();
        for target in targets {
            subscripts.push(self.hoist_subscripts(target.subscripts.as_deref())?);
        }
        let call = self.hoist_call(call)?;
        let results = self.bind_builtin(builtin, &call)?.build_several()?;
        for ((target, subscripts), result) in targets.iter().zip(&subscripts).zip(results) {
            self.assign_target(target, subscripts.as_ref(), result)?;
        }
        Ok(())
    }

    fn call_statement(&mut self, call: &Call) -> Result<()> {
        if let Some((name, function)) = self.modules.resolve(self.namespace, call) {
            // Nobody reads its results.
            let outputs = function.results.iter();
            let outputs = outputs.map(|_| (self.temporary(), call.position.clone()));
            let outputs = outputs.collect();
            return self.user_call(call, name, function, outputs);
        }
        let builtin = self.find_builtin(call)?;
        if builtin.results() > 0 {
            return Err(Error::validation(format!(
                "the result of '{}' is not assigned",
                call.name
            ))
            .with_code(Code::ResultUnused)
            .at(&call.position)
            .with_help("assign it to a variable, or print it"));
        }
        if self.is_bound_write(call) {
            return Ok(());
        }
        let call = self.hoist_call(call)?;
        self.builtin_call(builtin, &call)?;
        Ok(())
    }

    /// `write(B, ...)`, where the caller takes B.
    fn is_bound_write(&self, call: &Call) -> bool {
        let Some(first) = call.arguments.first() else {
            return false;
        };
        match &first.value.kind {
            ExpressionKind::Variable(name) => {
                self.is_main && call.name == "write" && self.options.outputs.contains(name)
            }
            _ => false,
        }
    }

    /// The built-in function a call means.
    pub(super) fn find_builtin(&self, call: &Call) -> Result<&'static builtins::Builtin> {
        let found = match call.namespace {
            None => builtins::find(&call.name),
            Some(_) => None,
        };
        match found {
            Some(builtin) => {
                if let builtins::Rule::Unsupported(help) = builtin.rule {
                    return Err(builtins::unsupported_function(
                        &call.name,
                        help,
                        &call.position,
                    ));
                }
                Ok(builtin)
            }
            None => Err(self.modules.unknown(self.namespace, call)),
        }
    }

    /// A number, for an index or a bound of a loop.
    /// What [`Self::check_number`] calls an index.
    pub(super) const AN_INDEX: &'static str = "an index";

    pub(super) fn check_number(&self, id: HopId, what: &str, position: &Position) -> Result<()> {
        let hop = self.block.hop(id);
        if hop.is_scalar() && !self.block.is_string(id) {
            return Ok(());
        }
        let error = Error::validation(format!("{what} must be a number, not {}", describe(hop)))
            .with_code(Code::IndexType)
            .at(position);
        Err(match hop.data_type {
            DataType::Matrix if what == Self::AN_INDEX => error.with_help(
                "table(seq(1, nrow(idx)), idx, nrow(idx), nrow(X)) %*% X selects rows; as.scalar() makes a scalar of a 1 x 1 matrix",
            ),
            DataType::Matrix => error.with_help("as.scalar() makes a scalar of a 1 x 1 matrix"),
            _ => error,
        })
    }
}
