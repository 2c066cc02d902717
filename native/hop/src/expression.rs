//! What a HOP computes as a DML expression, for people: shortened where it goes deep.

use crate::{Dag, HopId, Literal, ops::Form};

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
        hop.op.facts(|facts| match facts.form {
            Form::Constant(Literal::String(text)) => format!("{text:?}"),
            Form::Constant(value) => value.to_string(),
            Form::Variable(name) => name.to_owned(),
            Form::Assignment(name) => format!("{name} = {}", input(0)),
            Form::Function(name) | Form::Internal(name) => call(name),
            Form::Code => call(&hop.op.code()),
            Form::Option(name, option) => format!("{name}({}, {option})", self.list(id, depth)),
            Form::Prefix(symbol) => format!("{symbol}{}", self.operand(id, 0, depth)),
            Form::Infix(symbol) => self.infix(id, symbol, depth),
            Form::Range => {
                let range = self.range(id, 1, depth);
                format!("{}{range}", self.operand(id, 0, depth))
            }
            Form::RangeAssignment => {
                let range = self.range(id, 2, depth);
                format!("{}{range} <- {}", input(0), input(1))
            }
        })
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
        let is_infix = input.is_some_and(|input| {
            let op = &self.dag.hop(*input).op;
            op.facts(|facts| facts.form.needs_parentheses())
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
