//! Evaluates operators in this process: one of a planned block, or all of a block that needs nothing else, as a task's.

use std::{borrow::Cow, collections::HashMap};

use fulgurite_codegen::PlanCache;
use fulgurite_error::{Code, Error, Result};
use fulgurite_hop::{Hop, HopId, Literal};
use fulgurite_matrix::{
    Layout,
    arrow_block::cut_off,
    kernels::{self, RandStream},
    memory::{self, Budget},
};

use super::{
    basic::{self, Factors},
    fused, panics,
    plan::{BlockPlan, FusedPlan},
    steps,
    threads::Threads,
    value::Value,
};

/// A range of fewer columns is copied where it is read several times: of each row a reader takes at least a cache line.
const COPIED_COLUMNS: usize = 8;

/// What operators run with.
pub struct Locally<'a> {
    /// Compiled fused operators.
    pub cache: &'a PlanCache,
    pub threads: &'a Threads,
    /// Whose numbers `rand` gives.
    pub stream: RandStream,
    /// What an allocation of an operator may take; without one, the system alone is asked.
    pub budget: Option<Budget>,
}

impl Locally<'_> {
    /// The value of a basic or fused operator that reads or gives a matrix.
    ///
    /// # Errors
    /// Of the operator; `memory`, where it does not fit the budget.
    pub fn run(&self, plan: &BlockPlan, id: HopId, inputs: Vec<Value>) -> Result<Value> {
        memory::ballast::check()?;
        let hop = plan.dag.hop(id);
        if let Some(operator) = plan.cplan(id) {
            if let Some(value) = self.on_groups(operator, hop, &inputs)? {
                return Ok(value);
            }
            return self.guarded(|| fused::run(self.cache, operator, hop, &inputs, self.threads));
        }
        if plan.in_place[id.index()]
            && let Some(range) = basic::range_in_place(hop, &inputs)?
        {
            if let Some(part) = range.without_gaps() {
                return Ok(Value::Matrix(part.into()));
            }
            if plan.reads[id.index()] == 1 || range.cols() >= COPIED_COLUMNS {
                return Ok(Value::Range(range));
            }
            let copy = || self.guarded(|| range.to_dense());
            return Ok(Value::Matrix(self.threads.run(copy)?.into()));
        }
        let mut inputs = inputs;
        for input in &mut inputs {
            if let Value::Range(range) = input {
                let copy = || self.guarded(|| range.to_dense());
                *input = Value::Matrix(self.threads.run(copy)?.into());
            }
        }
        let same = plan.inputs[id.index()]
            .windows(2)
            .all(|pair| pair[0] == pair[1]);
        let is_compressed = |input: &Value| matches!(input, Value::Matrix(matrix) if matrix.layout() == Layout::Compressed);
        if inputs.iter().any(is_compressed) {
            let product = Factors {
                is_left_transposed: plan.transposed_left[id.index()],
                are_same: same,
            };
            let groups = || basic::on_groups(hop, product, &inputs);
            if let Some(value) = self.threads.run(|| self.guarded(groups))? {
                return Ok(value);
            }
            // The one place where basic operators without a way of their own expand column groups.
            for input in inputs.iter_mut().filter(|input| is_compressed(input)) {
                if let Value::Matrix(matrix) = input {
                    let expand = || self.guarded(|| matrix.plain().map(Cow::into_owned));
                    *input = Value::Matrix(self.threads.run(expand)?);
                }
            }
        }
        let basic = || match &inputs[..] {
            // Only products are so.
            [Value::Matrix(left), Value::Matrix(right)] if plan.transposed_left[id.index()] => {
                let product = match same {
                    true => kernels::tsmm(left),
                    false => kernels::transposed_matmult(left, right),
                };
                product.map(Value::Matrix)
            }
            _ => basic::execute(hop, inputs, self.stream),
        };
        self.threads.run(|| self.guarded(basic))
    }

    /// The value of a fused operator over a compressed matrix, where no cell of it is decoded.
    fn on_groups(&self, fused: &FusedPlan, hop: &Hop, inputs: &[Value]) -> Result<Option<Value>> {
        let Some(Value::Matrix(main)) = inputs.first() else {
            return Ok(None);
        };
        if main.layout() != Layout::Compressed {
            return Ok(None);
        }
        let groups = || steps::run(&fused.plan, hop, inputs);
        self.threads.run(|| self.guarded(groups))
    }

    /// The value of a product with a table that was not made, of the operands of the table; `None` where it has to be made
    /// ([`BlockPlan::table_left`]).
    ///
    /// # Errors
    /// As [`Locally::run`].
    pub fn table_product(
        &self,
        plan: &BlockPlan,
        id: HopId,
        table: &[Value],
        right: &Value,
    ) -> Result<Option<Value>> {
        memory::ballast::check()?;
        let Value::Matrix(right) = right else {
            return Ok(None);
        };
        let is_transposed = plan.transposed_left[id.index()];
        let product = || basic::table_product(table, is_transposed, right);
        self.threads.run(|| self.guarded(product))
    }

    /// Runs an operator on this thread, within its budget.
    fn guarded<R>(&self, operator: impl FnOnce() -> Result<R>) -> Result<R> {
        match self.budget {
            Some(budget) => memory::within(budget, operator),
            None => operator(),
        }
    }

    /// Evaluates a block of such operators, whose variables are values in this process. Gives its last root's value.
    ///
    /// # Errors
    /// Of its operators, with their code and position; `runtime`, for a variable without a value.
    pub fn evaluate(
        &self,
        plan: &BlockPlan,
        variables: &HashMap<&str, Value>,
    ) -> Result<Option<Value>> {
        let mut evaluation = Evaluation {
            plan,
            variables,
            values: vec![None; plan.dag.len()],
            reads_left: plan.reads.clone(),
        };
        let mut last = None;
        for id in &plan.schedule {
            let hop = plan.dag.hop(*id);
            let value = guarded_operator(hop, || evaluation.operator(*id, self))?;
            if plan.reads[id.index()] > 0 {
                evaluation.values[id.index()] = Some(value);
            } else {
                last = Some(value);
            }
        }
        Ok(last)
    }
}

