//! What is the same in expressions that differ in nothing but values: operators, how they lie together, which results
//! are wanted. It is the key of programs; values that came from outside are its variables.

use std::sync::Arc;

use fulgurite_dataflow::Variable;
use fulgurite_error::{Position, Source};
use fulgurite_hop::{Dag, DataType, Formulas, Hop, HopId, HopOp, Literal, ValueType};
use rustc_hash::FxHashMap;

use crate::{Expression, Input, Kind, Place, Shape, State};

/// Positions in programs stand for the operators of a structure, since the same one may stand at several places of a
/// script: line `n` of this file is operator `n - 1`.
pub const SOURCE: &str = "expression";

/// An operand, as a number: where it is in its list, and which list that is.
#[derive(Debug, Clone, Copy)]
enum Operand {
    Operator(u32),
    Leaf(u32),
    Literal(u32),
}

impl Operand {
    fn word(self) -> u32 {
        match self {
            Operand::Operator(index) => index << 2,
            Operand::Leaf(index) => index << 2 | 1,
            Operand::Literal(index) => index << 2 | 2,
        }
    }
}

/// An operator of a structure.
#[derive(Debug)]
struct Operator {
    expression: Arc<Expression>,
    kind: Arc<Kind>,
    operands: Vec<Operand>,
}

impl Operator {
    fn is_cheap_again(&self) -> bool {
        self.kind.op.is_cheap_again()
    }
}

/// An operator whose inputs are still to be looked at, but for the first ones, which became operands.
struct Open {
    expression: Arc<Expression>,
    kind: Arc<Kind>,
    inputs: Vec<Input>,
    operands: Vec<Operand>,
}

/// Expressions that are to be computed together.
#[derive(Debug, Default)]
pub struct Structure {
    /// What tells it from others.
    pub words: Vec<u32>,
    pub literals: Vec<Literal>,
    pub leaves: Vec<Variable>,
    /// The expressions that leaves are.
    pub sources: Vec<Arc<Expression>>,
    /// Inputs first.
    operators: Vec<Operator>,
    /// Which operators are wanted.
    outputs: Vec<u32>,
}

impl Structure {
    /// Of these expressions that have no values yet. What was computed before on the way to others, and is used again, is
    /// wanted, too: a loop builds on it, and would have it computed again and again. What has a name is wanted, where the caller
    /// `keeps_named`. Not so what a few light operators compute of a large array.
    pub fn of(wanted: &[Arc<Expression>], keeps_named: bool) -> Self {
        let mut structure = Self::visited(wanted);
        let operators = structure.operators.iter().zip(structure.light_steps());
        let is_cheap: Vec<bool> = operators
            .map(|(operator, light)| operator.is_cheap_again() || light.is_some())
            .collect();
        let operators = structure.operators.iter().zip(&is_cheap);
        let passed: Vec<bool> = operators
            .map(|(operator, is_cheap)| operator.expression.passes() > 0 && !is_cheap)
            .collect();
        let mut is_wanted = vec![false; passed.len()];
        for (index, operator) in structure.operators.iter().enumerate() {
            let keeps = keeps_named && !is_cheap[index];
            is_wanted[index] |= keeps && operator.expression.has_name();
            // What is used by operators that were there before was found with them.
            if !passed[index] {
                for operand in &operator.operands {
                    if let Operand::Operator(input) = operand {
                        is_wanted[*input as usize] |= passed[*input as usize];
                    }
                }
            }
        }
        structure.want(wanted, &is_wanted);
        structure
    }

    /// Of each operator, how many light ones lead to its cells from one large array that is there, if no more do: to read what
    /// those read takes as long as to read its cells, if they were kept.
    fn light_steps(&self) -> Vec<Option<u32>> {
        const LARGE: u64 = 1 << 16;
        const MOST: u32 = 4;
        let is_large = |expression: &Expression| {
            let Shape { rows, cols, .. } = expression.shape;
            rows.saturating_mul(cols) >= LARGE
        };
        let mut steps: Vec<Option<u32>> = Vec::new();
        for operator in &self.operators {
            let is_light = operator.is_cheap_again() || operator.kind.op.is_light_on_cells();
            let large = operator
                .operands
                .iter()
                .filter_map(|operand| match *operand {
                    Operand::Operator(input) => {
                        let input = input as usize;
                        is_large(&self.operators[input].expression).then_some(steps[input])
                    }
                    Operand::Leaf(leaf) => {
                        is_large(&self.sources[leaf as usize]).then_some(Some(0))
                    }
                    Operand::Literal(_) => None,
                });
            let before = match large.collect::<Vec<_>>()[..] {
                [one] if is_light && is_large(&operator.expression) => one,
                _ => None,
            };
            steps.push(
                before
                    .map(|before| before + 1)
                    .filter(|count| *count <= MOST),
            );
        }
        steps
    }

