//! Calls of user functions: taken out of expressions, in the order they are evaluated, into blocks of
//! their own.

use fulgurite_error::{Code, Error, Position, Result};
use fulgurite_hop::{Argument, Block, DataType, Dialect, HopId, Parameter, ValueType};

use super::{
    Lowering,
    block::describe_type,
    modules::{UserFunction, is_builtin_namespace},
    scope::Variable,
};
use crate::{
    suggest,
    syntax::{
        self, Mention,
        ast::{self, Call, Expression, ExpressionKind, FunctionBody, Range, Subscripts},
    },
};

impl Lowering<'_> {
    /// Runs the calls of user functions in an expression; what is left reads their results from
    /// temporaries. Expressions have no other effects, so the order of everything else does not matter.
    pub(super) fn hoist(&mut self, expression: &Expression) -> Result<Expression> {
        syntax::on_enough_stack(|| self.hoist_here(expression))
    }

    fn hoist_here(&mut self, expression: &Expression) -> Result<Expression> {
        let kind = match &expression.kind {
            ExpressionKind::Literal(_)
            | ExpressionKind::Variable(_)
            | ExpressionKind::Argument(_) => expression.kind.clone(),
            ExpressionKind::IfDef { argument, default } => {
                if self.options.arguments.contains_key(argument) {
                    ExpressionKind::Argument(argument.clone())
                } else {
                    return self.hoist(default);
                }
            }
            ExpressionKind::Index {
                variable,
                subscripts,
            } => ExpressionKind::Index {
                variable: variable.clone(),
                subscripts: self.hoist_ranges(subscripts)?,
            },
            ExpressionKind::Unary(operator, operand) => {
                ExpressionKind::Unary(*operator, Box::new(self.hoist(operand)?))
            }
            ExpressionKind::Binary(operator, left, right) => {
                let left = Box::new(self.hoist(left)?);
                let right = Box::new(self.hoist(right)?);
                ExpressionKind::Binary(*operator, left, right)
            }
            ExpressionKind::List(elements) => ExpressionKind::List(
                elements
                    .iter()
                    .map(|element| self.hoist(element))
                    .collect::<Result<_>>()?,
            ),
            ExpressionKind::Call(call) => {
                if let Some(evaluates) = self.evaluates(call) {
                    let temporary = self.temporary();
                    self.evaluation(call, evaluates, &temporary)?;
                    ExpressionKind::Variable(temporary)
                } else {
                    match self.modules.resolve(self.namespace, call) {
                        Some((name, function)) => {
                            ExpressionKind::Variable(self.hoist_user_call(call, name, function)?)
                        }
                        None => ExpressionKind::Call(self.hoist_call(call)?),
                    }
                }
            }
        };
        Ok(Expression {
            kind,
            position: expression.position.clone(),
        })
    }

    /// Whether functions of scripts are called in an expression.
    pub(super) fn has_user_call(&self, expression: &Expression) -> bool {
        let mut has = false;
        syntax::mentions_of_expression(expression, &mut |mention| {
            if let Mention::Call(call) = mention {
                has |= self.modules.resolve(self.namespace, call).is_some()
                    || self.evaluates(call).is_some();
            }
        });
        has
    }

    /// Hoists from the arguments of a built-in function.
    pub(super) fn hoist_call(&mut self, call: &Call) -> Result<Call> {
        let mut hoisted = call.clone();
        for argument in &mut hoisted.arguments {
            argument.value = self.hoist(&argument.value)?;
        }
        Ok(hoisted)
    }

    pub(super) fn hoist_subscripts(
        &mut self,
        subscripts: Option<&Subscripts>,
    ) -> Result<Option<Subscripts>> {
        subscripts
            .map(|subscripts| self.hoist_ranges(subscripts))
            .transpose()
    }

    fn hoist_ranges(&mut self, subscripts: &Subscripts) -> Result<Subscripts> {
        Ok(Subscripts {
            rows: self.hoist_range(&subscripts.rows)?,
            cols: self.hoist_range(&subscripts.cols)?,
            is_element: subscripts.is_element,
            position: subscripts.position.clone(),
        })
    }

    fn hoist_range(&mut self, range: &Range) -> Result<Range> {
        Ok(match range {
            Range::All => Range::All,
            Range::Single(index) => Range::Single(Box::new(self.hoist(index)?)),
            Range::Between(from, to) => {
                Range::Between(Box::new(self.hoist(from)?), Box::new(self.hoist(to)?))
            }
        })
    }

    /// Calls a function inside an expression; gives the temporary with its result.
    fn hoist_user_call(
        &mut self,
        call: &Call,
        name: &str,
        function: &UserFunction,
    ) -> Result<String> {
        if function.results.len() != 1 && !self.takes_first_results(function) {
            return Err(wrong_number_of_results(call, name, function));
        }
        let temporary = self.temporary();
        let outputs = vec![(temporary.clone(), call.position.clone())];
        self.user_call(call, name, function, outputs)?;
        Ok(temporary)
    }

    /// Adds the block of a call whose results go to the variables `outputs`.
    pub(super) fn user_call(
        &mut self,
        call: &Call,
        name: &str,
        function: &UserFunction,
        mut outputs: Vec<(String, Position)>,
    ) -> Result<()> {
        if !outputs.is_empty() && self.takes_first_results(function) {
            // Nobody reads the others.
            while outputs.len() < function.results.len() {
                outputs.push((self.temporary(), call.position.clone()));
            }
        }
        if function.results.len() != outputs.len() {
            return Err(wrong_number_of_results(call, name, function));
        }
        if matches!(function.definition.body, FunctionBody::External(_)) {
            return Err(Error::unsupported(format!(
                "the external function '{name}' is not supported yet"
            ))
            .with_code(Code::UnsupportedFunction)
            .at(&call.position)
            .in_operator(name)
            .with_help("write a function of the script that does the same"));
        }
        let arguments = self.bind_arguments(call, name, function)?;
        self.push_call(name, function, arguments, outputs, &call.position);
        Ok(())
    }

    /// Whether a call where fewer results are wanted takes the first ones: of builtin scripts, and in SystemDS.
    pub(super) fn takes_first_results(&self, function: &UserFunction) -> bool {
        let is_builtin = function
            .namespace
            .as_deref()
            .is_some_and(is_builtin_namespace);
        let may = is_builtin || self.options.dialect == Dialect::SystemDs;
        may && !function.results.is_empty()
    }

    fn push_call(
        &mut self,
        name: &str,
        function: &UserFunction,
        arguments: Vec<Argument>,
        outputs: Vec<(String, Position)>,
        position: &Position,
    ) {
        self.flush();
        for (result, (output, _)) in function.results.iter().zip(&outputs) {
            let variable = Variable::new(result.data_type, result.value_type);
            self.scope.set(output, variable);
        }
        self.called.insert(name.to_owned());
        self.blocks.push(Block::Call {
            function: name.to_owned(),
            arguments,
            outputs: outputs.into_iter().map(|(output, _)| output).collect(),
            position: Some(position.clone()),
        });
    }

    /// One argument for each parameter, in the order of the declaration, defaults filled in.
    fn bind_arguments(
        &mut self,
        call: &Call,
        name: &str,
        function: &UserFunction,
    ) -> Result<Vec<Argument>> {
        let given = match_arguments(call, name, &function.parameters, self.options.dialect)?;
        // In the order the script writes them.
        let mut bound: Vec<Option<Argument>> = function.parameters.iter().map(|_| None).collect();
        for (argument, place) in call.arguments.iter().zip(given) {
            let (Some(parameter), Some(slot)) =
                (function.parameters.get(place), bound.get_mut(place))
            else {
                continue;
            };
            if slot.is_some() {
                return Err(Error::validation(format!(
                    "'{name}' is given '{}' twice",
                    parameter.name
                ))
                .with_code(Code::ArgumentTwice)
                .at(&argument.position));
            }
            *slot = Some(self.bind_argument(argument, name, parameter)?);
        }
        for (place, parameter) in function.parameters.iter().enumerate() {
            if bound.get(place).is_some_and(Option::is_some) {
                continue;
            }
            let argument = match (&parameter.default, function.defaults.get(&parameter.name)) {
                (Some(default), _) => Argument::Literal {
                    parameter: Some(parameter.name.clone()),
                    value: default.clone(),
                },
                (None, Some(default)) => {
                    let earlier = bound.get(..place).unwrap_or_default();
                    let temporary = self.computed_default(default, earlier, &call.position)?;
                    Argument::Variable {
                        parameter: Some(parameter.name.clone()),
                        variable: temporary,
                    }
                }
                (None, None) => {
                    return Err(Error::validation(format!(
                        "'{name}' needs an argument '{}'",
                        parameter.name
                    ))
                    .with_code(Code::MissingArgument)
                    .at(&call.position)
                    .with_help(format!("it is defined at {}", function.definition.position)));
                }
            };
            if let Some(slot) = bound.get_mut(place) {
                *slot = Some(argument);
            }
        }
        Ok(bound.into_iter().flatten().collect())
    }

    /// Calls the function that computes the default of a parameter; gives the temporary with its value.
    fn computed_default(
        &mut self,
        name: &str,
        earlier: &[Option<Argument>],
        position: &Position,
    ) -> Result<String> {
        let missing = || Error::internal(format!("the default '{name}' vanished")).at(position);
        let modules = self.modules;
        let function = modules.get(name).ok_or_else(missing)?;
        let passed = |parameter: &Parameter| {
            let is_it =
                |argument: &&Argument| argument.parameter() == Some(parameter.name.as_str());
            let argument = earlier.iter().flatten().find(is_it);
            argument.cloned().ok_or_else(missing)
        };
        let arguments = function
            .parameters
            .iter()
            .map(passed)
            .collect::<Result<Vec<_>>>()?;
        let temporary = self.temporary();
        let outputs = vec![(temporary.clone(), position.clone())];
        self.push_call(name, function, arguments, outputs, position);
        Ok(temporary)
    }

    /// Literals are passed as such, variables by name, everything else through a temporary.
    fn bind_argument(
        &mut self,
        argument: &ast::Argument,
        name: &str,
        parameter: &Parameter,
    ) -> Result<Argument> {
        let value = self.hoist(&argument.value)?;
        let id = self.expression(&value)?;
        let hop = self.block.hop(id);
        let (data_type, value_type) = (hop.data_type, hop.value_type);
        let is_text_for_number = data_type == DataType::Scalar
            && value_type == ValueType::String
            && parameter.value_type != ValueType::String;
        if data_type != parameter.data_type || is_text_for_number {
            let error = Error::validation(format!(
                "'{name}' takes {} as '{}', not {}",
                describe_type(parameter.data_type, parameter.value_type),
                parameter.name,
                describe_type(data_type, value_type)
            ))
            .with_code(Code::ArgumentType)
            .at(&argument.value.position);
            return Err(match (parameter.data_type, data_type) {
                (DataType::Scalar, DataType::Matrix) => {
                    error.with_help("as.scalar() makes a scalar of a 1 x 1 matrix")
                }
                (DataType::Matrix, DataType::Scalar) => {
                    error.with_help("as.matrix() makes a 1 x 1 matrix of a scalar")
                }
                _ => error,
            });
        }
        let parameter = Some(parameter.name.clone());
        Ok(self.argument_of(value, id, parameter))
    }

    /// An argument for whatever parameter.
    pub(super) fn passed(
        &mut self,
        value: &Expression,
        parameter: Option<String>,
    ) -> Result<Argument> {
        let value = self.hoist(value)?;
        let id = self.expression(&value)?;
        Ok(self.argument_of(value, id, parameter))
    }

    fn argument_of(&mut self, value: Expression, id: HopId, parameter: Option<String>) -> Argument {
        if let Some(value) = self.block.constant(id) {
            return Argument::Literal {
                parameter,
                value: value.clone(),
            };
        }
        let variable = match value.kind {
            ExpressionKind::Variable(variable) => variable,
            _ => {
                let temporary = self.temporary();
                self.assign(&temporary, id, &value.position);
                temporary
            }
        };
        Argument::Variable {
            parameter,
            variable,
        }
    }
}

