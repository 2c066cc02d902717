//! Compares a case with what it expects.

use std::env;

use fulgurite_error::{Error, Result};
use fulgurite_test_numbers::is_close;
use similar::TextDiff;

use crate::{Case, Kind, fusion, rewrite, run, sizes};

/// Largest difference of two numbers that count as equal, as [`is_close`] takes it.
pub(crate) const TOLERANCE: f64 = 1e-11;

/// Checks a case, or writes what it gives into its file if the environment variable `BLESS` is set.
///
/// # Errors
/// Of the case, where it can't be read or run; `runtime` with a diff, where it gives something else than it
/// expects.
pub fn check(case: &Case) -> Result<()> {
    let named =
        |error: Error| Error::new(error.kind(), format!("{}: {error}", case.path.display()));
    let actual: Vec<String> = case
        .kinds
        .iter()
        .map(|kind| actual(case, *kind))
        .collect::<Result<_>>()
        .map_err(named)?;
    if same(case, &actual) {
        return Ok(());
    }
    if env::var_os("BLESS").is_some() {
        return case.bless(&actual);
    }
    let (expected, actual) = (
        case.with_expected(&case.expected),
        case.with_expected(&actual),
    );
    let diff = TextDiff::from_lines(&expected, &actual);
    let name = format!("tests/cases/{}", case.path.display());
    let diff = diff
        .unified_diff()
        .context_radius(3)
        .header(&name, "what it gives")
        .to_string();
    Err(Error::new(
        fulgurite_error::ErrorKind::Runtime,
        format!("{name} gives something else\n{diff}"),
    )
    .with_help("run the test with BLESS=1 to accept this"))
}

fn actual(case: &Case, kind: Kind) -> Result<String> {
    match kind {
        Kind::Sizes => sizes::known(case),
        Kind::Rewrite => rewrite::rewritten(case),
        Kind::Explore => fusion::memo_table(case),
        Kind::Select => fusion::selection(case),
        Kind::CPlan => fusion::plans(case),
        Kind::Run => run::values(case),
    }
}

fn same(case: &Case, actual: &[String]) -> bool {
    let kinds = case.kinds.iter();
    case.expected.len() == actual.len()
        && kinds.zip(case.expected.iter().zip(actual)).all(
            |(kind, (expected, actual))| match kind {
                Kind::Run if !case.has("exact") => is_close_text(expected, actual),
                _ => expected == actual,
            },
        )
}

/// Whether two texts say the same, up to rounding of the numbers in them.
fn is_close_text(expected: &str, actual: &str) -> bool {
    let words = |text: &str| -> Vec<String> {
        text.replace(';', " ;")
            .split_whitespace()
            .map(str::to_owned)
            .collect()
    };
    let (expected, actual) = (words(expected), words(actual));
    expected.len() == actual.len()
        && expected.iter().zip(&actual).all(|(expected, actual)| {
            match (expected.parse(), actual.parse()) {
                (Ok(expected), Ok(actual)) => is_close(actual, expected, TOLERANCE),
                _ => expected == actual,
            }
        })
}
