//! Functions of a whole frame, which `map` takes in the place of functions of cells.

use fulgurite_error::{Error, Result};
use fulgurite_matrix::parse_double;

use super::{
    disguised::Disguised,
    smoothing::{Mode, Smoothing},
};
use crate::{Column, Frame};

/// A function of each column as a whole.
#[derive(Debug, Clone)]
pub(super) enum FrameFunction {
    /// Cells of another form than most of their column are replaced.
    Disguised(Disguised),
    /// Columns of numbers are smoothed, and their gaps filled.
    Smoothing(Smoothing),
}

const PATTERNS: &str = "UtilFunctions.syntacticalPatternDiscovery";
const SMOOTHING: &str = "UtilFunctions.exponentialMovingAverageImputation";

impl FrameFunction {
    /// None where the text is no such function.
    pub(super) fn parse(text: &str) -> Result<Option<Self>> {
        let text = text.trim();
        let arguments = |name: &str| {
            let rest = text.strip_prefix(name)?.trim_start();
            rest.strip_prefix('(')?.strip_suffix(')')
        };
        if let Some(arguments) = arguments(PATTERNS) {
            let (threshold, replacement) = arguments.split_once(',').ok_or_else(|| {
                Error::syntax(format!("{PATTERNS} takes a threshold and a replacement"))
            })?;
            return Ok(Some(FrameFunction::Disguised(Disguised {
                threshold: number("the threshold", threshold)?,
                replacement: replacement.to_owned(),
            })));
        }
        let Some(arguments) = arguments(SMOOTHING) else {
            return Ok(None);
        };
        let arguments: Vec<_> = arguments.split(';').map(str::trim).collect();
        let [iterations, mode, season, alpha, beta, gamma] = arguments[..] else {
            return Err(Error::syntax(format!(
                "{SMOOTHING} takes iterations, mode, freq, alpha, beta and gamma, not {} values",
                arguments.len()
            )));
        };
        let season = whole("freq", season)?;
        let mode = match mode {
            "single" => Mode::Single,
            "double" => Mode::Double,
            "triple" if season < 2 => {
                return Err(Error::argument(format!(
                    "freq is 2 or more, not {season}: a season has several rows"
                )));
            }
            "triple" => Mode::Triple { season },
            other => {
                return Err(Error::argument(format!(
                    "the mode is single, double or triple, not '{other}'"
                )));
            }
        };
        let weights = [
            number("alpha", alpha)?,
            number("beta", beta)?,
            number("gamma", gamma)?,
        ];
        let iterations = whole("the number of iterations", iterations)?;
        Ok(Some(FrameFunction::Smoothing(Smoothing {
            mode,
            weights,
            iterations,
        })))
    }

    pub(super) fn columns(&self, frame: &Frame) -> Result<Vec<Column>> {
        match self {
            FrameFunction::Disguised(disguised) => disguised.columns(frame),
            FrameFunction::Smoothing(smoothing) => smoothing.columns(frame),
        }
    }
}

fn number(what: &str, text: &str) -> Result<f64> {
    let text = text.trim();
    parse_double(text).ok_or_else(|| Error::argument(format!("{what} is a number, not '{text}'")))
}

fn whole(what: &str, text: &str) -> Result<usize> {
    text.parse()
        .map_err(|_| Error::argument(format!("{what} is a whole number, not '{text}'")))
}