/// A function called where one result is wanted gives none or several.
fn wrong_number_of_results(call: &Call, name: &str, function: &UserFunction) -> Error {
    let error = match function.results.len() {
        0 => Error::validation(format!("'{name}' gives no result"))
            .with_code(Code::ResultCount)
            .with_help("call it as a statement of its own"),
        results => Error::validation(format!("'{name}' gives {results} results, not one"))
            .with_code(Code::ResultCount)
            .with_help("call it as a statement: [a, b] = f(...) takes several results"),
    };
    error.at(&call.position)
}

/// For each argument, the place of its parameter.
fn match_arguments(
    call: &Call,
    name: &str,
    parameters: &[Parameter],
    dialect: Dialect,
) -> Result<Vec<usize>> {
    let first_named = call.arguments.iter().position(|a| a.name.is_some());
    let last_positional = call.arguments.iter().rposition(|a| a.name.is_none());
    if let (Some(first), Some(last)) = (first_named, last_positional)
        && first < last
        // In SystemDS it is for the parameter at its place.
        && dialect == Dialect::SystemMl
        && let Some(argument) = call.arguments.get(last)
    {
        return Err(Error::validation("a positional argument after a named one")
            .with_code(Code::ArgumentOrder)
            .at(&argument.position)
            .with_help("name it too, or move it to the front"));
    }
    if call.arguments.len() > parameters.len() {
        return Err(Error::validation(format!(
            "'{name}' takes {} argument{}, not {}",
            parameters.len(),
            if parameters.len() == 1 { "" } else { "s" },
            call.arguments.len()
        ))
        .with_code(Code::WrongArgumentCount)
        .at(&call.position));
    }
    let place = |(index, argument): (usize, &ast::Argument)| match &argument.name {
        None => Ok(index),
        Some(wanted) => parameters
            .iter()
            .position(|parameter| parameter.name == *wanted)
            .ok_or_else(|| {
                let error = Error::validation(format!("'{name}' has no parameter '{wanted}'"))
                    .with_code(Code::UnknownParameter)
                    .at(&argument.position);
                let names = parameters.iter().map(|parameter| parameter.name.as_str());
                match suggest::did_you_mean(wanted, names) {
                    Some(help) => error.with_help(help),
                    None => error,
                }
            }),
    };
    call.arguments.iter().enumerate().map(place).collect()
}
