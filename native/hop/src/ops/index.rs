//! Right and left indexing.

use std::borrow::Cow;

use fulgurite_error::{Code, Result};

use super::{
    call::{Call, Known},
    estimates::{known_sparsity, share},
    operator::{
        Accepts, Certain, Facts, Finite, Form, Gives, Input, Inputs, Memory, Operator, Purity,
        Zeros,
    },
};
use crate::{
    Characteristics, DataType, ValueType, numbers::double_to_int, variable_info::VariableInfo,
};

/// From 1, inclusive.
const BOUNDS: [Input; 4] = [
    ("first row", Accepts::Scalar),
    ("last row", Accepts::Scalar),
    ("first column", Accepts::Scalar),
    ("last column", Accepts::Scalar),
];
const RIGHT: &[Input] = &[
    ("matrix", Accepts::NoScalar),
    BOUNDS[0],
    BOUNDS[1],
    BOUNDS[2],
    BOUNDS[3],
];
const LEFT: &[Input] = &[
    ("matrix", Accepts::NoScalar),
    ("value", Accepts::Any),
    BOUNDS[0],
    BOUNDS[1],
    BOUNDS[2],
    BOUNDS[3],
];

pub(super) struct RightIndex;

impl Operator for RightIndex {
    fn code(&self) -> Cow<'static, str> {
        "rix".into()
    }

    fn facts(&self) -> Facts<'_> {
        Facts {
            doc: "A range of rows and columns; they count from 1, and the last one is in it.",
            inputs: Inputs::of(RIGHT),
            gives: Gives::Usually(DataType::Matrix, ValueType::Double),
            purity: Purity::Pure,
            finite: Finite::Of(&[0]),
            certain: Certain::If(|_, inputs| has_literal_ranges(inputs)),
            total: Certain::If(|_, inputs| has_literal_ranges(inputs)),
            zeros: Zeros::Unknown,
            memory: Memory::COORDINATES,
            form: Form::Range,
        }
    }

    fn size(&self, call: &dyn Call) -> Result<VariableInfo> {
        let input = call.input(0);
        if input.data_type == DataType::List {
            return Ok(call.declared());
        }
        let size = input.characteristics;
        let rows = range(call, 1, size.rows, "row")?;
        let cols = range(call, 3, size.cols, "column")?;
        let result = Characteristics::new(rows, cols, None);
        let whole = result.dims_known() && (rows, cols) == (size.rows, size.cols);
        let nnz = if whole {
            size.nnz
        } else {
            // Non-zeros are taken to be spread evenly.
            known_sparsity(&size)
                .zip(result.cells())
                .map(|(sparsity, cells)| share(sparsity, cells))
        };
        Ok(VariableInfo {
            characteristics: Characteristics { nnz, ..result },
            constant: None,
            ..input.clone()
        })
    }
}

pub(super) struct LeftIndex;

impl Operator for LeftIndex {
    fn code(&self) -> Cow<'static, str> {
        "lix".into()
    }

    fn facts(&self) -> Facts<'_> {
        Facts {
            doc: "The matrix with a range of rows and columns replaced.",
            inputs: Inputs::of(LEFT),
            gives: Gives::Usually(DataType::Matrix, ValueType::Double),
            purity: Purity::Pure,
            finite: Finite::Of(&[0, 1]),
            certain: Certain::No,
            total: Certain::No,
            zeros: Zeros::Unknown,
            memory: Memory::ROW_POINTERS,
            form: Form::RangeAssignment,
        }
    }

    fn size(&self, call: &dyn Call) -> Result<VariableInfo> {
        let target = call.input(0);
        if target.data_type == DataType::List {
            return Ok(call.declared());
        }
        let size = target.characteristics;
        let rows = range(call, 2, size.rows, "row")?;
        let cols = range(call, 4, size.cols, "column")?;
        let value = if call.is_scalar(1) {
            Characteristics::dims(1, 1).with_nnz(1)
        } else {
            call.size_of(1)
        };
        let differ = |range: Option<u64>, value: Option<u64>| {
            range
                .zip(value)
                .is_some_and(|(range, value)| range != value)
        };
        // Ranges that rest on variables are left to the run time, as those of right indexing are.
        if is_fixed(call, 2) && differ(rows, value.rows)
            || is_fixed(call, 4) && differ(cols, value.cols)
        {
            let number = |n: Option<u64>| n.map_or_else(|| "?".to_owned(), |n| n.to_string());
            let value = match call.is_scalar(1) {
                true => "a scalar".to_owned(),
                false => call.shape(1),
            };
            return Err(call
                .mismatch(format!(
                    "{value} assigned to a range of {} x {}",
                    number(rows),
                    number(cols)
                ))
                .with_code(Code::ShapesDiffer)
                .with_help("the value must have exactly the shape of the range"));
        }
        let nnz = size
            .nnz
            .zip(value.nnz)
            .map(|(kept, added)| kept.saturating_add(added));
        let nnz = nnz.map(|nnz| nnz.min(size.cells().unwrap_or(u64::MAX)));
        Ok(VariableInfo {
            characteristics: Characteristics { nnz, ..size },
            constant: None,
            ..target.clone()
        })
    }
}

