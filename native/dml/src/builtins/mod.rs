//! The built-in functions: each declared once, with its parameters and the HOP it becomes.
//!
//! A call is bound to its declaration by [`bind`], which checks numbers, names and types of arguments;
//! then [`Builtin::build`] makes the HOP. To add a function, add its declaration to the table of its kind, and a part to a
//! page of `docs/language/functions`.

mod aggregates;
mod bind;
mod build;
mod cells;
mod construction;
mod effects;
mod einsum;
mod files;
mod frames;
mod layers;
mod linear_algebra;
mod lists;
mod reference;
mod reorganization;
mod statistics;
mod unsupported;

use fulgurite_error::Result;
use fulgurite_hop::{
    AggregateOp, BinaryOp, CumulativeOp, Direction, HopId, Literal, ParameterizedOp, SizeOp,
    UnaryOp,
};

pub(crate) use bind::bind;
pub(crate) use build::{BoundCall, Evaluated, unsupported as unsupported_function, with_names};
pub use reference::{ArgumentDeclaration, ArgumentPresence, FunctionDeclaration, functions};

/// A built-in function.
pub(crate) struct Builtin {
    pub name: &'static str,
    pub aliases: &'static [&'static str],
    pub parameters: &'static [Parameter],
    /// What any further arguments are; `None` where there can be none.
    pub rest: Option<Kind>,
    /// Arguments must be named: `rand(rows=...)`.
    pub named_only: bool,
    /// Names of arguments are remarks, and places decide, as in SystemDS: `table(a, b, rows=n, cols=m)`.
    pub ignores_names: bool,
    /// `as.scalar` and its kin: what stands in it may be an element of a list whose type it tells.
    pub is_cast: bool,
    pub rule: Rule,
}

pub(crate) struct Parameter {
    pub name: &'static str,
    pub kind: Kind,
    pub presence: Presence,
}

/// What an argument may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Matrix,
    /// A matrix or a frame.
    Table,
    List,
    Frame,
    /// A matrix, a frame or a list.
    Sized,
    /// A matrix or a number.
    Cells,
    /// A matrix, a frame or a number.
    AnyCells,
    /// A number, the name of a column, or a matrix of numbers.
    By,
    Number,
    Boolean,
    String,
    Scalar,
    ScalarOrList,
    /// So many numbers, as a list in brackets.
    Sizes(usize),
    Any,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Presence {
    Required,
    /// Left out, it stays out.
    Optional,
    /// Left out, it is this.
    Default(Constant),
}

/// A literal that can stand in a static table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Constant {
    Int(i64),
    Double(f64),
    Boolean(bool),
    String(&'static str),
}

impl From<Constant> for Literal {
    fn from(constant: Constant) -> Self {
        match constant {
            Constant::Int(value) => Literal::Int(value),
            Constant::Double(value) => Literal::Double(value),
            Constant::Boolean(value) => Literal::Boolean(value),
            Constant::String(value) => Literal::String(value.to_owned()),
        }
    }
}

