//! Two printed forms of the tree: s-expressions, which show its structure, and DML, which parses back.

use std::fmt::{self, Display, Formatter, Write};

use fulgurite_hop::{DataType, Literal, ops::precedence};

use super::ast::{
    Argument, Call, Expression, ExpressionKind, FunctionBody, FunctionDefinition, LoopRange, Range,
    Script, Statement, StatementKind, Subscripts, Target, TypedName,
};

impl Script {
    /// The whole tree as s-expressions, a statement a line.
    pub fn to_s_expression(&self) -> String {
        let mut printer = SExpressions {
            text: String::new(),
            indent: 0,
        };
        for import in &self.imports {
            let folder = import
                .folder
                .as_deref()
                .map_or(String::new(), |f| format!(" in {f:?}"));
            printer.line(format!(
                "(source {:?}{folder} as {})",
                import.path, import.namespace
            ));
        }
        for function in &self.functions {
            printer.function(function);
        }
        printer.statements(&self.body);
        printer.text
    }
}

impl Expression {
    /// The tree as one s-expression: `(+ a (* b c))`.
    pub fn to_s_expression(&self) -> String {
        let joined = |items: Vec<String>| items.join(" ");
        match &self.kind {
            ExpressionKind::Literal(value) => dml_literal(value),
            ExpressionKind::Variable(name) => name.clone(),
            ExpressionKind::Argument(name) => format!("${name}"),
            ExpressionKind::IfDef { argument, default } => {
                format!("(ifdef ${argument} {})", default.to_s_expression())
            }
            ExpressionKind::Index {
                variable,
                subscripts,
            } => indexed(variable, subscripts),
            ExpressionKind::Unary(operator, operand) => {
                format!("({} {})", operator.symbol(), operand.to_s_expression())
            }
            ExpressionKind::Binary(operator, left, right) => format!(
                "({} {} {})",
                operator.symbol(),
                left.to_s_expression(),
                right.to_s_expression()
            ),
            ExpressionKind::Call(call) => call.to_s_expression(),
            ExpressionKind::List(elements) => {
                format!(
                    "(list {})",
                    joined(elements.iter().map(Self::to_s_expression).collect())
                )
            }
        }
    }
}

impl Call {
    fn to_s_expression(&self) -> String {
        let mut text = format!("({}", self.qualified_name());
        for Argument { name, value, .. } in &self.arguments {
            text.push(' ');
            if let Some(name) = name {
                text.push_str(name);
                text.push('=');
            }
            text.push_str(&value.to_s_expression());
        }
        text + ")"
    }

    /// `name`, or `namespace::name`.
    pub fn qualified_name(&self) -> String {
        match &self.namespace {
            Some(namespace) => format!("{namespace}::{}", self.name),
            None => self.name.clone(),
        }
    }
}

fn indexed(variable: &str, subscripts: &Subscripts) -> String {
    let range = |range: &Range| match range {
        Range::All => "all".to_owned(),
        Range::Single(index) => index.to_s_expression(),
        Range::Between(from, to) => {
            format!("(: {} {})", from.to_s_expression(), to.to_s_expression())
        }
    };
    if subscripts.is_element {
        return format!("([[]] {variable} {})", range(&subscripts.rows));
    }
    format!(
        "([] {variable} {} {})",
        range(&subscripts.rows),
        range(&subscripts.cols)
    )
}

struct SExpressions {
    text: String,
    indent: usize,
}

impl SExpressions {
    fn line(&mut self, line: impl Display) {
        self.text.extend(std::iter::repeat_n("  ", self.indent));
        // Writing to a String does not fail.
        let _ = writeln!(self.text, "{line}");
    }

    fn inner(&mut self, statements: &[Statement]) {
        self.indent += 1;
        self.statements(statements);
        self.indent -= 1;
    }

    fn function(&mut self, function: &FunctionDefinition) {
        let names =
            |names: &[TypedName]| names.iter().map(typed_name).collect::<Vec<_>>().join(", ");
        let signature = format!(
            "{} ({}) -> ({})",
            function.name,
            names(&function.parameters),
            names(&function.results)
        );
        match &function.body {
            FunctionBody::Statements(body) => {
                self.line(format!("(function {signature}"));
                self.inner(body);
                self.line(")");
            }
            FunctionBody::External(options) => {
                let options: Vec<_> = options
                    .iter()
                    .map(|(name, value)| format!("{name}={}", dml_literal(value)))
                    .collect();
                self.line(format!("(external {signature} {})", options.join(" ")));
            }
        }
    }

