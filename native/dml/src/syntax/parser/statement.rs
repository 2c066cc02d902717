//! Statements and blocks.

use fulgurite_error::{Code, Error, Result};
use fulgurite_hop::Literal;

use super::Parser;
use crate::syntax::{
    ast::{Expression, ExpressionKind, LoopOption, LoopRange, Statement, StatementKind, Target},
    habits,
    token::TokenKind,
};

/// How often `else if` may follow one `if`.
const MAX_ELSE_IFS: usize = 1_000;

impl Parser {
    fn statement(&mut self) -> Result<Statement> {
        let token = self.token().clone();
        let statement = match token.kind {
            TokenKind::Keyword("if") => self.nested(Self::if_statement)?,
            TokenKind::Keyword("while") => self.nested(Self::while_statement)?,
            TokenKind::Keyword("for" | "parfor") => self.nested(Self::for_statement)?,
            TokenKind::Keyword(keyword @ ("source" | "setwd")) => {
                return Err(Error::syntax(format!("'{keyword}' inside a block"))
                    .with_code(Code::Misplaced)
                    .at(&token.position)
                    .with_help("move it to the top level of the script"));
            }
            TokenKind::Keyword("else") => {
                return Err(Error::syntax("'else' without 'if'")
                    .with_code(Code::Misplaced)
                    .at(&token.position)
                    .with_help("put the statements of the 'if' into braces"));
            }
            TokenKind::Symbol("[") => self.multi_assignment()?,
            TokenKind::Name { .. } if self.is_symbol(1, "(") => Statement {
                kind: StatementKind::Call(self.call()?),
                position: token.position,
            },
            TokenKind::Name { .. } => self.assignment()?,
            _ => return Err(self.unexpected("a statement")),
        };
        while self.take_symbol(";").is_some() {}
        Ok(statement)
    }

    /// A statement at the top level.
    pub(super) fn top_level_statement(&mut self) -> Result<Statement> {
        self.statement()
    }

    fn assignment(&mut self) -> Result<Statement> {
        let target = self.target()?;
        let accumulate = if self.is_assignment(0) {
            false
        } else if self.at_symbol("+=") {
            true
        } else {
            return Err(self.no_assignment(&target));
        };
        self.advance();
        if self.at_keyword("function") || self.at_keyword("externalFunction") {
            return Err(Error::syntax("a function defined inside a block")
                .with_code(Code::Misplaced)
                .at(&target.position)
                .with_help("move the definition to the top level of the script"));
        }
        let value = self.expression()?;
        if self.is_assignment(0) {
            return Err(Error::syntax("an assignment is not an expression")
                .with_code(Code::Misplaced)
                .at(&self.token().position)
                .with_help("write one assignment for each variable"));
        }
        Ok(Statement {
            position: target.position.clone(),
            kind: StatementKind::Assign {
                target,
                value,
                accumulate,
            },
        })
    }

    /// The error for a name that begins no statement: often one of another language.
    fn no_assignment(&self, target: &Target) -> Error {
        let name = &target.variable;
        let error = self.unexpected(&format!(
            "'=', '<-' or '+=' after '{name}' to make a statement of it"
        ));
        let named = target.subscripts.is_none();
        let habit = habits::statement(name).or_else(|| habits::operator(name));
        match (&self.token().kind, habit.filter(|_| named)) {
            (_, Some(help)) => error.with_help(help),
            (TokenKind::Symbol(symbol @ ("-" | "*" | "/")), None) if self.is_symbol(1, "=") => {
                error.with_help(format!(
                    "write {name} = {name} {symbol} ...: only += is there"
                ))
            }
            _ => error,
        }
    }

    fn target(&mut self) -> Result<Target> {
        let (variable, position) = self.expect_name("a variable's name")?;
        let subscripts = if self.at_symbol("[") {
            Some(Box::new(self.subscripts()?))
        } else {
            None
        };
        Ok(Target {
            variable,
            subscripts,
            position,
        })
    }

    /// `[a, b] = f(...)`.
    fn multi_assignment(&mut self) -> Result<Statement> {
        let position = self.advance().position;
        let targets = self.list("]", "in the list of results", Self::target)?;
        if !self.is_assignment(0) {
            return Err(self.unexpected("'=' after the list of results"));
        }
        self.advance();
        if !matches!(self.token().kind, TokenKind::Name { .. }) || !self.is_symbol(1, "(") {
            return Err(self.unexpected("a function call that gives the results"));
        }
        let call = self.call()?;
        Ok(Statement {
            kind: StatementKind::MultiAssign {
                targets,
                call,
                position: position.clone(),
            },
            position,
        })
    }

