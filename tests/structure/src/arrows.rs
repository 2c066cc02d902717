//! Which file of a crate knows which: paths resolved to the files that define what they name.
//!
//! A re-export is no definition: whoever names `crate::Dag` knows the file of `Dag`. A `use` of a module is
//! no arrow either, but what is then taken out of the module is.

use std::{collections::BTreeMap, path::PathBuf};

use crate::modules::{ModuleId, Modules, Name, ROOT};

/// A file that names something of another file of its crate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrow {
    pub from: PathBuf,
    pub line: usize,
    pub name: String,
    pub to: PathBuf,
}

/// What a path leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    Module(ModuleId),
    /// Something in this module that is no module.
    Item(ModuleId),
}

/// The arrows of a crate, one for each pair of files: the first in the order of lines.
pub fn arrows(modules: &Modules) -> Vec<Arrow> {
    let mut found: BTreeMap<(PathBuf, PathBuf), Arrow> = BTreeMap::new();
    for (id, module) in modules.iter() {
        let mentions = module
            .mentions
            .iter()
            .map(|mention| (&mention.path, mention.line, false));
        let imports = module
            .imports
            .iter()
            .filter(|import| !import.exported)
            .map(|import| (&import.path, import.line, import.name.is_none()));
        for (path, line, is_glob) in mentions.chain(imports) {
            for target in Resolver::new(modules).path(id, path) {
                let definer = match target {
                    Target::Item(definer) => definer,
                    Target::Module(definer) if is_glob => definer,
                    Target::Module(_) => continue,
                };
                let to = &modules.get(definer).file;
                if *to == module.file {
                    continue;
                }
                let arrow = Arrow {
                    from: module.file.clone(),
                    line,
                    name: path.last().cloned().unwrap_or_default(),
                    to: to.clone(),
                };
                let key = (arrow.from.clone(), arrow.to.clone());
                let first = found.entry(key).or_insert_with(|| arrow.clone());
                if line < first.line {
                    *first = arrow;
                }
            }
        }
    }
    found.into_values().collect()
}

struct Resolver<'a> {
    modules: &'a Modules,
    /// The names that are being looked up: an import may lead back to itself.
    pending: Vec<(ModuleId, String)>,
}

impl<'a> Resolver<'a> {
    fn new(modules: &'a Modules) -> Self {
        let pending = Vec::new();
        Resolver { modules, pending }
    }

    /// What the path means in this module; nothing if it leads out of the crate.
    fn path(&mut self, from: ModuleId, path: &[String]) -> Vec<Target> {
        let Some((first, rest)) = path.split_first() else {
            return Vec::new();
        };
        let parent = |id: ModuleId| self.modules.get(id).parent.unwrap_or(ROOT);
        let mut targets = match first.as_str() {
            "crate" => vec![Target::Module(ROOT)],
            "self" => vec![Target::Module(from)],
            "super" => vec![Target::Module(parent(from))],
            name => self.name(from, name),
        };
        for name in rest {
            if targets.len() > 1 {
                // A function may have the name of its module; only the module has names.
                let (inner, others): (Vec<_>, Vec<_>) = targets
                    .into_iter()
                    .partition(|target| matches!(target, Target::Module(_)));
                targets = if inner.is_empty() { others } else { inner };
            }
            let mut next = Vec::new();
            for target in targets {
                match target {
                    Target::Module(id) if name == "super" => {
                        let parent = self.modules.get(id).parent.unwrap_or(ROOT);
                        next.push(Target::Module(parent));
                    }
                    Target::Module(id) => match self.name(id, name) {
                        // A macro made it.
                        found if found.is_empty() => next.push(Target::Item(id)),
                        found => next.extend(found),
                    },
                    Target::Item(id) => next.push(Target::Item(id)),
                }
            }
            targets = next;
        }
        targets
    }

    fn name(&mut self, id: ModuleId, name: &str) -> Vec<Target> {
        let key = (id, name.to_owned());
        if self.pending.contains(&key) {
            return Vec::new();
        }
        self.pending.push(key);
        let mut found = Vec::new();
        for meaning in self.modules.get(id).names.get(name).into_iter().flatten() {
            match meaning {
                Name::Module(module) => found.push(Target::Module(*module)),
                Name::Item => found.push(Target::Item(id)),
                Name::Import(path) => found.extend(self.path(id, path)),
            }
        }
        if found.is_empty() {
            let globs = self.modules.get(id).imports.iter();
            for glob in globs.filter(|import| import.name.is_none()) {
                for target in self.path(id, &glob.path) {
                    if let Target::Module(module) = target {
                        found.extend(self.name(module, name));
                    }
                }
            }
        }
        self.pending.pop();
        found
    }
}
