//! Where in a script something stands.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};

/// A script's name and text. Cheap to clone through [`Arc`].
#[derive(Debug, PartialEq, Eq, Hash, Default)]
pub struct Source {
    pub name: String,
    pub text: String,
}

impl Source {
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Arc<Self> {
        Arc::new(Source {
            name: name.into(),
            text: text.into(),
        })
    }

    /// Line `number` (from 1), without its line end.
    pub fn line(&self, number: u32) -> Option<&str> {
        self.text.lines().nth((number as usize).checked_sub(1)?)
    }
}

/// A stretch of one line: `line` and `column` count from 1, `length` in characters.
///
/// Serialised as `{file, line, column, length}`; what comes back has no source text, so its snippet
/// is the place alone.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "Flat", into = "Flat")]
pub struct Position {
    pub source: Arc<Source>,
    pub line: u32,
    pub column: u32,
    pub length: u32,
}

impl Position {
    pub fn new(source: &Arc<Source>, line: u32, column: u32, length: u32) -> Self {
        Position {
            source: Arc::clone(source),
            line,
            column,
            length,
        }
    }

    /// The place, the line itself and a caret under the stretch.
    pub fn snippet(&self) -> String {
        let place = format!("  --> {self}");
        let Some(text) = self.source.line(self.line) else {
            return place;
        };
        let number = self.line.to_string();
        let gutter = " ".repeat(number.len());
        // Tabs stay tabs in the caret line, so that the caret stands under its column.
        let indent: String = text
            .chars()
            .take(self.column.saturating_sub(1) as usize)
            .map(|c| if c == '\t' { '\t' } else { ' ' })
            .collect();
        let left = text
            .chars()
            .count()
            .saturating_sub(self.column as usize - 1);
        let carets = "^".repeat((self.length as usize).min(left).max(1));
        let text = crate::printable(text);
        format!("{place}\n {gutter} |\n {number} | {text}\n {gutter} | {indent}{carets}")
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.source.name, self.line, self.column)
    }
}

impl fmt::Debug for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[derive(Serialize, Deserialize)]
struct Flat {
    file: String,
    line: u32,
    column: u32,
    #[serde(default)]
    length: u32,
}

impl From<Flat> for Position {
    fn from(flat: Flat) -> Self {
        Position::new(
            &Source::new(flat.file, ""),
            flat.line.max(1),
            flat.column.max(1),
            flat.length,
        )
    }
}

impl From<Position> for Flat {
    fn from(position: Position) -> Self {
        Flat {
            file: position.source.name.clone(),
            line: position.line,
            column: position.column,
            length: position.length,
        }
    }
}

/// Sorts what is told of scripts by its places. Files stay in the order in which they were come upon.
pub fn sort_by_place<T>(items: &mut [T], position: impl Fn(&T) -> Option<&Position>) {
    let file = |item: &T| position(item).map(|position| position.source.name.clone());
    let files: Vec<Option<String>> = items.iter().map(file).collect();
    items.sort_by_key(|item| {
        let own = file(item);
        (
            files.iter().position(|known| *known == own),
            position(item).map(|position| (position.line, position.column)),
        )
    });
}