    /// With all its `else if`, which do not count as nested.
    fn if_statement(&mut self) -> Result<Statement> {
        let mut branches = Vec::new();
        let mut otherwise = Vec::new();
        loop {
            if branches.len() > MAX_ELSE_IFS {
                return Err(Error::syntax(format!(
                    "more than {MAX_ELSE_IFS} times 'else if' after one 'if', which is the limit"
                ))
                .with_code(Code::NestedTooDeeply)
                .at(&self.token().position)
                .with_help(
                    "look the value up in a matrix, or split the branches between functions",
                ));
            }
            let position = self.advance().position;
            let predicate = self.predicate("if")?;
            branches.push((predicate, self.block()?, position));
            if self.take_keyword("else").is_none() {
                break;
            }
            if !self.at_keyword("if") {
                otherwise = self.block()?;
                break;
            }
        }
        let mut statement = None;
        for (predicate, then, position) in branches.into_iter().rev() {
            let otherwise = match statement.take() {
                Some(inner) => vec![inner],
                None => std::mem::take(&mut otherwise),
            };
            let kind = StatementKind::If {
                predicate,
                then,
                otherwise,
            };
            statement = Some(Statement { kind, position });
        }
        statement.ok_or_else(|| Error::internal("an 'if' without a branch"))
    }

    fn while_statement(&mut self) -> Result<Statement> {
        let position = self.advance().position;
        let predicate = self.predicate("while")?;
        let body = self.block()?;
        Ok(Statement {
            kind: StatementKind::While { predicate, body },
            position,
        })
    }

    fn predicate(&mut self, keyword: &str) -> Result<Expression> {
        self.expect_symbol("(", &format!("after '{keyword}'"))?;
        let predicate = self.expression()?;
        if self.is_assignment(0) {
            return Err(Error::syntax("an assignment where a condition is expected")
                .with_code(Code::Misplaced)
                .at(&self.token().position)
                .with_help("compare with '=='"));
        }
        self.expect_symbol(")", "to close the condition")?;
        Ok(predicate)
    }

    fn for_statement(&mut self) -> Result<Statement> {
        let token = self.advance();
        let parallel = token.kind == TokenKind::Keyword("parfor");
        self.expect_symbol("(", "after the loop's keyword")?;
        let (variable, _) = self.expect_name("the loop variable's name")?;
        self.expect_keyword("in", "after the loop variable")?;
        let range = Box::new(self.loop_range()?);
        let options = if self.take_symbol(",").is_some() {
            self.list(")", "in the loop's options", Self::loop_option)?
        } else {
            self.expect_symbol(")", "to close the loop's header")?;
            Vec::new()
        };
        let body = self.block()?;
        Ok(Statement {
            kind: StatementKind::For {
                variable,
                range,
                body,
                parallel,
                options,
            },
            position: token.position,
        })
    }

    fn loop_range(&mut self) -> Result<LoopRange> {
        let first = self.expression()?;
        if self.take_symbol(":").is_some() {
            let to = self.expression()?;
            return Ok(LoopRange {
                from: first,
                to,
                increment: None,
                is_seq: false,
            });
        }
        let position = first.position.clone();
        let ExpressionKind::Call(call) = first.kind else {
            return Err(self.no_range());
        };
        if call.namespace.is_some() || call.name != "seq" {
            return Err(self.no_range());
        }
        if let Some(named) = call
            .arguments
            .iter()
            .find(|argument| argument.name.is_some())
        {
            return Err(Error::syntax("seq takes no named arguments")
                .with_code(Code::UnexpectedToken)
                .at(&named.position));
        }
        let mut values = call.arguments.into_iter().map(|argument| argument.value);
        match (values.next(), values.next(), values.next(), values.next()) {
            (Some(from), Some(to), increment, None) => Ok(LoopRange {
                from,
                to,
                increment,
                is_seq: true,
            }),
            _ => Err(Error::syntax("seq takes two or three arguments")
                .with_code(Code::UnexpectedToken)
                .at(&position)
                .with_help("write seq(from, to) or seq(from, to, increment)")),
        }
    }

    fn no_range(&self) -> Error {
        self.unexpected("':' and the loop's last value")
            .with_help("write for (i in 1:n), or for (i in seq(1, n, 2))")
    }

    fn loop_option(&mut self) -> Result<LoopOption> {
        let (name, position) = self.expect_name("a loop option")?;
        self.expect_symbol("=", "after the option's name")?;
        let mut value = self.expression()?;
        if let ExpressionKind::Variable(word) = value.kind {
            value.kind = ExpressionKind::Literal(Literal::String(word));
        }
        Ok(LoopOption {
            name,
            value,
            position,
        })
    }

    /// `{ statements }`, or one statement.
    pub(super) fn block(&mut self) -> Result<Vec<Statement>> {
        if self.at_symbol("{") {
            self.braces()
        } else {
            Ok(vec![self.nested(Self::statement)?])
        }
    }

    pub(super) fn braces(&mut self) -> Result<Vec<Statement>> {
        let open = self.expect_symbol("{", "to open the block")?;
        let mut statements = Vec::new();
        loop {
            while self.take_symbol(";").is_some() {}
            if self.take_symbol("}").is_some() {
                return Ok(statements);
            }
            if self.token().kind == TokenKind::End {
                if let Some(error) = self.cut_off() {
                    return Err(error);
                }
                return Err(Error::syntax("this '{' is never closed")
                    .with_code(Code::NeverClosed)
                    .at(&open));
            }
            statements.extend(self.recovering(Self::statement)?);
        }
    }
}
