//! The paths that a piece of code mentions: `a::b` in expressions, types and patterns, in the arguments of
//! macros, and in attributes such as `#[serde(with = "crate::text")]`.

use proc_macro2::{TokenStream, TokenTree};
use syn::{
    Attribute, ImplItem, Item, ItemUse, Macro, Meta, Path, UseTree, VisRestricted, Visibility,
    visit::{self, Visit},
};

/// A path in the code, and the line of its first word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mention {
    pub path: Vec<String>,
    pub line: usize,
}

/// A leaf of a `use` tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Import {
    pub path: Vec<String>,
    /// What the importing module calls it; `None` for a glob.
    pub name: Option<String>,
    pub line: usize,
    /// Others see the name, too.
    pub exported: bool,
}

/// All that one item mentions and imports. Code of tests is left out.
#[derive(Debug, Default)]
pub struct Paths {
    pub mentions: Vec<Mention>,
    pub imports: Vec<Import>,
}

impl Paths {
    pub fn of_item(item: &Item) -> Paths {
        let mut paths = Paths::default();
        paths.visit_item(item);
        paths
    }

    fn import(&mut self, item: &ItemUse, tree: &UseTree, before: &[String]) {
        let mut leaf = |ident: &syn::Ident, name: &syn::Ident| {
            let mut path = before.to_vec();
            // `a::{self, b}` imports `a`.
            if ident != "self" || before.is_empty() {
                path.push(ident.to_string());
            }
            let name = match name == "self" {
                true => path.last().cloned().unwrap_or_default(),
                false => name.to_string(),
            };
            self.imports.push(Import {
                path,
                name: Some(name),
                line: ident.span().start().line,
                exported: !matches!(item.vis, Visibility::Inherited),
            });
        };
        match tree {
            UseTree::Path(path) => {
                let mut before = before.to_vec();
                before.push(path.ident.to_string());
                self.import(item, &path.tree, &before);
            }
            UseTree::Name(name) => leaf(&name.ident, &name.ident),
            UseTree::Rename(name) => leaf(&name.ident, &name.rename),
            UseTree::Glob(glob) => self.imports.push(Import {
                path: before.to_vec(),
                name: None,
                line: glob.star_token.spans[0].start().line,
                exported: !matches!(item.vis, Visibility::Inherited),
            }),
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.import(item, tree, before);
                }
            }
        }
    }

    /// Words with `::` between them. A word after a dot is a field or a method.
    fn tokens(&mut self, tokens: &TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut line = 0;
        let mut colons = 0;
        let mut after_dot = false;
        for token in tokens.clone() {
            let dot = matches!(&token, TokenTree::Punct(punct) if punct.as_char() == '.');
            match token {
                TokenTree::Punct(punct) if punct.as_char() == ':' => {
                    colons += 1;
                    continue;
                }
                TokenTree::Ident(ident) => {
                    if colons != 2 {
                        self.mention(&mut path, line);
                    }
                    if path.is_empty() {
                        line = ident.span().start().line;
                    }
                    if !after_dot {
                        path.push(ident.to_string());
                    }
                }
                TokenTree::Group(group) => {
                    self.mention(&mut path, line);
                    self.tokens(&group.stream());
                }
                TokenTree::Literal(literal) => {
                    self.mention(&mut path, line);
                    self.quoted(&literal.to_string(), literal.span().start().line);
                }
                TokenTree::Punct(_) => self.mention(&mut path, line),
            }
            colons = 0;
            after_dot = dot;
        }
        self.mention(&mut path, line);
    }

    fn mention(&mut self, path: &mut Vec<String>, line: usize) {
        if !path.is_empty() {
            let path = std::mem::take(path);
            self.mentions.push(Mention { path, line });
        }
    }

    fn quoted(&mut self, literal: &str, line: usize) {
        let text = literal.trim_matches('"');
        if text.starts_with("crate::") || text.starts_with("super::") {
            let path = text.split("::").map(str::to_owned).collect();
            self.mentions.push(Mention { path, line });
        }
    }
}

impl<'ast> Visit<'ast> for Paths {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_test(attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        let attributes: &[Attribute] = match item {
            ImplItem::Fn(function) => &function.attrs,
            ImplItem::Const(constant) => &constant.attrs,
            _ => &[],
        };
        if !is_test(attributes) {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        self.import(item, &item.tree, &[]);
    }

    fn visit_path(&mut self, path: &'ast Path) {
        if let Some(first) = path.segments.first() {
            self.mentions.push(Mention {
                path: path
                    .segments
                    .iter()
                    .map(|segment| segment.ident.to_string())
                    .collect(),
                line: first.ident.span().start().line,
            });
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        self.visit_path(&call.path);
        self.tokens(&call.tokens);
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        if let Meta::List(list) = &attribute.meta {
            self.tokens(&list.tokens);
        }
    }

    /// `pub(in crate::a)` needs nothing of `a`.
    fn visit_vis_restricted(&mut self, _: &'ast VisRestricted) {}
}

/// `#[cfg(test)]`
pub fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        matches!(&attribute.meta, Meta::List(list)
            if list.path.is_ident("cfg") && list.tokens.to_string() == "test")
    })
}

pub fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}
