//! From text to tokens.

use std::sync::Arc;

use fulgurite_error::{Code, Error, Position, Result, Source};

use super::{
    habits,
    token::{DOTTED_NAMES, KEYWORDS, SYMBOLS, Token, TokenKind},
};
use crate::suggest;

/// All tokens of a script; the last one is always [`TokenKind::End`]. What is none is [`TokenKind::Wrong`].
pub(super) fn tokenize(source: &Arc<Source>) -> Vec<Token> {
    let mut lexer = Lexer {
        source,
        rest: &source.text,
        line: 1,
        column: 1,
    };
    let mut tokens = Vec::new();
    loop {
        let left = lexer.rest.len();
        let token = lexer.next_token().unwrap_or_else(|error| {
            if lexer.rest.len() == left {
                lexer.advance();
            }
            lexer.wrong(error)
        });
        let at_end = token.kind == TokenKind::End;
        tokens.push(token);
        if at_end {
            return tokens;
        }
    }
}

struct Lexer<'a> {
    source: &'a Arc<Source>,
    rest: &'a str,
    line: u32,
    column: u32,
}

impl<'a> Lexer<'a> {
    fn next_token(&mut self) -> Result<Token> {
        self.skip_blanks_and_comments()?;
        let (line, column) = (self.line, self.column);
        let kind = match self.peek() {
            None => TokenKind::End,
            Some('"' | '\'') => self.string()?,
            Some('$') => self.argument()?,
            Some(c) if c.is_ascii_digit() => self.number()?,
            Some('.') if self.peek_second().is_some_and(|c| c.is_ascii_digit()) => self.number()?,
            Some(c) if c.is_ascii_alphabetic() => self.name()?,
            Some(c) => self.symbol(c)?,
        };
        // A string may run over several lines; a position stays on its first.
        let length = if self.line == line {
            self.column - column
        } else {
            let on_line = self
                .source
                .line(line)
                .map_or(0, |text| text.chars().count());
            (on_line as u32 + 1).saturating_sub(column)
        };
        let position = Position::new(self.source, line, column, length.max(1));
        Ok(Token { kind, position })
    }

    /// What stands in the place of a token that is none.
    fn wrong(&self, error: Error) -> Token {
        let position = error.position().cloned();
        Token {
            position: position.unwrap_or_else(|| self.here(1)),
            kind: TokenKind::Wrong(error),
        }
    }

    fn skip_blanks_and_comments(&mut self) -> Result<()> {
        while let Some(c) = self.peek() {
            if c.is_whitespace() || c == '\u{feff}' {
                self.advance();
            } else if c == '.' && self.peek_second().is_none_or(char::is_whitespace) {
                // A full stop after a statement, which SystemDS drops.
                self.advance();
            } else if c == '#' {
                self.take_while(|c| c != '\n');
            } else if self.rest.starts_with("/*") {
                let start = self.here(2);
                let Some(end) = self.rest.find("*/") else {
                    self.rest = "";
                    return Err(Error::syntax("this comment is never closed")
                        .with_code(Code::NeverClosed)
                        .at(&start)
                        .with_help("end it with '*/'"));
                };
                let after = self.rest.len() - (end + 2);
                while self.rest.len() > after {
                    self.advance();
                }
            } else {
                break;
            }
        }
        Ok(())
    }

    fn string(&mut self) -> Result<TokenKind> {
        let start = self.here(1);
        let quote = self.advance();
        let mut text = String::new();
        let mut wrong = None;
        loop {
            let escape = self.here(2);
            match self.advance() {
                None => {
                    return Err(Error::syntax("this string is never closed")
                        .with_code(Code::NeverClosed)
                        .at(&start)
                        .with_help("end it with the quote it starts with"));
                }
                c if c == quote => return wrong.map_or(Ok(TokenKind::String(text)), Err),
                Some('\\') => match self.advance() {
                    Some('b') => text.push('\u{8}'),
                    Some('t') => text.push('\t'),
                    Some('n') => text.push('\n'),
                    Some('f') => text.push('\u{c}'),
                    Some('r') => text.push('\r'),
                    Some(c @ ('"' | '\'' | '\\')) => text.push(c),
                    _ => {
                        wrong.get_or_insert_with(|| {
                            Error::syntax("unknown escape in a string").with_code(Code::BadLiteral).at(&escape).with_help(
                            "the escapes are \\b \\t \\n \\f \\r \\\" \\' \\\\; write \\\\ for a backslash",
                        )
                        });
                    }
                },
                Some(c) => text.push(c),
            }
        }
    }

    fn argument(&mut self) -> Result<TokenKind> {
        let start = self.here(1);
        self.advance();
        let name = self.take_while(is_name_part);
        let is_number = name.chars().all(|c| c.is_ascii_digit());
        if name.is_empty() || (!is_number && !name.starts_with(|c: char| c.is_ascii_alphabetic())) {
            return Err(
                Error::syntax("expected an argument's name or number after '$'")
                    .with_code(Code::UnexpectedToken)
                    .at(&start),
            );
        }
        Ok(TokenKind::Argument(name.to_owned()))
    }

