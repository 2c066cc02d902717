//! Expressions, by precedence climbing.

use fulgurite_error::{Code, Error, Position, Result};
use fulgurite_hop::{Literal, ops::precedence};

use super::Parser;
use crate::syntax::{
    ast::{
        Argument, BinaryOperator, Call, Expression, ExpressionKind, Range, Subscripts,
        UnaryOperator,
    },
    token::TokenKind,
};

/// How high a tree of operators may grow: `a + a + a + ...` is as high as it is long.
const MAX_HEIGHT: u32 = 1_001;

impl Parser {
    pub(super) fn expression(&mut self) -> Result<Expression> {
        self.nested(|parser| parser.operators(precedence::OR))
    }

    /// An expression of operators that bind at least as tightly as `floor`.
    fn operators(&mut self, floor: u8) -> Result<Expression> {
        let mut left = self.prefixed()?;
        let mut height = self.height;
        while let Some(operator) = self.binary_operator() {
            let level = operator.precedence();
            if level < floor {
                break;
            }
            let position = self.advance().position;
            let right = self.nested(|parser| {
                if operator.is_right_associative() {
                    parser.operators(level)
                } else {
                    parser.operators(level + 1)
                }
            })?;
            height = self.taller(height.max(self.height), &position)?;
            left = Expression {
                kind: ExpressionKind::Binary(operator, Box::new(left), Box::new(right)),
                position,
            };
        }
        self.height = height;
        Ok(left)
    }

    fn binary_operator(&self) -> Option<BinaryOperator> {
        match self.token().kind {
            TokenKind::Symbol(symbol) => BinaryOperator::from_symbol(symbol),
            _ => None,
        }
    }

    /// A prefix operator may stand wherever an operand may; what it takes follows its own precedence.
    fn prefixed(&mut self) -> Result<Expression> {
        let operator = match self.token().kind {
            TokenKind::Symbol("-") => UnaryOperator::Minus,
            TokenKind::Symbol("+") => UnaryOperator::Plus,
            TokenKind::Symbol("!") => UnaryOperator::Not,
            _ => return self.primary(),
        };
        let position = self.advance().position;
        let operand = self.nested(|parser| parser.operators(operator.precedence()))?;
        self.height = self.taller(self.height, &position)?;
        Ok(Expression {
            kind: ExpressionKind::Unary(operator, Box::new(operand)),
            position,
        })
    }

    fn primary(&mut self) -> Result<Expression> {
        self.height = 1;
        let position = self.token().position.clone();
        let kind = match self.token().kind.clone() {
            TokenKind::Int(value) => self.literal(Literal::Int(value)),
            TokenKind::Double(value) => self.literal(Literal::Double(value)),
            TokenKind::String(value) => self.literal(Literal::String(value)),
            TokenKind::Keyword("TRUE") => self.literal(Literal::Boolean(true)),
            TokenKind::Keyword("FALSE") => self.literal(Literal::Boolean(false)),
            TokenKind::Argument(name) => {
                self.advance();
                ExpressionKind::Argument(name)
            }
            TokenKind::Keyword("ifdef") => self.ifdef()?,
            TokenKind::Symbol("(") => {
                self.advance();
                let inner = self.expression()?;
                self.expect_symbol(")", "to close the parenthesis")?;
                self.refuse_subscripts("an expression in parentheses")?;
                return Ok(inner);
            }
            TokenKind::Name { namespace, name } => {
                if self.is_symbol(1, "(") {
                    let call = self.call()?;
                    self.refuse_subscripts("the result of a function")?;
                    ExpressionKind::Call(call)
                } else if let Some(namespace) = namespace {
                    return Err(Error::syntax(format!(
                        "'{namespace}::{name}' is not called; only functions live in namespaces"
                    ))
                    .with_code(Code::UnexpectedToken)
                    .at(&position)
                    .with_help("write the arguments in parentheses after it"));
                } else {
                    self.advance();
                    if self.at_symbol("[") && !self.at_multi_assignment() {
                        let subscripts = self.subscripts()?;
                        self.refuse_subscripts("an indexed variable")?;
                        ExpressionKind::Index {
                            variable: name,
                            subscripts,
                        }
                    } else {
                        ExpressionKind::Variable(name)
                    }
                }
            }
            _ => return Err(self.unexpected("an expression")),
        };
        Ok(Expression { kind, position })
    }

    fn literal(&mut self, value: Literal) -> ExpressionKind {
        self.advance();
        ExpressionKind::Literal(value)
    }

    /// `ifdef($name, default)`.
    fn ifdef(&mut self) -> Result<ExpressionKind> {
        let position = self.advance().position;
        self.expect_symbol("(", "after 'ifdef'")?;
        let argument = match self.token().kind.clone() {
            TokenKind::Argument(name) => {
                self.advance();
                name
            }
            _ => return Err(self.unexpected("a $-argument as ifdef's first parameter")),
        };
        self.expect_symbol(",", "and a default after the $-argument")?;
        let default = Box::new(self.expression()?);
        self.expect_symbol(")", "to close 'ifdef'")?;
        self.height = self.taller(self.height, &position)?;
        Ok(ExpressionKind::IfDef { argument, default })
    }

