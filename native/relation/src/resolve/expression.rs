//! Expressions whose names are looked up and whose types are known.

use std::sync::Arc;

use arrow::datatypes::DataType;
use fulgurite_error::{Error, Result};

use crate::{
    expression::{Aggregate, Expression, Function, Rule},
    kernels::{casts, text},
    literal::{Literal, Options},
    table::{Columns, not_kept, unknown_column},
    types,
};

/// An expression with its type in each node.
///
/// Arguments of functions have the types that the function's rule asks for: casts that Polars makes by itself are nodes here, and
/// literals have their final types.
#[derive(Debug, Clone, PartialEq)]
pub enum TypedExpression {
    Column {
        name: Arc<str>,
        /// Its place in the input.
        index: usize,
        data_type: DataType,
    },
    Literal {
        value: Literal,
        data_type: DataType,
    },
    Array {
        index: usize,
        data_type: DataType,
    },
    Cast {
        arg: Box<TypedExpression>,
        data_type: DataType,
    },
    Call {
        function: Function,
        args: Vec<TypedExpression>,
        options: Arc<Options>,
        data_type: DataType,
    },
    Aggregate {
        aggregate: Aggregate,
        arg: Option<Box<TypedExpression>>,
        options: Arc<Options>,
        data_type: DataType,
    },
}

/// A typed expression and the name of its column.
#[derive(Debug, Clone, PartialEq)]
pub struct TypedNamed {
    pub name: Arc<str>,
    pub expr: TypedExpression,
}

impl TypedExpression {
    pub fn data_type(&self) -> &DataType {
        match self {
            TypedExpression::Column { data_type, .. }
            | TypedExpression::Literal { data_type, .. }
            | TypedExpression::Array { data_type, .. }
            | TypedExpression::Cast { data_type, .. }
            | TypedExpression::Call { data_type, .. }
            | TypedExpression::Aggregate { data_type, .. } => data_type,
        }
    }

    /// Its direct arguments.
    pub fn args(&self) -> &[TypedExpression] {
        match self {
            TypedExpression::Column { .. }
            | TypedExpression::Literal { .. }
            | TypedExpression::Array { .. } => &[],
            TypedExpression::Cast { arg, .. } => std::slice::from_ref(arg),
            TypedExpression::Call { args, .. } => args,
            TypedExpression::Aggregate { arg, .. } => {
                arg.as_deref().map_or(&[], std::slice::from_ref)
            }
        }
    }

    /// The same, to be changed.
    pub(crate) fn args_mut(&mut self) -> &mut [TypedExpression] {
        match self {
            TypedExpression::Column { .. }
            | TypedExpression::Literal { .. }
            | TypedExpression::Array { .. } => &mut [],
            TypedExpression::Cast { arg, .. } => std::slice::from_mut(arg),
            TypedExpression::Call { args, .. } => args,
            TypedExpression::Aggregate { arg, .. } => {
                arg.as_deref_mut().map_or(&mut [], std::slice::from_mut)
            }
        }
    }

    /// Whether it is one value whatever the number of rows.
    pub fn is_single(&self) -> bool {
        match self {
            TypedExpression::Column { .. } | TypedExpression::Array { .. } => false,
            TypedExpression::Literal { .. } | TypedExpression::Aggregate { .. } => true,
            TypedExpression::Cast { .. } | TypedExpression::Call { .. } => {
                self.args().iter().all(TypedExpression::is_single)
            }
        }
    }

    /// The expression with casts where types change, as messages show it.
    pub fn untyped(&self) -> Expression {
        match self {
            TypedExpression::Column { name, .. } => Expression::Column {
                name: Arc::clone(name),
            },
            TypedExpression::Literal { value, .. } => Expression::Literal {
                value: value.clone(),
            },
            TypedExpression::Array { index, data_type } => Expression::Array {
                index: *index,
                data_type: data_type.clone(),
            },
            TypedExpression::Cast { arg, data_type } => Expression::Cast {
                to: data_type.clone(),
                arg: Box::new(arg.untyped()),
            },
            TypedExpression::Call {
                function,
                args,
                options,
                ..
            } => Expression::Call {
                function: *function,
                args: args.iter().map(TypedExpression::untyped).collect(),
                options: options.clone(),
            },
            TypedExpression::Aggregate {
                aggregate,
                arg,
                options,
                ..
            } => Expression::Aggregate {
                aggregate: *aggregate,
                arg: arg.as_ref().map(|arg| Box::new(arg.untyped())),
                options: options.clone(),
            },
        }
    }

