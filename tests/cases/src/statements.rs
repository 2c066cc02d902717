//! Straight-line statements of cases.

use fulgurite_dml::{CompileOptions, InputVariable, compile};
use fulgurite_error::{Error, Result, Source};
use fulgurite_hop::{Block, Characteristics, Dag, Symbols, VariableInfo};

/// The names that statements assign to, but for those that begin with `tmp`.
pub(crate) fn outputs(statements: &str) -> Vec<String> {
    let names = statements.lines().filter_map(|line| line.split_once(" = "));
    let mut names: Vec<String> = names
        .map(|(name, _)| name.split('[').next().unwrap_or_default().to_owned())
        .filter(|name| !name.starts_with("tmp"))
        .collect();
    names.dedup();
    names
}

/// The DAG of straight-line statements about variables, of which nothing but their types is known yet.
pub(crate) fn dag_of(statements: &str, outputs: Vec<String>, symbols: &Symbols) -> Result<Dag> {
    let input = |(name, info): (&String, &VariableInfo)| {
        let variable = InputVariable {
            data_type: info.data_type,
            value_type: info.value_type,
            characteristics: Characteristics::UNKNOWN,
        };
        (name.clone(), variable)
    };
    let options = CompileOptions {
        inputs: symbols.iter().map(input).collect(),
        outputs,
        ..CompileOptions::default()
    };
    let source = Source::new("case.dml", statements);
    let program = compile(&source, &options)?;
    let [Block::Basic { dag }] = program.body.as_slice() else {
        return Err(Error::argument("the statements are not one block"));
    };
    Ok(dag.clone())
}
