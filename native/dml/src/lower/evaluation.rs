//! `eval` and `evalList`: calls of functions whose names only the run knows.
//!
//! In a program they are calls of [`EVAL`] and [`EVAL_LIST`]. When the run comes to one, [`compile_call`] compiles the call
//! that it means, with the types that the arguments have by then.

use std::sync::Arc;

use fulgurite_error::{Code, Error, Position, Result, Source};
use fulgurite_hop::{Argument, Block, DataType, EVAL, EVAL_LIST, Literal, Program, ValueType};

use super::{Lowering, check_outputs, lower_functions, modules::Modules, scope::Variable};
use crate::{
    builtins,
    options::{CompileOptions, InputVariable},
    syntax::{
        self,
        ast::{self, Call, Expression, ExpressionKind, Statement, StatementKind, Target},
    },
};

/// A function to call, by its name, and what it is called with.
pub struct EvaluatedCall<'a> {
    pub function: &'a str,
    /// Of the script that has the `eval`.
    pub namespace: Option<&'a str>,
    pub arguments: &'a [EvaluatedArgument],
    /// The elements of the only argument, if it is a list: the arguments of a function that takes no list.
    pub elements: Option<&'a [EvaluatedArgument]>,
    pub position: Option<&'a Position>,
}

/// What is known of an argument.
#[derive(Debug, Clone)]
pub struct EvaluatedArgument {
    pub name: Option<String>,
    pub data_type: DataType,
    pub value_type: ValueType,
}

/// The program of a call.
pub struct CompiledCall {
    /// Reads its arguments from the variables [`CompiledCall::argument`].
    pub program: Program,
    /// The variables with its results, and the names of the results.
    pub results: Vec<(String, String)>,
    /// Whether its arguments are the elements of the list.
    pub takes_elements: bool,
}

impl CompiledCall {
    /// The variable of an argument, from 0. No script has one of this name.
    pub fn argument(place: usize) -> String {
        format!("_a{place}")
    }
}

/// Compiles a call as if the script of this source made it.
///
/// # Errors
/// As of compiling; validation, for a function that there is not.
pub fn compile_call(
    source: &Arc<Source>,
    call: &EvaluatedCall<'_>,
    options: CompileOptions<'_>,
) -> Result<CompiledCall> {
    let mut script = syntax::parse(source)?;
    let nowhere = Position::new(source, 1, 1, 1);
    let position = call.position.unwrap_or(&nowhere);
    let named = |name: &str| Call {
        namespace: None,
        name: name.to_owned(),
        arguments: Vec::new(),
        position: position.clone(),
    };
    // So that a builtin script of this name is loaded.
    let mention = StatementKind::Call(named(call.function));
    script.body.push(Statement {
        kind: mention,
        position: position.clone(),
    });
    let modules = Modules::load(&mut script, options.resolver)?;
    let mut wanted = named(call.function);
    let resolved = modules
        .resolve(call.namespace, &wanted)
        .or_else(|| modules.resolve(None, &wanted));
    let parameters = resolved.map(|(_, function)| &function.parameters[..]);
    let takes_list = |parameters: &[fulgurite_hop::Parameter]| {
        let first = parameters.first();
        first.is_some_and(|parameter| parameter.data_type == DataType::List)
    };
    let elements = call
        .elements
        .filter(|_| !parameters.is_some_and(takes_list));
    let arguments = elements.unwrap_or(call.arguments);
    for (place, argument) in arguments.iter().enumerate() {
        let parameter = parameters.and_then(|parameters| match &argument.name {
            Some(name) => parameters.iter().find(|parameter| parameter.name == *name),
            None => parameters.get(place),
        });
        let variable = variable(CompiledCall::argument(place), position);
        let value = match parameter.map(|parameter| parameter.data_type) {
            Some(wanted) => converted(variable, argument.data_type, wanted),
            None => variable,
        };
        wanted.arguments.push(ast::Argument {
            name: argument.name.clone(),
            value,
            position: position.clone(),
        });
    }
    let names: Vec<String> = match resolved {
        Some((_, function)) => function.results.iter().map(|r| r.name.clone()).collect(),
        None => match builtins::find(call.function) {
            Some(builtin) => (0..builtin.results())
                .map(|n| (n + 1).to_string())
                .collect(),
            None => return Err(modules.unknown(call.namespace, &wanted)),
        },
    };
    let results: Vec<(String, String)> = names
        .into_iter()
        .enumerate()
        .map(|(place, name)| (format!("_r{place}"), name))
        .collect();
    let inputs = arguments.iter().enumerate().map(|(place, argument)| {
        let known = InputVariable {
            data_type: argument.data_type,
            value_type: argument.value_type,
            characteristics: Variable::new(argument.data_type, argument.value_type).characteristics,
        };
        (CompiledCall::argument(place), known)
    });
    let options = CompileOptions {
        inputs: inputs.collect(),
        outputs: results
            .iter()
            .map(|(variable, _)| variable.clone())
            .collect(),
        ..options
    };
    let namespace = match resolved {
        Some((_, function)) if function.namespace.is_none() => None,
        _ => call.namespace,
    };
    let mut main = Lowering::new(&options, &modules, namespace);
    main.bind_inputs();
    let kind = match &results[..] {
        [] => StatementKind::Call(wanted),
        results => StatementKind::MultiAssign {
            targets: results
                .iter()
                .map(|(variable, _)| Target {
                    variable: variable.clone(),
                    subscripts: None,
                    position: position.clone(),
                })
                .collect(),
            call: wanted,
            position: position.clone(),
        },
    };
    main.statements(&[Statement {
        kind,
        position: position.clone(),
    }])?;
    main.flush();
    check_outputs(&main.scope, &options.outputs)?;
    let mut program = Program {
        body: main.blocks,
        ..Program::default()
    };
    let failures = lower_functions(&options, &modules, main.called, &mut program)?;
    if let Some(error) = Error::all(failures) {
        return Err(error);
    }
    Ok(CompiledCall {
        program,
        results,
        takes_elements: elements.is_some(),
    })
}

