//! Every case file gives what it expects.
//!
//! `CASE=als` runs only those with this in their path; `BLESS=1` writes what they give into the files.

use std::{collections::BTreeSet, env};

use fulgurite_cases::{Case, cases, check, file::FOLDERS, rewrite::rule_cases};
use fulgurite_hop::rewrites::rules;

fn check_all(folder: &str) {
    let wanted = env::var("CASE").unwrap_or_default();
    let of = |folder| {
        let cases = cases(folder).expect("the cases can be read").into_iter();
        let is_wanted = |case: &Case| case.path.to_string_lossy().contains(&wanted);
        cases.filter(is_wanted).collect::<Vec<_>>()
    };
    let cases = of(folder);
    match wanted.as_str() {
        "" => assert!(!cases.is_empty(), "there is no case in {folder}"),
        wanted => assert!(
            FOLDERS.iter().any(|folder| !of(folder).is_empty()),
            "no case has '{wanted}' in its path"
        ),
    }
    let failures = cases.iter().filter_map(|case| check(case).err());
    let failures: Vec<String> = failures.map(|error| error.to_string()).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

#[test]
fn sizes() {
    check_all("sizes");
}

#[test]
fn rewrite() {
    check_all("rewrite");
}

#[test]
fn fusion() {
    check_all("fusion");
}

#[test]
fn run() {
    check_all("run");
}

/// Cases in other folders would never run.
#[test]
fn every_case_is_in_a_folder_that_is_checked() {
    for case in cases("").expect("the cases can be read") {
        let is_checked = FOLDERS.iter().any(|folder| case.path.starts_with(folder));
        assert!(is_checked, "{}", case.path.display());
    }
}

#[test]
fn every_rule_on_operators_has_cases() {
    let names = cases("rewrite").expect("the cases can be read").into_iter();
    let with_cases: BTreeSet<String> = names
        .filter_map(|case| case.settings.first().cloned())
        .collect();
    // Rules of whole programs have theirs in native/hop/tests/all/program_rewrites.rs.
    let program = [
        "constant-branches",
        "unentered-loops",
        "dead-variables",
        "adjacent-blocks",
        "loop-invariants",
    ];
    let names = rules().map(|rule| rule.name.to_owned());
    let names = names.filter(|name| !program.contains(&name.as_str()));
    assert_eq!(with_cases, names.collect());
    assert!(rule_cases().expect("the cases can be read").len() > 50);
}

#[test]
fn the_documented_case_is_this_one() {
    let page = include_str!("../../../docs/contributing.md");
    let case = include_str!("../run/small-matrices.dag");
    assert!(
        page.contains(&format!("```text\n{case}```")),
        "docs/contributing.md shows another case"
    );
}
