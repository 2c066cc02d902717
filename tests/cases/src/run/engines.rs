//! A CPlan by each engine: what it means, interpreted steps, Cranelift's pairs, and what this processor gets
//! (AVX where it has it).

use fulgurite_codegen::{CompiledPlan, ExecutionContext, Operand, Output, execute};
use fulgurite_error::{Error, Result};
use fulgurite_fusion::cplan::{
    CPlan,
    interpret::{Dense, interpret},
};
use fulgurite_matrix::{Layout, MatrixBlock};

use super::{Value, compare};

/// Layouts of the main input and of the others.
const LAYOUTS: [(Layout, Layout); 4] = [
    (Layout::Dense, Layout::Dense),
    (Layout::Csr, Layout::Dense),
    (Layout::Dense, Layout::Csr),
    (Layout::Csr, Layout::Csr),
];

const THREADS: [usize; 2] = [1, 2];

/// The value of the plan, which all engines give in each layout on one thread and on two.
///
/// # Errors
/// Those of the plan; runtime, where an engine gives something else.
pub(super) fn agree(plan: &CPlan, operands: &[Value], exact: bool) -> Result<Value> {
    let expected = meaning(plan, operands)?;
    let engines = [
        ("compiled", CompiledPlan::compile(plan)?),
        ("in pairs", CompiledPlan::in_pairs(plan)?),
        ("interpreted", CompiledPlan::interpreted(plan)?),
    ];
    for threads in THREADS {
        let context = ExecutionContext::with_threads(threads)?;
        for (main, sides) in LAYOUTS {
            let operands = operands.iter().enumerate().map(|(place, value)| {
                let layout = if place == 0 { main } else { sides };
                in_layout(value, layout)
            });
            let operands = operands.collect::<Result<Vec<_>>>()?;
            for (engine, compiled) in &engines {
                let what = format!(
                    "{engine}, on {threads} threads, {main:?} and {sides:?}, the operator\n{plan}\n"
                );
                let actual = execute(compiled, &bound(&operands), &context)
                    .map_err(|error| Error::new(error.kind(), format!("{what}{error}")))?;
                compare(&what, &expected, &value(actual), exact)?;
            }
        }
    }
    Ok(expected)
}

/// What the plan's definition gives.
fn meaning(plan: &CPlan, operands: &[Value]) -> Result<Value> {
    let inputs = operands.iter().map(|operand| match operand {
        Value::Number(number) => Dense::scalar(*number),
        Value::Matrix(matrix) => Dense::of(matrix),
    });
    let result = interpret(plan, &inputs.collect::<Vec<_>>())?;
    Ok(match plan.gives_scalar() {
        true => Value::Number(result.values[0]),
        false => Value::Matrix(MatrixBlock::dense(result.rows, result.cols, result.values)?),
    })
}

fn in_layout(value: &Value, layout: Layout) -> Result<Value> {
    Ok(match value {
        Value::Number(number) => Value::Number(*number),
        Value::Matrix(matrix) => Value::Matrix(MatrixBlock::in_layout(matrix.clone(), layout)?),
    })
}

fn bound(values: &[Value]) -> Vec<Operand<'_>> {
    let bind = |value| match value {
        &Value::Number(number) => Operand::Scalar(number),
        Value::Matrix(matrix) => Operand::Matrix(matrix),
    };
    values.iter().map(bind).collect()
}

fn value(output: Output) -> Value {
    match output {
        Output::Scalar(number) => Value::Number(number),
        Output::Matrix(matrix) => Value::Matrix(matrix),
    }
}
