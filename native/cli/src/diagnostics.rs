//! What `check` reports: errors and warnings in the order of the script, as text or JSON.

use fulgurite_error::{Code, Error, MOST_ERRORS, Note, Position, Result, Warning, sort_by_place};
use serde_json::{Value, json};

enum Diagnostic {
    Error(Error),
    Warning(Warning),
}

pub struct Diagnostics {
    /// All of them.
    errors: usize,
    warnings: usize,
    /// In the order of the script; of errors, at most [`MOST_ERRORS`].
    shown: Vec<Diagnostic>,
}

impl Diagnostics {
    pub fn new(error: Option<Error>, warnings: Vec<Warning>) -> Self {
        let errors: Vec<Error> = error.into_iter().flat_map(Error::each).collect();
        let (count, warned) = (errors.len(), warnings.len());
        let errors = errors.into_iter().take(MOST_ERRORS);
        let errors = errors.map(Diagnostic::Error);
        let mut shown: Vec<Diagnostic> = errors
            .chain(warnings.into_iter().map(Diagnostic::Warning))
            .collect();
        // Warnings are of the script itself; errors of other files stay behind.
        sort_by_place(&mut shown, Diagnostic::position);
        Diagnostics {
            errors: count,
            warnings: warned,
            shown,
        }
    }

    pub fn has_errors(&self) -> bool {
        self.errors > 0
    }

    /// Paragraphs, the last of which counts them where there are several.
    pub fn to_text(&self) -> Vec<String> {
        let mut paragraphs: Vec<String> = Vec::new();
        for (place, diagnostic) in self.shown.iter().enumerate() {
            let text = match diagnostic {
                Diagnostic::Error(error) => error.to_string(),
                Diagnostic::Warning(warning) => warning.to_string(),
            };
            paragraphs.push(match place {
                0 => text,
                _ => format!("\n{text}"),
            });
        }
        if self.errors + self.warnings > 1 {
            let counts = [(self.errors, "error"), (self.warnings, "warning")];
            let counts = counts.into_iter().filter(|(count, _)| *count > 0);
            let counts: Vec<String> = counts.map(|(count, what)| counted(count, what)).collect();
            let hidden = match self.errors.saturating_sub(MOST_ERRORS) {
                0 => String::new(),
                more => format!("; {more} of the errors are not shown"),
            };
            paragraphs.push(format!("\n{}{hidden}", counts.join(", ")));
        }
        paragraphs
    }

    /// One document.
    ///
    /// # Errors
    /// `internal`, where there are no bytes for it.
    pub fn to_json(&self) -> Result<String> {
        let diagnostics: Vec<Value> = self.shown.iter().map(Diagnostic::to_json).collect();
        let document = json!({
            "errors": self.errors,
            "warnings": self.warnings,
            "diagnostics": diagnostics,
        });
        let text = serde_json::to_string_pretty(&document);
        let text = text.map_err(|error| Error::internal(error.to_string()))?;
        Ok(text + "\n")
    }
}

impl Diagnostic {
    fn position(&self) -> Option<&Position> {
        match self {
            Diagnostic::Error(error) => error.position(),
            Diagnostic::Warning(warning) => Some(&warning.position),
        }
    }

    fn to_json(&self) -> Value {
        let (code, kind, message, operator, help, notes) = match self {
            Diagnostic::Error(error) => (
                error.code(),
                Some(error.kind().name()),
                error.message(),
                error.operator(),
                error.help(),
                error.notes(),
            ),
            Diagnostic::Warning(warning) => (
                warning.code,
                None,
                warning.message.as_str(),
                None,
                warning.help.as_deref(),
                &warning.notes[..],
            ),
        };
        let mut json = json!({
            "severity": severity(code),
            "code": code.number(),
            "kind": kind,
            "message": message,
            "operator": operator,
            "help": help,
            "notes": notes.iter().map(note).collect::<Vec<Value>>(),
        });
        place(&mut json, self.position());
        json
    }
}

fn severity(code: Code) -> &'static str {
    match code.is_warning() {
        true => "warning",
        false => "error",
    }
}

fn note(note: &Note) -> Value {
    let mut json = json!({ "message": note.message });
    place(&mut json, note.position.as_ref());
    json
}

/// `file`, `line`, `column` and `length`; null where there is no place.
fn place(json: &mut Value, position: Option<&Position>) {
    json["file"] = json!(position.map(|position| &position.source.name));
    json["line"] = json!(position.map(|position| position.line));
    json["column"] = json!(position.map(|position| position.column));
    json["length"] = json!(position.map(|position| position.length));
}

fn counted(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    }
}
