//! From the syntax tree to a program of HOP DAGs, validating on the way.
//!
//! One walk over the statements in script order ([`body`], [`control`]) keeps what is known of every
//! variable ([`scope`]) and builds the DAG of the current statement block ([`block`]); control flow and
//! calls of user functions ([`calls`]) end a block. Scalar constants are propagated along, so branches
//! they decide are never built. Afterwards [`fulgurite_hop::liveness`] drops what nobody reads.

mod block;
mod body;
mod calls;
mod control;
mod evaluation;
mod expression;
mod external;
mod lists;
mod modules;
mod recovery;
mod scope;
mod whole_script;

use std::{collections::BTreeSet, sync::Arc};

use fulgurite_error::{Code, Error, ErrorKind, Result, Source};
use fulgurite_hop::{
    Block, DataType, Function, Literal, Program,
    liveness::{self, Live},
};

pub(crate) use block::{BlockBuilder, describe};
pub use evaluation::{CompiledCall, EvaluatedArgument, EvaluatedCall, compile_call};
use modules::{Modules, UserFunction};
use scope::{Scope, Variable};

use crate::{
    options::CompileOptions,
    parfor::{LiveAfter, ReadLater},
    suggest,
    syntax::{
        self,
        ast::{FunctionBody, Statement},
    },
};

/// Compiles a script: parses, validates, and builds its HOP DAGs.
///
/// # Errors
/// Syntax and validation errors, missing arguments, functions that are not supported yet; each with its
/// place in the script.
pub fn compile(source: &Arc<Source>, options: &CompileOptions<'_>) -> Result<Program> {
    let mut script = syntax::parse(source)?;
    let modules = Modules::load(&mut script, options.resolver)?;
    let mut main = Lowering::new(options, &modules, None);
    main.is_main = true;
    main.failures = Some(Vec::new());
    main.bind_inputs();
    main.live_after = LiveAfter::of(&script.body, &read_at_end(&options.outputs, &script.body));
    let lowered = main.statements(&script.body);
    main.flush();
    let mut failures = main.failures.take().unwrap_or_default();
    let checked = lowered
        .and_then(|()| check_outputs(&main.scope, &options.outputs))
        .and_then(|()| check_assumed(&main.scope, options));
    failures.extend(checked.err());
    let mut body = main.blocks;
    if !options.keep_unused {
        liveness::prune(&mut body, &options.outputs.iter().cloned().collect());
    }
    let mut program = Program {
        body,
        ..Program::default()
    };
    failures.extend(lower_functions(
        options,
        &modules,
        main.called,
        &mut program,
    )?);
    match Error::all(failures) {
        Some(error) => Err(error),
        None => Ok(program),
    }
}

/// What the caller wants is read where the script ends.
fn read_at_end(outputs: &[String], body: &[Statement]) -> ReadLater {
    let Some(end) = body.last().map(|statement| &statement.position) else {
        return ReadLater::new();
    };
    let outputs = outputs.iter();
    outputs.map(|name| (name.clone(), end.clone())).collect()
}

/// Lowers the functions that are called, directly or not; and checks those of the script itself that are
/// not. Gives what is wrong with them.
fn lower_functions(
    options: &CompileOptions<'_>,
    modules: &Modules,
    called: BTreeSet<String>,
    program: &mut Program,
) -> Result<Vec<Error>> {
    let mut failures = Vec::new();
    let mut waiting: Vec<String> = called.into_iter().collect();
    while let Some(name) = waiting.pop() {
        if program.functions.contains_key(&name) {
            continue;
        }
        let Some(function) = modules.get(&name) else {
            return Err(Error::internal(format!("the function '{name}' vanished")));
        };
        let lowered = lower_function(options, modules, &name, function)?;
        failures.extend(lowered.failures);
        program.functions.insert(name, lowered.function);
        waiting.extend(lowered.called);
    }
    for (name, function) in modules.iter() {
        if function.namespace.is_none() && !program.functions.contains_key(name) {
            let found = lower_function(options, modules, name, function)?.failures;
            // What is never called need not run.
            let first = found.first().map(Error::kind);
            if first != Some(ErrorKind::Unsupported) {
                failures.extend(found);
            }
        }
    }
    Ok(failures)
}

struct LoweredFunction {
    function: Function,
    called: BTreeSet<String>,
    /// In the order in which they were found.
    failures: Vec<Error>,
}

fn lower_function(
    options: &CompileOptions<'_>,
    modules: &Modules,
    name: &str,
    function: &UserFunction,
) -> Result<LoweredFunction> {
    let definition = &function.definition;
    let statements = match &definition.body {
        FunctionBody::Statements(statements) => statements.as_slice(),
        // Calling it is an error already; its signature is all there is to check.
        FunctionBody::External(_) => &[],
    };
    let mut lowering = Lowering::new(options, modules, function.namespace.as_deref());
    for (parameter, typed) in function.parameters.iter().zip(&definition.parameters) {
        refuse_constant_name(&parameter.name).map_err(|error| error.at(&typed.position))?;
        let variable = Variable::new(parameter.data_type, parameter.value_type);
        lowering.scope.set(&parameter.name, variable);
    }
    let results = definition.results.iter();
    let results = results.map(|result| (result.name.clone(), result.position.clone()));
    lowering.live_after = LiveAfter::of(statements, &results.collect());
    lowering.failures = Some(Vec::new());
    let lowered = lowering.statements(statements);
    lowering.flush();
    let mut failures = lowering.failures.take().unwrap_or_default();
    match lowered {
        Ok(()) if matches!(definition.body, FunctionBody::External(_)) => {}
        Ok(()) => failures.extend(check_results(&lowering.scope, name, function)),
        Err(error) => failures.push(error),
    }
    let live: Live = function.results.iter().map(|r| r.name.clone()).collect();
    if !options.keep_unused {
        liveness::prune(&mut lowering.blocks, &live);
    }
    let lowered = Function {
        name: name.to_owned(),
        parameters: function.parameters.clone(),
        results: function.results.clone(),
        body: lowering.blocks,
        position: Some(definition.position.clone()),
    };
    Ok(LoweredFunction {
        function: lowered,
        called: lowering.called,
        failures,
    })
}