    /// The same of another type.
    fn cast_to(self, to: &DataType) -> TypedExpression {
        if self.data_type() == to {
            return self;
        }
        if let TypedExpression::Literal { value, .. } = &self
            && let Some(value) = value_as(value, to)
        {
            return TypedExpression::Literal {
                value,
                data_type: to.clone(),
            };
        }
        TypedExpression::Cast {
            arg: Box::new(self),
            data_type: to.clone(),
        }
    }
}

/// A literal that has the type, if that takes nothing away from it.
fn value_as(value: &Literal, to: &DataType) -> Option<Literal> {
    match value {
        Literal::Null => Some(Literal::Null),
        Literal::Integer(number) if to.is_integer() => {
            types::fits(*number, to).then(|| value.clone())
        }
        Literal::Integer(number) if to.is_floating() => Some(Literal::Float(*number as f64)),
        Literal::Float(_) if to.is_floating() => Some(value.clone()),
        Literal::Date(days) if matches!(to, DataType::Timestamp(..)) => {
            Some(Literal::Datetime(i64::from(*days) * 86_400_000_000))
        }
        Literal::Boolean(truth) if to.is_integer() => Some(Literal::Integer((*truth).into())),
        Literal::Boolean(_)
        | Literal::Integer(_)
        | Literal::Float(_)
        | Literal::String(_)
        | Literal::Date(_)
        | Literal::Datetime(_) => None,
    }
}

/// What names mean.
#[derive(Debug, Clone, Copy)]
pub struct Scope<'a> {
    pub columns: &'a Columns,
    /// The types of arrays that come with the plan, where they are known.
    pub arrays: Option<&'a [DataType]>,
}

/// Looks the names of an expression up and finds its type.
///
/// # Errors
/// `validation` for unknown columns, arguments of the wrong type, and patterns that are none; `unsupported` for casts and types
/// that are not there; `dimension` for an array that does not come with the plan.
pub fn resolve_expression(expression: &Expression, scope: Scope<'_>) -> Result<TypedExpression> {
    match expression {
        Expression::Column { name } => {
            let mut columns = scope.columns.iter().enumerate();
            match columns.find(|(_, (known, _))| known == name) {
                Some((_, (_, data_type))) if types::kept_as(data_type).is_none() => {
                    Err(not_kept(name, data_type))
                }
                Some((index, (_, data_type))) => Ok(TypedExpression::Column {
                    name: Arc::clone(name),
                    index,
                    data_type: data_type.clone(),
                }),
                None => Err(unknown_column(
                    name,
                    scope.columns.iter().map(|(name, _)| name),
                )),
            }
        }
        Expression::Literal { value } => Ok(TypedExpression::Literal {
            value: value.clone(),
            data_type: value.data_type(),
        }),
        Expression::Array { index, data_type } => {
            if let Some(arrays) = scope.arrays {
                let Some(found) = arrays.get(*index) else {
                    return Err(Error::plan(format!(
                        "array({index}) of a plan that comes with {} arrays",
                        arrays.len()
                    )));
                };
                if found != data_type {
                    return Err(Error::plan(format!(
                        "array({index}) has the type {}, not {}",
                        types::name(found),
                        types::name(data_type)
                    )));
                }
            }
            Ok(TypedExpression::Array {
                index: *index,
                data_type: data_type.clone(),
            })
        }
        Expression::Cast { to, arg } => {
            let arg = resolve_expression(arg, scope)?;
            if !casts::is_possible(arg.data_type(), to) {
                return Err(Error::unsupported(format!(
                    "a value of type {} is not cast to {}",
                    types::name(arg.data_type()),
                    types::name(to)
                ))
                .with_note(format!("the expression is {expression}"), None));
            }
            Ok(arg.cast_to(to))
        }
        Expression::Aggregate {
            aggregate,
            arg,
            options,
        } => {
            let arg = arg.as_deref();
            let arg = arg.map(|arg| resolve_expression(arg, scope)).transpose()?;
            let kind = arg.as_ref().map_or(&DataType::Null, |arg| arg.data_type());
            let Some((worked_on, data_type)) = aggregate.types(kind) else {
                return Err(wrong_type(expression, &[kind], "takes no"));
            };
            Ok(TypedExpression::Aggregate {
                aggregate: *aggregate,
                arg: arg.map(|arg| Box::new(arg.cast_to(&worked_on))),
                options: options.clone(),
                data_type,
            })
        }
        Expression::Call {
            function: Function::Neg,
            args,
            ..
        } if let [Expression::Literal { value }] = args.as_slice()
            && let Some(value) = negated(value) =>
        {
            let data_type = value.data_type();
            Ok(TypedExpression::Literal { value, data_type })
        }
        Expression::Call {
            function,
            args,
            options,
        } => {
            let args = args.iter().map(|arg| resolve_expression(arg, scope));
            let args = args.collect::<Result<Vec<_>>>()?;
            call(expression, *function, args, options)
        }
    }
}

