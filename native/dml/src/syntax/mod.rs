//! From text to the syntax tree: [`lexer`], [`parser`], [`ast`] and its printed forms.

pub mod ast;

mod ast_printer;
mod lexer;
mod parser;
mod token;

pub(crate) use ast_printer::dml_literal;

use std::sync::Arc;

use fulgurite_error::{Result, Source};

/// Parses a whole script. Names are not resolved and types not checked.
pub fn parse(source: &Arc<Source>) -> Result<ast::Script> {
    parser::Parser::new(source, lexer::tokenize(source)?).script()
}
