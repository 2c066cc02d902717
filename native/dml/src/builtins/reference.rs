//! What the declarations of functions say to a reader: the reference in `docs/language/functions` is generated from it.

use super::{Builtin, Constant, Parameter, Presence, Rule, all};
use crate::syntax::dml_literal;
use fulgurite_hop::Direction;

/// A built-in function as its declaration has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionDeclaration {
    pub name: &'static str,
    pub aliases: &'static [&'static str],
    /// A call, as in `order(target, by=1, [select])`.
    pub signature: String,
    pub arguments: Vec<ArgumentDeclaration>,
    /// How many results a call has.
    pub results: usize,
    /// The type of the only result, where it is always the same.
    pub result: Option<&'static str>,
    /// Whether a call can run; otherwise it is an `unsupported error`.
    pub is_supported: bool,
}

/// A parameter of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArgumentDeclaration {
    /// `…` stands for any further arguments.
    pub name: &'static str,
    pub kind: String,
    pub presence: ArgumentPresence,
}

/// Whether an argument may be left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArgumentPresence {
    Required,
    Optional,
    /// Left out, it is this literal.
    Default(String),
}

/// All built-in functions, in the order of their tables.
pub fn functions() -> Vec<FunctionDeclaration> {
    all().map(declaration).collect()
}

fn declaration(builtin: &'static Builtin) -> FunctionDeclaration {
    let mut arguments: Vec<ArgumentDeclaration> = builtin.parameters.iter().map(argument).collect();
    if let Some(kind) = builtin.rest {
        arguments.push(ArgumentDeclaration {
            name: "…",
            kind: kind.describe().into_owned(),
            presence: ArgumentPresence::Optional,
        });
    }
    let shown: Vec<String> = arguments
        .iter()
        .map(|argument| match &argument.presence {
            ArgumentPresence::Default(value) => format!("{}={value}", argument.name),
            ArgumentPresence::Optional if argument.name != "…" => format!("[{}]", argument.name),
            ArgumentPresence::Optional | ArgumentPresence::Required => argument.name.to_owned(),
        })
        .collect();
    FunctionDeclaration {
        name: builtin.name,
        aliases: builtin.aliases,
        signature: format!("{}({})", builtin.name, shown.join(", ")),
        arguments,
        results: builtin.results(),
        result: result(&builtin.rule),
        is_supported: builtin.is_supported(),
    }
}

fn argument(parameter: &'static Parameter) -> ArgumentDeclaration {
    ArgumentDeclaration {
        name: parameter.name,
        kind: parameter.kind.describe().into_owned(),
        presence: match parameter.presence {
            Presence::Required => ArgumentPresence::Required,
            // NaN is how a declaration says that the value depends on other arguments.
            Presence::Default(Constant::Double(value)) if value.is_nan() => {
                ArgumentPresence::Optional
            }
            Presence::Optional => ArgumentPresence::Optional,
            Presence::Default(value) => ArgumentPresence::Default(dml_literal(&value.into())),
        },
    }
}

fn result(rule: &Rule) -> Option<&'static str> {
    match rule {
        Rule::Unary(_) | Rule::Binary(_) => Some("a matrix or a number"),
        Rule::Aggregate(_, Direction::Full) | Rule::NamedDouble(_) => Some("a double"),
        Rule::Aggregate(_, Direction::Row | Direction::Col)
        | Rule::Cumulative(_)
        | Rule::NamedMatrix(_) => Some("a matrix"),
        Rule::Size(_) => Some("an int"),
        Rule::Exists => Some("a boolean"),
        Rule::Function(_) | Rule::Several(..) | Rule::Effect(_) | Rule::Unsupported(_) => None,
    }
}
