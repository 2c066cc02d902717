//! All functions that a script can call: its own, and those of the scripts it sources.

use std::{
    collections::{BTreeMap, VecDeque},
    path::Path,
};

use fulgurite_error::{Error, Result};
use fulgurite_hop::{Literal, Parameter};

use crate::{
    options::SourceResolver,
    suggest,
    syntax::{
        self,
        ast::{
            Call, Expression, ExpressionKind, FunctionDefinition, Import, Script, TypedName,
            UnaryOperator,
        },
    },
};

/// A function with its resolved signature.
#[derive(Debug)]
pub(crate) struct UserFunction {
    pub definition: FunctionDefinition,
    /// `None` for the script itself.
    pub namespace: Option<String>,
    pub parameters: Vec<Parameter>,
    pub results: Vec<Parameter>,
}

/// Functions by `name` or `namespace::name`.
#[derive(Debug, Default)]
pub(crate) struct Modules {
    functions: BTreeMap<String, UserFunction>,
}

impl Modules {
    /// Takes the functions of a script and of all it sources, directly or not. Statements of sourced
    /// scripts do not run: `source` is for functions only.
    pub fn load(
        functions: Vec<FunctionDefinition>,
        imports: Vec<Import>,
        resolver: &dyn SourceResolver,
    ) -> Result<Self> {
        let mut modules = Modules::default();
        modules.add(functions, None)?;
        let mut loaded: BTreeMap<String, String> = BTreeMap::new();
        let mut waiting: VecDeque<Import> = imports.into();
        while let Some(import) = waiting.pop_front() {
            let path = match &import.folder {
                Some(folder) => Path::new(folder).join(&import.path).display().to_string(),
                None => import.path.clone(),
            };
            match loaded.get(&import.namespace) {
                // Loaded already: also where scripts source each other in a circle.
                Some(other) if *other == path => continue,
                Some(other) => {
                    return Err(Error::validation(format!(
                        "the namespace '{}' stands for '{other}' already",
                        import.namespace
                    ))
                    .at(&import.position)
                    .with_help("choose another name after 'as'"));
                }
                None => {}
            }
            let source = resolver
                .load(&path)
                .map_err(|error| error.at(&import.position))?;
            let Script {
                functions, imports, ..
            } = syntax::parse(&source)?;
            modules.add(functions, Some(&import.namespace))?;
            loaded.insert(import.namespace, path);
            waiting.extend(imports);
        }
        Ok(modules)
    }

    fn add(&mut self, definitions: Vec<FunctionDefinition>, namespace: Option<&str>) -> Result<()> {
        for definition in definitions {
            let name = qualified(namespace, &definition.name);
            if let Some(first) = self.functions.get(&name) {
                return Err(Error::validation(format!(
                    "the function '{}' is defined twice",
                    definition.name
                ))
                .at(&definition.position)
                .with_help(format!(
                    "the first definition is at {}",
                    first.definition.position
                )));
            }
            let function = UserFunction {
                parameters: signature(&definition.parameters)?,
                results: signature(&definition.results)?,
                namespace: namespace.map(str::to_owned),
                definition,
            };
            self.functions.insert(name, function);
        }
        Ok(())
    }

    /// The function a call means: unqualified names are looked up in the caller's own script first.
    pub fn resolve(&self, caller: Option<&str>, call: &Call) -> Option<(&str, &UserFunction)> {
        let own = qualified(call.namespace.as_deref().or(caller), &call.name);
        let (name, function) = self.functions.get_key_value(&own)?;
        Some((name, function))
    }

    pub fn get(&self, name: &str) -> Option<&UserFunction> {
        self.functions.get(name)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &UserFunction)> {
        self.functions
            .iter()
            .map(|(name, function)| (name.as_str(), function))
    }

    /// The error for a call that means nothing.
    pub fn unknown(&self, caller: Option<&str>, call: &Call) -> Error {
        let name = call.qualified_name();
        let error = Error::validation(format!("unknown function '{name}'")).at(&call.position);
        let prefix = caller.map(|namespace| format!("{namespace}::"));
        let mut known: Vec<&str> = self.functions.keys().map(String::as_str).collect();
        if let Some(prefix) = &prefix {
            known.extend(
                self.functions
                    .keys()
                    .filter_map(|key| key.strip_prefix(prefix.as_str())),
            );
        }
        let help = if call.namespace.is_some() {
            suggest::did_you_mean(&name, known)
                .unwrap_or_else(|| "load its script with source(\"...\") as a namespace".to_owned())
        } else {
            known.extend::<Vec<&str>>(crate::builtins::names().collect());
            let habit = syntax::habit_of_function(&name).map(str::to_owned);
            let near = || suggest::did_you_mean(&name, known);
            habit.or_else(near).unwrap_or_else(|| {
                "define it, as in f = function(matrix[double] X) return (double y) { ... }"
                    .to_owned()
            })
        };
        error.with_help(help)
    }
}

fn qualified(namespace: Option<&str>, name: &str) -> String {
    match namespace {
        Some(namespace) => format!("{namespace}::{name}"),
        None => name.to_owned(),
    }
}

fn signature(names: &[TypedName]) -> Result<Vec<Parameter>> {
    let mut parameters: Vec<Parameter> = Vec::new();
    for typed in names {
        if parameters.iter().any(|known| known.name == typed.name) {
            return Err(
                Error::validation(format!("'{}' is declared twice", typed.name))
                    .at(&typed.position),
            );
        }
        parameters.push(Parameter {
            name: typed.name.clone(),
            data_type: typed.data_type,
            value_type: typed.value_type,
            default: typed.default.as_ref().map(literal).transpose()?,
        });
    }
    Ok(parameters)
}

/// The value of a default, which is a literal.
fn literal(expression: &Expression) -> Result<Literal> {
    let value = match &expression.kind {
        ExpressionKind::Literal(value) => Some(value.clone()),
        ExpressionKind::Variable(name) => super::named_constant(name),
        ExpressionKind::Unary(UnaryOperator::Minus, operand) => match literal(operand)? {
            Literal::Int(value) => value.checked_neg().map(Literal::Int),
            Literal::Double(value) => Some(Literal::Double(-value)),
            Literal::Boolean(_) | Literal::String(_) => None,
        },
        _ => None,
    };
    value.ok_or_else(|| {
        Error::validation("the default of a parameter must be a literal").at(&expression.position)
    })
}