    fn statements(&mut self, statements: &[Statement]) {
        for statement in statements {
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &Statement) {
        match &statement.kind {
            StatementKind::Assign {
                target,
                value,
                accumulate,
            } => {
                let operator = if *accumulate { "+=" } else { "=" };
                self.line(format!(
                    "({operator} {} {})",
                    target_text(target),
                    value.to_s_expression()
                ));
            }
            StatementKind::MultiAssign { targets, call, .. } => {
                let targets: Vec<_> = targets.iter().map(target_text).collect();
                self.line(format!(
                    "(= [{}] {})",
                    targets.join(" "),
                    call.to_s_expression()
                ));
            }
            StatementKind::Call(call) => self.line(call.to_s_expression()),
            StatementKind::If {
                predicate,
                then,
                otherwise,
            } => {
                self.line(format!("(if {}", predicate.to_s_expression()));
                self.inner(then);
                if !otherwise.is_empty() {
                    self.line("else");
                    self.inner(otherwise);
                }
                self.line(")");
            }
            StatementKind::While { predicate, body } => {
                self.line(format!("(while {}", predicate.to_s_expression()));
                self.inner(body);
                self.line(")");
            }
            StatementKind::For {
                variable,
                range,
                body,
                parallel,
                options,
            } => {
                let keyword = if *parallel { "parfor" } else { "for" };
                let mut head = format!("({keyword} {variable} {}", loop_range(range));
                for option in options {
                    head += &format!(" {}={}", option.name, option.value.to_s_expression());
                }
                self.line(head);
                self.inner(body);
                self.line(")");
            }
        }
    }
}

fn typed_name(typed: &TypedName) -> String {
    let mut text = match typed.data_type {
        DataType::Scalar => format!("{} {}", typed.value_type, typed.name),
        data_type => format!("{data_type} {}", typed.name),
    };
    if let Some(default) = &typed.default {
        text += &format!(" = {}", default.to_s_expression());
    }
    text
}

fn target_text(target: &Target) -> String {
    match &target.subscripts {
        Some(subscripts) => indexed(&target.variable, subscripts),
        None => target.variable.clone(),
    }
}

fn loop_range(range: &LoopRange) -> String {
    let name = if range.is_seq { "seq" } else { ":" };
    let increment = range
        .increment
        .as_ref()
        .map_or(String::new(), |i| format!(" {}", i.to_s_expression()));
    format!(
        "({name} {} {}{increment})",
        range.from.to_s_expression(),
        range.to.to_s_expression()
    )
}

/// DML with only the parentheses it needs.
impl Display for Expression {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ExpressionKind::Literal(value) => f.write_str(&dml_literal(value)),
            ExpressionKind::Variable(name) => f.write_str(name),
            ExpressionKind::Argument(name) => write!(f, "${name}"),
            ExpressionKind::IfDef { argument, default } => {
                write!(f, "ifdef(${argument}, {default})")
            }
            ExpressionKind::Index {
                variable,
                subscripts:
                    Subscripts {
                        rows,
                        is_element: true,
                        ..
                    },
            } => write!(f, "{variable}[[{rows}]]"),
            ExpressionKind::Index {
                variable,
                subscripts: Subscripts { rows, cols, .. },
            } => write!(f, "{variable}[{rows}, {cols}]"),
            ExpressionKind::Unary(operator, operand) => {
                f.write_str(operator.symbol())?;
                operand.fmt_operand(f, operator.precedence())
            }
            ExpressionKind::Binary(operator, left, right) => {
                let level = operator.precedence();
                let (left_level, right_level) = if operator.is_right_associative() {
                    (level + 1, level)
                } else {
                    (level, level + 1)
                };
                left.fmt_operand(f, left_level)?;
                write!(f, " {} ", operator.symbol())?;
                right.fmt_operand(f, right_level)
            }
            ExpressionKind::Call(call) => {
                write!(f, "{}(", call.qualified_name())?;
                for (index, argument) in call.arguments.iter().enumerate() {
                    let comma = if index > 0 { ", " } else { "" };
                    let name = argument
                        .name
                        .as_ref()
                        .map_or(String::new(), |name| format!("{name}="));
                    write!(f, "{comma}{name}{}", argument.value)?;
                }
                f.write_str(")")
            }
            ExpressionKind::List(elements) => {
                let elements: Vec<_> = elements.iter().map(Expression::to_string).collect();
                write!(f, "[{}]", elements.join(", "))
            }
        }
    }
}

impl Display for Range {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Range::All => Ok(()),
            Range::Single(index) => index.fmt(f),
            Range::Between(from, to) => write!(f, "{from}:{to}"),
        }
    }
}

impl Expression {
    fn precedence(&self) -> u8 {
        match &self.kind {
            ExpressionKind::Unary(operator, _) => operator.precedence(),
            ExpressionKind::Binary(operator, ..) => operator.precedence(),
            _ => precedence::PRIMARY,
        }
    }

    fn fmt_operand(&self, f: &mut Formatter<'_>, level: u8) -> fmt::Result {
        if self.precedence() < level {
            write!(f, "({self})")
        } else {
            write!(f, "{self}")
        }
    }
}

/// A literal as the script would write it.
pub(crate) fn dml_literal(value: &Literal) -> String {
    match value {
        Literal::Double(value) if value.is_nan() => "NaN".into(),
        Literal::Double(value) if value.is_infinite() => "Inf".into(),
        Literal::Double(_) | Literal::Int(_) | Literal::Boolean(_) => value.to_string(),
        Literal::String(text) => {
            let mut quoted = String::from('"');
            for c in text.chars() {
                match c {
                    '\u{8}' => quoted.push_str("\\b"),
                    '\t' => quoted.push_str("\\t"),
                    '\n' => quoted.push_str("\\n"),
                    '\u{c}' => quoted.push_str("\\f"),
                    '\r' => quoted.push_str("\\r"),
                    '"' | '\\' => {
                        quoted.push('\\');
                        quoted.push(c);
                    }
                    _ => quoted.push(c),
                }
            }
            quoted + "\""
        }
    }
}
