//! Variables that are never read, and functions that are never called.

use std::collections::{BTreeMap, BTreeSet};

use fulgurite_error::{Code, Position, Warning};
use fulgurite_hop::Literal;

use super::statements;
use crate::{
    builtins,
    syntax::{
        self, Mention,
        ast::{
            Call, Expression, ExpressionKind, FunctionBody, FunctionDefinition, Script, Statement,
            StatementKind, Target,
        },
    },
};

/// Variables of the script's own body, and functions that nothing calls.
///
/// A program that runs the script may read any variable when it has ended, unless the script writes its results itself: then
/// what it assigns before it writes them is for itself.
pub(super) fn of_script(script: &Script, outputs: &[String], found: &mut Vec<Warning>) {
    if let Some(last) = script.body.iter().rposition(writes) {
        let before = script.body.get(..last).unwrap_or_default();
        let after = script.body.get(last..).unwrap_or_default();
        let mut assigned_after = BTreeMap::new();
        assignments(script, after, &mut assigned_after);
        let mut assigned = BTreeMap::new();
        assignments(script, before, &mut assigned);
        let kept: BTreeSet<&str> = outputs.iter().map(String::as_str).collect();
        assigned.retain(|name, _| !kept.contains(name) && !assigned_after.contains_key(name));
        variables(&assigned, &script.body, found);
    }
    // A script of functions alone is for others, and `eval` calls by names that only a run tells.
    if !script.body.is_empty() {
        functions(script, found);
    }
}

/// Variables of a function that are not its results.
pub(super) fn of_function(
    script: &Script,
    function: &FunctionDefinition,
    found: &mut Vec<Warning>,
) {
    let body = statements(function);
    let mut assigned = BTreeMap::new();
    assignments(script, body, &mut assigned);
    let results = function.results.iter();
    let results: BTreeSet<&str> = results.map(|result| result.name.as_str()).collect();
    assigned.retain(|name, _| !results.contains(name));
    variables(&assigned, body, found);
}

/// Where a variable is assigned first, and whether a warning about it would be right.
struct Assigned<'a> {
    position: &'a Position,
    /// The call is what matters, or the language wants a name for each of several results.
    is_needed: bool,
}

fn variables(
    assigned: &BTreeMap<&str, Assigned<'_>>,
    body: &[Statement],
    found: &mut Vec<Warning>,
) {
    let mut read = BTreeSet::new();
    syntax::mentions_of_statements(body, &mut |mention| match mention {
        Mention::Variable(name) => {
            read.insert(name);
        }
        // exists("x")
        Mention::Call(call) if call.name == "exists" => {
            for argument in &call.arguments {
                if let ExpressionKind::Literal(Literal::String(name)) = &argument.value.kind {
                    read.insert(name);
                }
            }
        }
        Mention::Call(_) | Mention::Argument(..) | Mention::Binary(..) => {}
    });
    for (name, assigned) in assigned {
        if !read.contains(name) && !assigned.is_needed {
            let message = format!("the variable '{name}' is assigned and never read");
            found.push(
                Warning::new(Code::UnusedVariable, message, assigned.position)
                    .with_help("read it, or leave the assignment out"),
            );
        }
    }
}

fn note<'a>(target: &'a Target, is_needed: bool, found: &mut BTreeMap<&'a str, Assigned<'a>>) {
    let known = found.entry(&target.variable).or_insert(Assigned {
        position: &target.position,
        is_needed,
    });
    known.is_needed |= is_needed;
}

fn assignments<'a>(
    script: &'a Script,
    statements: &'a [Statement],
    found: &mut BTreeMap<&'a str, Assigned<'a>>,
) {
    for statement in statements {
        match &statement.kind {
            StatementKind::Assign { target, value, .. } => {
                note(target, may_have_effects(script, value), found)
            }
            StatementKind::MultiAssign { targets, .. } => {
                for target in targets {
                    note(target, true, found);
                }
            }
            StatementKind::Call(_) => {}
            StatementKind::If {
                then, otherwise, ..
            } => {
                assignments(script, then, found);
                assignments(script, otherwise, found);
            }
            // Few bodies need the loop's variable.
            StatementKind::While { body, .. } | StatementKind::For { body, .. } => {
                assignments(script, body, found);
            }
        }
    }
}

/// Whether an expression calls what may print, write or stop: anything but a function of the language.
fn may_have_effects(script: &Script, expression: &Expression) -> bool {
    let mut may = false;
    syntax::mentions_of_expression(expression, &mut |mention| {
        if let Mention::Call(call) = mention {
            may |= !is_of_language(script, call);
        }
    });
    may
}

fn is_of_language(script: &Script, call: &Call) -> bool {
    let is_own = script.functions.iter().any(|own| own.name == call.name);
    call.namespace.is_none() && !is_own && builtins::find(&call.name).is_some()
}

/// Whether a statement writes a file, at any depth.
fn writes(statement: &Statement) -> bool {
    let mut writes = false;
    syntax::mentions_of_statements(std::slice::from_ref(statement), &mut |mention| {
        writes |= matches!(mention, Mention::Call(call) if call.name == "write");
    });
    writes
}

fn functions<'a>(script: &'a Script, found: &mut Vec<Warning>) {
    let own: BTreeMap<&'a str, &'a FunctionDefinition> = script
        .functions
        .iter()
        .map(|function| (function.name.as_str(), function))
        .collect();
    let mut called: BTreeSet<&'a str> = BTreeSet::new();
    let mut evaluates = false;
    let mut waiting: Vec<&'a str> = Vec::new();
    let mut note = |mention: Mention<'_>, waiting: &mut Vec<&'a str>| {
        if let Mention::Call(call) = mention {
            evaluates |= matches!(
                call.name.as_str(),
                "eval" | "evalList" | "map" | "paramserv"
            );
            let known = own.get_key_value(call.name.as_str());
            waiting.extend(
                known
                    .filter(|_| call.namespace.is_none())
                    .map(|(name, _)| *name),
            );
        }
    };
    syntax::mentions_of_statements(&script.body, &mut |mention| note(mention, &mut waiting));
    while let Some(name) = waiting.pop() {
        if !called.insert(name) {
            continue;
        }
        if let Some(function) = own.get(name) {
            syntax::mentions_of_statements(statements(function), &mut |mention| {
                note(mention, &mut waiting)
            });
            for default in function
                .parameters
                .iter()
                .filter_map(|p| p.default.as_ref())
            {
                syntax::mentions_of_expression(default, &mut |mention| note(mention, &mut waiting));
            }
        }
    }
    if evaluates {
        return;
    }
    for (name, function) in own {
        let is_external = matches!(function.body, FunctionBody::External(_));
        if !called.contains(name) && !is_external {
            let message = format!("no statement of this script calls the function '{name}'");
            found.push(
                Warning::new(Code::UnusedFunction, message, &function.position)
                    .with_help("call it, or leave it out"),
            );
        }
    }
}