struct Evaluation<'a> {
    plan: &'a BlockPlan,
    variables: &'a HashMap<&'a str, Value>,
    values: Vec<Option<Value>>,
    /// Readers of each value that are still to come.
    reads_left: Vec<u32>,
}

impl Evaluation<'_> {
    fn operator(&mut self, id: HopId, locally: &Locally) -> Result<Value> {
        let hop = self.plan.dag.hop(id);
        if let Some(value) = hop.op.constant() {
            return Ok(Value::Scalar(value.clone()));
        }
        if let Some(name) = hop.op.variable_read() {
            let value = self.variables.get(name);
            return value.cloned().ok_or_else(|| undefined(name));
        }
        let plan = self.plan;
        let hops = &plan.inputs[id.index()];
        // Collected as results, they would be moved several times.
        let mut inputs = Vec::new();
        for input in hops {
            inputs.push(self.take(*input)?);
        }
        if hop.op.size_asked().is_some() {
            return basic::execute(hop, inputs, locally.stream);
        }
        let scalars: Option<Vec<&Literal>> = inputs
            .iter()
            .map(|input| match input {
                Value::Scalar(value) => Some(value),
                Value::Matrix(_) | Value::Range(_) => None,
            })
            .collect();
        match scalars {
            Some(scalars) if hop.is_scalar() => {
                basic::scalar_operator(hop, &scalars, locally.stream)
            }
            _ => locally.run(self.plan, id, inputs),
        }
    }

    /// An operator's value for one of its readers: the value itself for the last one.
    fn take(&mut self, id: HopId) -> Result<Value> {
        let left = &mut self.reads_left[id.index()];
        *left = left.saturating_sub(1);
        let slot = &mut self.values[id.index()];
        let value = match *left {
            0 => slot.take(),
            _ => slot.clone(),
        };
        value.ok_or_else(|| not_evaluated(id))
    }
}

