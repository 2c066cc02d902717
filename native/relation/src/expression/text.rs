//! Expressions as Python writes them.

use std::fmt::{self, Display, Write};

use super::{Expression, Function};
use crate::{
    literal::{Literal, Options},
    types,
};

/// How tightly operators bind, as in Python's grammar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Binding {
    Comparison,
    Or,
    Xor,
    And,
    Sum,
    Product,
    Unary,
    Power,
    Atom,
}

fn operator(function: Function) -> Option<(&'static str, Binding)> {
    use Function::*;
    Some(match function {
        Add => ("+", Binding::Sum),
        Sub => ("-", Binding::Sum),
        Mul => ("*", Binding::Product),
        Div => ("/", Binding::Product),
        FloorDiv => ("//", Binding::Product),
        Mod => ("%", Binding::Product),
        Pow => ("**", Binding::Power),
        Eq => ("==", Binding::Comparison),
        Ne => ("!=", Binding::Comparison),
        Lt => ("<", Binding::Comparison),
        Le => ("<=", Binding::Comparison),
        Gt => (">", Binding::Comparison),
        Ge => (">=", Binding::Comparison),
        And => ("&", Binding::And),
        Or => ("|", Binding::Or),
        Xor => ("^", Binding::Xor),
        _ => return None,
    })
}

/// The text of an expression.
pub fn python(expression: &Expression) -> impl Display + '_ {
    Shown(expression, Binding::Comparison)
}

impl Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Shown(self, Binding::Comparison).fmt(f)
    }
}

/// An expression that stands where operators bind so tightly.
struct Shown<'a>(&'a Expression, Binding);

impl Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shown(expression, outer) = *self;
        let binding = binding(expression);
        // Comparisons do not chain.
        let is_inner = binding < outer;
        if is_inner {
            f.write_char('(')?;
        }
        write(expression, f)?;
        if is_inner {
            f.write_char(')')?;
        }
        Ok(())
    }
}

fn binding(expression: &Expression) -> Binding {
    match expression {
        Expression::Call { function, .. } => match (function, operator(*function)) {
            (_, Some((_, binding))) => binding,
            (Function::Neg | Function::Not, None) => Binding::Unary,
            (_, None) => Binding::Atom,
        },
        Expression::Literal { value } => match value {
            Literal::Integer(value) if *value < 0 => Binding::Unary,
            Literal::Float(value) if *value < 0.0 => Binding::Unary,
            _ => Binding::Atom,
        },
        Expression::Column { .. }
        | Expression::Array { .. }
        | Expression::Cast { .. }
        | Expression::Aggregate { .. } => Binding::Atom,
    }
}

/// The next tighter one.
fn tighter(binding: Binding) -> Binding {
    match binding {
        Binding::Comparison => Binding::Or,
        Binding::Or => Binding::Xor,
        Binding::Xor => Binding::And,
        Binding::And => Binding::Sum,
        Binding::Sum => Binding::Product,
        Binding::Product => Binding::Unary,
        Binding::Unary => Binding::Power,
        Binding::Power | Binding::Atom => Binding::Atom,
    }
}

fn write(expression: &Expression, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match expression {
        Expression::Column { name } => write!(f, "col({:?})", &**name),
        Expression::Literal { value } => write!(f, "{value}"),
        Expression::Array { index, .. } => write!(f, "array({index})"),
        Expression::Cast { to, arg } => write!(f, "{}.cast({})", Receiver(arg), types::name(to)),
        Expression::Aggregate {
            aggregate,
            arg,
            options,
        } => {
            match arg {
                None => f.write_str("len(")?,
                Some(arg) => write!(f, "{}.{}(", Receiver(arg), aggregate.name())?,
            }
            arguments(&[], options, f)
        }
        Expression::Call {
            function,
            args,
            options,
        } => match (operator(*function), function, args.as_slice()) {
            (Some((sign, Binding::Power)), _, [left, right]) => write!(
                f,
                "{} {sign} {}",
                Shown(left, Binding::Atom),
                Shown(right, Binding::Unary)
            ),
            (Some((sign, binding)), _, [left, right]) => {
                let left_binding = match binding {
                    Binding::Comparison => tighter(binding),
                    _ => binding,
                };
                write!(
                    f,
                    "{} {sign} {}",
                    Shown(left, left_binding),
                    Shown(right, tighter(binding))
                )
            }
            (_, Function::Neg, [arg]) => write!(f, "-{}", Shown(arg, Binding::Unary)),
            (_, Function::Not, [arg]) => write!(f, "~{}", Shown(arg, Binding::Unary)),
            (_, Function::IfElse, [condition, yes, no]) => {
                write!(f, "when({condition}).then({yes}).otherwise({no})")
            }
            (
                _,
                Function::MinHorizontal
                | Function::MaxHorizontal
                | Function::Coalesce
                | Function::StrConcat,
                _,
            ) => {
                let name = match function {
                    Function::StrConcat => "concat_str",
                    other => other.name(),
                };
                write!(f, "{name}(")?;
                arguments(args, options, f)
            }
            (_, _, [receiver, rest @ ..]) => {
                write!(f, "{}.{}(", Receiver(receiver), function.name())?;
                arguments(rest, options, f)
            }
            (_, _, []) => write!(f, "{}()", function.name()),
        },
    }
}

/// What a method is called on. Literals need a call that makes them expressions.
struct Receiver<'a>(&'a Expression);

impl Display for Receiver<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Expression::Literal { value } => write!(f, "lit({value})"),
            other => Shown(other, Binding::Atom).fmt(f),
        }
    }
}

/// With the closing parenthesis.
fn arguments(args: &[Expression], options: &Options, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut separator = "";
    for arg in args {
        write!(f, "{separator}{arg}")?;
        separator = ", ";
    }
    let mut plain = |f: &mut fmt::Formatter<'_>, value: &dyn Display| {
        let written = write!(f, "{separator}{value}");
        separator = ", ";
        written
    };
    let texts = [
        &options.pattern,
        &options.prefix,
        &options.suffix,
        &options.characters,
        &options.value,
    ];
    for text in texts.into_iter().flatten() {
        plain(f, &format_args!("{text:?}"))?;
    }
    if let Some(values) = &options.values {
        let values: Vec<_> = values.iter().map(Literal::to_string).collect();
        plain(f, &format_args!("[{}]", values.join(", ")))?;
    }
    for number in [options.offset, options.length, options.n]
        .into_iter()
        .flatten()
    {
        plain(f, &number)?;
    }
    if let Some(quantile) = options.quantile {
        plain(f, &quantile)?;
    }
    if let Some(group) = options.group {
        plain(f, &group)?;
    }
    if let Some(decimals) = options.decimals {
        plain(f, &decimals)?;
    }
    if let Some(base) = options.base {
        plain(f, &base)?;
    }
    if let Some(ddof) = options.ddof {
        plain(f, &format_args!("ddof={ddof}"))?;
    }
    if options.literal {
        plain(f, &"literal=True")?;
    }
    if options.nulls_equal {
        plain(f, &"nulls_equal=True")?;
    }
    if options.interpolation != Default::default() {
        let name = format!("{:?}", options.interpolation).to_lowercase();
        plain(f, &format_args!("{name:?}"))?;
    }
    f.write_char(')')
}