    /// `name(...)`; the current token is the name.
    pub(super) fn call(&mut self) -> Result<Call> {
        let token = self.advance();
        let TokenKind::Name { namespace, name } = token.kind else {
            return Err(Error::syntax("expected a function's name")
                .with_code(Code::UnexpectedToken)
                .at(&token.position));
        };
        self.expect_symbol("(", "to open the argument list")?;
        let mut height = 0;
        let arguments = self.list(")", "in the argument list", |parser| {
            let argument = parser.argument()?;
            height = height.max(parser.height);
            Ok(argument)
        })?;
        self.height = self.taller(height, &token.position)?;
        Ok(Call {
            namespace,
            name,
            arguments,
            position: token.position,
        })
    }

    fn argument(&mut self) -> Result<Argument> {
        let position = self.token().position.clone();
        let name = match &self.token().kind {
            TokenKind::Name {
                namespace: None,
                name,
            } if self.is_symbol(1, "=") => {
                let name = name.clone();
                self.advance();
                self.advance();
                Some(name)
            }
            _ => None,
        };
        let value = if self.at_symbol("[") {
            self.nested(Self::bracketed_list)?
        } else {
            self.expression()?
        };
        // As SystemDS reads `f(x, y;)`.
        if self.at_symbol(";") && self.is_symbol(1, ")") {
            self.advance();
        }
        Ok(Argument {
            name,
            value,
            position,
        })
    }

    /// `[a, b]`: only as an argument.
    fn bracketed_list(&mut self) -> Result<Expression> {
        let position = self.advance().position;
        let mut height = 0;
        let elements = self.list("]", "in the list", |parser| {
            let element = parser.expression()?;
            height = height.max(parser.height);
            Ok(element)
        })?;
        self.height = self.taller(height, &position)?;
        Ok(Expression {
            kind: ExpressionKind::List(elements),
            position,
        })
    }

    /// `[rows, cols]`; the current token is the bracket.
    pub(super) fn subscripts(&mut self) -> Result<Subscripts> {
        let position = self.expect_symbol("[", "to open the index")?;
        if self.take_symbol("[").is_some() {
            let place = Box::new(self.expression()?);
            self.expect_symbol("]", "to close the index of an element")?;
            self.expect_symbol("]", "to close the index of an element")?;
            self.height = self.taller(self.height, &position)?;
            return Ok(Subscripts {
                rows: Range::Single(place),
                cols: Range::All,
                is_element: true,
                position,
            });
        }
        let rows = self.range()?;
        let row_height = self.height;
        let cols = match self.take_symbol(",") {
            Some(_) => self.range()?,
            None if rows == Range::All => {
                return Err(self
                    .unexpected("an index")
                    .with_help("write X[i, j], X[i, ] or X[, j]"));
            }
            None => {
                self.height = 0;
                Range::All
            }
        };
        self.expect_symbol("]", "to close the index")?;
        self.height = self.taller(self.height.max(row_height), &position)?;
        Ok(Subscripts {
            rows,
            cols,
            is_element: false,
            position,
        })
    }

    fn range(&mut self) -> Result<Range> {
        self.height = 0;
        if self.at_symbol(",") || self.at_symbol("]") {
            return Ok(Range::All);
        }
        let first = Box::new(self.expression()?);
        let first_height = self.height;
        if self.take_symbol(":").is_none() {
            return Ok(Range::Single(first));
        }
        if self.at_symbol(",") || self.at_symbol("]") {
            return Err(self
                .unexpected("the range's last index")
                .with_help("a range needs both ends: X[2:nrow(X), ]"));
        }
        let last = Box::new(self.expression()?);
        self.height = self.height.max(first_height);
        Ok(Range::Between(first, last))
    }

    fn refuse_subscripts(&self, what: &str) -> Result<()> {
        if self.at_symbol("[") && !self.at_multi_assignment() {
            return Err(
                Error::syntax(format!("{what} cannot be indexed, only a variable can"))
                    .with_code(Code::Misplaced)
                    .at(&self.token().position)
                    .with_help("assign it to a variable first"),
            );
        }
        Ok(())
    }

    fn taller(&self, height: u32, position: &Position) -> Result<u32> {
        if height >= MAX_HEIGHT {
            return Err(Error::syntax(format!(
                "an expression of more than {} operators inside one another, which is the limit",
                MAX_HEIGHT - 1
            ))
            .with_code(Code::NestedTooDeeply)
            .at(position)
            .with_help("assign parts of it to variables"));
        }
        Ok(height + 1)
    }
}
