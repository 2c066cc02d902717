//! Java's patterns as those of the `regex` library, and its replacements.
//!
//! Classes such as `\s` and `\p{Alnum}` are of ASCII letters, as in Java. Look-around, references to groups and possessive quantifiers,
//! which take more than linear time, are refused.

use std::{cell::RefCell, rc::Rc};

use fulgurite_error::{Error, Result};
use regex::{Captures, Regex, RegexBuilder};
use rustc_hash::FxHashMap;

/// Patterns that are kept: functions have few, but a pattern may follow from data.
const KEPT: usize = 64;
/// Bytes of a compiled pattern.
const LARGEST: usize = 8 << 20;

/// Compiled patterns of a function.
#[derive(Default)]
pub(crate) struct Patterns(RefCell<FxHashMap<String, Rc<Pattern>>>);

/// A pattern that matches anywhere, and one that matches all of a text.
pub(crate) struct Pattern {
    pub(crate) anywhere: Regex,
    pub(super) whole: Regex,
}

impl Patterns {
    pub(crate) fn get(&self, java: &str) -> Result<Rc<Pattern>> {
        if let Some(known) = self.0.borrow().get(java) {
            return Ok(known.clone());
        }
        let translated = translated(java)?;
        let compiled = |text: &str| {
            let regex = RegexBuilder::new(text).size_limit(LARGEST).build();
            regex.map_err(|error| {
                let error = error.to_string();
                let reason = error.lines().last().unwrap_or_default();
                Error::unsupported(format!("the pattern '{java}': {reason}"))
            })
        };
        let pattern = Rc::new(Pattern {
            anywhere: compiled(&translated)?,
            whole: compiled(&format!("\\A(?:{translated})\\z"))?,
        });
        let mut kept = self.0.borrow_mut();
        if kept.len() >= KEPT {
            kept.clear();
        }
        kept.insert(java.to_owned(), pattern.clone());
        Ok(pattern)
    }
}

/// The POSIX name of a class that Java has for ASCII letters.
fn posix(name: &str) -> Option<&'static str> {
    Some(match name {
        "Lower" => "lower",
        "Upper" => "upper",
        "ASCII" => "ascii",
        "Alpha" => "alpha",
        "Digit" => "digit",
        "Alnum" => "alnum",
        "Punct" => "punct",
        "Graph" => "graph",
        "Print" => "print",
        "Blank" => "blank",
        "Cntrl" => "cntrl",
        "XDigit" => "xdigit",
        "Space" => "space",
        _ => return None,
    })
}

fn translated(java: &str) -> Result<String> {
    let mut pattern = String::new();
    let mut letters = java.chars().peekable();
    let mut class_depth = 0_usize;
    while let Some(letter) = letters.next() {
        match letter {
            '[' => {
                class_depth += 1;
                pattern.push('[');
            }
            ']' => {
                class_depth = class_depth.saturating_sub(1);
                pattern.push(']');
            }
            // The line ends of Java.
            '.' if class_depth == 0 => pattern.push_str(r"[^\n\r\x{85}\x{2028}\x{2029}]"),
            '\\' => match letters.next() {
                Some('d') => pattern.push_str("[0-9]"),
                Some('D') => pattern.push_str("[^0-9]"),
                Some('w') => pattern.push_str("[0-9A-Z_a-z]"),
                Some('W') => pattern.push_str("[^0-9A-Z_a-z]"),
                Some('s') => pattern.push_str(r"[\t-\r ]"),
                Some('S') => pattern.push_str(r"[^\t-\r ]"),
                Some('Z') => pattern.push_str(r"(?:\r?\n)?\z"),
                Some('Q') => {
                    let mut literal = String::new();
                    for letter in letters.by_ref() {
                        literal.push(letter);
                        if literal.ends_with("\\E") {
                            literal.truncate(literal.len() - 2);
                            break;
                        }
                    }
                    pattern.push_str(&regex::escape(&literal));
                }
                Some(kind @ ('p' | 'P')) if letters.peek() == Some(&'{') => {
                    letters.next();
                    let name: String = letters
                        .by_ref()
                        .take_while(|letter| *letter != '}')
                        .collect();
                    let sign = if kind == 'P' { "^" } else { "" };
                    match posix(&name) {
                        Some(class) => pattern.push_str(&format!("[[:{sign}{class}:]]")),
                        None => {
                            let name = name.strip_prefix("Is").unwrap_or(&name);
                            pattern.push_str(&format!("\\{kind}{{{name}}}"));
                        }
                    }
                }
                Some('u') => {
                    let code: String = letters.by_ref().take(4).collect();
                    pattern.push_str(&format!("\\x{{{code}}}"));
                }
                // Java lets any sign be escaped; the library those that mean something.
                Some(other) if !other.is_alphanumeric() => {
                    pattern.push_str(&regex::escape(&other.to_string()));
                }
                Some(other) => {
                    pattern.push('\\');
                    pattern.push(other);
                }
                None => pattern.push('\\'),
            },
            other => pattern.push(other),
        }
    }
    Ok(pattern)
}

