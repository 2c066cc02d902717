//! All functions that a script can call: its own, those of the scripts it sources, and those of builtin scripts.
//!
//! A function is known as `name` in the script itself, else as `namespace::name`. The namespace of a sourced script is the
//! alias it was sourced under; where two scripts use one alias for different files, the second file's has a number. A call of
//! a name that neither the script nor the language defines loads the builtin script of that name, whose namespace is
//! `builtin.name`.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    path::Path,
    sync::Arc,
};

use fulgurite_error::{Code, Error, Result, Source};
use fulgurite_hop::Parameter;

use super::{
    external,
    whole_script::{self, literal},
};
use crate::{
    builtins,
    options::SourceResolver,
    suggest,
    syntax::{
        self, Mention,
        ast::{
            Call, Expression, FunctionBody, FunctionDefinition, Import, Script, Statement,
            StatementKind, Target, TypedName,
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
    /// For each parameter whose default is an expression, the function that computes it from other parameters.
    pub defaults: BTreeMap<String, String>,
}

/// Functions by `name` or `namespace::name`.
#[derive(Debug, Default)]
pub(crate) struct Modules {
    functions: BTreeMap<String, UserFunction>,
    /// The namespace that an alias stands for in a script.
    aliases: BTreeMap<(Option<String>, String), String>,
    /// The namespaces of builtin scripts, by their names.
    builtins: BTreeMap<String, String>,
    /// The folders and jars that were searched for builtin scripts.
    searched: Vec<String>,
}

/// A script of which the functions are known, and those that it asks for are not yet.
struct Loaded {
    namespace: Option<String>,
    imports: Vec<Import>,
    called: BTreeSet<String>,
    /// The folder that its imports may be relative to, besides the current one.
    folder: Option<String>,
}

impl Modules {
    /// Takes the functions of a script and of all it sources or calls, directly or not. Statements of sourced
    /// scripts do not run: `source` is for functions only.
    pub fn load(script: &mut Script, resolver: &dyn SourceResolver) -> Result<Self> {
        let mut modules = Modules {
            searched: resolver.builtin_roots(),
            ..Modules::default()
        };
        let mut called = BTreeSet::new();
        note_calls(&script.body, &mut called);
        let functions = std::mem::take(&mut script.functions);
        let imports = std::mem::take(&mut script.imports);
        let own = modules.add(functions, imports, called, None, None)?;
        let mut waiting = VecDeque::from([own]);
        let mut files: BTreeMap<String, String> = BTreeMap::new();
        while let Some(script) = waiting.pop_front() {
            for import in script.imports {
                let sourced = modules.import(
                    &import,
                    &script.namespace,
                    &script.folder,
                    &mut files,
                    resolver,
                )?;
                waiting.extend(sourced);
            }
            for name in script.called {
                let own = qualified(script.namespace.as_deref(), &name);
                let is_known = modules.functions.contains_key(&own)
                    || modules.builtins.contains_key(&name)
                    || builtins::find(&name).is_some_and(builtins::Builtin::is_supported);
                if !is_known && let Some(source) = resolver.builtin(&name)? {
                    waiting.push_back(modules.builtin(&name, &source)?);
                }
            }
        }
        Ok(modules)
    }

    /// Loads the script of an import, unless it is there already: also where scripts source each other in a circle.
    fn import(
        &mut self,
        import: &Import,
        importer: &Option<String>,
        beside: &Option<String>,
        files: &mut BTreeMap<String, String>,
        resolver: &dyn SourceResolver,
    ) -> Result<Option<Loaded>> {
        let path = match &import.folder {
            Some(folder) => Path::new(folder).join(&import.path).display().to_string(),
            None => import.path.clone(),
        };
        let alias = (importer.clone(), import.namespace.clone());
        if let Some(namespace) = self.aliases.get(&alias) {
            let other = files.iter().find(|(_, loaded)| *loaded == namespace);
            return match other {
                Some((other, _)) if *other != path => Err(Error::validation(format!(
                    "the namespace '{}' stands for '{other}' already",
                    import.namespace
                ))
                .with_code(Code::DefinedTwice)
                .at(&import.position)
                .with_help("choose another name after 'as'")),
                _ => Ok(None),
            };
        }
        if let Some(namespace) = files.get(&path) {
            self.aliases.insert(alias, namespace.clone());
            return Ok(None);
        }
        let taken: BTreeSet<&String> = files.values().collect();
        let mut namespace = import.namespace.clone();
        let mut number = 2;
        while taken.contains(&namespace) {
            namespace = format!("{}.{number}", import.namespace);
            number += 1;
        }
        let source = resolver
            .load_beside(&path, beside.as_deref())
            .map_err(|error| error.at(&import.position))?;
        let script = syntax::parse(&source)?;
        self.aliases.insert(alias, namespace.clone());
        files.insert(path, namespace.clone());
        let loaded = self.add(
            script.functions,
            script.imports,
            BTreeSet::new(),
            Some(namespace),
            folder_of(&source),
        )?;
        Ok(Some(loaded))
    }

    /// Takes the functions of a builtin script.
    fn builtin(&mut self, name: &str, source: &Arc<Source>) -> Result<Loaded> {
        let mut script = syntax::parse(source)?;
        let is_it = |function: &FunctionDefinition| {
            let mut names = PREFIXES.iter();
            names.any(|prefix| function.name.strip_prefix(prefix) == Some(name))
        };
        if !script.functions.iter().any(is_it) && !script.body.is_empty() {
            let function = whole_script::function(name, &script, source)?;
            script.functions.push(function);
        }
        let Script {
            functions, imports, ..
        } = script;
        let namespace = format!("{BUILTIN}{name}");
        self.builtins.insert(name.to_owned(), namespace.clone());
        self.add(
            functions,
            imports,
            BTreeSet::new(),
            Some(namespace),
            folder_of(source),
        )
    }

    fn add(
        &mut self,
        definitions: Vec<FunctionDefinition>,
        imports: Vec<Import>,
        mut called: BTreeSet<String>,
        namespace: Option<String>,
        folder: Option<String>,
    ) -> Result<Loaded> {
        for definition in definitions {
            if let FunctionBody::Statements(statements) = &definition.body {
                note_calls(statements, &mut called);
            }
            for default in definition
                .parameters
                .iter()
                .filter_map(|p| p.default.as_ref())
            {
                syntax::mentions_of_expression(default, &mut |mention| {
                    note_call(mention, &mut called)
                });
            }
            self.define(definition, namespace.as_deref())?;
        }
        Ok(Loaded {
            namespace,
            imports,
            called,
            folder,
        })
    }

    fn define(
        &mut self,
        mut definition: FunctionDefinition,
        namespace: Option<&str>,
    ) -> Result<()> {
        if let Some(statements) = external::built_in(&definition)? {
            definition.body = FunctionBody::Statements(statements);
        }
        let name = qualified(namespace, &definition.name);
        if let Some(first) = self.functions.get(&name) {
            return Err(Error::validation(format!(
                "the function '{}' is defined twice",
                definition.name
            ))
            .with_code(Code::DefinedTwice)
            .at(&definition.position)
            .with_help(format!(
                "the first definition is at {}",
                first.definition.position
            )));
        }
        let mut defaults = BTreeMap::new();
        for (place, parameter) in definition.parameters.iter().enumerate() {
            if let Some(default) = &parameter.default
                && literal(default).is_none()
            {
                let earlier = definition.parameters.get(..place).unwrap_or_default();
                let computed = default_function(&definition, parameter, default, earlier);
                defaults.insert(parameter.name.clone(), qualified(namespace, &computed.name));
                self.define(computed, namespace)?;
            }
        }
        let function = UserFunction {
            parameters: signature(&definition.parameters)?,
            results: signature(&definition.results)?,
            namespace: namespace.map(str::to_owned),
            definition,
            defaults,
        };
        self.functions.insert(name, function);
        Ok(())
    }

    /// The function a call means: unqualified names are looked up in the caller's own script first, then, unless the language
    /// has a function of this name, among builtin scripts.
    pub fn resolve(&self, caller: Option<&str>, call: &Call) -> Option<(&str, &UserFunction)> {
        if let Some(alias) = &call.namespace {
            let key = (caller.map(str::to_owned), alias.clone());
            let namespace = self.aliases.get(&key)?;
            return self.find(&qualified(Some(namespace), &call.name));
        }
        let own = self.find(&qualified(caller, &call.name));
        own.or_else(|| self.builtin_function(&call.name))
    }

    /// The function of a builtin script: by its prefix, for matrices, scalars or frames.
    fn builtin_function(&self, name: &str) -> Option<(&str, &UserFunction)> {
        let namespace = self.builtins.get(name)?;
        let prefixes = PREFIXES.iter();
        prefixes
            .map(|prefix| qualified(Some(namespace), &format!("{prefix}{name}")))
            .find_map(|name| self.find(&name))
    }

    fn find(&self, name: &str) -> Option<(&str, &UserFunction)> {
        let (name, function) = self.functions.get_key_value(name)?;
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
        let error = Error::validation(format!("unknown function '{name}'"))
            .with_code(Code::UnknownFunction)
            .at(&call.position);
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
            let help = habit.or_else(near);
            match (help, self.searched()) {
                (Some(help), Some(searched)) => format!("{help} ({searched})"),
                (Some(help), None) | (None, Some(help)) => help,
                (None, None) => {
                    "define it, as in f = function(matrix[double] X) return (double y) { ... }"
                        .to_owned()
                }
            }
        };
        error.with_help(help)
    }
}

impl Modules {
    /// Where a builtin script was looked for in vain.
    fn searched(&self) -> Option<String> {
        let roots = self.searched.join(", ");
        (!roots.is_empty()).then(|| format!("there is no builtin script of this name in {roots}"))
    }
}

/// Of functions of builtin scripts: for matrices, scalars or frames.
const PREFIXES: [&str; 4] = ["m_", "s_", "f_", ""];

/// What the namespaces of builtin scripts begin with.
const BUILTIN: &str = "builtin.";

/// Whether a namespace is that of a builtin script.
pub(crate) fn is_builtin_namespace(namespace: &str) -> bool {
    namespace.starts_with(BUILTIN)
}

/// The folder of a script that was read from a file.
fn folder_of(source: &Source) -> Option<String> {
    let folder = Path::new(&source.name).parent()?;
    Some(folder.display().to_string())
}

fn note_calls(statements: &[Statement], called: &mut BTreeSet<String>) {
    syntax::mentions_of_statements(statements, &mut |mention| note_call(mention, called));
}

fn note_call(mention: Mention<'_>, called: &mut BTreeSet<String>) {
    if let Mention::Call(Call {
        namespace: None,
        name,
        ..
    }) = mention
    {
        called.insert(name.clone());
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
                    .with_code(Code::DefinedTwice)
                    .at(&typed.position),
            );
        }
        parameters.push(Parameter {
            name: typed.name.clone(),
            data_type: typed.data_type,
            value_type: typed.value_type,
            default: typed.default.as_ref().and_then(literal),
        });
    }
    Ok(parameters)
}

/// The function that computes the default of a parameter from the parameters before it that the default mentions. No script
/// can call it: its name has a dot.
fn default_function(
    function: &FunctionDefinition,
    parameter: &TypedName,
    default: &Expression,
    earlier: &[TypedName],
) -> FunctionDefinition {
    let mut mentioned = BTreeSet::new();
    syntax::mentions_of_expression(default, &mut |mention| {
        if let Mention::Variable(name) = mention {
            mentioned.insert(name);
        }
    });
    let needed = earlier
        .iter()
        .filter(|parameter| mentioned.contains(parameter.name.as_str()));
    let target = Target {
        variable: parameter.name.clone(),
        subscripts: None,
        position: parameter.position.clone(),
    };
    FunctionDefinition {
        name: format!("{}.{}", function.name, parameter.name),
        parameters: needed
            .map(|parameter| TypedName {
                default: None,
                ..parameter.clone()
            })
            .collect(),
        results: vec![TypedName {
            default: None,
            ..parameter.clone()
        }],
        body: FunctionBody::Statements(vec![Statement {
            kind: StatementKind::Assign {
                target,
                value: default.clone(),
                accumulate: false,
            },
            position: parameter.position.clone(),
        }]),
        position: parameter.position.clone(),
    }
}
