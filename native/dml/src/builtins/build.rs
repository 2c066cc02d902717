//! From a bound call to its HOP.

use std::collections::BTreeMap;

use fulgurite_error::{Code, Error, Position, Result};
use fulgurite_hop::{
    AggregateOp, Direction, Hop, HopId, HopOp, Literal, ParameterizedOp, ValueType,
};

use super::{Builtin, Rule};
use crate::{
    lower::{BlockBuilder, describe},
    options::SourceResolver,
};

/// An argument, evaluated.
#[derive(Debug, Clone)]
pub(crate) struct Evaluated {
    pub name: Option<String>,
    pub id: HopId,
    /// The value's place.
    pub position: Position,
    /// The place of the name, or of the value if there is none.
    pub start: Position,
}

/// A call whose arguments stand at their parameters' places and have the right types.
pub(crate) struct BoundCall<'a> {
    pub builtin: &'static Builtin,
    /// As the script writes it: an alias may be.
    pub name: &'a str,
    pub block: &'a mut BlockBuilder,
    pub resolver: &'a dyn SourceResolver,
    pub position: &'a Position,
    pub arguments: Vec<Option<Evaluated>>,
    pub rest: Vec<Evaluated>,
}

impl BoundCall<'_> {
    /// The results of a function that has several.
    pub fn build_several(&mut self) -> Result<Vec<HopId>> {
        match self.builtin.rule {
            Rule::Several(_, build) => build(self),
            _ => self.build().map(|result| vec![result]),
        }
    }

    pub fn build(&mut self) -> Result<HopId> {
        let position = self.position;
        match &self.builtin.rule {
            Rule::Unary(op) => {
                let operand = self.argument(0)?;
                self.block.unary(*op, operand, position)
            }
            Rule::Binary(op) => {
                let (left, right) = (self.argument(0)?, self.argument(1)?);
                self.block.binary(*op, left, right, position)
            }
            Rule::Aggregate(op, direction) => {
                let matrix = self.argument(0)?;
                Ok(self.aggregate(*op, *direction, matrix))
            }
            Rule::Cumulative(op) => {
                let inputs = vec![self.argument(0)?];
                Ok(self.matrix(HopOp::Cumulative(*op), inputs))
            }
            Rule::Size(op) => {
                let of = self.argument(0)?;
                Ok(self.block.size(*op, of, position))
            }
            Rule::NamedMatrix(op) => {
                let (op, inputs) = self.named(*op);
                Ok(self.matrix(op, inputs))
            }
            Rule::NamedDouble(op) => {
                let (op, inputs) = self.named(*op);
                Ok(self.scalar(op, inputs, ValueType::Double))
            }
            Rule::Function(build) | Rule::Effect(build) => build(self),
            Rule::Exists => Err(Error::internal("'exists' asks for no value").at(position)),
            Rule::Several(..) => Err(Error::validation(format!(
                "'{}' gives {} results, not one",
                self.name,
                self.builtin.results()
            ))
            .with_code(Code::ResultCount)
            .at(position)
            .with_help("call it as a statement: [a, b] = f(...) takes several results")),
            Rule::Unsupported(help) => Err(unsupported(self.name, help, position)),
        }
    }

    /// The argument for the parameter at `place`, which is required or has a default.
    pub fn argument(&self, place: usize) -> Result<HopId> {
        self.optional(place).ok_or_else(|| {
            Error::internal(format!("'{}' lacks argument {place}", self.name)).at(self.position)
        })
    }

    pub fn optional(&self, place: usize) -> Option<HopId> {
        let argument = self.arguments.get(place)?.as_ref()?;
        Some(argument.id)
    }

    /// The place in the script of the argument at `place`, or of the call.
    pub fn position_of(&self, place: usize) -> &Position {
        match self.arguments.get(place) {
            Some(Some(argument)) => &argument.position,
            _ => self.position,
        }
    }

    pub fn matrix(&mut self, op: HopOp, inputs: Vec<HopId>) -> HopId {
        self.block.push(Hop::matrix(op, inputs).at(self.position))
    }

    pub fn scalar(&mut self, op: HopOp, inputs: Vec<HopId>, value_type: ValueType) -> HopId {
        self.block
            .push(Hop::scalar(op, inputs, value_type).at(self.position))
    }

    /// A double over all cells, or a vector.
    pub fn aggregate(&mut self, op: AggregateOp, direction: Direction, matrix: HopId) -> HopId {
        let op = HopOp::Aggregate(op, direction);
        match direction {
            Direction::Full => self.scalar(op, vec![matrix], ValueType::Double),
            Direction::Row | Direction::Col => self.matrix(op, vec![matrix]),
        }
    }

    /// The arguments that are given, with the names of their parameters.
    pub fn given(&self) -> Vec<(String, HopId)> {
        let parameters = self.builtin.parameters.iter().zip(&self.arguments);
        let given = parameters.filter_map(|(parameter, argument)| {
            let argument = argument.as_ref()?;
            Some((parameter.name.to_owned(), argument.id))
        });
        given.collect()
    }

    /// An operator whose inputs go by the names of the parameters.
    pub fn named(&self, op: ParameterizedOp) -> (HopOp, Vec<HopId>) {
        with_names(op, self.given())
    }

    /// The literal at `place`, where only the compiler can use the argument.
    ///
    /// # Errors
    /// Validation, if the argument is given, but not a constant.
    pub fn constant(&self, place: usize) -> Result<Option<&Literal>> {
        let Some(id) = self.optional(place) else {
            return Ok(None);
        };
        match self.block.constant(id) {
            Some(value) => Ok(Some(value)),
            None => {
                let parameter = self.builtin.parameters.get(place).map_or("", |p| p.name);
                Err(
                    Error::validation(format!("'{}' needs a constant as '{parameter}'", self.name))
                        .with_code(Code::ConstantNeeded)
                        .at(self.position_of(place))
                        .with_help("write a literal or a $-argument, or a variable assigned one"),
                )
            }
        }
    }

    pub fn constant_string(&self, place: usize) -> Result<Option<String>> {
        match self.constant(place)? {
            None => Ok(None),
            Some(Literal::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(self.wrong_type(place, "a string")),
        }
    }

    pub fn constant_boolean(&self, place: usize) -> Result<Option<bool>> {
        match self.constant(place)? {
            None => Ok(None),
            Some(Literal::Boolean(value)) => Ok(Some(*value)),
            Some(Literal::String(_)) => Err(self.wrong_type(place, "a boolean")),
            Some(number) => Ok(number.as_f64().map(|value| value != 0.0)),
        }
    }

    /// "'f' takes ... as 'parameter', not ..."
    pub fn wrong_type(&self, place: usize, wanted: &str) -> Error {
        let parameter = self.builtin.parameters.get(place).map_or("", |p| p.name);
        let found = self
            .optional(place)
            .map_or("nothing", |id| describe(self.block.hop(id)));
        Error::validation(format!(
            "'{}' takes {wanted} as '{parameter}', not {found}",
            self.name
        ))
        .with_code(Code::ArgumentType)
        .at(self.position_of(place))
    }
}

/// An operator whose inputs go by names.
pub(crate) fn with_names(op: ParameterizedOp, named: Vec<(String, HopId)>) -> (HopOp, Vec<HopId>) {
    let (names, inputs): (Vec<String>, Vec<HopId>) = named.into_iter().unzip();
    let places: BTreeMap<String, usize> = names.into_iter().zip(0..).collect();
    (HopOp::Parameterized(op, places), inputs)
}

pub(crate) fn unsupported(name: &str, help: &str, position: &Position) -> Error {
    Error::unsupported(format!("the function '{name}' is not supported yet"))
        .with_code(Code::UnsupportedFunction)
        .at(position)
        .in_operator(name)
        .with_help(help)
}