/// The pieces of a replacement: text, and groups by number or name.
pub(super) struct Replacement(Vec<Piece>);

enum Piece {
    Text(String),
    Group(usize),
    Named(String),
}

impl Replacement {
    pub(super) fn parse(text: &str, pattern: &Regex) -> Result<Self> {
        let mut pieces = Vec::new();
        let mut literal = String::new();
        let wrong = || Error::data(format!("the replacement '{text}' has no such group"));
        let mut letters = text.chars().peekable();
        while let Some(letter) = letters.next() {
            match letter {
                '\\' => literal.extend(letters.next()),
                '$' => {
                    let piece = if letters.peek() == Some(&'{') {
                        letters.next();
                        let name: String = letters
                            .by_ref()
                            .take_while(|letter| *letter != '}')
                            .collect();
                        let known = pattern.capture_names().flatten().any(|known| known == name);
                        known.then_some(Piece::Named(name)).ok_or_else(wrong)?
                    } else {
                        let digit = letters.next().and_then(|letter| letter.to_digit(10));
                        let mut group = digit.ok_or_else(wrong)? as usize;
                        if group >= pattern.captures_len() {
                            return Err(wrong());
                        }
                        // Java takes as many digits as name a group.
                        while let Some(digit) = letters.peek().and_then(|next| next.to_digit(10)) {
                            let longer = group * 10 + digit as usize;
                            if longer >= pattern.captures_len() {
                                break;
                            }
                            group = longer;
                            letters.next();
                        }
                        Piece::Group(group)
                    };
                    pieces.push(Piece::Text(std::mem::take(&mut literal)));
                    pieces.push(piece);
                }
                other => literal.push(other),
            }
        }
        pieces.push(Piece::Text(literal));
        Ok(Replacement(pieces))
    }
}

impl regex::Replacer for &Replacement {
    fn replace_append(&mut self, captures: &Captures<'_>, to: &mut String) {
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => to.push_str(text),
                Piece::Group(group) => {
                    to.push_str(captures.get(*group).map_or("", |found| found.as_str()));
                }
                Piece::Named(name) => {
                    to.push_str(captures.name(name).map_or("", |found| found.as_str()));
                }
            }
        }
    }
}

/// The pieces of a text between matches, as `split` of Java has them: a limit of 0 drops empty ones at the end.
pub(super) fn split<'a>(text: &'a str, pattern: &Regex, limit: i32) -> Vec<&'a str> {
    let mut pieces = Vec::new();
    let mut from = 0;
    let most = usize::try_from(limit).unwrap_or(0);
    for found in pattern.find_iter(text) {
        if most > 0 && pieces.len() + 1 >= most {
            break;
        }
        // An empty match at the front makes no piece, and one at the end neither.
        if found.end() == 0 || (found.is_empty() && found.start() == text.len()) {
            continue;
        }
        pieces.push(&text[from..found.start()]);
        from = found.end();
    }
    pieces.push(&text[from..]);
    if limit == 0 && pieces.len() > 1 {
        while pieces.len() > 1 && pieces.last().is_some_and(|piece| piece.is_empty()) {
            pieces.pop();
        }
        if pieces == [""] && !text.is_empty() {
            pieces.pop();
        }
    }
    pieces
}
