//! From text to the syntax tree: [`lexer`], [`parser`], [`ast`] and its printed forms.

pub mod ast;

mod assigned;
mod ast_printer;
mod habits;
mod lexer;
mod mentions;
mod parser;
mod token;

pub(crate) use assigned::assigned;
pub(crate) use ast_printer::dml_literal;
pub(crate) use habits::{function as habit_of_function, variable as habit_of_variable};
pub(crate) use mentions::{
    Mention, of_expression as mentions_of_expression, of_statements as mentions_of_statements,
};

use std::sync::Arc;

use fulgurite_error::{Result, Source};
use fulgurite_matrix::memory;

/// What one level of a recursion over the tree takes of the stack, at most.
const LEVEL_BYTES: usize = 64 << 10;
/// What the stack grows by when no more than a level is left: the limits of nesting ask for more than threads of the JVM have.
const STACK_BYTES: usize = 2 << 20;

/// Goes one level deeper into the tree.
///
/// # Errors
/// Its own; `memory`, where there is none for more stack.
pub(crate) fn on_enough_stack<T>(level: impl FnOnce() -> Result<T>) -> Result<T> {
    memory::on_stack_with(LEVEL_BYTES, STACK_BYTES, level)
}

/// Parses a whole script. Names are not resolved and types not checked.
///
/// # Errors
/// `syntax`: the first mistake, which carries those that were found after it. After a mistake, the parser goes on where the
/// next statement begins.
pub fn parse(source: &Arc<Source>) -> Result<ast::Script> {
    parser::Parser::new(source, lexer::tokenize(source)).script()
}