    /// Of these expressions alone.
    pub fn of_results(wanted: &[Arc<Expression>]) -> Self {
        let mut structure = Self::visited(wanted);
        let nothing = vec![false; structure.operators.len()];
        structure.want(wanted, &nothing);
        structure
    }

    fn visited(wanted: &[Arc<Expression>]) -> Self {
        let mut structure = Structure::default();
        let mut found: FxHashMap<*const Expression, Operand> = FxHashMap::default();
        for expression in wanted {
            structure.visit(expression, &mut found);
        }
        structure
    }

    /// These expressions are wanted, and the operators that also are.
    fn want(&mut self, wanted: &[Arc<Expression>], also: &[bool]) {
        for (index, operator) in self.operators.iter().enumerate() {
            let mut wanted = wanted.iter();
            if also[index] || wanted.any(|wanted| Arc::ptr_eq(wanted, &operator.expression)) {
                self.outputs.push(index as u32);
            }
        }
        self.write_words();
    }

    fn visit(&mut self, root: &Arc<Expression>, found: &mut FxHashMap<*const Expression, Operand>) {
        let mut stack: Vec<Open> = Vec::new();
        self.open(root, found, &mut stack);
        while let Some(open) = stack.last_mut() {
            let Open {
                expression,
                kind,
                inputs,
                operands,
            } = open;
            let Some(input) = inputs.get(operands.len()) else {
                let operator = Operator {
                    expression: Arc::clone(expression),
                    kind: Arc::clone(kind),
                    operands: std::mem::take(operands),
                };
                let operand = Operand::Operator(self.operators.len() as u32);
                found.insert(Arc::as_ptr(expression), operand);
                self.operators.push(operator);
                stack.pop();
                continue;
            };
            match input {
                Input::Literal(literal) => {
                    operands.push(Operand::Literal(self.literals.len() as u32));
                    self.literals.push(literal.clone());
                }
                Input::Expression(input) => match found.get(&Arc::as_ptr(input)) {
                    Some(operand) => operands.push(*operand),
                    None => {
                        let input = Arc::clone(input);
                        self.open(&input, found, &mut stack);
                    }
                },
            }
        }
    }

    /// A leaf is done with; an operator waits for its inputs.
    fn open(
        &mut self,
        expression: &Arc<Expression>,
        found: &mut FxHashMap<*const Expression, Operand>,
        stack: &mut Vec<Open>,
    ) {
        if found.contains_key(&Arc::as_ptr(expression)) {
            return;
        }
        match expression.state() {
            State::Value(value) => {
                let operand = Operand::Leaf(self.leaves.len() as u32);
                found.insert(Arc::as_ptr(expression), operand);
                self.leaves.push(value);
                self.sources.push(Arc::clone(expression));
            }
            State::Pending { kind, inputs } => {
                stack.push(Open {
                    expression: Arc::clone(expression),
                    kind,
                    inputs,
                    operands: Vec::new(),
                });
            }
        }
    }

    fn write_words(&mut self) {
        let words = &mut self.words;
        for operator in &self.operators {
            words.push(operator.kind.number);
            words.push(operator.operands.len() as u32);
            words.extend(operator.operands.iter().map(|operand| operand.word()));
        }
        words.push(u32::MAX);
        words.extend(self.literals.iter().map(type_of));
        words.push(u32::MAX);
        words.extend(self.leaves.iter().map(|leaf| match leaf {
            Variable::Scalar(literal) => type_of(literal),
            _ => u32::MAX - 1,
        }));
        words.push(u32::MAX);
        words.extend(&self.outputs);
    }

    /// The program's DAG, in which the literals that may vary are variables.
    pub fn dag(&self, varies: &[bool]) -> Dag {
        let source = Source::new(SOURCE, "");
        self.dag_at(varies, |line, _| Some(Position::new(&source, line, 1, 1)))
    }

    /// The same with the places where operators were asked for, to be shown.
    pub fn shown_dag(&self) -> Dag {
        self.dag_at(&vec![false; self.literals.len()], |_, expression| {
            let place = expression.place.as_ref()?;
            let source = Source::new(&*place.file, "");
            Some(Position::new(&source, place.line, 1, 1))
        })
    }