fn variable(name: String, position: &Position) -> Expression {
    Expression {
        kind: ExpressionKind::Variable(name),
        position: position.clone(),
    }
}

/// A value for a parameter of a type: a 1 x 1 matrix is a scalar, and the reverse.
fn converted(value: Expression, given: DataType, wanted: DataType) -> Expression {
    let cast = match (given, wanted) {
        (DataType::Matrix, DataType::Scalar) => "as.scalar",
        (DataType::Scalar, DataType::Matrix) => "as.matrix",
        _ => return value,
    };
    let position = value.position.clone();
    let argument = ast::Argument {
        name: None,
        value,
        position: position.clone(),
    };
    Expression {
        kind: ExpressionKind::Call(Call {
            namespace: None,
            name: cast.to_owned(),
            arguments: vec![argument],
            position: position.clone(),
        }),
        position,
    }
}

impl Lowering<'_> {
    /// The name of the call in a program, if it is an `eval` or `evalList` that no function of the script hides; and what it
    /// gives.
    pub(super) fn evaluates(&self, call: &Call) -> Option<(&'static str, DataType)> {
        let evaluates = match (&call.namespace, call.name.as_str()) {
            (None, "eval") => (EVAL, DataType::Matrix),
            (None, "evalList") => (EVAL_LIST, DataType::List),
            _ => return None,
        };
        let is_hidden = self.modules.resolve(self.namespace, call).is_some();
        (!is_hidden).then_some(evaluates)
    }

    /// Adds the block of an `eval`, whose result goes to the variable `output`.
    pub(super) fn evaluation(
        &mut self,
        call: &Call,
        (function, gives): (&str, DataType),
        output: &str,
    ) -> Result<()> {
        let Some((name, rest)) = call.arguments.split_first() else {
            return Err(
                Error::validation(format!("'{}' needs the name of a function", call.name))
                    .with_code(Code::ArgumentType)
                    .at(&call.position)
                    .with_help("usage: eval(\"f\", x, y), or eval(\"f\", list(x=x, y=y))"),
            );
        };
        let mut arguments = vec![
            self.passed(&name.value, None)?,
            Argument::Literal {
                parameter: None,
                value: Literal::String(self.namespace.unwrap_or_default().to_owned()),
            },
        ];
        for argument in rest {
            arguments.push(self.passed(&argument.value, argument.name.clone())?);
        }
        self.flush();
        let value_type = ValueType::Double;
        self.scope.set(output, Variable::new(gives, value_type));
        self.blocks.push(Block::Call {
            function: function.to_owned(),
            arguments,
            outputs: vec![output.to_owned()],
            position: Some(call.position.clone()),
        });
        Ok(())
    }
}
