//! The text of a function as an expression.

use std::sync::Arc;

use fulgurite_error::{Error, Result};

use super::{
    names::{Method, Static},
    value::Operator,
};

/// Parentheses, calls and operators in one another; the stack has room for more.
const DEEPEST: usize = 100;

#[derive(Debug, Clone)]
pub(super) enum Literal {
    Null,
    Boolean(bool),
    Char(u16),
    Int(i32),
    Long(i64),
    Double(f64),
    Text(Arc<str>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cast {
    Char,
    Int,
    Long,
    Double,
    Text,
}

/// An expression; those that can fail know their place, a number of bytes.
#[derive(Debug, Clone)]
pub(super) enum Node {
    Literal(Literal),
    Parameter(usize),
    Not(usize, Box<Node>),
    Minus(usize, Box<Node>),
    Cast(usize, Cast, Box<Node>),
    Binary(usize, Operator, Box<Node>, Box<Node>),
    Conditional(usize, Box<[Node; 3]>),
    Call(usize, Method, Box<Node>, Vec<Node>),
    Static(usize, Static, Vec<Node>),
    Index(usize, Box<Node>, Box<Node>),
    /// Of an array.
    Length(usize, Box<Node>),
    Array(Vec<Node>),
}

/// The number of parameters and the expression.
pub(super) fn function(text: &str) -> Result<(usize, Node)> {
    let Some((head, _)) = text.split_once("->") else {
        let name = text.split('(').next().unwrap_or_default().trim();
        return Err(Error::unsupported(format!(
            "map with '{name}', which is no function of a cell"
        ))
        .with_help("write a function as \"x -> x.length()\""));
    };
    let names: Vec<_> = head
        .trim()
        .trim_start_matches('(')
        .trim_end_matches(')')
        .split(',')
        .map(str::trim)
        .collect();
    let is_name = |name: &str| {
        name.starts_with(|first: char| first.is_alphabetic() || first == '_')
            && name
                .chars()
                .all(|letter| letter.is_alphanumeric() || letter == '_')
    };
    if names.len() > 2 || !names.iter().all(|name| is_name(name)) {
        return Err(Error::syntax(format!(
            "'{}' are no parameters of a function of one or two",
            head.trim()
        )));
    }
    let tokens = tokens(text, head.len() + 2)?;
    let mut parser = Parser {
        text,
        tokens,
        at: 0,
        depth: 0,
        parameters: &names,
    };
    let node = parser.conditional()?;
    match parser.peek() {
        None => Ok((names.len(), node)),
        Some(_) => Err(parser.expected("an operator or the end")),
    }
}

#[derive(Debug, Clone, PartialEq)]
enum Token<'a> {
    Name(&'a str),
    Int(i32),
    Long(i64),
    Double(f64),
    Text(String),
    Char(u16),
    Sign(&'static str),
}

/// Longer ones first.
const SIGNS: [&str; 33] = [
    ">>>", "->", "==", "!=", "<=", ">=", "&&", "||", "<<", ">>", "+", "-", "*", "/", "%", "<", ">",
    "!", "?", ":", "(", ")", "[", "]", "{", "}", ",", ".", "&", "|", "^", ";", "=",
];

fn place(text: &str, at: usize) -> String {
    let before = text.get(..at).unwrap_or_default();
    format!("character {}", before.chars().count() + 1)
}

fn tokens(text: &str, from: usize) -> Result<Vec<(usize, Token<'_>)>> {
    let wrong = |at: usize, what: &str| Error::syntax(format!("{}: {what}", place(text, at)));
    let mut tokens = Vec::new();
    let mut at = from;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let begin = at;
        if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        }
        let starts_number = first.is_ascii_digit()
            || (first == '.' && rest[1..].starts_with(|next: char| next.is_ascii_digit()));
        let token = if first.is_alphabetic() || first == '_' {
            let end = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
            let word = &rest[..end.unwrap_or(rest.len())];
            at += word.len();
            Token::Name(word)
        } else if starts_number {
            let (token, len) =
                number(rest).ok_or_else(|| wrong(begin, "no number that Java has"))?;
            at += len;
            token
        } else if first == '"' || first == '\'' {
            let (content, len) =
                quoted(rest, first).ok_or_else(|| wrong(begin, "a quote that does not close"))?;
            at += len;
            match first {
                '"' => Token::Text(content),
                _ => {
                    let units: Vec<u16> = content.encode_utf16().collect();
                    match units[..] {
                        [unit] => Token::Char(unit),
                        _ => return Err(wrong(begin, "a char is one letter between quotes")),
                    }
                }
            }
        } else {
            let sign = SIGNS.into_iter().find(|sign| rest.starts_with(sign));
            let sign =
                sign.ok_or_else(|| wrong(begin, &format!("'{first}' means nothing here")))?;
            at += sign.len();
            Token::Sign(sign)
        };
        tokens.push((begin, token));
    }
    Ok(tokens)
}

fn number(rest: &str) -> Option<(Token<'_>, usize)> {
    let digits = |from: usize| {
        let end = rest[from..].find(|letter: char| !letter.is_ascii_digit());
        end.map_or(rest.len(), |end| from + end)
    };
    let whole = digits(0);
    let mut end = whole;
    if rest[end..].starts_with('.')
        && !rest[end + 1..].starts_with(|next: char| next.is_alphabetic())
    {
        end = digits(end + 1);
    }
    if rest[end..].starts_with(['e', 'E']) {
        let sign = usize::from(rest[end + 1..].starts_with(['+', '-']));
        let exponent = digits(end + 1 + sign);
        if exponent == end + 1 + sign {
            return None;
        }
        end = exponent;
    }
    let text = &rest[..end];
    let suffix = rest[end..]
        .chars()
        .next()
        .filter(|next| next.is_alphanumeric());
    match suffix {
        Some('l' | 'L') if end == whole => Some((Token::Long(text.parse().ok()?), end + 1)),
        Some('d' | 'D') => Some((Token::Double(text.parse().ok()?), end + 1)),
        Some(_) => None,
        None if end == whole => Some((Token::Int(text.parse().ok()?), end)),
        None => Some((Token::Double(text.parse().ok()?), end)),
    }
}

/// The content of a literal with its escapes replaced, and its length with quotes.
fn quoted(rest: &str, quote: char) -> Option<(String, usize)> {
    let mut content = String::new();
    let mut letters = rest.char_indices().skip(1);
    while let Some((at, letter)) = letters.next() {
        if letter == quote {
            return Some((content, at + 1));
        }
        if letter != '\\' {
            content.push(letter);
            continue;
        }
        let escaped = match letters.next()?.1 {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'b' => '\u{8}',
            'f' => '\u{c}',
            '0' => '\0',
            'u' => {
                let mut code = 0;
                for _ in 0..4 {
                    code = code * 16 + letters.next()?.1.to_digit(16)?;
                }
                char::from_u32(code)?
            }
            same @ ('"' | '\'' | '\\') => same,
            // The compiler of Java refuses other escapes; in scripts they are those of patterns.
            other => {
                content.push('\\');
                other
            }
        };
        content.push(escaped);
    }
    None
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<(usize, Token<'a>)>,
    at: usize,
    depth: usize,
    parameters: &'a [&'a str],
}

/// Operators by how tightly they bind, loosest first.
const LEVELS: [&[(&str, Operator)]; 10] = [
    &[("||", Operator::Or)],
    &[("&&", Operator::And)],
    &[("|", Operator::BitOr)],
    &[("^", Operator::BitXor)],
    &[("&", Operator::BitAnd)],
    &[("==", Operator::Equal), ("!=", Operator::NotEqual)],
    &[
        ("<=", Operator::LessEqual),
        (">=", Operator::GreaterEqual),
        ("<", Operator::Less),
        (">", Operator::Greater),
    ],
    &[("<<", Operator::ShiftLeft), (">>", Operator::ShiftRight)],
    &[("+", Operator::Add), ("-", Operator::Subtract)],
    &[
        ("*", Operator::Multiply),
        ("/", Operator::Divide),
        ("%", Operator::Remainder),
    ],
];

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<&Token<'a>> {
        self.tokens.get(self.at).map(|(_, token)| token)
    }

    fn place(&self) -> usize {
        self.tokens
            .get(self.at)
            .map_or(self.text.len(), |(at, _)| *at)
    }

    fn takes(&mut self, sign: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Sign(found)) if *found == sign);
        self.at += usize::from(found);
        found
    }

    fn needs(&mut self, sign: &str) -> Result<()> {
        match self.takes(sign) {
            true => Ok(()),
            false => Err(self.expected(&format!("'{sign}'"))),
        }
    }

    fn expected(&self, what: &str) -> Error {
        Error::syntax(format!(
            "{}: {what} is expected",
            place(self.text, self.place())
        ))
    }

    fn unsupported(&self, at: usize, what: &str) -> Error {
        Error::unsupported(format!("{}: {what}", place(self.text, at)))
    }

    /// `c ? a : b`, and all that binds tighter.
    fn conditional(&mut self) -> Result<Node> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.unsupported(
                self.place(),
                "more than 100 levels of parentheses and calls",
            ));
        }
        let at = self.place();
        let condition = self.binary(0)?;
        let node = match self.takes("?") {
            false => condition,
            true => {
                let yes = self.conditional()?;
                self.needs(":")?;
                let no = self.conditional()?;
                Node::Conditional(at, Box::new([condition, yes, no]))
            }
        };
        self.depth -= 1;
        Ok(node)
    }

    fn binary(&mut self, level: usize) -> Result<Node> {
        let Some(operators) = LEVELS.get(level) else {
            return self.unary();
        };
        let mut left = self.binary(level + 1)?;
        let mut operands = 0;
        loop {
            let at = self.place();
            let found = operators.iter().find(|(sign, _)| self.takes(sign));
            let Some((_, op)) = found else {
                return Ok(left);
            };
            operands += 1;
            // They nest to the left when they are run.
            if operands > DEEPEST * 10 {
                return Err(self.unsupported(at, "more than 1000 operators in a row"));
            }
            let right = self.binary(level + 1)?;
            left = Node::Binary(at, *op, Box::new(left), Box::new(right));
        }
    }

    fn unary(&mut self) -> Result<Node> {
        let at = self.place();
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.unsupported(at, "more than 100 levels of parentheses and calls"));
        }
        let node = if self.takes("!") {
            Node::Not(at, Box::new(self.unary()?))
        } else if self.takes("-") {
            Node::Minus(at, Box::new(self.unary()?))
        } else if self.takes("+") {
            self.unary()?
        } else if let Some(cast) = self.cast() {
            Node::Cast(at, cast, Box::new(self.unary()?))
        } else {
            self.postfix()?
        };
        self.depth -= 1;
        Ok(node)
    }

    fn cast(&mut self) -> Option<Cast> {
        let next = self.tokens.get(self.at..self.at + 3)?;
        let [
            (_, Token::Sign("(")),
            (_, Token::Name(name)),
            (_, Token::Sign(")")),
        ] = next
        else {
            return None;
        };
        let cast = match *name {
            "char" => Cast::Char,
            "int" | "Integer" => Cast::Int,
            "long" | "Long" => Cast::Long,
            "double" | "Double" => Cast::Double,
            "String" => Cast::Text,
            _ => return None,
        };
        self.at += 3;
        Some(cast)
    }

    fn postfix(&mut self) -> Result<Node> {
        let mut node = self.primary()?;
        let mut links = 0;
        loop {
            links += 1;
            if links > DEEPEST * 10 {
                return Err(self.unsupported(self.place(), "more than 1000 calls in a row"));
            }
            let at = self.place();
            if self.takes("[") {
                let index = self.conditional()?;
                self.needs("]")?;
                node = Node::Index(at, Box::new(node), Box::new(index));
            } else if self.takes(".") {
                let at = self.place();
                let name = self.name()?;
                if !self.takes("(") {
                    match name {
                        "length" => node = Node::Length(at, Box::new(node)),
                        _ => return Err(self.unsupported(at, &format!("the field '{name}'"))),
                    }
                    continue;
                }
                let method = Method::find(name)
                    .ok_or_else(|| self.unsupported(at, &format!("the method '{name}'")))?;
                let arguments = self.arguments(")")?;
                self.check_count(at, method.name(), &method.takes(), arguments.len())?;
                node = Node::Call(at, method, Box::new(node), arguments);
            } else {
                return Ok(node);
            }
        }
    }

    fn check_count(
        &self,
        at: usize,
        name: &str,
        takes: &std::ops::RangeInclusive<usize>,
        arguments: usize,
    ) -> Result<()> {
        match takes.contains(&arguments) {
            true => Ok(()),
            false => Err(self.unsupported(at, &format!("'{name}' with {arguments} arguments"))),
        }
    }

    fn name(&mut self) -> Result<&'a str> {
        match self.peek() {
            Some(Token::Name(name)) => {
                let name = *name;
                self.at += 1;
                Ok(name)
            }
            _ => Err(self.expected("a name")),
        }
    }

    fn arguments(&mut self, close: &str) -> Result<Vec<Node>> {
        let mut arguments = Vec::new();
        if self.takes(close) {
            return Ok(arguments);
        }
        loop {
            arguments.push(self.conditional()?);
            if self.takes(close) {
                return Ok(arguments);
            }
            self.needs(",")?;
        }
    }

    fn primary(&mut self) -> Result<Node> {
        if self.takes("(") {
            let node = self.conditional()?;
            self.needs(")")?;
            return Ok(node);
        }
        let literal = match self.peek() {
            Some(Token::Int(value)) => Literal::Int(*value),
            Some(Token::Long(value)) => Literal::Long(*value),
            Some(Token::Double(value)) => Literal::Double(*value),
            Some(Token::Char(unit)) => Literal::Char(*unit),
            Some(Token::Text(text)) => Literal::Text(text.as_str().into()),
            Some(Token::Name("true")) => Literal::Boolean(true),
            Some(Token::Name("false")) => Literal::Boolean(false),
            Some(Token::Name("null")) => Literal::Null,
            Some(Token::Name("new")) => return self.array(),
            Some(Token::Name(_)) => return self.named(),
            _ => return Err(self.expected("a value")),
        };
        self.at += 1;
        Ok(Node::Literal(literal))
    }

    /// `new String[]{a, b}`
    fn array(&mut self) -> Result<Node> {
        let at = self.place();
        self.at += 1;
        let name = self.name()?;
        if name != "String" {
            return Err(self.unsupported(at, &format!("a new {name}")));
        }
        for sign in ["[", "]", "{"] {
            self.needs(sign)?;
        }
        Ok(Node::Array(self.arguments("}")?))
    }

    /// A parameter, a static function or a constant.
    fn named(&mut self) -> Result<Node> {
        let at = self.place();
        let name = self.name()?;
        if let Some(parameter) = self.parameters.iter().position(|known| *known == name) {
            return Ok(Node::Parameter(parameter));
        }
        if !self.takes(".") {
            return Err(self.unsupported(at, &format!("the name '{name}'")));
        }
        let path = format!("{name}.{}", self.name()?);
        let constant = match path.as_str() {
            "Integer.MAX_VALUE" => Some(Literal::Int(i32::MAX)),
            "Integer.MIN_VALUE" => Some(Literal::Int(i32::MIN)),
            "Long.MAX_VALUE" => Some(Literal::Long(i64::MAX)),
            "Long.MIN_VALUE" => Some(Literal::Long(i64::MIN)),
            "Double.MAX_VALUE" => Some(Literal::Double(f64::MAX)),
            "Double.NaN" => Some(Literal::Double(f64::NAN)),
            "Math.PI" => Some(Literal::Double(std::f64::consts::PI)),
            "Math.E" => Some(Literal::Double(std::f64::consts::E)),
            _ => None,
        };
        if let Some(constant) = constant {
            return Ok(Node::Literal(constant));
        }
        let function =
            Static::find(&path).ok_or_else(|| self.unsupported(at, &format!("'{path}'")))?;
        self.needs("(")?;
        let arguments = self.arguments(")")?;
        self.check_count(at, &path, &function.takes(), arguments.len())?;
        Ok(Node::Static(at, function, arguments))
    }
}

/// A message with the place in the text of the function.
pub(super) fn at(text: &str, at: usize, error: Error) -> Error {
    let placed = Error::new(
        error.kind(),
        format!("{}: {}", place(text, at), error.message()),
    );
    match error.help() {
        Some(help) => placed.with_help(help),
        None => placed,
    }
}
