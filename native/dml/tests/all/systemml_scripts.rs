//! Every script that SystemML 1.2 ships parses, and its algorithms compile.

use crate::support;

use std::path::{Path, PathBuf};

use fulgurite_dml::CompileOptions;
use fulgurite_error::Source;
use fulgurite_hop::Literal;

const VARIABLE: &str = "FULGURITE_SYSTEMML_SCRIPTS";
const DEFAULT: &str = "../../.cache/oracles/systemml-1.2.0/scripts";

fn scripts_folder() -> PathBuf {
    let folder = std::env::var_os(VARIABLE).map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join(DEFAULT),
        PathBuf::from,
    );
    assert!(
        folder.is_dir(),
        "SystemML's scripts are not at {}: run ci/fetch-oracles, or point {VARIABLE} at the scripts folder of its archive",
        folder.display()
    );
    folder
}

fn dml_files(folder: &Path, found: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).expect("the folder of scripts is readable");
    for entry in entries {
        let path = entry.expect("the folder's entries are readable").path();
        if path.is_dir() {
            dml_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "dml") {
            found.push(path);
        }
    }
}

#[test]
fn every_script_of_systemml_parses() {
    let mut files = Vec::new();
    dml_files(&scripts_folder(), &mut files);
    files.sort();
    assert!(
        files.len() >= 125,
        "only {} scripts: the archive of SystemML 1.2.0 has 125",
        files.len()
    );
    let failures: Vec<String> = files
        .iter()
        .filter_map(|path| {
            let text = std::fs::read_to_string(path).expect("scripts are UTF-8 text");
            let source = Source::new(path.display().to_string(), text);
            let script = match fulgurite_dml::parse(&source) {
                Ok(script) => script,
                Err(error) => return Some(error.to_string()),
            };
            let is_empty = script.body.is_empty() && script.functions.is_empty();
            is_empty.then(|| format!("{}: parsed to nothing", path.display()))
        })
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

#[test]
fn algorithms_compile() {
    let mut files = Vec::new();
    dml_files(&scripts_folder().join("algorithms"), &mut files);
    let number = |name: &str| (name.to_owned(), Literal::Int(10));
    let options = CompileOptions {
        arguments: ["Vrows", "Vcols", "inp_x", "k"].map(number).into(),
        // The names of files.
        allow_missing_arguments: true,
        ..CompileOptions::default()
    };
    for path in &files {
        let text = std::fs::read_to_string(path).expect("scripts are UTF-8 text");
        let source = Source::new(path.display().to_string(), text);
        let program = fulgurite_dml::compile(&source, &options);
        let program = program.unwrap_or_else(|error| panic!("{error}"));
        support::verify_program(&program).unwrap_or_else(|error| panic!("{error}"));
    }
    assert_eq!(files.len(), 34);
}
