//! Shows what would be executed, from what is known without running anything.
//!
//! `analysis` plans every block of a script once; everything else reads it: `text` and `json` print a level,
//! `draw` makes pictures, `why` answers questions about single operators. `level` declares what can be asked,
//! `places` says where operators will run.

mod analysis;
mod code;
mod draw;
mod json;
mod level;
mod places;
mod statistics;
mod text;
mod why;

use fulgurite_error::{Error, Result, without_credentials};
use fulgurite_hop::Program;

pub(crate) use analysis::FrontEnd;
pub use level::{ExplainFormat, ExplainLevel};

use crate::{Request, Session};
use analysis::Analysis;

/// What the request asks for, without credentials. Blocks are planned with propagated sizes; at run time they are planned with the
/// actual ones.
pub(crate) fn explain(
    program: &Program,
    request: &Request,
    session: &Session,
    front: FrontEnd,
) -> Result<String> {
    let (level, format) = (request.level, request.format);
    format.check(level)?;
    let source = request.name.as_deref().unwrap_or("script.dml");
    let analysis = Analysis::new(program, source, session, front)?;
    let explanation = match (&request.why, format) {
        (Some(question), _) => why(&analysis, question, format),
        (None, ExplainFormat::Text) => text::print(&analysis, level, session),
        (None, ExplainFormat::Json) => json::print(&analysis, level, session),
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