    fn dag_at(
        &self,
        varies: &[bool],
        position: impl Fn(u32, &Expression) -> Option<Position>,
    ) -> Dag {
        let mut dag = Dag::new();
        let leaves: Vec<HopId> = (0..)
            .zip(&self.leaves)
            .map(|(index, leaf)| {
                let name = leaf_name(index);
                match leaf {
                    Variable::Scalar(literal) => dag.read_scalar(name, literal.value_type()),
                    _ => dag.read(name),
                }
            })
            .collect();
        let literals: Vec<HopId> = self
            .literals
            .iter()
            .enumerate()
            .map(|(index, literal)| match varies[index] {
                false => dag.literal(literal.clone()),
                true => dag.read_scalar(literal_name(index), literal.value_type()),
            })
            .collect();
        let mut operators: Vec<HopId> = Vec::new();
        for (line, operator) in (1..).zip(&self.operators) {
            let operands = operator.operands.iter();
            let inputs = operands
                .map(|operand| match operand {
                    Operand::Operator(index) => operators[*index as usize],
                    Operand::Leaf(index) => leaves[*index as usize],
                    Operand::Literal(index) => literals[*index as usize],
                })
                .collect();
            let data_type = match operator.expression.shape.is_scalar {
                true => DataType::Scalar,
                false => DataType::Matrix,
            };
            let hop = match data_type {
                DataType::Scalar => Hop::scalar(
                    operator.kind.op.clone(),
                    inputs,
                    operator.expression.value_type,
                ),
                _ => Hop::matrix(operator.kind.op.clone(), inputs),
            };
            let position = position(line, &operator.expression);
            operators.push(dag.push(Hop { position, ..hop }));
        }
        for index in &self.outputs {
            let value = operators[*index as usize];
            let written = Hop {
                op: HopOp::to_variable(output_name(*index)),
                inputs: vec![value],
                ..dag.hop(value).clone()
            };
            let written = dag.push(written);
            dag.roots.push(written);
        }
        dag
    }

    /// The variables of a program: values of leaves, and the literals that vary.
    pub fn variables<'a>(
        leaves: &'a [Variable],
        literals: &'a [Literal],
        varies: &'a [bool],
    ) -> impl Iterator<Item = (String, Variable)> + 'a {
        let leaves = (0..).zip(leaves);
        let leaves = leaves.map(|(index, leaf)| (leaf_name(index), leaf.clone()));
        let varying = literals
            .iter()
            .enumerate()
            .filter(|(index, _)| varies[*index]);
        leaves.chain(
            varying
                .map(|(index, literal)| (literal_name(index), Variable::Scalar(literal.clone()))),
        )
    }

    /// Where operators were asked for.
    pub fn places(&self) -> Vec<Option<Place>> {
        let operators = self.operators.iter();
        operators
            .map(|operator| operator.expression.place.clone())
            .collect()
    }

    pub fn output_names(&self) -> Vec<String> {
        self.outputs
            .iter()
            .map(|index| output_name(*index))
            .collect()
    }

    /// The expressions that are wanted, in the order of [`Structure::output_names`].
    pub fn outputs(&self) -> impl Iterator<Item = &Arc<Expression>> {
        let outputs = self.outputs.iter();
        outputs.map(|index| &self.operators[*index as usize].expression)
    }

    /// Cells that operators give, all together.
    pub fn cells(&self) -> u64 {
        let cells = self.operators.iter().map(|operator| {
            let Shape { rows, cols, .. } = operator.expression.shape;
            rows.saturating_mul(cols)
        });
        cells.fold(0, u64::saturating_add)
    }

    pub fn is_empty(&self) -> bool {
        self.operators.is_empty()
    }

    /// How many operators there are.
    pub fn len(&self) -> usize {
        self.operators.len()
    }

    /// Whether an operator may take more than a few passes over its inputs.
    pub fn may_take_long(&self) -> bool {
        let mut operators = self.operators.iter();
        operators.any(|operator| operator.kind.op.is_more_than_passes())
    }
}

fn type_of(literal: &Literal) -> u32 {
    match literal.value_type() {
        ValueType::Double => 0,
        ValueType::Int => 1,
        ValueType::Boolean => 2,
        ValueType::String => 3,
    }
}

fn leaf_name(index: usize) -> String {
    format!("x{index}")
}

fn literal_name(index: usize) -> String {
    format!("c{index}")
}

fn output_name(index: u32) -> String {
    format!("y{index}")
}
