//! From tokens to the syntax tree, by recursive descent; operators by precedence climbing.
//!
//! Statements need no separator, so a parser must see where one ends by itself: an expression goes on as
//! long as the tokens allow, except that `[a, b] = f()` after an expression starts a statement.

mod declaration;
mod expression;
mod recovery;
mod statement;

use std::sync::Arc;

use fulgurite_error::{Code, Error, Position, Result, Source};

use super::{
    ast::Script,
    habits, on_enough_stack,
    token::{Token, TokenKind},
};

/// How deeply blocks, parentheses and calls may nest.
const MAX_NESTING: u32 = 250;

/// How many errors of a script are looked for.
const MOST_ERRORS_FOUND: usize = 100;

pub(super) struct Parser {
    tokens: Vec<Token>,
    next: usize,
    end: Token,
    nesting: u32,
    /// Height of the expression parsed last.
    height: u32,
    /// What was wrong so far.
    errors: Vec<Error>,
    /// How many errors are looked for.
    most_errors: usize,
}

impl Parser {
    pub(super) fn new(source: &Arc<Source>, tokens: Vec<Token>) -> Self {
        // The lexer always ends with an End token; an empty list would parse as an empty script.
        let end = tokens.last().cloned().unwrap_or_else(|| Token {
            kind: TokenKind::End,
            position: Position::new(source, 1, 1, 1),
        });
        Parser {
            tokens,
            next: 0,
            end,
            nesting: 0,
            height: 0,
            errors: Vec::new(),
            most_errors: MOST_ERRORS_FOUND,
        }
    }

    pub(super) fn script(mut self) -> Result<Script> {
        let mut script = Script::default();
        let mut folder = None;
        while self.token().kind != TokenKind::End {
            self.recovering(|parser| parser.top_level(&mut script, &mut folder))?;
        }
        match Error::all(self.errors) {
            Some(error) => Err(error),
            None => Ok(script),
        }
    }

    fn token(&self) -> &Token {
        self.ahead(0)
    }

    fn ahead(&self, distance: usize) -> &Token {
        self.tokens.get(self.next + distance).unwrap_or(&self.end)
    }

    fn advance(&mut self) -> Token {
        let token = self.token().clone();
        self.next += 1;
        token
    }

    fn at_symbol(&self, symbol: &str) -> bool {
        self.is_symbol(0, symbol)
    }

    fn is_symbol(&self, distance: usize, symbol: &str) -> bool {
        matches!(self.ahead(distance).kind, TokenKind::Symbol(found) if found == symbol)
    }

    fn is_assignment(&self, distance: usize) -> bool {
        self.is_symbol(distance, "=") || self.is_symbol(distance, "<-")
    }

    fn at_keyword(&self, keyword: &str) -> bool {
        matches!(self.token().kind, TokenKind::Keyword(found) if found == keyword)
    }

    fn take_symbol(&mut self, symbol: &str) -> Option<Position> {
        self.at_symbol(symbol).then(|| self.advance().position)
    }

    fn take_keyword(&mut self, keyword: &str) -> Option<Position> {
        self.at_keyword(keyword).then(|| self.advance().position)
    }

    /// `symbol` must come next; `purpose` says what for.
    fn expect_symbol(&mut self, symbol: &str, purpose: &str) -> Result<Position> {
        self.take_symbol(symbol)
            .ok_or_else(|| self.unexpected(&format!("'{symbol}' {purpose}")))
    }

    fn expect_keyword(&mut self, keyword: &str, purpose: &str) -> Result<Position> {
        self.take_keyword(keyword)
            .ok_or_else(|| self.unexpected(&format!("'{keyword}' {purpose}")))
    }

    /// A name without namespace.
    fn expect_name(&mut self, purpose: &str) -> Result<(String, Position)> {
        match &self.token().kind {
            TokenKind::Name {
                namespace: None,
                name,
            } => {
                let name = name.clone();
                Ok((name, self.advance().position))
            }
            TokenKind::Keyword(keyword) => Err(self
                .unexpected(purpose)
                .with_help(format!("'{keyword}' is a keyword; choose another name"))),
            _ => Err(self.unexpected(purpose)),
        }
    }

    fn expect_string(&mut self, purpose: &str) -> Result<String> {
        match &self.token().kind {
            TokenKind::String(text) => {
                let text = text.clone();
                self.advance();
                Ok(text)
            }
            _ => Err(self.unexpected(purpose)),
        }
    }

    fn unexpected(&self, expected: &str) -> Error {
        let token = self.token();
        if let TokenKind::Wrong(error) = &token.kind {
            return error.clone();
        }
        let error = Error::syntax(format!("expected {expected}, found {}", token.kind))
            .with_code(Code::UnexpectedToken)
            .at(&token.position);
        match self.habit() {
            Some(help) => error.with_help(help),
            None => error,
        }
    }

    /// What to write for an operator of another language that stands here.
    fn habit(&self) -> Option<&'static str> {
        let before = self
            .next
            .checked_sub(1)
            .and_then(|last| self.tokens.get(last));
        let word = |token: &Token| match &token.kind {
            TokenKind::Name {
                namespace: None,
                name,
            } => habits::operator(name),
            _ => None,
        };
        let symbol = |token: &Token| match token.kind {
            TokenKind::Symbol(symbol) => symbol,
            _ => "",
        };
        let pair = (before.map_or("", symbol), symbol(self.token()));
        match pair {
            ("*", "*") => Some("write x ^ y for a power"),
            ("/", "/") => Some("write x %/% y for a whole quotient"),
            ("=", "=") => Some("compare with =="),
            (")", "{") => {
                Some("blocks follow if (...), else if (...), else, while (...) and for (...)")
            }
            (")", ":") => Some("a block stands in braces: { ... }"),
            _ => word(self.token()).or_else(|| before.and_then(word)),
        }
    }

    /// Runs a parser one level deeper.
    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.nesting >= MAX_NESTING {
            return Err(Error::syntax(format!(
                "nested more than {MAX_NESTING} levels deep, which is the limit"
            ))
            .with_code(Code::NestedTooDeeply)
            .at(&self.token().position)
            .with_help(
                "assign inner expressions to variables, or move inner blocks into functions",
            ));
        }
        self.nesting += 1;
        let result = on_enough_stack(|| parse(self));
        self.nesting -= 1;
        result
    }

    /// Whether the bracket at the current token opens the targets of `[a, b] = f()`.
    fn at_multi_assignment(&self) -> bool {
        let mut depth = 0u32;
        let mut distance = 0;
        loop {
            match self.ahead(distance).kind {
                TokenKind::Symbol("[") => depth += 1,
                TokenKind::Symbol("]") => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        return self.is_assignment(distance + 1);
                    }
                }
                // Targets hold neither blocks nor statements.
                TokenKind::Symbol("{" | "}" | ";") | TokenKind::End => return false,
                _ if depth == 0 => return false,
                _ => {}
            }
            distance += 1;
        }
    }

    /// `item, item, ...` up to the closing symbol, which is taken too.
    fn list<T>(
        &mut self,
        close: &str,
        purpose: &str,
        mut item: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut items = Vec::new();
        if self.take_symbol(close).is_some() {
            return Ok(items);
        }
        loop {
            items.push(item(self)?);
            if self.take_symbol(close).is_some() {
                return Ok(items);
            }
            if self.take_symbol(",").is_none() {
                return Err(self.unexpected(&format!("',' or '{close}' {purpose}")));
            }
        }
    }
}
