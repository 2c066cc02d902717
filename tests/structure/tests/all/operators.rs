//! An operator is named in few files.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
    fs,
    path::PathBuf,
};

use fulgurite_hop::{
    AggregateOp, BinaryOp, CastOp, CumulativeOp, DataGenOp, ParameterizedOp, SizeOp, TernaryOp,
    UnaryOp,
};
use fulgurite_structure_tests::{
    modules::Modules,
    operators::{Family, named},
    repository,
};

/// How many files may name an operator, such as `UnaryOp::Exp`.
const LIMIT: usize = 25;

/// How many files may name a kind of operators, such as `HopOp::Unary`.
const LIMIT_OF_KINDS: usize = 33;

/// How many of the worst are printed.
const SHOWN: usize = 10;

#[test]
fn few_files_name_an_operator() {
    let kinds = repository::sources(&declarations())
        .iter()
        .find_map(|file| Family::declared("HopOp", &fs::read_to_string(file).unwrap()))
        .expect("an enum HopOp");
    let families = [
        Family::new("UnaryOp", UnaryOp::ALL),
        Family::new("BinaryOp", BinaryOp::ALL),
        Family::new("TernaryOp", TernaryOp::ALL),
        Family::new("AggregateOp", AggregateOp::ALL),
        Family::new("CumulativeOp", CumulativeOp::ALL),
        Family::new("DataGenOp", DataGenOp::ALL),
        Family::new("CastOp", CastOp::ALL),
        Family::new("SizeOp", SizeOp::ALL),
        Family::new("ParameterizedOp", ParameterizedOp::ALL),
        kinds,
    ];
    let mut users: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in files() {
        for operator in named(&fs::read_to_string(&file).unwrap(), &families) {
            users
                .entry(operator)
                .or_default()
                .push(repository::shown(&file));
        }
    }
    let mut users: Vec<(String, Vec<String>)> = users.into_iter().collect();
    users.sort_by_key(|(_, files)| std::cmp::Reverse(files.len()));
    let (kinds, operators) = users
        .into_iter()
        .partition(|(operator, _)| operator.starts_with("HopOp::"));
    check(operators, LIMIT);
    check(kinds, LIMIT_OF_KINDS);
}

/// Where operators are declared, and named as often as it takes.
fn declarations() -> PathBuf {
    repository::root().join("native/hop/src/ops")
}

/// All files of code that is no test, without the declarations.
fn files() -> BTreeSet<PathBuf> {
    let mut files = BTreeSet::new();
    for name in repository::crates() {
        for root in repository::roots(&name) {
            let modules = Modules::load(&root);
            files.extend(modules.iter().map(|(_, module)| module.file.clone()));
        }
    }
    files.retain(|file| !file.starts_with(declarations()));
    files
}

/// Operators with the files that name them, those in most files first.
fn check(users: Vec<(String, Vec<String>)>, limit: usize) {
    println!("files that name an operator, at most {limit}:");
    for (operator, files) in users.iter().take(SHOWN) {
        println!("{:4} {operator}", files.len());
    }
    let mut text = String::new();
    for (operator, files) in users.iter().filter(|(_, files)| files.len() > limit) {
        let names = files.join("\n  ");
        writeln!(
            text,
            "\n{operator} is named in {} files, more than {limit}:\n  {names}",
            files.len()
        )
        .unwrap();
    }
    assert!(text.is_empty(), "{text}");
}
