//! After an error in a statement: notes it and goes on, so that one run tells all errors.
//!
//! A variable that the statement would have assigned is in doubt, as is one that is not defined. Reading it fails with the error
//! that made it so, which is told once: an error that only follows from another is never told.

use fulgurite_error::{Code, Error, ErrorKind, Result};
use fulgurite_hop::{DataType, ValueType};

use super::{Lowering, scope::Variable};
use crate::syntax::ast::{Statement, StatementKind, Target};

/// How many errors are looked for in a body.
const MOST_FOUND: usize = 100;

impl Lowering<'_> {
    /// Lowers statements, and goes on after errors if the lowering does so.
    ///
    /// # Errors
    /// Without [`Lowering::failures`], the first; else those after which nothing goes on.
    pub(super) fn statements(&mut self, statements: &[Statement]) -> Result<()> {
        self.bodies_entered += 1;
        for statement in statements {
            let entered = self.bodies_entered;
            if let Err(error) = self.statement(statement) {
                let is_header = self.bodies_entered == entered;
                self.go_on_after(error, statement, is_header)?;
            }
        }
        Ok(())
    }

    fn go_on_after(&mut self, error: Error, statement: &Statement, is_header: bool) -> Result<()> {
        let Some(failures) = &mut self.failures else {
            return Err(error);
        };
        let ends = matches!(
            error.kind(),
            ErrorKind::Memory | ErrorKind::Interrupted | ErrorKind::Internal
        );
        if ends || failures.len() >= MOST_FOUND {
            return Err(error);
        }
        if !failures.contains(&error) {
            failures.push(error.clone());
        }
        self.doubt_targets(statement, &error);
        // A loop that is nested too deeply has none that is not.
        match is_header && error.code() != Code::NestedTooDeeply {
            true => self.bodies_of(statement),
            false => Ok(()),
        }
    }

    /// What a failed statement would have assigned is in doubt. A matrix of which it would have replaced a part keeps its type.
    fn doubt_targets(&mut self, statement: &Statement, error: &Error) {
        let (targets, accumulate): (&[Target], bool) = match &statement.kind {
            StatementKind::Assign {
                target, accumulate, ..
            } => (std::slice::from_ref(target), *accumulate),
            StatementKind::MultiAssign { targets, .. } => (targets, false),
            StatementKind::Call(_)
            | StatementKind::If { .. }
            | StatementKind::While { .. }
            | StatementKind::For { .. } => return,
        };
        for target in targets {
            let is_part = accumulate || target.subscripts.is_some();
            if !is_part || self.scope.get(&target.variable).is_none() {
                self.scope.doubt(&target.variable, error);
            }
        }
    }

    /// Looks for errors in the blocks of a branch or loop whose header failed.
    fn bodies_of(&mut self, statement: &Statement) -> Result<()> {
        match &statement.kind {
            StatementKind::Assign { .. }
            | StatementKind::MultiAssign { .. }
            | StatementKind::Call(_) => {}
            StatementKind::If {
                then, otherwise, ..
            } => {
                let before = self.scope.clone();
                self.inner(then)?;
                let after_then = std::mem::replace(&mut self.scope, before);
                self.inner(otherwise)?;
                self.scope = after_then.merge(&self.scope);
            }
            StatementKind::While { body, .. } => {
                let before = self.scope.clone();
                self.inner(body)?;
                self.scope = before.merge(&self.scope);
            }
            StatementKind::For { variable, body, .. } => {
                let before = self.scope.clone();
                let counter = Variable::new(DataType::Scalar, ValueType::Int);
                self.scope.set(variable, counter);
                self.inner(body)?;
                self.scope = before.merge(&self.scope);
            }
        }
        Ok(())
    }

    /// The error that put a variable in doubt.
    pub(super) fn refuse_doubtful(&self, name: &str) -> Result<()> {
        match self.scope.doubts(name) {
            Some(error) => Err(error.clone()),
            None => Ok(()),
        }
    }
}
