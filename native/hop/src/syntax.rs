//! What the parsers of the text forms share: lines, numbers, and errors that say what was expected where.
//!
//! A text form is read line by line, so that an error has the line it stands in. A parser of one line is a
//! parser of `winnow`, whose contexts ([`expected`]) become the message.

use std::{ops::Range, sync::Arc};

use fulgurite_error::{Error, Position, Result, Source};
use serde::de::DeserializeOwned;
use winnow::{
    LocatingSlice, ModalResult, Parser,
    ascii::dec_uint,
    error::{ContextError, ErrMode, StrContext, StrContextValue},
    stream::Stream,
    token::take_while,
};

/// What is left of a line.
pub type Line<'a> = LocatingSlice<&'a str>;

/// A text form that is being read.
#[derive(Debug, Clone)]
pub struct Text {
    source: Arc<Source>,
}

impl Text {
    /// `name` is what messages call the text.
    pub fn new(name: &str, text: &str) -> Self {
        Text {
            source: Source::new(name, text),
        }
    }

    /// The lines that say something, with their numbers from 1: all but blank ones and comments (`# ...`).
    pub fn lines(&self) -> impl Iterator<Item = (u32, &str)> {
        let lines = self.source.text.lines().zip(1..);
        lines
            .filter(|(line, _)| !line.trim().is_empty() && !line.trim_start().starts_with('#'))
            .map(|(line, number)| (number, line))
    }

    /// What the parser makes of a whole line.
    ///
    /// # Errors
    /// Syntax, with the place and what was expected there.
    pub fn parse<'a, O>(
        &self,
        (number, line): (u32, &'a str),
        mut parser: impl FnMut(&mut Line<'a>) -> ModalResult<O>,
    ) -> Result<O> {
        let parsed = Parser::parse(&mut parser, LocatingSlice::new(line));
        parsed.map_err(|error| {
            let expected = error.inner().context().find_map(|context| match context {
                StrContext::Expected(what) => Some(what.to_string()),
                _ => None,
            });
            let expected = expected.unwrap_or_else(|| "the end of the line".into());
            let offset = error.offset();
            self.error((number, line), offset..offset + 1, &expected)
        })
    }

    /// That something else was expected at these bytes of a line.
    pub fn error(&self, line: (u32, &str), bytes: Range<usize>, expected: &str) -> Error {
        Error::syntax(format!("expected {expected}")).at(&self.position(line, bytes))
    }

    /// Where these bytes of a line are.
    pub fn position(&self, (number, line): (u32, &str), bytes: Range<usize>) -> Position {
        let characters = |bytes: Range<usize>| {
            let text = line.get(bytes.start..bytes.end.min(line.len()));
            text.map_or(0, |text| text.chars().count()) as u32
        };
        let column = characters(0..bytes.start) + 1;
        let length = characters(bytes).max(1);
        Position::new(&self.source, number, column, length)
    }

    /// That something else was expected after the last line.
    pub fn error_at_end(&self, expected: &str) -> Error {
        let lines = self.source.text.lines().count();
        let last = self.source.text.lines().last().unwrap_or_default();
        self.error(
            (lines.max(1) as u32, last),
            last.len()..last.len(),
            expected,
        )
    }
}

/// Says what a parser expects, for the message of its error.
pub fn expected(what: &'static str) -> StrContext {
    StrContext::Expected(StrContextValue::Description(what))
}

/// Blanks, at least one.
pub fn blanks(input: &mut Line<'_>) -> ModalResult<()> {
    take_while(1.., [' ', '\t']).void().parse_next(input)
}

/// Blanks, if there are any.
pub fn optional_blanks(input: &mut Line<'_>) -> ModalResult<()> {
    take_while(0.., [' ', '\t']).void().parse_next(input)
}

/// Up to the next blank.
pub fn word<'a>(input: &mut Line<'a>) -> ModalResult<&'a str> {
    take_while(1.., |c: char| !c.is_whitespace()).parse_next(input)
}

/// A whole number from 0.
pub fn whole_number(input: &mut Line<'_>) -> ModalResult<u64> {
    dec_uint.parse_next(input)
}

/// A JSON value, which must be a text, an array or an object.
pub fn json_value<T: DeserializeOwned>(input: &mut Line<'_>) -> ModalResult<T> {
    let mut values = serde_json::Deserializer::from_str(input.peek_finish()).into_iter::<T>();
    match values.next() {
        Some(Ok(value)) => {
            let length = values.byte_offset();
            input.next_slice(length);
            Ok(value)
        }
        _ => Err(ErrMode::Backtrack(ContextError::new())),
    }
}

/// Whether a name stands without quotes: letters, digits, `_` and `.`, and no digit or dot first.
fn is_bare(name: &str) -> bool {
    name.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && name
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | '.'))
}

/// A name, quoted as in JSON where it has characters that could end it.
pub fn quoted_name(name: &str) -> String {
    match is_bare(name) {
        true => name.to_owned(),
        false => quoted(name),
    }
}

/// A text in quotes, as in JSON.
pub fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// What [`quoted_name`] writes.
pub fn name(input: &mut Line<'_>) -> ModalResult<String> {
    if input.peek_finish().starts_with('"') {
        return json_value(input);
    }
    take_while(1.., |c: char| c.is_alphanumeric() || matches!(c, '_' | '.'))
        .verify(is_bare)
        .map(str::to_owned)
        .parse_next(input)
}
