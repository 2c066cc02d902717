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

/// How many files may name an operator, such as `UnaryOp::Exp`, or a kind of operators, such as `HopOp::Unary`.
const LIMIT: usize = 8;

/// How many files of rewrites may. A rule names the operators that it is about, and a rule that leaves an operator as it is
/// stays right: these are no places that a new operator must visit.
const LIMIT_OF_RULES: usize = 8;

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
    let (rules, others): (Vec<PathBuf>, Vec<PathBuf>) = files()
        .into_iter()
        .partition(|file| file.starts_with(rules()));
    assert!(!rules.is_empty(), "no rewrites");
    check(users(&others, &families), LIMIT);
    check(users(&rules, &families), LIMIT_OF_RULES);
}

/// Where operators are declared, and named as often as it takes.
fn declarations() -> PathBuf {
    repository::root().join("native/hop/src/ops")
}

/// Where rules of rewrites are.
fn rules() -> PathBuf {
    repository::root().join("native/hop/src/rewrites")
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

/// Operators with those of the files that name them, operators in most files first.
fn users(files: &[PathBuf], families: &[Family]) -> Vec<(String, Vec<String>)> {
    let mut users: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in files {
        for operator in named(&fs::read_to_string(file).unwrap(), families) {
            let files = users.entry(operator).or_default();
            files.push(repository::shown(file));
        }
    }
    let mut users: Vec<(String, Vec<String>)> = users.into_iter().collect();
    users.sort_by_key(|(_, files)| std::cmp::Reverse(files.len()));
    users
}

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
