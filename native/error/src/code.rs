//! Stable codes of errors and warnings: declared once, each with a page in `docs/errors`.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::ErrorKind;

macro_rules! codes {
    ($($(#[$meta:meta])* $name:ident = $number:literal, $title:literal;)*) => {
        /// What is wrong, as a code that stays the same from version to version.
        ///
        /// Codes that begin with `E` are of errors, those with `W` of warnings. The first two digits are the
        /// area; a code that ends in `00` is that of all errors of a kind which have no code of their own.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Code {
            $(#[doc = $title] $(#[$meta])* $name,)*
        }

        impl Code {
            /// All of them, in order.
            pub const ALL: &'static [Code] = &[$(Code::$name),*];

            /// `E0201`.
            pub fn number(self) -> &'static str {
                match self { $(Code::$name => $number),* }
            }

            /// What is wrong, in a few words.
            pub fn title(self) -> &'static str {
                match self { $(Code::$name => $title),* }
            }

            /// The page that explains it, as Markdown.
            pub fn page(self) -> &'static str {
                match self {
                    $(Code::$name => include_str!(concat!("../../../docs/errors/", $number, ".md"))),*
                }
            }
        }
    };
}

codes! {
    Syntax = "E0100", "the script does not parse";
    UnexpectedToken = "E0101", "something else was expected here";
    NeverClosed = "E0102", "a string, comment or block is never closed";
    BadName = "E0103", "a name that cannot be one";
    UnexpectedCharacter = "E0104", "a character that no script has";
    BadLiteral = "E0105", "a number or string that cannot be read";
    NestedTooDeeply = "E0106", "more levels inside one another than the limit";
    Misplaced = "E0107", "something stands where it may not";
    UnknownType = "E0108", "a type that does not exist";

    UndefinedVariable = "E0201", "a variable is not defined";
    UnknownFunction = "E0202", "a function does not exist";
    DefinedTwice = "E0203", "a name is defined twice";
    ConstantAssigned = "E0204", "a constant is assigned";
    ResultNotAssigned = "E0205", "a function never assigns its result";
    OutputNotAssigned = "E0206", "the script never assigns an output";
    TypeDependsOnPath = "E0207", "a variable has different types on different paths";

    Validation = "E0300", "the script means nothing";
    WrongArgumentCount = "E0301", "too many arguments";
    MissingArgument = "E0302", "an argument is missing";
    UnknownParameter = "E0303", "a parameter does not exist";
    ArgumentTwice = "E0304", "an argument is given twice";
    ArgumentOrder = "E0305", "an argument needs a name";
    ArgumentType = "E0306", "an argument has the wrong type";
    OperandType = "E0307", "an operand has the wrong type";
    ConditionType = "E0308", "a condition is neither a boolean nor a number";
    ResultCount = "E0309", "the number of results differs";
    ResultUnused = "E0310", "a result is not assigned";
    ConstantNeeded = "E0311", "an argument has to be a constant";
    UnknownChoice = "E0312", "an argument is none of the choices";
    IndexType = "E0313", "an index or an indexed value has the wrong type";
    ResultType = "E0314", "a result does not have its declared type";
    ElementType = "E0315", "the type of a list's element is not known";
    ParforDependency = "E0320", "iterations of a parfor may depend on each other";
    ParforOption = "E0321", "an option of a parfor is wrong";
    LoopIncrement = "E0322", "the increment of a loop is zero";

    Dimension = "E0400", "sizes do not fit";
    ShapesDiffer = "E0401", "the shapes of operands do not fit";
    IndexOutOfRange = "E0402", "an index is out of range";
    EmptyRange = "E0403", "a range of an index is empty";
    NotOneCell = "E0404", "a scalar is taken from a matrix of several cells";
    NoSuchElement = "E0405", "a list has no such element";

    Argument = "E0500", "an argument has an impossible value";
    MissingScriptArgument = "E0501", "a $-argument is not given";
    Configuration = "E0502", "a configuration entry is wrong";

    Io = "E0600", "a file cannot be read or written";
    FileNotFound = "E0601", "a file does not exist";

    Data = "E0700", "data cannot be understood";
    BadCell = "E0701", "a cell of a file is not a number";

    Plan = "E0800", "a DAG of operators is inconsistent";
    Unsupported = "E0900", "legal, but not supported yet";
    UnsupportedFunction = "E0901", "a function is not supported yet";
    Memory = "E1000", "there is not enough memory";
    Runtime = "E1100", "a computation is impossible";
    NoValue = "E1101", "a variable has no value on this path";
    Stopped = "E1200", "the script called stop()";
    Interrupted = "E1300", "the run was asked to stop";
    Backend = "E1400", "the backend failed";
    Internal = "E1500", "a bug in Fulgurite";

    UnusedVariable = "W0101", "a variable is never read";
    UnusedFunction = "W0102", "a function is never called";
    Unreachable = "W0103", "statements are never reached";
    NanComparison = "W0104", "a comparison with NaN";
}

impl Code {
    /// The code of errors of a kind that have none of their own.
    pub fn of_kind(kind: ErrorKind) -> Code {
        match kind {
            ErrorKind::Syntax => Code::Syntax,
            ErrorKind::Validation => Code::Validation,
            ErrorKind::Dimension => Code::Dimension,
            ErrorKind::Argument => Code::Argument,
            ErrorKind::Io => Code::Io,
            ErrorKind::Data => Code::Data,
            ErrorKind::Plan => Code::Plan,
            ErrorKind::Unsupported => Code::Unsupported,
            ErrorKind::Memory => Code::Memory,
            ErrorKind::Runtime => Code::Runtime,
            ErrorKind::Stopped => Code::Stopped,
            ErrorKind::Interrupted => Code::Interrupted,
            ErrorKind::Backend => Code::Backend,
            ErrorKind::Internal => Code::Internal,
        }
    }

    pub fn is_warning(self) -> bool {
        self.number().starts_with('W')
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.number())
    }
}

/// There is no code of this number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoSuchCode;

impl FromStr for Code {
    type Err = NoSuchCode;

    fn from_str(text: &str) -> Result<Code, NoSuchCode> {
        let mut codes = Code::ALL.iter().copied();
        codes
            .find(|code| code.number().eq_ignore_ascii_case(text))
            .ok_or(NoSuchCode)
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.number())
    }
}

/// The code that JSON names; none for one of another version.
pub(crate) fn known<'de, D: Deserializer<'de>>(text: D) -> Result<Option<Code>, D::Error> {
    let text = Option::<String>::deserialize(text)?;
    Ok(text.and_then(|text| text.parse().ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_in_order() {
        let numbers: Vec<&str> = Code::ALL.iter().map(|code| code.number()).collect();
        assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]));
        for code in Code::ALL {
            assert_eq!(code.number().parse(), Ok(*code));
        }
        assert_eq!("e0201".parse(), Ok(Code::UndefinedVariable));
        assert_eq!("E9999".parse::<Code>(), Err(NoSuchCode));
    }

    #[test]
    fn each_page_has_the_title_of_its_code() {
        for code in Code::ALL {
            let title = format!("# {code}: {}\n", code.title());
            assert!(code.page().starts_with(&title), "{code}.md");
        }
    }
}
