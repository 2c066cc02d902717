//! The operators that a piece of code names.

use std::collections::BTreeSet;

use syn::Item;

use crate::paths::{self, Paths};

/// An enum whose variants are operators.
#[derive(Debug, Clone)]
pub struct Family {
    pub name: String,
    pub variants: Vec<String>,
}

impl Family {
    /// The family of these operators, whose names `Debug` gives.
    pub fn new(name: &str, variants: &[impl std::fmt::Debug]) -> Family {
        Family {
            name: name.to_owned(),
            variants: variants.iter().map(|op| format!("{op:?}")).collect(),
        }
    }

    /// The enum of this name in the text of a file, if it is there.
    pub fn declared(name: &str, text: &str) -> Option<Family> {
        let file = syn::parse_file(text).ok()?;
        file.items.iter().find_map(|item| match item {
            Item::Enum(item) if item.ident == name => Some(Family {
                name: name.to_owned(),
                variants: item.variants.iter().map(|v| v.ident.to_string()).collect(),
            }),
            _ => None,
        })
    }
}

/// The operators that a file names outside of tests, as `UnaryOp::Exp`.
pub fn named(text: &str, families: &[Family]) -> BTreeSet<String> {
    let items = syn::parse_file(text).map_or(Vec::new(), |file| file.items);
    let items: Vec<Paths> = items
        .iter()
        .filter(|item| !paths::is_test(paths::attributes(item)))
        .map(Paths::of_item)
        .collect();
    let mut found = BTreeSet::new();
    for family in families {
        let of_file = items
            .iter()
            .any(|item| item.mentions.is_empty() && brings_all(item, family));
        for item in &items {
            let bare = of_file || brings_all(item, family);
            let mentions = item.mentions.iter().map(|mention| &mention.path);
            let imports = item.imports.iter().map(|import| &import.path);
            for path in mentions.chain(imports) {
                let mut qualified = path.windows(2).filter(|words| words[0] == family.name);
                let variant = match qualified.next_back() {
                    Some(words) => &words[1],
                    None if bare && path.len() == 1 => &path[0],
                    None => continue,
                };
                if family.variants.contains(variant) {
                    found.insert(format!("{}::{variant}", family.name));
                }
            }
        }
    }
    found
}

/// `use UnaryOp::*`
fn brings_all(item: &Paths, family: &Family) -> bool {
    item.imports
        .iter()
        .any(|import| import.name.is_none() && import.path.last() == Some(&family.name))
}
