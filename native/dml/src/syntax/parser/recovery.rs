//! After an error: notes it, and finds where the next statement begins.

use fulgurite_error::{Error, ErrorKind, Result};

use super::Parser;
use crate::syntax::token::{Token, TokenKind};

impl Parser {
    /// Parses a statement. After an error in it, the parser stands where the next one begins.
    ///
    /// # Errors
    /// `memory`: what no other statement would be spared.
    pub(super) fn recovering<T>(
        &mut self,
        parse: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<Option<T>> {
        let start = self.next;
        match parse(self) {
            Ok(parsed) => Ok(Some(parsed)),
            Err(error) => {
                self.note(error)?;
                self.skip_statement(start)?;
                Ok(None)
            }
        }
    }

    fn note(&mut self, error: Error) -> Result<()> {
        if error.kind() != ErrorKind::Syntax {
            return Err(error);
        }
        self.errors.push(error);
        if self.errors.len() >= self.most_errors {
            self.next = self.tokens.len();
        }
        Ok(())
    }

    /// The error that keeps the parser from seeing the rest of the script: what is missing there says nothing.
    pub(super) fn cut_off(&self) -> Option<Error> {
        if self.errors.len() >= self.most_errors {
            return self.errors.last().cloned();
        }
        match self.tokens.iter().nth_back(1).map(|token| &token.kind) {
            Some(TokenKind::Wrong(error)) => Some(error.clone()),
            _ => None,
        }
    }

    /// Skips the rest of a statement that began at the token `start`. Blocks in it are parsed, for the errors in them.
    fn skip_statement(&mut self, start: usize) -> Result<()> {
        let mut open = self.open_brackets(start);
        let first = self.tokens.get(start).unwrap_or(&self.end);
        let column = first.position.column;
        // The token that nothing can begin with would be met again.
        if self.next == start && !self.at_symbol("{") && !self.at_symbol(";") {
            self.next += 1;
        }
        loop {
            let is_new_line = self.is_first_on_line();
            match self.token().kind {
                TokenKind::End => return Ok(()),
                TokenKind::Symbol(";") => {
                    self.next += 1;
                    return Ok(());
                }
                // It closes the block around the statement, if there is one.
                TokenKind::Symbol("}") => return Ok(()),
                TokenKind::Symbol("{") => {
                    self.skip_block()?;
                    if self.take_keyword("else").is_none() {
                        return Ok(());
                    }
                    open = 0;
                    continue;
                }
                TokenKind::Symbol("(" | "[") => open += 1,
                TokenKind::Symbol(")" | "]") => open = open.saturating_sub(1),
                _ => {}
            }
            // Lines within brackets are indented; where they are not, a bracket was not closed.
            let is_outside = open == 0 || self.token().position.column <= column;
            if is_new_line && is_outside && self.begins_statement() {
                return Ok(());
            }
            self.next += 1;
        }
    }

    /// The block that the current token opens. Where it is nested too deeply, what is in it is not looked at.
    fn skip_block(&mut self) -> Result<()> {
        let start = self.next;
        match self.nested(Self::braces) {
            Ok(_) => Ok(()),
            Err(error) => {
                self.note(error)?;
                if self.next == start {
                    self.next += 1;
                }
                Ok(())
            }
        }
    }

    /// How many brackets are open between two tokens.
    fn open_brackets(&self, start: usize) -> u32 {
        let seen = self.tokens.get(start..self.next).unwrap_or_default();
        seen.iter().fold(0, |open: u32, token| match token.kind {
            TokenKind::Symbol("(" | "[") => open + 1,
            TokenKind::Symbol(")" | "]") => open.saturating_sub(1),
            _ => open,
        })
    }

    fn is_first_on_line(&self) -> bool {
        let before = self.next.checked_sub(1);
        let before = before.and_then(|before| self.tokens.get(before));
        before.is_none_or(|before| before.position.line < self.token().position.line)
    }

    fn begins_statement(&self) -> bool {
        let begins = |token: &Token| match token.kind {
            TokenKind::Name { .. } | TokenKind::Symbol("[") => true,
            TokenKind::Keyword(word) => {
                matches!(word, "if" | "while" | "for" | "parfor" | "source" | "setwd")
            }
            _ => false,
        };
        begins(self.token())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use fulgurite_error::{Code, Source};
    use proptest::prelude::*;

    use super::*;
    use crate::syntax::{lexer, parse};

    const SCRIPT: &str = "\
source(\"lib.dml\") as lib
f = function(matrix[double] X, double a = 2) return (double s, int n) {
  s = sum(X * a) # a comment
  if (s > 1e3 & a != 0) {
    n = nrow(X)
  } else if (a < 0) n = 1 else {
    stop(\"no \\\"n\\\"\")
  }
}
X = rand(rows=10, cols=$cols,
         min=-1)
[s, n] = f(X, 0.5)
parfor (i in 1:n, check=0) {
  X[i, ] = X[i, ] / lib::g(s) - ifdef($shift, 0)
}
while (s > 1) { s = s / 2; s += 0.1 }
print(\"s: \" + toString(X[1:3, 2]))
";

    /// What a parser says that ends at the first error.
    fn first_error(source: &Arc<Source>) -> Option<Error> {
        let mut parser = Parser::new(source, lexer::tokenize(source));
        parser.most_errors = 1;
        parser.script().err()
    }

    fn place(error: &Error) -> Option<(u32, u32)> {
        let position = error.position()?;
        Some((position.line, position.column))
    }

    /// The script with some stretches taken out, doubled or replaced by what scripts consist of.
    fn mutilated() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            Just(String::new()),
            "[(){}\\[\\];,=+<\"'#$.@~ \n]",
            "(if|else|for|in|function|return|source|as|ifdef) ",
            "[a-z0-9.]{1,4}",
        ];
        let change = (0..SCRIPT.len(), 0usize..12, piece);
        proptest::collection::vec(change, 1..6).prop_map(|changes| {
            let mut text = SCRIPT.to_owned();
            for (at, length, piece) in changes {
                let at = at.min(text.len());
                let end = (at + length).min(text.len());
                text.replace_range(at..end, &piece);
            }
            text
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3_000))]

        /// An unclosed block is told where it begins, before what is wrong in it.
        #[test]
        fn the_first_error_is_found_whatever_follows(text in mutilated()) {
            let source = Source::new("a.dml", text);
            let all = parse(&source).err();
            let first = first_error(&source);
            prop_assert_eq!(all.is_some(), first.is_some());
            let (Some(all), Some(first)) = (all, first) else {
                return Ok(());
            };
            let all: Vec<Error> = all.each().collect();
            prop_assert!(all.contains(&first), "{first}");
            for pair in all.windows(2) {
                prop_assert!(place(&pair[0]) <= place(&pair[1]), "{} {}", pair[0], pair[1]);
            }
            let before = all.iter().take_while(|error| **error != first);
            for error in before {
                prop_assert_eq!(error.code(), Code::NeverClosed);
            }
        }
    }
}
