//! The pages of `docs/` say of operators what their declarations say.

use std::{collections::BTreeSet, fs, path::PathBuf};

use fulgurite_hop::ops::{codes_to_markdown, functions};

fn page(name: &str) -> (PathBuf, String) {
    let docs = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let path = docs.join(name);
    let text = fs::read_to_string(&path).unwrap_or_default();
    (path, text)
}

/// The parts of a page before, in and after its table with this first line.
fn around_table<'a>(page: &'a str, head: &str) -> (&'a str, &'a str, &'a str) {
    let start = page.find(head).expect("the page has the table");
    let (before, rest) = page.split_at(start);
    let lines = rest.split_inclusive('\n');
    let rows = lines.take_while(|line| line.starts_with('|'));
    let (table, after) = rest.split_at(rows.map(str::len).sum());
    (before, table, after)
}

/// `FULGURITE_BLESS=1` writes the table.
#[test]
fn the_table_of_codes_is_up_to_date() {
    let (path, text) = page("hop-json.md");
    let wanted = codes_to_markdown();
    let head = wanted.split_inclusive('\n').next().expect("a first line");
    let (before, table, after) = around_table(&text, head);
    if std::env::var_os("FULGURITE_BLESS").is_some() {
        fs::write(&path, format!("{before}{wanted}{after}")).expect("docs can be written");
        return;
    }
    assert!(
        table == wanted,
        "the codes in docs/hop-json.md are out of date: run the test with FULGURITE_BLESS=1"
    );
}

/// Words in code on the pages of functions, and on the page that has expressions and what does not run yet.
fn documented(pages: &[String]) -> BTreeSet<&str> {
    let code = pages
        .iter()
        .flat_map(|page| page.split('`').skip(1).step_by(2));
    code.flat_map(|code| code.split(|c: char| !c.is_alphanumeric() && !['.', '_'].contains(&c)))
        .collect()
}

#[test]
fn every_function_is_in_the_reference() {
    let (folder, _) = page("language/functions");
    let mut pages = vec![page("language/README.md").1];
    for entry in fs::read_dir(folder).expect("the folder of functions") {
        pages.push(fs::read_to_string(entry.expect("an entry").path()).expect("a page"));
    }
    let documented = documented(&pages);
    let functions = functions();
    assert!(functions.len() > 80, "{functions:?}");
    let missing: Vec<&str> = functions
        .into_iter()
        .filter(|name| !documented.contains(name))
        .collect();
    assert!(missing.is_empty(), "docs/language lacks {missing:?}");
}
