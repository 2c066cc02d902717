//! Compiling and printing for tests.
#![allow(
    dead_code,
    reason = "each test program uses its own part of this module"
)]

use std::sync::Arc;

use fulgurite_dml::{CompileOptions, SourceResolver, compile};
use fulgurite_error::{Error, Result, Source};
use fulgurite_hop::{Block, Predicate, Program, verify};

/// Scripts in memory, by path; builtin ones in `builtin`.
pub struct Sources(pub &'static [(&'static str, &'static str)]);

impl SourceResolver for Sources {
    fn load(&self, path: &str) -> Result<Arc<Source>> {
        let found = self.0.iter().find(|(name, _)| *name == path);
        found
            .map(|(name, text)| Source::new(*name, *text))
            .ok_or_else(|| Error::io(format!("there is no script '{path}'")))
    }

    fn builtin(&self, name: &str) -> Result<Option<Arc<Source>>> {
        Ok(self.load(&format!("builtin/{name}.dml")).ok())
    }

    fn builtin_roots(&self) -> Vec<String> {
        vec!["builtin".to_owned()]
    }
}

/// Compiles, and checks every DAG.
pub fn compiled(text: &str, options: &CompileOptions<'_>) -> Result<Program> {
    let program = compile(&Source::new("test.dml", text), options)?;
    verify_program(&program)?;
    Ok(program)
}

/// The program of a script without arguments, or the error.
pub fn program(text: &str) -> String {
    match compiled(text, &CompileOptions::default()) {
        Ok(program) => show(&program),
        Err(error) => error.to_string(),
    }
}

/// The program without places and estimates, which other tests see to.
pub fn show(program: &Program) -> String {
    let line = |line: &str| {
        let line = line.split(" @ ").next().unwrap_or(line);
        match line.split_once(']') {
            Some((before, after)) if after.trim_end().ends_with('B') => format!("{before}]"),
            _ => line.to_owned(),
        }
    };
    program
        .to_string()
        .lines()
        .map(line)
        .collect::<Vec<_>>()
        .join("\n")
}

pub fn verify_program(program: &Program) -> Result<()> {
    verify_blocks(&program.body)?;
    let mut functions = program.functions.values();
    functions.try_for_each(|function| verify_blocks(&function.body))
}

fn verify_blocks(blocks: &[Block]) -> Result<()> {
    blocks.iter().try_for_each(|block| match block {
        Block::Basic { dag } => verify(dag),
        Block::If {
            predicate,
            then,
            otherwise,
            ..
        } => {
            verify_predicate(predicate)?;
            verify_blocks(then)?;
            verify_blocks(otherwise)
        }
        Block::While {
            predicate, body, ..
        } => {
            verify_predicate(predicate)?;
            verify_blocks(body)
        }
        Block::For {
            from,
            to,
            increment,
            body,
            ..
        } => {
            verify_predicate(from)?;
            verify_predicate(to)?;
            increment.iter().try_for_each(verify_predicate)?;
            verify_blocks(body)
        }
        Block::Call { .. } => Ok(()),
    })
}

fn verify_predicate(predicate: &Predicate) -> Result<()> {
    verify_blocks(&predicate.before)?;
    verify(&predicate.dag)
}
