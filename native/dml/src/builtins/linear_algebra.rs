//! Linear systems and factorisations.
//!
//! A factorisation has several results, but an operator gives one value: the factors come in one matrix, side by side or
//! one below the other, and index operators take them apart.

use fulgurite_error::Result;
use fulgurite_hop::{HopId, HopOp, Literal, ParameterizedOp};

use super::{
    BoundCall, Builtin, Kind, Parameter, Rule, TARGET_MATRIX, builtin, optional, required,
};

pub(super) const BUILTINS: &[Builtin] = &[
    builtin("solve", MATRICES, Rule::NamedMatrix(ParameterizedOp::Solve)),
    Builtin {
        aliases: &["inverse"],
        ..builtin(
            "inv",
            TARGET_MATRIX,
            Rule::NamedMatrix(ParameterizedOp::Inverse),
        )
    },
    builtin(
        "cholesky",
        TARGET_MATRIX,
        Rule::NamedMatrix(ParameterizedOp::Cholesky),
    ),
    builtin("eigen", TARGET_MATRIX, Rule::Several(&[2], eigen)),
    builtin("lu", TARGET_MATRIX, Rule::Several(&[3], lu)),
    builtin("svd", TARGET_MATRIX, Rule::Several(&[3], svd)),
    builtin("qr", TARGET_MATRIX, Rule::Several(&[2], qr)),
    builtin(
        "det",
        TARGET_MATRIX,
        Rule::NamedDouble(ParameterizedOp::Determinant),
    ),
    builtin(
        "sqrtMatrixJava",
        TARGET_MATRIX,
        Rule::NamedMatrix(ParameterizedOp::SquareRoot),
    ),
    builtin("fft", TARGET_MATRIX, Rule::Several(&[2], fft)),
    builtin("ifft", COMPLEX, Rule::Several(&[2], inverse_fft)),
    builtin(
        "fft_linearized",
        TARGET_MATRIX,
        Rule::Several(&[2], fft_of_rows),
    ),
    builtin(
        "ifft_linearized",
        COMPLEX,
        Rule::Several(&[2], inverse_fft_of_rows),
    ),
];

const MATRICES: &[Parameter] = &[
    required("left", Kind::Matrix),
    required("right", Kind::Matrix),
];

const COMPLEX: &[Parameter] = &[
    required("target", Kind::Matrix),
    optional("imaginary", Kind::Matrix),
];

/// Eigenvalues (a column) and eigenvectors (columns), in ascending order of the values.
fn eigen(call: &mut BoundCall<'_>) -> Result<Vec<HopId>> {
    let order = target_rows(call)?;
    let (op, inputs) = call.named(ParameterizedOp::Eigen);
    let factors = call.matrix(op, inputs);
    let one = int(call, 1);
    let two = int(call, 2);
    let last = plus(call, order, one)?;
    Ok(vec![
        part(call, factors, [one, order], [one, one]),
        part(call, factors, [one, order], [two, last]),
    ])
}

/// P, L and U with `P %*% A = L %*% U`.
fn lu(call: &mut BoundCall<'_>) -> Result<Vec<HopId>> {
    let order = target_rows(call)?;
    let (op, inputs) = call.named(ParameterizedOp::Lu);
    let factors = call.matrix(op, inputs);
    let mut parts = Vec::new();
    let one = int(call, 1);
    let mut first = one;
    let mut last = order;
    for _ in 0..3 {
        parts.push(part(call, factors, [one, order], [first, last]));
        first = plus(call, last, one)?;
        last = plus(call, last, order)?;
    }
    Ok(parts)
}

/// U, S and V with `A = U %*% S %*% t(V)`.
fn svd(call: &mut BoundCall<'_>) -> Result<Vec<HopId>> {
    let rows = target_rows(call)?;
    let target = call.argument(0)?;
    let cols = call.block.cols(target, call.position);
    let rank = call.block.smaller(rows, cols, call.position)?;
    let (op, inputs) = call.named(ParameterizedOp::Svd);
    let factors = call.matrix(op, inputs);
    let one = int(call, 1);
    let values = plus(call, rows, one)?;
    let last_value = plus(call, rows, rank)?;
    let right = plus(call, last_value, one)?;
    let last = plus(call, last_value, cols)?;
    Ok(vec![
        part(call, factors, [one, rows], [one, rank]),
        part(call, factors, [values, last_value], [one, rank]),
        part(call, factors, [right, last], [one, rank]),
    ])
}

/// Householder vectors as columns, and the upper triangle.
fn qr(call: &mut BoundCall<'_>) -> Result<Vec<HopId>> {
    let (op, inputs) = call.named(ParameterizedOp::Qr);
    side_by_side(call, op, inputs)
}

fn fft(call: &mut BoundCall<'_>) -> Result<Vec<HopId>> {
    let (op, inputs) = call.named(ParameterizedOp::Fft);
    side_by_side(call, op, inputs)
}

fn inverse_fft(call: &mut BoundCall<'_>) -> Result<Vec<HopId>> {
    let (op, inputs) = call.named(ParameterizedOp::InverseFft);
    side_by_side(call, op, inputs)
}

fn fft_of_rows(call: &mut BoundCall<'_>) -> Result<Vec<HopId>> {
    let (op, inputs) = call.named(ParameterizedOp::FftOfRows);
    side_by_side(call, op, inputs)
}

fn inverse_fft_of_rows(call: &mut BoundCall<'_>) -> Result<Vec<HopId>> {
    let (op, inputs) = call.named(ParameterizedOp::InverseFftOfRows);
    side_by_side(call, op, inputs)
}

/// Two matrices as large as the target, from one in which they stand beside each other.
fn side_by_side(call: &mut BoundCall<'_>, op: HopOp, inputs: Vec<HopId>) -> Result<Vec<HopId>> {
    let target = call.argument(0)?;
    let rows = call.block.rows(target, call.position);
    let cols = call.block.cols(target, call.position);
    let both = call.matrix(op, inputs);
    let one = int(call, 1);
    let second = plus(call, cols, one)?;
    let last = plus(call, cols, cols)?;
    Ok(vec![
        part(call, both, [one, rows], [one, cols]),
        part(call, both, [one, rows], [second, last]),
    ])
}

fn target_rows(call: &mut BoundCall<'_>) -> Result<HopId> {
    let target = call.argument(0)?;
    Ok(call.block.rows(target, call.position))
}

fn int(call: &mut BoundCall<'_>, value: i64) -> HopId {
    call.block.literal(Literal::Int(value), call.position)
}

fn plus(call: &mut BoundCall<'_>, left: HopId, right: HopId) -> Result<HopId> {
    call.block.plus(left, right, call.position)
}

fn part(call: &mut BoundCall<'_>, factors: HopId, rows: [HopId; 2], cols: [HopId; 2]) -> HopId {
    let bounds = [rows[0], rows[1], cols[0], cols[1]];
    call.block.part(factors, bounds, call.position)
}
