//! Explains what would be executed, from what is known without running anything.
//!
//! - `places`: where operators will run.
//! - `analysis`: plans every block of a script once; everything else reads it.
//! - `code`: the code of fused operators; `statistics`: what planning took.
//! - `json`, `text`: print a level.
//! - `why`: answers questions about single operators.
//! - `draw`: pictures.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod analysis;
mod code;
mod draw;
mod json;
mod places;
mod statistics;
mod text;
mod why;

use fulgurite_error::{Error, Result, without_credentials};
use fulgurite_program::{
    ExplainFormat, Request, Session, TracedProgram, compile_traced, on_deep_stack,
};

use analysis::Analysis;

/// What would be executed, from what is known without running anything: at the request's level, in its format, without
/// credentials. Blocks are planned with propagated sizes; at run time they are planned with the actual ones.
///
/// # Errors
/// As compiling; `argument`, for a format that the level does not have and for operators that are not there.
pub fn explain(request: &Request, session: &Session) -> Result<String> {
    on_deep_stack(|| explained(request, session))
}

fn explained(request: &Request, session: &Session) -> Result<String> {
    let TracedProgram {
        program,
        session,
        front,
    } = compile_traced(request, session)?;
    let (level, format) = (request.level, request.format);
    format.check(level)?;
    let source = request.name.as_deref().unwrap_or("script.dml");
    let analysis = Analysis::new(&program, &session, front, source)?;
    let explanation = match (&request.why, format) {
        (Some(question), _) => why(&analysis, question, format),
        (None, ExplainFormat::Text) => text::print(&analysis, level, &session),
        (None, ExplainFormat::Json) => json::print(&analysis, level, &session),
        (None, ExplainFormat::Dot) => Ok(draw::dot::print(&draw::pictures(&analysis, level))),
        (None, ExplainFormat::Svg) => draw::svg::print(&draw::pictures(&analysis, level)),
        (None, ExplainFormat::Html) => {
            draw::html::print(&analysis, &draw::pictures(&analysis, level))
        }
    };
    // Paths are literals of a script, or come from its arguments.
    Ok(without_credentials(&explanation?))
}

fn why(analysis: &Analysis, question: &str, format: ExplainFormat) -> Result<String> {
    let answers = why::answer(analysis, &question.parse()?)?;
    match format {
        ExplainFormat::Text => Ok(answers.iter().map(ToString::to_string).collect()),
        ExplainFormat::Json => json::text(&json::value(&answers)?),
        _ => Err(
            Error::argument(format!("the answer to --why has no format '{format}'"))
                .with_help("it has text, json"),
        ),
    }
}
