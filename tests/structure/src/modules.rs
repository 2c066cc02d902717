//! The modules of a crate, with their names and what they mention. Code of tests is left out.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

use syn::{Item, ItemMod};

use crate::paths::{self, Import, Mention, Paths};

/// The place of a module in [`Modules`].
pub type ModuleId = usize;

/// A name in a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Name {
    /// A module that is declared here.
    Module(ModuleId),
    /// Anything else that is defined here.
    Item,
    /// Another name for this path.
    Import(Vec<String>),
}

#[derive(Debug)]
pub struct Module {
    pub parent: Option<ModuleId>,
    /// As the repository has it, or as the test calls it.
    pub file: PathBuf,
    pub names: HashMap<String, Vec<Name>>,
    pub imports: Vec<Import>,
    pub mentions: Vec<Mention>,
}

/// A crate. The first module is the crate's root.
#[derive(Debug, Default)]
pub struct Modules(Vec<Module>);

pub const ROOT: ModuleId = 0;

impl Modules {
    /// The crate whose root is this file. `read` gives the text of a file, if there is one.
    pub fn parse(root: &Path, read: &dyn Fn(&Path) -> Option<String>) -> Modules {
        let mut modules = Modules::default();
        let folder = root.parent().unwrap_or(root);
        modules.file(None, root, folder, read);
        modules
    }

    /// The crate whose root is this file of the disk.
    pub fn load(root: &Path) -> Modules {
        Modules::parse(root, &|path| std::fs::read_to_string(path).ok())
    }

    pub fn get(&self, id: ModuleId) -> &Module {
        &self.0[id]
    }

    pub fn iter(&self) -> impl Iterator<Item = (ModuleId, &Module)> {
        self.0.iter().enumerate()
    }

    /// A module in a file of its own; the files of its submodules lie in `folder`.
    fn file(
        &mut self,
        parent: Option<ModuleId>,
        path: &Path,
        folder: &Path,
        read: &dyn Fn(&Path) -> Option<String>,
    ) -> ModuleId {
        let text = read(path).unwrap_or_else(|| panic!("{}: no such file", path.display()));
        let file =
            syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let id = self.add(parent, path);
        self.items(id, &file.items, folder, read);
        id
    }

    fn add(&mut self, parent: Option<ModuleId>, file: &Path) -> ModuleId {
        self.0.push(Module {
            parent,
            file: file.to_path_buf(),
            names: HashMap::new(),
            imports: Vec::new(),
            mentions: Vec::new(),
        });
        self.0.len() - 1
    }

    fn items(
        &mut self,
        id: ModuleId,
        items: &[Item],
        folder: &Path,
        read: &dyn Fn(&Path) -> Option<String>,
    ) {
        for item in items {
            if paths::is_test(paths::attributes(item)) {
                continue;
            }
            if let Item::Mod(declared) = item {
                let module = self.submodule(id, declared, folder, read);
                self.name(id, declared.ident.to_string(), Name::Module(module));
                continue;
            }
            if let Some(name) = defined(item) {
                self.name(id, name, Name::Item);
            }
            let Paths { mentions, imports } = Paths::of_item(item);
            for import in &imports {
                if let Some(name) = &import.name {
                    self.name(id, name.clone(), Name::Import(import.path.clone()));
                }
            }
            self.0[id].mentions.extend(mentions);
            self.0[id].imports.extend(imports);
        }
    }

    fn submodule(
        &mut self,
        parent: ModuleId,
        declared: &ItemMod,
        folder: &Path,
        read: &dyn Fn(&Path) -> Option<String>,
    ) -> ModuleId {
        let name = declared.ident.to_string();
        let inner = folder.join(&name);
        if let Some((_, items)) = &declared.content {
            let file = self.0[parent].file.clone();
            let id = self.add(Some(parent), &file);
            self.items(id, items, &inner, read);
            return id;
        }
        let beside = folder.join(format!("{name}.rs"));
        let path = match read(&beside) {
            Some(_) => beside,
            None => inner.join("mod.rs"),
        };
        self.file(Some(parent), &path, &inner, read)
    }

    fn name(&mut self, id: ModuleId, name: String, meaning: Name) {
        self.0[id].names.entry(name).or_default().push(meaning);
    }
}

fn defined(item: &Item) -> Option<String> {
    let ident = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(ident.to_string())
}
