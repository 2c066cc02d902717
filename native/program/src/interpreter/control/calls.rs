//! Calls of user functions: arguments by value, scalars cast to the declared types.

use fulgurite_dataflow::Variable;
use fulgurite_error::{Error, Result};
use fulgurite_hop::{Argument, DataType, Dialect, Function, Literal, Parameter, ValueType, scalar};
use fulgurite_matrix::memory;

use super::{super::call_errors, Interpreter};
use crate::symbols::SymbolTable;

/// What operators may take of the stack, with some levels of control flow.
const OPERATOR_BYTES: usize = 512 << 10;
/// What the stack grows by.
const STACK_BYTES: usize = 4 << 20;

/// Goes one level deeper into a program, on a stack that suffices.
///
/// # Errors
/// Its own; `memory`, where there is none for more stack.
pub(super) fn on_enough_stack<T>(level: impl FnOnce() -> Result<T>) -> Result<T> {
    memory::on_stack_with(OPERATOR_BYTES, STACK_BYTES, level)
}

impl<'p> Interpreter<'p> {
    pub(super) fn call(
        &mut self,
        name: &str,
        arguments: &[Argument],
        outputs: &[String],
        symbols: &mut SymbolTable,
    ) -> Result<()> {
        let program = self.program;
        let function = program
            .functions
            .get(name)
            .ok_or_else(|| Error::validation(format!("there is no function '{name}'")))?;
        let mut inner = bind(function, arguments, symbols)?;
        self.in_call(name, &mut inner, symbols, |interpreter, inner| {
            interpreter.run(&function.body, inner)
        })?;
        if outputs.len() > function.results.len() {
            return Err(Error::validation(format!(
                "function '{name}' has {} results, {} are assigned",
                function.results.len(),
                outputs.len()
            )));
        }
        for (output, result) in outputs.iter().zip(&function.results) {
            let value = inner.take(&result.name).map_err(|_| {
                call_errors::without_result(name, &result.name)
                    .at_option(function.position.as_ref())
            })?;
            let dialect = self.context.session.config.dialect;
            symbols.set(output, returned(name, result, value, dialect)?);
        }
        Ok(())
    }

    /// Runs a function on variables of its own, while those of its caller wait.
    ///
    /// # Errors
    /// Its own; runtime, for calls that are nested too deeply.
    pub(super) fn in_call(
        &mut self,
        name: &str,
        inner: &mut SymbolTable,
        symbols: &SymbolTable,
        run: impl FnOnce(&mut Self, &mut SymbolTable) -> Result<()>,
    ) -> Result<()> {
        if self.call_depth >= call_errors::MAX_CALLS {
            return Err(call_errors::too_deep(name));
        }
        self.call_depth += 1;
        self.planner.loops.enter_function();
        let meter = &mut self.context.meter;
        let measured = meter.measures().then(|| (inner.clone(), meter.start()));
        let limit = self.context.limit.take();
        self.context.limit = limit.as_ref().map(|limit| limit.of_call(inner, symbols));
        let ran = run(self, inner);
        self.context.limit = limit;
        if let Some((arguments, outer)) = measured {
            let operators = self.context.meter.finish(outer);
            let held = inner.bytes_besides(&arguments);
            let meter = &mut self.context.meter;
            meter.note(|| operators.saturating_add(held));
        }
        self.planner.loops.leave();
        self.call_depth -= 1;
        ran
    }
}

/// The symbol table that a function starts with.
fn bind(function: &Function, arguments: &[Argument], symbols: &SymbolTable) -> Result<SymbolTable> {
    let mut inner = SymbolTable::default();
    for (index, argument) in arguments.iter().enumerate() {
        let (name, value) = match argument {
            Argument::Variable {
                parameter,
                variable,
            } => (parameter, symbols.get(variable)?.clone()),
            Argument::Literal { parameter, value } => (parameter, Variable::Scalar(value.clone())),
        };
        let parameter = match name {
            Some(name) => function
                .parameters
                .iter()
                .find(|parameter| parameter.name == *name),
            None => function.parameters.get(index),
        };
        let parameter = parameter.ok_or_else(|| {
            Error::validation(format!(
                "function '{}' has no parameter for argument {}",
                function.name,
                name.clone().unwrap_or_else(|| (index + 1).to_string())
            ))
        })?;
        inner.set(&parameter.name, passed(&function.name, parameter, value)?);
    }
    for parameter in &function.parameters {
        if inner.find(&parameter.name).is_some() {
            continue;
        }
        let default = parameter.default.clone().ok_or_else(|| {
            Error::validation(format!(
                "function '{}' needs the argument '{}'",
                function.name, parameter.name
            ))
        })?;
        let value = passed(&function.name, parameter, Variable::Scalar(default))?;
        inner.set(&parameter.name, value);
    }
    Ok(inner)
}

/// Scalars become what the parameter declares: 3.7 passed for an int is 3.
fn passed(function: &str, parameter: &Parameter, value: Variable) -> Result<Variable> {
    let of = || format!("argument '{}' of '{function}'", parameter.name);
    match (parameter.data_type, value) {
        (DataType::Scalar, Variable::Scalar(value)) => {
            scalar::convert(&value, parameter.value_type).map(Variable::Scalar)
        }
        (DataType::List, list @ Variable::List(_)) => Ok(list),
        (DataType::List, other) => {
            Err(
                Error::validation(format!("{} is a list, {} is passed", of(), other.kind()))
                    .with_help("list(x) makes a list of one element"),
            )
        }
        (DataType::Scalar, other) => {
            Err(
                Error::validation(format!("{} is a scalar, {} is passed", of(), other.kind()))
                    .with_help("take one cell or element out of it with as.scalar()"),
            )
        }
        (
            DataType::Matrix,
            other @ (Variable::Scalar(_) | Variable::List(_) | Variable::Frame(_)),
        ) => Err(
            Error::validation(format!("{} is a matrix, {} is passed", of(), other.kind()))
                .with_help("make it a matrix with as.matrix()"),
        ),
        (DataType::Matrix, value) => Ok(value),
        (DataType::Frame, frame @ Variable::Frame(_)) => Ok(frame),
        (DataType::Frame, other) => {
            Err(
                Error::validation(format!("{} is a frame, {} is passed", of(), other.kind()))
                    .with_help("as.frame() makes a frame"),
            )
        }
    }
}

/// As [`passed`], but a double is not cut to an int.
fn returned(
    function: &str,
    result: &Parameter,
    value: Variable,
    dialect: Dialect,
) -> Result<Variable> {
    if let (DataType::Scalar, ValueType::Int, Variable::Scalar(Literal::Double(double))) =
        (result.data_type, result.value_type, &value)
    {
        return match dialect {
            Dialect::SystemMl => Err(call_errors::double_for_int(function, &result.name, *double)),
            // SystemDS looks at the types that it knows before it runs.
            Dialect::SystemDs => Ok(value),
        };
    }
    match (result.data_type, &value) {
        (DataType::Scalar, Variable::Scalar(_))
        | (
            DataType::Matrix,
            Variable::Matrix(_) | Variable::Distributed(_) | Variable::Written(_),
        )
        | (DataType::List, Variable::List(_))
        | (DataType::Frame, Variable::Frame(_)) => passed(function, result, value),
        (declared, _) => Err(Error::validation(format!(
            "result '{}' of '{function}' is declared as {declared:?}, its value is {}",
            result.name,
            value.kind()
        ))),
    }
}