/// What a call becomes.
pub(crate) enum Rule {
    Unary(UnaryOp),
    Binary(BinaryOp),
    Aggregate(AggregateOp, Direction),
    Cumulative(CumulativeOp),
    Size(SizeOp),
    /// Inputs by the names of the parameters; gives a matrix.
    NamedMatrix(ParameterizedOp),
    /// Inputs by the names of the parameters; gives a double.
    NamedDouble(ParameterizedOp),
    Function(fn(&mut BoundCall<'_>) -> Result<HopId>),
    /// One of these numbers of results, the first of which is all, for `[a, b] = f(...)`.
    Several(
        &'static [usize],
        fn(&mut BoundCall<'_>) -> Result<Vec<HopId>>,
    ),
    /// `exists(variable)`, which asks for the variable and not its value.
    Exists,
    /// For its effect: gives no value.
    Effect(fn(&mut BoundCall<'_>) -> Result<HopId>),
    /// Known, but not there yet; the text says what to do instead.
    Unsupported(&'static str),
}

const TABLES: &[&[Builtin]] = &[
    cells::BUILTINS,
    aggregates::BUILTINS,
    construction::BUILTINS,
    reorganization::BUILTINS,
    statistics::BUILTINS,
    linear_algebra::BUILTINS,
    einsum::BUILTINS,
    lists::BUILTINS,
    frames::BUILTINS,
    layers::BUILTINS,
    files::BUILTINS,
    effects::BUILTINS,
    unsupported::BUILTINS,
];

fn all() -> impl Iterator<Item = &'static Builtin> {
    TABLES.iter().copied().flatten()
}

pub(crate) fn find(name: &str) -> Option<&'static Builtin> {
    all().find(|builtin| builtin.name == name || builtin.aliases.contains(&name))
}

/// All names, aliases too.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    all().flat_map(|builtin| std::iter::once(builtin.name).chain(builtin.aliases.iter().copied()))
}

impl Builtin {
    /// Whether a call of it can run.
    pub fn is_supported(&self) -> bool {
        !matches!(self.rule, Rule::Unsupported(_))
    }

    /// How many results a call has.
    pub fn results(&self) -> usize {
        match self.rule {
            Rule::Effect(_) => 0,
            Rule::Several(counts, _) => counts.first().copied().unwrap_or(0),
            _ => 1,
        }
    }

    /// Whether a call may have so many results.
    pub fn may_give(&self, results: usize) -> bool {
        match self.rule {
            Rule::Several(counts, _) => counts.contains(&results),
            _ => self.results() == results,
        }
    }
}

const fn builtin(name: &'static str, parameters: &'static [Parameter], rule: Rule) -> Builtin {
    Builtin {
        name,
        aliases: &[],
        parameters,
        rest: None,
        named_only: false,
        ignores_names: false,
        is_cast: false,
        rule,
    }
}

/// `as.scalar` and its kin.
const fn cast(
    name: &'static str,
    aliases: &'static [&'static str],
    build: fn(&mut BoundCall<'_>) -> Result<HopId>,
) -> Builtin {
    Builtin {
        aliases,
        is_cast: true,
        ..builtin(name, VALUE, Rule::Function(build))
    }
}

const fn required(name: &'static str, kind: Kind) -> Parameter {
    Parameter {
        name,
        kind,
        presence: Presence::Required,
    }
}

const fn optional(name: &'static str, kind: Kind) -> Parameter {
    Parameter {
        name,
        kind,
        presence: Presence::Optional,
    }
}

const fn default(name: &'static str, kind: Kind, value: Constant) -> Parameter {
    Parameter {
        name,
        kind,
        presence: Presence::Default(value),
    }
}

const VALUE: &[Parameter] = &[required("value", Kind::Any)];
const TARGET_MATRIX: &[Parameter] = &[required("target", Kind::Matrix)];
const TARGET_ANY_CELLS: &[Parameter] = &[required("target", Kind::AnyCells)];
const TARGET_CELLS: &[Parameter] = &[required("target", Kind::Cells)];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique() {
        let mut seen = BTreeSet::new();
        for name in names() {
            assert!(seen.insert(name), "'{name}' is declared twice");
        }
    }

    #[test]
    fn named_inputs_are_those_the_operators_declare() {
        for builtin in all() {
            let (Rule::NamedMatrix(op) | Rule::NamedDouble(op)) = &builtin.rule else {
                continue;
            };
            let known = op.parameters().expect("operators with fixed names");
            for parameter in builtin.parameters {
                assert!(
                    known.contains(&parameter.name),
                    "{}: {}",
                    builtin.name,
                    parameter.name
                );
            }
        }
    }

    #[test]
    fn every_cell_function_is_declared() {
        let unary = UnaryOp::ALL.iter().filter_map(|op| op.dml_name());
        let binary = BinaryOp::ALL.iter().filter_map(|op| op.dml_name());
        for name in unary.chain(binary) {
            assert!(find(name).is_some(), "{name}");
        }
    }
}