fn negated(value: &Literal) -> Option<Literal> {
    match value {
        Literal::Integer(value) => {
            let value = -value;
            (value >= i128::from(i64::MIN)).then_some(Literal::Integer(value))
        }
        Literal::Float(value) => Some(Literal::Float(-value)),
        Literal::Null
        | Literal::Boolean(_)
        | Literal::String(_)
        | Literal::Date(_)
        | Literal::Datetime(_) => None,
    }
}

fn wrong_type(expression: &Expression, kinds: &[&DataType], takes: &str) -> Error {
    let what = match expression {
        Expression::Call { function, .. } => function.name(),
        Expression::Aggregate { aggregate, .. } => aggregate.name(),
        Expression::Column { .. }
        | Expression::Literal { .. }
        | Expression::Array { .. }
        | Expression::Cast { .. } => "cast",
    };
    let names: Vec<String> = kinds.iter().map(|kind| types::name(kind)).collect();
    let error = Error::validation(format!("'{what}' {takes} {}", names.join(" and ")))
        .with_note(format!("the expression is {expression}"), None);
    match kinds.iter().any(|kind| types::is_decimal(kind)) {
        true => error.with_help(CAST_DECIMALS),
        false => error,
    }
}

const CAST_DECIMALS: &str = "cast decimals to float64 first";

/// # Errors
/// `validation` for a decimal, where rows are found by it: as the `what` of a step.
pub(super) fn found_by(what: &str, key: &TypedExpression) -> Result<()> {
    let kind = key.data_type();
    match types::is_decimal(kind) {
        true => Err(Error::validation(format!(
            "{what} of type {}, {}",
            types::name(kind),
            key.untyped()
        ))
        .with_help(CAST_DECIMALS)),
        false => Ok(()),
    }
}

/// The type that arguments have in common, in which literals follow columns.
fn common(args: &[TypedExpression]) -> Option<DataType> {
    let literal = |arg: &TypedExpression| match arg {
        TypedExpression::Literal { value, .. } => Some(value.clone()),
        TypedExpression::Column { .. }
        | TypedExpression::Array { .. }
        | TypedExpression::Cast { .. }
        | TypedExpression::Call { .. }
        | TypedExpression::Aggregate { .. } => None,
    };
    let mut kind = None;
    for arg in args.iter().filter(|arg| literal(arg).is_none()) {
        kind = Some(match kind {
            None => arg.data_type().clone(),
            Some(kind) => types::common(&kind, arg.data_type())?,
        });
    }
    for value in args.iter().filter_map(literal) {
        let of_value = value.data_type();
        kind = Some(match (&kind, value) {
            (None, _) => of_value,
            (Some(kind), Literal::Integer(value)) => types::beside_integer(value, kind)?,
            (Some(kind), Literal::Float(_)) => types::beside_float(kind)?,
            (Some(kind), _) => types::common(kind, &of_value)?,
        });
    }
    kind
}

fn call(
    expression: &Expression,
    function: Function,
    args: Vec<TypedExpression>,
    options: &Arc<Options>,
) -> Result<TypedExpression> {
    let kinds: Vec<DataType> = args.iter().map(|arg| arg.data_type().clone()).collect();
    let refused = |takes: &str| {
        let kinds: Vec<&DataType> = kinds.iter().collect();
        wrong_type(expression, &kinds, takes)
    };
    let rule = function.declaration().rule;
    if !matches!(rule, Rule::Question) && kinds.iter().any(types::is_decimal) {
        return Err(refused("does not take"));
    }
    let (args, data_type) = typed(rule, args, options, &refused)?;
    if !options.literal
        && matches!(rule, Rule::Text | Rule::TextQuestion | Rule::TextNumber)
        && let Some(pattern) = &options.pattern
    {
        text::regex(pattern)?;
    }
    Ok(TypedExpression::Call {
        function,
        args,
        options: Arc::clone(options),
        data_type,
    })
}

