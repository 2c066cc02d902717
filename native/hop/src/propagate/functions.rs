//! What is known of the arguments and results of functions.
//!
//! A function has one body for all its calls, so its arguments are what all calls seen so far have in
//! common: sizes go into functions that are called once, or always with equal sizes.

use std::collections::{BTreeMap, BTreeSet};

use super::{Symbols, VariableInfo, dag::Known};
use crate::{Argument, Characteristics, DataType, Function, Parameter, Program, scalar};

pub(super) struct Functions<'a> {
    program: &'a Program,
    known: BTreeMap<String, Called>,
    /// Functions whose body this pass has been through, with the arguments known by now.
    visited: BTreeSet<String>,
    /// Whether something became known, or was forgotten, in this pass.
    changed: bool,
    /// How often that happened.
    version: usize,
    /// Nothing is learnt any more.
    settled: bool,
}

/// What is known of a function that is called.
#[derive(Default)]
struct Called {
    arguments: Symbols,
    results: Vec<VariableInfo>,
}

/// A function that is about to be called.
pub(super) struct Entered<'a> {
    pub function: &'a Function,
    pub arguments: Symbols,
    /// Whether the body must be gone through: with other arguments, or for the first time in this pass.
    pub is_new: bool,
}

impl<'a> Functions<'a> {
    pub fn new(program: &'a Program) -> Self {
        Functions {
            program,
            known: BTreeMap::new(),
            visited: BTreeSet::new(),
            changed: false,
            version: 0,
            settled: false,
        }
    }

    pub fn begin_pass(&mut self) {
        self.visited.clear();
        self.changed = false;
    }

    pub fn changed(&self) -> bool {
        self.changed
    }

    /// What was found out about a block stands as long as this stays the same.
    pub fn version(&self) -> usize {
        self.version
    }

    fn note(&mut self, changed: bool) {
        self.changed |= changed;
        self.version += usize::from(changed);
    }

    /// Knows nothing from here on but what the declarations say.
    pub fn forget(&mut self) {
        for (name, known) in &mut self.known {
            if let Some(function) = self.program.functions.get(name) {
                let parameters = function.parameters.iter();
                known.arguments = parameters
                    .map(|parameter| (parameter.name.clone(), declared(parameter)))
                    .collect();
                known.results = function.results.iter().map(declared).collect();
            }
        }
        self.settled = true;
        self.version += 1;
    }

    /// Notes a call. `None` for functions that are not the program's: builtins with several results.
    pub fn enter(
        &mut self,
        name: &str,
        arguments: &[Argument],
        known: Known<'_>,
    ) -> Option<Entered<'a>> {
        let function = self.program.functions.get(name)?;
        if self.settled {
            return Some(Entered {
                function,
                arguments: self.arguments_of(name).unwrap_or_default(),
                is_new: false,
            });
        }
        let passed = bind(function, arguments, known);
        let first = !self.known.contains_key(name);
        let known = self.known.entry(name.to_owned()).or_default();
        let common = if first {
            known.results = function.results.iter().map(declared).collect();
            passed
        } else {
            in_common(function, &known.arguments, &passed)
        };
        let forgot = first || common != known.arguments;
        known.arguments = common.clone();
        self.note(forgot);
        // The functions it calls may have other results by now, so each pass goes through it once.
        let is_new = self.visited.insert(name.to_owned()) || forgot;
        Some(Entered {
            function,
            arguments: common,
            is_new,
        })
    }

    /// Notes what the body of a function left in its variables.
    pub fn leave(&mut self, name: &str, left: Known<'_>) {
        let Some(function) = self.program.functions.get(name) else {
            return;
        };
        let results = function.results.iter().map(|result| {
            let info = left(&result.name);
            info.map_or_else(|| declared(result), |info| converted(info, result))
        });
        let results: Vec<VariableInfo> = results.collect();
        let known = self.known.entry(name.to_owned()).or_default();
        let changed = known.results != results;
        known.results = results;
        self.note(changed);
    }

    pub fn results_of(&self, name: &str) -> Vec<VariableInfo> {
        match self.known.get(name) {
            Some(known) => known.results.clone(),
            None => Vec::new(),
        }
    }

    /// What all calls pass; `None` for a function that is never called.
    pub fn arguments_of(&self, name: &str) -> Option<Symbols> {
        self.known.get(name).map(|known| known.arguments.clone())
    }
}

/// The parameters with what this call passes, or their defaults.
fn bind(function: &Function, arguments: &[Argument], known: Known<'_>) -> Symbols {
    let bound = |(place, parameter): (usize, &Parameter)| {
        let named = |argument: &&Argument| argument.parameter() == Some(parameter.name.as_str());
        let positional = || {
            let argument = arguments.get(place)?;
            argument.parameter().is_none().then_some(argument)
        };
        let argument = arguments.iter().find(named).or_else(positional);
        let info = match (argument, &parameter.default) {
            (Some(Argument::Variable { variable, .. }), _) => known(variable).cloned(),
            (Some(Argument::Literal { value, .. }), _) => {
                Some(VariableInfo::constant(value.clone()))
            }
            (None, Some(default)) => Some(VariableInfo::constant(default.clone())),
            (None, None) => None,
        };
        let info = info.map_or_else(|| declared(parameter), |info| converted(&info, parameter));
        (parameter.name.clone(), info)
    };
    function.parameters.iter().enumerate().map(bound).collect()
}

fn in_common(function: &Function, known: &Symbols, passed: &Symbols) -> Symbols {
    let merged = |parameter: &Parameter| {
        let name = &parameter.name;
        let info = known.get(name).zip(passed.get(name));
        let info = info.and_then(|(known, passed)| known.merge(passed));
        (name.clone(), info.unwrap_or_else(|| declared(parameter)))
    };
    function.parameters.iter().map(merged).collect()
}

/// What the declaration alone says.
fn declared(parameter: &Parameter) -> VariableInfo {
    VariableInfo {
        data_type: parameter.data_type,
        value_type: parameter.value_type,
        characteristics: match parameter.data_type {
            DataType::Scalar => Characteristics::SCALAR,
            _ => Characteristics::UNKNOWN,
        },
        constant: None,
    }
}

/// A value as the declared type: scalars are cast when they are passed.
fn converted(info: &VariableInfo, parameter: &Parameter) -> VariableInfo {
    if info.data_type != parameter.data_type {
        return declared(parameter);
    }
    if info.data_type != DataType::Scalar {
        return info.clone();
    }
    let constant = info.constant.as_ref();
    VariableInfo {
        constant: constant.and_then(|value| scalar::convert(value, parameter.value_type).ok()),
        ..declared(parameter)
    }
}
