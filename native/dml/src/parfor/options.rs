//! What a loop's header says: `parfor (i in 1:n, check=0, par=4)`.
//!
//! Only `check` changes what a loop means. `par` bounds how many iterations run at a time, and `mode` says where. The
//! others are hints of SystemML about how; their values are checked and nothing follows from them here.

use fulgurite_error::{Code, Error, Result};
use fulgurite_hop::{Literal, ParforMode};

use crate::{suggest, syntax::ast::LoopOption};

/// What an option takes.
enum Values {
    /// 0 or 1, FALSE or TRUE.
    Switch,
    /// A whole number from 1.
    Count,
    OneOf(&'static [&'static str]),
}

const OPTIONS: &[(&str, Values)] = &[
    ("check", Values::Switch),
    ("par", Values::Count),
    (
        "mode",
        Values::OneOf(&[
            "LOCAL",
            "REMOTE_MR",
            "REMOTE_MR_DP",
            "REMOTE_SPARK",
            "REMOTE_SPARK_DP",
        ]),
    ),
    (
        "taskpartitioner",
        Values::OneOf(&[
            "FIXED",
            "NAIVE",
            "STATIC",
            "FACTORING",
            "FACTORING_CMIN",
            "FACTORING_CMAX",
        ]),
    ),
    ("tasksize", Values::Count),
    (
        "datapartitioner",
        Values::OneOf(&[
            "NONE",
            "ROW_WISE",
            "ROW_BLOCK_WISE",
            "ROW_BLOCK_WISE_N",
            "COLUMN_WISE",
            "COLUMN_BLOCK_WISE",
            "COLUMN_BLOCK_WISE_N",
            "BLOCK_WISE_M_N",
        ]),
    ),
    (
        "resultmerge",
        Values::OneOf(&[
            "LOCAL_MEM",
            "LOCAL_FILE",
            "LOCAL_AUTOMATIC",
            "REMOTE_MR",
            "REMOTE_SPARK",
        ]),
    ),
    (
        "opt",
        Values::OneOf(&[
            "NONE",
            "RULEBASED",
            "CONSTRAINED",
            "HEURISTIC",
            "GREEDY",
            "FULL_DP",
        ]),
    ),
    ("profile", Values::Switch),
    (
        "log",
        Values::OneOf(&[
            "ALL", "TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL", "OFF",
        ]),
    ),
];

/// What of the options has a meaning here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LoopOptions {
    pub check: bool,
    pub degree: Option<u64>,
    pub mode: Option<ParforMode>,
}

impl LoopOptions {
    /// `value` gives an option's value, if that is known before the script runs.
    ///
    /// # Errors
    /// Validation, for a value that the option does not take; what `value` says.
    pub fn new(
        options: &[LoopOption],
        mut value: impl FnMut(&LoopOption) -> Result<Option<Literal>>,
    ) -> Result<Self> {
        check_names(options)?;
        let mut read = LoopOptions {
            check: true,
            degree: None,
            mode: None,
        };
        for option in options {
            let Some((name, values)) = OPTIONS.iter().find(|(name, _)| *name == option.name) else {
                continue;
            };
            let Some(given) = value(option)? else {
                return Err(refused(
                    option,
                    "what is known only when the script runs",
                    values,
                ));
            };
            let number = given.as_f64();
            match values {
                Values::Switch => match number {
                    Some(number) if number == 0.0 || number == 1.0 => {
                        if *name == "check" {
                            read.check = number == 1.0;
                        }
                    }
                    _ => return Err(refused(option, &format!("'{given}'"), values)),
                },
                Values::Count => match number {
                    Some(number) if number >= 1.0 && number.fract() == 0.0 => {
                        if *name == "par" {
                            read.degree = Some(number as u64);
                        }
                    }
                    _ => return Err(refused(option, &format!("'{given}'"), values)),
                },
                Values::OneOf(choices) => {
                    let given = given.to_string();
                    if !choices.contains(&given.to_uppercase().as_str()) {
                        return Err(refused(option, &format!("'{given}'"), values));
                    }
                    if *name == "mode" {
                        read.mode = Some(match given.to_uppercase().as_str() {
                            "LOCAL" => ParforMode::Local,
                            _ => ParforMode::Remote,
                        });
                    }
                }
            }
        }
        Ok(read)
    }
}

/// # Errors
/// Validation, for an option that there is not.
pub(crate) fn check_names(options: &[LoopOption]) -> Result<()> {
    let names = || OPTIONS.iter().map(|(name, _)| *name);
    for option in options {
        if !names().any(|name| name == option.name) {
            let help = suggest::did_you_mean(&option.name, names()).unwrap_or_else(|| {
                format!("the options are {}", names().collect::<Vec<_>>().join(", "))
            });
            return Err(
                Error::validation(format!("unknown loop option '{}'", option.name))
                    .with_code(Code::ParforOption)
                    .at(&option.position)
                    .with_help(help),
            );
        }
    }
    Ok(())
}

fn refused(option: &LoopOption, given: &str, values: &Values) -> Error {
    let takes = match values {
        Values::Switch => "it takes 0 or 1".to_owned(),
        Values::Count => "it takes a whole number from 1".to_owned(),
        Values::OneOf(choices) => format!("it takes one of {}", choices.join(", ")),
    };
    Error::validation(format!("the loop option '{}' is {given}", option.name))
        .with_code(Code::ParforOption)
        .at(&option.value.position)
        .with_help(takes)
}