/// Runs an operator of a block. A panic of it is an error, and errors tell its code and position.
///
/// # Errors
/// Its own; `internal`, for a panic; `io`, where a file that it read was cut off meanwhile.
pub fn guarded_operator<R>(hop: &Hop, run: impl FnOnce() -> Result<R>) -> Result<R> {
    // A library may panic on what nobody has foreseen.
    let value = panics::caught(run).and_then(|value| {
        // What lies in a file is only known to be there after it was read.
        cut_off::check()?;
        Ok(value)
    });
    value.map_err(|error| {
        let error = match hop.op.speaks_for_script() {
            true => error,
            false => error.in_operator(hop.op.code()),
        };
        error.at_option(hop.position.as_ref())
    })
}

/// The error of reading a value that no operator gave.
pub fn not_evaluated(id: HopId) -> Error {
    Error::internal(format!("operator {id} was not evaluated"))
}

/// The error of reading a variable that nobody assigned.
pub fn undefined(name: &str) -> Error {
    Error::runtime(format!("variable '{name}' has no value"))
        .with_code(Code::NoValue)
        .with_help("it is assigned only in a branch that was not taken; assign it before")
}

#[cfg(test)]
mod tests {
    use fulgurite_error::{ErrorKind, Position, Source};
    use fulgurite_hop::{AggregateOp, BinaryOp, Dag, Direction, HopOp, ValueType};
    use fulgurite_matrix::MatrixBlock;

    use super::*;

    /// The value of the DAG's last operator, for a matrix `X` and a scalar `s`.
    fn evaluated(build: impl FnOnce(&mut Dag, HopId, HopId) -> HopId) -> Result<Option<Value>> {
        let mut dag = Dag::new();
        let x = dag.push(Hop::matrix(HopOp::TransientRead("X".into()), Vec::new()));
        let s = HopOp::TransientRead("s".into());
        let s = dag.push(Hop::scalar(s, Vec::new(), ValueType::Double));
        let root = build(&mut dag, x, s);
        dag.roots = vec![root];
        let cells = vec![1.0, 2.0, 3.0, 4.0];
        let matrix = MatrixBlock::dense(2, 2, cells).expect("4 cells");
        let variables = HashMap::from([
            ("X", Value::Matrix(matrix)),
            ("s", Value::Scalar(Literal::Double(0.5))),
        ]);
        let threads = Threads::of_task().expect("the calling thread is there");
        let locally = Locally {
            cache: &PlanCache::default(),
            threads: &threads,
            stream: RandStream::default(),
            budget: None,
        };
        locally.evaluate(&BlockPlan::new(dag, Vec::new()), &variables)
    }

    #[test]
    fn a_value_is_read_by_several_and_a_transpose_on_the_left_by_none() {
        let value = evaluated(|dag, x, s| {
            let scaled = dag.push(Hop::matrix(HopOp::Binary(BinaryOp::Mult), vec![x, s]));
            let turned = dag.push(Hop::matrix(HopOp::Transpose, vec![scaled]));
            let product = dag.push(Hop::matrix(HopOp::MatMult, vec![turned, scaled]));
            let sum = HopOp::Aggregate(AggregateOp::Sum, Direction::Full);
            let sum = dag.push(Hop::scalar(sum, vec![product], ValueType::Double));
            let twice = HopOp::Binary(BinaryOp::Plus);
            dag.push(Hop::scalar(twice, vec![sum, sum], ValueType::Double))
        });
        // t(X) X has 10, 14, 14 and 20.
        let twice = 2.0 * 58.0 / 4.0;
        assert_eq!(value, Ok(Some(Value::Scalar(Literal::Double(twice)))));
    }

    #[test]
    fn errors_tell_the_operator_and_its_place() {
        let source = Source::new("t.dml", "Z = Y\n");
        let missing = evaluated(|dag, _, _| {
            let read = Hop::matrix(HopOp::TransientRead("Y".into()), Vec::new());
            dag.push(read.at(&Position::new(&source, 1, 5, 1)))
        });
        let error = missing.expect_err("nobody assigned it");
        assert_eq!(error.kind(), ErrorKind::Runtime);
        assert_eq!(error.position().map(|position| position.line), Some(1));
        let printed = evaluated(|dag, x, _| dag.push(Hop::matrix(HopOp::Print, vec![x])));
        let error = printed.expect_err("it belongs to the control program");
        assert_eq!(error.kind(), ErrorKind::Internal);
        assert_eq!(error.operator(), Some(HopOp::Print.code().as_str()));
    }
}