type Typed = (Vec<TypedExpression>, DataType);

fn typed(
    rule: Rule,
    args: Vec<TypedExpression>,
    options: &Options,
    refused: &dyn Fn(&str) -> Error,
) -> Result<Typed> {
    let kind = |at: usize| args.get(at).map_or(&DataType::Null, |arg| arg.data_type());
    let is_plain = |kind: &DataType| {
        types::is_number(kind) || matches!(kind, DataType::Boolean | DataType::Null)
    };
    let as_real = |kind: &DataType| match kind {
        DataType::Float32 => DataType::Float32,
        _ => DataType::Float64,
    };
    Ok(match rule {
        Rule::Arithmetic { texts } => {
            if texts && types::is_text(kind(0)) && types::is_text(kind(1)) {
                return Ok((args, DataType::Utf8));
            }
            if texts
                && (types::is_text(kind(0)) && *kind(1) == DataType::Null
                    || types::is_text(kind(1)) && *kind(0) == DataType::Null)
            {
                return Ok(all(args, &DataType::Utf8));
            }
            match common(&args) {
                Some(kind) if types::is_number(&kind) => all(args, &kind),
                Some(DataType::Null) => (args, DataType::Null),
                Some(DataType::Boolean) if texts => all(args, &DataType::UInt32),
                _ => return Err(refused("does not take")),
            }
        }
        Rule::Quotient => {
            if !is_plain(kind(0)) || !is_plain(kind(1)) {
                return Err(refused("does not take"));
            }
            let common = match common(&args) {
                Some(kind) => as_real(&kind),
                None => DataType::Float64,
            };
            all(args, &common)
        }
        Rule::Power => {
            let (base, exponent) = (kind(0).clone(), kind(1).clone());
            if !types::is_number(&base) || !types::is_number(&exponent) {
                return Err(refused("does not take"));
            }
            let to = match (base.is_floating(), exponent.is_floating()) {
                (false, false) => {
                    let [base_arg, exponent] = two(args)?;
                    let args = vec![base_arg, exponent.cast_to(&DataType::UInt32)];
                    return Ok((args, base));
                }
                (true, _) => base,
                (false, true) => exponent,
            };
            all(args, &to)
        }
        Rule::Number { signed } => {
            let kind = kind(0).clone();
            if !types::is_number(&kind) || signed && kind.is_unsigned_integer() {
                return Err(refused("takes no"));
            }
            (args, kind)
        }
        Rule::Real { booleans } => {
            if !is_plain(kind(0)) || !booleans && *kind(0) == DataType::Boolean {
                return Err(refused("takes no"));
            }
            let to = as_real(kind(0));
            all(args, &to)
        }
        Rule::Comparison => {
            if let Some(args) = wide(&args) {
                return Ok((args, DataType::Boolean));
            }
            if types::is_text(kind(0)) && types::is_text(kind(1)) {
                return Ok((args, DataType::Boolean));
            }
            match compared(&args) {
                Some(common) => (all(args, &common).0, DataType::Boolean),
                None => return Err(refused("does not compare")),
            }
        }
        Rule::Logic => {
            let is_logic = |arg: &TypedExpression| {
                matches!(arg.data_type(), DataType::Boolean | DataType::Null)
            };
            if !args.iter().all(is_logic) {
                return Err(refused("takes no"));
            }
            all(args, &DataType::Boolean)
        }
        Rule::Question => (args, DataType::Boolean),
        Rule::RealQuestion => match kind(0) {
            DataType::Null => (all(args, &DataType::Float64).0, DataType::Boolean),
            kind if types::is_number(kind) => (args, DataType::Boolean),
            _ => return Err(refused("takes no")),
        },
        Rule::Choice => {
            if !matches!(kind(0), DataType::Boolean | DataType::Null) {
                return Err(refused("needs a boolean condition, not"));
            }
            let Some(to) = common(&args[1..]) else {
                return Err(refused("has no common type of"));
            };
            let to = plain_text(to);
            let mut args = args.into_iter();
            let condition = args.next().map(|arg| arg.cast_to(&DataType::Boolean));
            let choices = args.map(|arg| arg.cast_to(&to));
            (condition.into_iter().chain(choices).collect(), to)
        }
        Rule::Common => match common(&args) {
            Some(to) => all(args, &plain_text(to)),
            None => return Err(refused("has no common type of")),
        },
        Rule::Nan => {
            let is_real = |kind: &DataType| types::is_number(kind) || *kind == DataType::Null;
            if !is_real(kind(0)) || !is_plain(kind(1)) {
                return Err(refused("does not take"));
            }
            match common(&args) {
                Some(to) => all(args, &to),
                None => return Err(refused("has no common type of")),
            }
        }
        Rule::Membership => {
            let values = options.values.as_deref().unwrap_or_default();
            let fits = |value: &Literal| match value {
                Literal::Null => true,
                Literal::Boolean(_) => *kind(0) == DataType::Boolean,
                Literal::Integer(_) => types::is_number(kind(0)),
                Literal::Float(_) => kind(0).is_floating(),
                Literal::String(_) => types::is_text(kind(0)),
                Literal::Date(_) => types::is_date(kind(0)),
                Literal::Datetime(_) => matches!(kind(0), DataType::Timestamp(..)),
            };
            if *kind(0) != DataType::Null
                && let Some(other) = values.iter().find(|value| !fits(value))
            {
                let (kind, other) = (types::name(kind(0)), types::name(&other.data_type()));
                return Err(refused(&format!("has values of type {other} for"))
                    .with_help(format!("write values of type {kind}")));
            }
            (args, DataType::Boolean)
        }
        Rule::Clip => {
            let kind = kind(0).clone();
            let is_ordered = |kind: &DataType| types::is_number(kind) || types::is_date(kind);
            let bounds = args[1..].iter().all(|arg| {
                let bound = arg.data_type();
                *bound == DataType::Null
                    || types::is_number(&kind) && is_plain(bound)
                    || types::is_date(&kind) && types::is_date(bound)
            });
            if !is_ordered(&kind) || !bounds {
                return Err(refused("does not take"));
            }
            all(args, &kind)
        }
        Rule::Text | Rule::TextQuestion | Rule::TextNumber => {
            let kind = kind(0).clone();
            let args = match kind {
                DataType::Null => all(args, &DataType::Utf8).0,
                _ if types::is_text(&kind) => args,
                _ => return Err(refused("takes no")),
            };
            let data_type = match rule {
                Rule::TextQuestion => DataType::Boolean,
                Rule::TextNumber => DataType::UInt32,
                _ => args[0].data_type().clone(),
            };
            (args, data_type)
        }
        Rule::Concat => (args, DataType::Utf8),
        Rule::Year | Rule::DatePart => {
            if !types::is_date(kind(0)) {
                return Err(refused("takes no"));
            }
            let part = match rule {
                Rule::Year => DataType::Int32,
                _ => DataType::Int8,
            };
            (args, part)
        }
        Rule::TimePart => {
            if !matches!(kind(0), DataType::Timestamp(..)) {
                return Err(refused("takes no"));
            }
            (args, DataType::Int8)
        }
    })
}