    fn number(&mut self) -> Result<TokenKind> {
        let (line, column) = (self.line, self.column);
        let text = self.rest;
        self.take_while(|c| c.is_ascii_digit());
        let mut is_double = false;
        if self.peek() == Some('.') {
            is_double = true;
            self.advance();
            self.take_while(|c| c.is_ascii_digit());
        }
        if matches!(self.peek(), Some('e' | 'E')) {
            let mut after = self.rest.chars().skip(1);
            let mut next = after.next();
            if matches!(next, Some('+' | '-')) {
                next = after.next();
            }
            if next.is_some_and(|c| c.is_ascii_digit()) {
                is_double = true;
                self.advance();
                self.advance();
                self.take_while(|c| c.is_ascii_digit());
            }
        }
        let digits = text.get(..text.len() - self.rest.len()).unwrap_or(text);
        // R's suffix for integers.
        if matches!(self.peek(), Some('l' | 'L')) && !is_double {
            self.advance();
        }
        let position = Position::new(self.source, line, column, self.column - column);
        if self.peek().is_some_and(is_name_part) {
            self.take_while(is_name_part);
            return Err(Error::syntax(
                "a name cannot start with a digit, nor directly follow a number",
            )
            .with_code(Code::BadName)
            .at(&position));
        }
        if is_double {
            let value = digits.parse().map_err(|_| {
                Error::syntax(format!("'{digits}' is not a number"))
                    .with_code(Code::BadLiteral)
                    .at(&position)
            })?;
            return Ok(TokenKind::Double(value));
        }
        let value = digits.parse().map_err(|_| {
            Error::syntax(format!("{digits} does not fit into a 64-bit integer"))
                .with_code(Code::BadLiteral)
                .at(&position)
                .with_help(format!("write it as a double: {digits}.0"))
        })?;
        Ok(TokenKind::Int(value))
    }

    fn name(&mut self) -> Result<TokenKind> {
        let start = (self.line, self.column);
        let first = self.dotted_name(start)?;
        let mut ahead = self
            .rest
            .strip_prefix("::")
            .into_iter()
            .flat_map(str::chars);
        if ahead.next().is_some_and(|c| c.is_ascii_alphabetic()) {
            self.advance();
            self.advance();
            let name = self.dotted_name(start)?;
            return Ok(TokenKind::Name {
                namespace: Some(first),
                name,
            });
        }
        match KEYWORDS.iter().find(|keyword| **keyword == first) {
            Some(keyword) => Ok(TokenKind::Keyword(keyword)),
            None => Ok(TokenKind::Name {
                namespace: None,
                name: first,
            }),
        }
    }

    fn dotted_name(&mut self, (line, column): (u32, u32)) -> Result<String> {
        let text = self.take_while(|c| is_name_part(c) || c == '.');
        if !text.contains('.') || DOTTED_NAMES.contains(&text) {
            return Ok(text.to_owned());
        }
        let position = Position::new(self.source, line, column, self.column - column);
        let method = self.peek() == Some('(');
        let help = match (habits::function(text), text.rsplit_once('.')) {
            (Some(help), _) => help.to_owned(),
            (_, Some((matrix, "T"))) => format!("write t({matrix}) for the transpose"),
            (_, Some((matrix, "shape"))) => {
                format!("nrow({matrix}) and ncol({matrix}) give the sizes")
            }
            (_, Some((of, name))) if method && !matches!(of, "as" | "lower" | "upper") => {
                format!(
                    "use '_' instead; values have no methods: write {name}({of}) for {of}.{name}()"
                )
            }
            _ => suggest::did_you_mean(text, DOTTED_NAMES.iter().copied())
                .unwrap_or_else(|| "use '_' instead".to_owned()),
        };
        Err(Error::syntax(format!("the name '{text}' contains a dot"))
            .with_code(Code::BadName)
            .at(&position)
            .with_help(help))
    }

    fn symbol(&mut self, first: char) -> Result<TokenKind> {
        let Some(symbol) = SYMBOLS
            .iter()
            .find(|symbol| self.rest.starts_with(**symbol))
        else {
            let error = Error::syntax(format!("unexpected character '{}'", first.escape_debug()))
                .with_code(Code::UnexpectedCharacter);
            return Err(match first {
                '_' => error.with_help("a name starts with a letter"),
                '@' => error.with_help("write A %*% B for a matrix product"),
                '~' | '?' => {
                    error.with_help("there are no formulas; write ! for not, and ifelse(c, a, b)")
                }
                '%' => error.with_help("the operators with '%' are %*%, %/% and %%"),
                _ => error,
            }
            .at(&self.here(1)));
        };
        for _ in symbol.chars() {
            self.advance();
        }
        Ok(TokenKind::Symbol(symbol))
    }

    fn here(&self, length: u32) -> Position {
        Position::new(self.source, self.line, self.column, length)
    }

    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn peek_second(&self) -> Option<char> {
        self.rest.chars().nth(1)
    }

    fn advance(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let c = chars.next()?;
        self.rest = chars.as_str();
        if c == '\n' {
            self.line += 1;
            self.column = 1;
        } else {
            self.column += 1;
        }
        Some(c)
    }

    fn take_while(&mut self, mut wanted: impl FnMut(char) -> bool) -> &'a str {
        let start = self.rest;
        while self.peek().is_some_and(&mut wanted) {
            self.advance();
        }
        start.get(..start.len() - self.rest.len()).unwrap_or(start)
    }
}

fn is_name_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}