/// Whether all bounds are literals within the known size of the matrix.
fn has_literal_ranges(inputs: &[Known]) -> bool {
    let bound = |place: usize| {
        let value = inputs.get(place)?.literal?.as_f64()?;
        u64::try_from(double_to_int(value)).ok()
    };
    let fits = |first: usize, size: Option<u64>| {
        let range = bound(first).zip(bound(first + 1)).zip(size);
        range.is_some_and(|((from, to), size)| 1 <= from && from <= to && to <= size)
    };
    let matrix = inputs.first();
    matrix.is_some_and(|matrix| fits(1, matrix.size.rows) && fits(3, matrix.size.cols))
}

/// Whether the range that begins at this place has one element or bounds that rest on no variable.
fn is_fixed(call: &dyn Call, first: usize) -> bool {
    let known = |place| call.fixed(place).is_some();
    call.same(first, first + 1) || known(first) && known(first + 1)
}

/// How many rows or columns the range selects whose bounds are the inputs `first` and `first + 1`.
fn range(call: &dyn Call, first: usize, size: Option<u64>, what: &str) -> Result<Option<u64>> {
    let last = first + 1;
    let is_frame = call.input(0).data_type == DataType::Frame;
    if is_frame && size == Some(0) && what == "row" {
        // All rows of a frame without one are from 1 to 0.
        return Ok(call.number(last).filter(|last| *last == 0.0).map(|_| 0));
    }
    let of = call.size_of(0);
    // As SystemDS has it, which marks with such a matrix that there is none: its cells are 0.
    let is_none = !is_frame && (of.rows, of.cols) == (Some(0), Some(0));
    for place in [first, last] {
        if let Some(index) = call.fixed_number(place).map(double_to_int) {
            let beyond = !is_none && size.is_some_and(|size| index as i128 > i128::from(size));
            if index < 1 || beyond {
                let end = size.map_or_else(String::new, |size| format!(" to {size}"));
                return Err(call
                    .mismatch(format!(
                        "{what} {index} of a {} that is {}",
                        if is_frame { "frame" } else { "matrix" },
                        call.shape(0)
                    ))
                    .with_code(Code::IndexOutOfRange)
                    .with_help(format!("{what}s count from 1{end}")));
            }
        }
    }
    if call.same(first, last) {
        return Ok(Some(1));
    }
    if let (Some(lower), Some(upper)) = (call.fixed_number(first), call.fixed_number(last))
        && double_to_int(lower) > double_to_int(upper)
    {
        return Err(call
            .mismatch(format!("{what}s {lower} to {upper} are none"))
            .with_code(Code::EmptyRange)
            .with_help("the lower bound must not lie above the upper one"));
    }
    // Both or none: one bound alone decides nothing, and must not be noted as used.
    let known = |place: usize| call.input(place).constant.is_some();
    if !known(first) || !known(last) {
        return Ok(None);
    }
    let bounds = call.number(first).zip(call.number(last));
    Ok(bounds.and_then(|(lower, upper)| {
        let (lower, upper) = (double_to_int(lower), double_to_int(upper));
        u64::try_from(upper.checked_sub(lower)?.checked_add(1)?).ok()
    }))
}