/// An unsigned integer of 64 bits and a signed one, which have no common type but an order.
fn wide(args: &[TypedExpression]) -> Option<Vec<TypedExpression>> {
    let [one, other] = args else {
        return None;
    };
    let is_signed = |arg: &TypedExpression| match arg {
        // Whole numbers that are not negative take the type of the column.
        TypedExpression::Literal {
            value: Literal::Integer(value),
            ..
        } => *value < 0,
        _ => arg.data_type().is_signed_integer(),
    };
    let is_wide = |arg: &TypedExpression| *arg.data_type() == DataType::UInt64;
    let signed = |arg: &TypedExpression| arg.clone().cast_to(&DataType::Int64);
    match (is_wide(one), is_wide(other)) {
        (true, false) if is_signed(other) => Some(vec![one.clone(), signed(other)]),
        (false, true) if is_signed(one) => Some(vec![signed(one), other.clone()]),
        _ => None,
    }
}

/// The type in which two values are compared. A whole number beside dates is none of theirs.
fn compared(args: &[TypedExpression]) -> Option<DataType> {
    common(args).map(plain_text)
}

/// Choices between texts are not coded.
fn plain_text(kind: DataType) -> DataType {
    match types::is_text(&kind) {
        true => DataType::Utf8,
        false => kind,
    }
}

fn all(args: Vec<TypedExpression>, to: &DataType) -> Typed {
    let args = args.into_iter().map(|arg| arg.cast_to(to)).collect();
    (args, to.clone())
}

fn two(args: Vec<TypedExpression>) -> Result<[TypedExpression; 2]> {
    args.try_into()
        .map_err(|_| Error::internal("a call without its two arguments"))
}