/// Every result must be assigned, with the type it is declared with.
fn check_results(scope: &Scope, name: &str, function: &UserFunction) -> Vec<Error> {
    let mut failures = Vec::new();
    for (result, typed) in function.results.iter().zip(&function.definition.results) {
        if scope.doubts(&result.name).is_some() {
            continue;
        }
        let Some(variable) = scope.get(&result.name) else {
            failures.push(
                Error::validation(format!(
                    "the function '{name}' never assigns its result '{}'",
                    result.name
                ))
                .with_code(Code::ResultNotAssigned)
                .at(&typed.position)
                .with_help("assign it in the body, on every path"),
            );
            continue;
        };
        if variable.data_type != result.data_type {
            failures.push(
                Error::validation(format!(
                    "the result '{}' of '{name}' is declared {}, but is {}",
                    result.name,
                    block::describe_type(result.data_type, result.value_type),
                    block::describe_type(variable.data_type, variable.value_type)
                ))
                .with_code(Code::ResultType)
                .at(&typed.position)
                .with_help("convert it with as.scalar() or as.matrix(), or change the declaration"),
            );
        }
    }
    failures
}

fn check_outputs(scope: &Scope, outputs: &[String]) -> Result<()> {
    for output in outputs {
        if scope.get(output).is_none() && scope.doubts(output).is_none() {
            let help = suggest::did_you_mean(output, scope.names())
                .unwrap_or_else(|| "assign it in the script, or do not ask for it".to_owned());
            return Err(Error::validation(format!(
                "the script never assigns the output '{output}'"
            ))
            .with_code(Code::OutputNotAssigned)
            .with_help(help));
        }
    }
    Ok(())
}

fn check_assumed(scope: &Scope, options: &CompileOptions<'_>) -> Result<()> {
    for name in options.assumed.keys() {
        let is_scalar = |variable: &Variable| variable.data_type == DataType::Scalar;
        if scope.doubts(name).is_none() && !scope.get(name).is_some_and(is_scalar) {
            let help = suggest::did_you_mean(name, scope.names()).unwrap_or_else(|| {
                "only scalars that the script assigns can be assumed".to_owned()
            });
            return Err(
                Error::argument(format!("the script assigns no scalar to '{name}'"))
                    .with_help(help),
            );
        }
    }
    Ok(())
}

/// `NaN`, `Inf` and `pi`.
fn named_constant(name: &str) -> Option<Literal> {
    let value = match name {
        "NaN" => f64::NAN,
        "Inf" => f64::INFINITY,
        "pi" => std::f64::consts::PI,
        _ => return None,
    };
    Some(Literal::Double(value))
}

fn refuse_constant_name(name: &str) -> Result<()> {
    match named_constant(name) {
        Some(_) => Err(
            Error::validation(format!("'{name}' is a constant and cannot be assigned"))
                .with_code(Code::ConstantAssigned)
                .with_help("choose another name"),
        ),
        None => Ok(()),
    }
}

/// The state of lowering one body: the script's, or a function's.
struct Lowering<'a> {
    options: &'a CompileOptions<'a>,
    modules: &'a Modules,
    /// Where unqualified function names are looked up first.
    namespace: Option<&'a str>,
    /// Inputs and outputs from outside are bound in the script's own body only.
    is_main: bool,
    scope: Scope,
    block: BlockBuilder,
    blocks: Vec<Block>,
    temporaries: u32,
    loop_nesting: u32,
    called: BTreeSet<String>,
    /// Of the body that is lowered.
    live_after: LiveAfter,
    /// What was wrong so far; `None` where the first error ends the lowering.
    failures: Option<Vec<Error>>,
    /// How often statements of a block were begun.
    bodies_entered: usize,
}

impl<'a> Lowering<'a> {
    fn new(
        options: &'a CompileOptions<'a>,
        modules: &'a Modules,
        namespace: Option<&'a str>,
    ) -> Self {
        Lowering {
            options,
            modules,
            namespace,
            is_main: false,
            scope: Scope::default(),
            block: BlockBuilder::new(options.dialect),
            blocks: Vec::new(),
            temporaries: 0,
            loop_nesting: 0,
            called: BTreeSet::new(),
            live_after: LiveAfter::default(),
            failures: None,
            bodies_entered: 0,
        }
    }

    /// The variables that the caller gives.
    fn bind_inputs(&mut self) {
        for (name, input) in &self.options.inputs {
            let variable = Variable {
                characteristics: input.characteristics,
                ..Variable::new(input.data_type, input.value_type)
            };
            self.scope.set(name, variable);
        }
    }

    /// Ends the current statement block.
    fn flush(&mut self) {
        let block = self.take_block();
        self.blocks.extend(block.finish());
    }

    /// The statement block that was being built; a new one takes its place.
    fn take_block(&mut self) -> BlockBuilder {
        std::mem::replace(&mut self.block, BlockBuilder::new(self.options.dialect))
    }

    /// A name no script can use.
    fn temporary(&mut self) -> String {
        self.temporaries += 1;
        format!("_t{}", self.temporaries)
    }
}
