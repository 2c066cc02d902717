//! The variables that statements assign.

use std::collections::BTreeSet;

use super::ast::{Statement, StatementKind};

/// The variables that statements may assign, at any depth.
pub(crate) fn assigned(statements: &[Statement]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    collect(statements, &mut names);
    names
}

fn collect(statements: &[Statement], names: &mut BTreeSet<String>) {
    for statement in statements {
        match &statement.kind {
            StatementKind::Assign { target, .. } => {
                names.insert(target.variable.clone());
            }
            StatementKind::MultiAssign { targets, .. } => {
                names.extend(targets.iter().map(|target| target.variable.clone()));
            }
            StatementKind::Call(_) => {}
            StatementKind::If {
                then, otherwise, ..
            } => {
                collect(then, names);
                collect(otherwise, names);
            }
            StatementKind::While { body, .. } => collect(body, names),
            StatementKind::For { variable, body, .. } => {
                names.insert(variable.clone());
                collect(body, names);
            }
        }
    }
}
