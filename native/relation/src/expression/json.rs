//! The form of expressions in JSON.

use std::sync::Arc;

use fulgurite_error::{Error, Result};
use serde::{Deserialize, Deserializer};

use super::{Aggregate, Expression, Function};
use crate::{
    literal::{Literal, Options},
    types,
};

/// The fields of all kinds of expressions. Those that are there say which kind it is.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Written {
    col: Option<Arc<str>>,
    #[serde(default, deserialize_with = "present")]
    lit: Option<serde_json::Value>,
    array: Option<usize>,
    #[serde(rename = "type")]
    kind: Option<String>,
    cast: Option<String>,
    call: Option<String>,
    agg: Option<Aggregate>,
    arg: Option<Box<Expression>>,
    args: Option<Vec<Expression>>,
    options: Option<Options>,
}

/// A null that is there is a value.
fn present<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<serde_json::Value>, D::Error> {
    serde_json::Value::deserialize(deserializer).map(Some)
}

impl TryFrom<Written> for Expression {
    type Error = Error;

    fn try_from(written: Written) -> Result<Expression> {
        Ok(match written {
            Written {
                col: Some(name),
                lit: None,
                array: None,
                kind: None,
                cast: None,
                call: None,
                agg: None,
                arg: None,
                args: None,
                options: None,
            } => Expression::Column { name },
            Written {
                col: None,
                lit: Some(value),
                array: None,
                kind: Some(kind),
                cast: None,
                call: None,
                agg: None,
                arg: None,
                args: None,
                options: None,
            } => Expression::Literal {
                value: Literal::from_json(&value, &kind)?,
            },
            Written {
                col: None,
                lit: None,
                array: Some(index),
                kind: Some(kind),
                cast: None,
                call: None,
                agg: None,
                arg: None,
                args: None,
                options: None,
            } => Expression::Array {
                index,
                data_type: named(&kind)?,
            },
            Written {
                col: None,
                lit: None,
                array: None,
                kind: None,
                cast: Some(to),
                call: None,
                agg: None,
                arg: Some(arg),
                args: None,
                options: None,
            } => Expression::Cast {
                to: named(&to)?,
                arg,
            },
            Written {
                col: None,
                lit: None,
                array: None,
                kind: None,
                cast: None,
                call: Some(name),
                agg: None,
                arg: None,
                args: Some(args),
                options,
            } => call(&name, args, options.unwrap_or_default())?,
            Written {
                col: None,
                lit: None,
                array: None,
                kind: None,
                cast: None,
                call: None,
                agg: Some(aggregate),
                arg,
                args: None,
                options,
            } => {
                if (aggregate == Aggregate::Len) != arg.is_none() {
                    let needs = if arg.is_none() {
                        "needs an"
                    } else {
                        "takes no"
                    };
                    let name = aggregate.name();
                    return Err(Error::plan(format!("'{name}' {needs} argument")));
                }
                let options = options.unwrap_or_default();
                if aggregate == Aggregate::Quantile
                    && !options.quantile.is_some_and(|q| (0.0..=1.0).contains(&q))
                {
                    return Err(Error::argument(match options.quantile {
                        None => "'quantile' needs the option 'quantile'".to_owned(),
                        Some(q) => format!("a quantile is between 0 and 1, not {q}"),
                    }));
                }
                Expression::Aggregate {
                    aggregate,
                    arg,
                    options: options.into(),
                }
            }
            _ => {
                return Err(Error::plan(
                    "an expression is one of col, lit and type, array and type, cast and arg, call and args, agg and arg",
                ));
            }
        })
    }
}

fn named(kind: &str) -> Result<arrow::datatypes::DataType> {
    types::named(kind).ok_or_else(|| Error::plan(format!("there is no type '{kind}'")))
}

fn call(name: &str, args: Vec<Expression>, options: Options) -> Result<Expression> {
    let Some(function) = Function::named(name) else {
        let error = Error::plan(format!("there is no function '{name}'"));
        let near = Function::ALL
            .iter()
            .map(|other| (strsim::osa_distance(name, other.name()), other.name()))
            .min()
            .filter(|(distance, _)| *distance <= 2);
        return Err(match near {
            Some((_, near)) => error.with_help(format!("did you mean '{near}'?")),
            None => error,
        });
    };
    let declaration = function.declaration();
    let (least, most) = declaration.args;
    if args.len() < least || args.len() > most {
        let takes = match (least, most) {
            _ if least == most => format!("{least}"),
            _ => format!("at least {least}"),
        };
        return Err(Error::plan(format!(
            "'{name}' takes {takes} arguments, not {}",
            args.len()
        )));
    }
    let has = |option: &str| match option {
        "pattern" => options.pattern.is_some(),
        "prefix" => options.prefix.is_some(),
        "suffix" => options.suffix.is_some(),
        "value" => options.value.is_some(),
        "values" => options.values.is_some(),
        "offset" => options.offset.is_some(),
        "length" => options.length.is_some(),
        "n" => options.n.is_some(),
        _ => false,
    };
    if let Some(missing) = declaration.options.iter().find(|option| !has(option)) {
        return Err(Error::plan(format!(
            "'{name}' needs the option '{missing}'"
        )));
    }
    if options.decimals.is_some_and(|decimals| decimals < 0) {
        return Err(Error::argument(
            "'round' takes no negative number of decimals",
        ));
    }
    Ok(Expression::Call {
        function,
        args,
        options: options.into(),
    })
}
