//! Matrices from scalars.

use std::borrow::Cow;

use fulgurite_error::{Error, Result};

use super::{
    call::{Call, Known},
    declare::operators,
    estimates::share,
    operator::{
        Accepts, Certain, Facts, Finite, Form, Gives, Input, Inputs, Memory, More, Operator,
        Purity, Zeros,
    },
};
use crate::{Characteristics, DataType, Literal, variable_info::VariableInfo};

struct DataGenFacts {
    /// Also the name of the function.
    code: &'static str,
    first: &'static [Input],
    /// Optional ones, all or none.
    optional: &'static [Input],
    purity: Purity,
    finite: Finite,
    certain: Certain,
    total: Certain,
    size: fn(&dyn Call) -> Result<VariableInfo>,
}

const fn scalar(name: &'static str) -> Input {
    (name, Accepts::Scalar)
}

/// The rows of a part.
const PART: &[Input] = &[scalar("first row"), scalar("last row")];

const NUMBERS: Certain = Certain::If(|_, inputs| {
    let is_number = |input: &Known| input.literal.is_some_and(|value| value.as_f64().is_some());
    inputs.iter().all(is_number)
});

operators! {
    /// Functions that give a matrix from scalars.
    DataGenOp: DataGenFacts;
    /// A constant matrix, or the numbers of a text, which blanks separate.
    Fill {
        code: "matrix", first: &[scalar("value"), scalar("rows"), scalar("cols")], optional: &[],
        purity: Purity::Pure, finite: Finite::Of(&[0]),
        certain: NUMBERS, total: Certain::If(|_, inputs| !inputs.iter().any(Known::is_text)),
        size: fill,
    }
    /// The numbers from one to another; an increment of NaN is 1 or -1, by the direction.
    Seq {
        code: "seq", first: &[scalar("from"), scalar("to"), scalar("increment")], optional: PART,
        purity: Purity::Pure, finite: Finite::Always, certain: NUMBERS, total: Certain::No,
        size: seq,
    }
    /// Random numbers.
    Rand {
        code: "rand",
        first: &[
            scalar("rows"), scalar("cols"), scalar("min"), scalar("max"), scalar("sparsity"), scalar("seed"),
            scalar("pdf"), scalar("lambda"),
        ],
        optional: PART, purity: Purity::Unique, finite: Finite::Unknown, certain: Certain::No,
        total: Certain::No, size: rand,
    }
    /// A random choice of the numbers from 1 to a limit.
    Sample {
        code: "sample",
        first: &[scalar("range"), scalar("size"), scalar("replace"), scalar("seed")], optional: &[],
        purity: Purity::Unique, finite: Finite::Always, certain: Certain::No, total: Certain::No,
        size: sample,
    }
}

impl Operator for DataGenOp {
    fn code(&self) -> Cow<'static, str> {
        format!("dg({})", DataGenOp::code(*self)).into()
    }

    fn facts(&self) -> Facts<'_> {
        let declared = self.declared();
        Facts {
            doc: self.doc(),
            inputs: Inputs {
                first: declared.first,
                more: match declared.optional.is_empty() {
                    true => More::Nothing,
                    false => More::Together(declared.optional),
                },
            },
            gives: Gives::Always(DataType::Matrix),
            purity: declared.purity,
            finite: declared.finite,
            certain: declared.certain,
            total: declared.total,
            zeros: Zeros::Unknown,
            memory: Memory::ROW_POINTERS,
            form: Form::Function(declared.code),
        }
    }

    fn size(&self, call: &dyn Call) -> Result<VariableInfo> {
        (self.declared().size)(call)
    }
}

fn fill(call: &dyn Call) -> Result<VariableInfo> {
    let size = Characteristics::new(call.size(1)?, call.size(2)?, None);
    let nnz = match (call.fixed(0), size.cells()) {
        (Some(Literal::String(text)), cells) => {
            let values: Vec<&str> = text.split_ascii_whitespace().collect();
            let fixed = call.fixed(1).is_some() && call.fixed(2).is_some();
            if let Some(cells) = cells
                && fixed
                && cells != values.len() as u64
            {
                return Err(call.mismatch(format!(
                    "a text of {} numbers for a matrix of {cells} cells",
                    values.len()
                )));
            }
            let is_zero = |text: &&&str| text.parse::<f64>().is_ok_and(|value| value == 0.0);
            Some((values.len() - values.iter().filter(is_zero).count()) as u64)
        }
        (Some(value), _) if value.as_f64() == Some(0.0) => Some(0),
        (Some(_), cells) => cells,
        (None, _) => None,
    };
    Ok(VariableInfo::matrix(Characteristics { nnz, ..size }))
}

/// A part of the rows that would be generated, of which the bounds are the inputs from `first` on.
fn part(call: &dyn Call, first: usize, cols: Option<u64>) -> Result<VariableInfo> {
    let rows = call
        .size(first + 1)?
        .zip(call.size(first)?)
        .and_then(|(last, first)| (last + 1).checked_sub(first));
    Ok(VariableInfo::matrix(Characteristics::new(rows, cols, None)))
}

fn seq(call: &dyn Call) -> Result<VariableInfo> {
    if call.arity() > 3 {
        return part(call, 3, Some(1));
    }
    let known = |place: usize| call.input(place).constant.is_some();
    let fixed = (0..3).all(|place| call.fixed(place).is_some());
    let mut rows = None;
    if (0..3).all(known)
        && let (Some(from), Some(to), Some(increment)) =
            (call.number(0), call.number(1), call.number(2))
    {
        rows = match seq_length(from, to, increment) {
            Ok(length) => Some(length),
            Err(error) if fixed => {
                return Err(call.located(error));
            }
            Err(_) => None,
        };
    }
    Ok(VariableInfo::matrix(Characteristics::new(
        rows,
        Some(1),
        rows,
    )))
}

/// How many values `seq(from, to, increment)` has. NaN for the increment means 1 or -1, whichever leads
/// from `from` to `to`.
///
/// # Errors
/// Argument, where the increment never reaches `to`, or a bound is not finite.
pub fn seq_length(from: f64, to: f64, increment: f64) -> Result<u64> {
    let increment = if !increment.is_nan() {
        increment
    } else if from <= to {
        1.0
    } else {
        -1.0
    };
    let steps = (to / increment - from / increment).floor();
    if steps >= 0.0 && steps < u64::MAX as f64 && increment != 0.0 {
        return Ok(steps as u64 + 1);
    }
    Err(
        Error::argument(format!("seq({from}, {to}, {increment}) has no values"))
            .with_help("the increment must lead from the first value towards the last"),
    )
}

fn rand(call: &dyn Call) -> Result<VariableInfo> {
    if call.arity() > 8 {
        return part(call, 8, call.size(1)?);
    }
    let size = Characteristics::new(call.size(0)?, call.size(1)?, None);
    let uniform = matches!(call.fixed(6), Some(Literal::String(pdf)) if pdf == "uniform");
    let all_zero =
        uniform && call.fixed_number(2) == Some(0.0) && call.fixed_number(3) == Some(0.0);
    let sparsity = if all_zero {
        Some(0.0)
    } else {
        call.fixed_number(4)
    };
    let nnz = size
        .cells()
        .zip(sparsity)
        .map(|(cells, sparsity)| share(sparsity, cells));
    Ok(VariableInfo::matrix(Characteristics { nnz, ..size }))
}

fn sample(call: &dyn Call) -> Result<VariableInfo> {
    let size = call.size(1)?;
    Ok(VariableInfo::matrix(Characteristics::new(
        size,
        Some(1),
        size,
    )))
}
