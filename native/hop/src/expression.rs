//! What a HOP computes as a DML expression, for people: shortened where it goes deep.

use crate::{
    BinaryOp, CastOp, CumulativeOp, Dag, DataGenOp, Direction, HopId, HopOp, Literal, SizeOp,
    UnaryOp,
};

/// Operators deeper than this are shown as dots.
const DEPTH: usize = 5;

impl Dag {
    /// The HOP as a DML expression; what lies deep below it as `...`.
    pub fn expression(&self, id: HopId) -> String {
        Expressions {
            dag: self,
            depth: DEPTH,
            name: None,
        }
        .text(id, 0)
    }

    /// The HOP as a DML expression, however deep it goes.
    pub fn whole_expression(&self, id: HopId) -> String {
        self.expression_down_to(id, &|_| None)
    }

    /// The HOP as a DML expression down to those that have a name, the HOP itself aside.
    pub fn expression_down_to(&self, id: HopId, name: &dyn Fn(HopId) -> Option<String>) -> String {
        Expressions {
            dag: self,
            depth: usize::MAX,
            name: Some(name),
        }
        .text(id, 0)
    }
}

struct Expressions<'a> {
    dag: &'a Dag,
    depth: usize,
    /// What stands for an operand.
    name: Option<&'a dyn Fn(HopId) -> Option<String>>,
}

impl Expressions<'_> {
    fn text(&self, id: HopId, depth: usize) -> String {
        let hop = self.dag.hop(id);
        if depth > 0
            && let Some(name) = self.name.and_then(|name| name(id))
        {
            return name;
        }
        if depth >= self.depth && !hop.inputs.is_empty() {
            return "...".into();
        }
        let input = |place: usize| self.input(id, place, depth);
        let call = |name: &str| format!("{name}({})", self.list(id, depth));
        match &hop.op {
            HopOp::Literal(Literal::String(text)) => format!("{text:?}"),
            HopOp::Literal(value) => value.to_string(),
            HopOp::TransientRead(name) => name.clone(),
            HopOp::TransientWrite(name) => format!("{name} = {}", input(0)),
            HopOp::PersistentRead(_) => call("read"),
            HopOp::PersistentWrite(_) => call("write"),
            HopOp::Unary(UnaryOp::Not) => format!("!{}", self.operand(id, 0, depth)),
            HopOp::Unary(UnaryOp::Pow2) => call("square"),
            HopOp::Unary(op) => call(op.code()),
            HopOp::Binary(op) => match op.dml_name() {
                Some(name) => call(name),
                None if *op == BinaryOp::LogBase => call("log"),
                None => self.infix(id, op.code(), depth),
            },
            HopOp::Ternary(op) => call(op.code()),
            HopOp::Aggregate(op, direction) => call(&aggregate_name(op.code(), *direction)),
            HopOp::MatMult => self.infix(id, "%*%", depth),
            HopOp::Transpose => call("t"),
            HopOp::Diag => call("diag"),
            HopOp::Rev => call("rev"),
            HopOp::Reshape { by_row: true } => call("matrix"),
            HopOp::Reshape { by_row: false } => {
                format!("matrix({}, byrow=FALSE)", self.list(id, depth))
            }
            HopOp::RightIndex => {
                let range = self.range(id, 1, depth);
                format!("{}{range}", self.operand(id, 0, depth))
            }
            HopOp::LeftIndex => {
                let range = self.range(id, 2, depth);
                format!("{}{range} <- {}", input(0), input(1))
            }
            HopOp::CBind => call("cbind"),
            HopOp::RBind => call("rbind"),
            HopOp::DataGen(DataGenOp::Fill) => call("matrix"),
            HopOp::DataGen(op) => call(op.code()),
            HopOp::Table => call("table"),
            HopOp::Cumulative(op) => call(CumulativeOp::code(*op)),
            HopOp::Cast(op) => call(CastOp::code(*op)),
            HopOp::Size(op) => call(SizeOp::code(*op)),
            HopOp::Parameterized(op, _) => call(op.code()),
            HopOp::Print => call("print"),
            HopOp::Stop => call("stop"),
            HopOp::Assert => call("assert"),
            HopOp::Fused(_) => call(&hop.op.code()),
        }
    }

    fn input(&self, id: HopId, place: usize, depth: usize) -> String {
        match self.dag.hop(id).inputs.get(place) {
            Some(input) => self.text(*input, depth + 1),
            None => "?".into(),
        }
    }

    /// An input in parentheses, if it needs them.
    fn operand(&self, id: HopId, place: usize, depth: usize) -> String {
        let text = self.input(id, place, depth);
        let input = self.dag.hop(id).inputs.get(place);
        let is_named = |input: &&HopId| self.name.and_then(|name| name(**input)).is_some();
        let input = input.filter(|input| !is_named(input));
        let is_infix = input.is_some_and(|input| match &self.dag.hop(*input).op {
            HopOp::Binary(op) => op.dml_name().is_none() && *op != BinaryOp::LogBase,
            HopOp::MatMult | HopOp::Unary(UnaryOp::Not) | HopOp::LeftIndex => true,
            _ => false,
        });
        match is_infix && text != "..." {
            true => format!("({text})"),
            false => text,
        }
    }

    fn infix(&self, id: HopId, operator: &str, depth: usize) -> String {
        let (left, right) = (self.operand(id, 0, depth), self.operand(id, 1, depth));
        format!("{left} {operator} {right}")
    }

    fn list(&self, id: HopId, depth: usize) -> String {
        let inputs = 0..self.dag.hop(id).inputs.len();
        let texts: Vec<String> = inputs.map(|place| self.input(id, place, depth)).collect();
        texts.join(", ")
    }

    /// `[a:b, c:d]`, the bounds being the inputs from `first` on.
    fn range(&self, id: HopId, first: usize, depth: usize) -> String {
        let bounds = |first: usize| {
            let (from, to) = (
                self.input(id, first, depth),
                self.input(id, first + 1, depth),
            );
            match from == to {
                true => from,
                false => format!("{from}:{to}"),
            }
        };
        format!("[{}, {}]", bounds(first), bounds(first + 2))
    }
}

/// As DML names it: `sum`, `rowMaxs`.
fn aggregate_name(code: &str, direction: Direction) -> String {
    let name = match code {
        "+" => "sum",
        "sq+" => "sumsq",
        "*" => "prod",
        "imax" => "indexMax",
        "imin" => "indexMin",
        other => other,
    };
    let prefix = match direction {
        Direction::Full => return name.into(),
        Direction::Row => "row",
        Direction::Col => "col",
    };
    let plural = if name.starts_with("index") { "" } else { "s" };
    let mut letters = name.chars();
    let first: String = letters
        .next()
        .into_iter()
        .flat_map(char::to_uppercase)
        .collect();
    format!("{prefix}{first}{}{plural}", letters.as_str())
}
