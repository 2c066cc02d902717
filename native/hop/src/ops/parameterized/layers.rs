//! Size rules of layers of neural networks.

use fulgurite_error::Result;
use fulgurite_matrix::kernels::layers::{Shape, WindowLayer, WindowSizes, channel_misfit};

use super::arguments::Arguments;
use crate::{Characteristics, Literal, ops::estimates::dense_bytes, variable_info::VariableInfo};

/// Threads that are counted with: each has room for one image and the pixels under a few windows.
const THREADS: u64 = 16;

/// As its matrices say, and lists of sizes as far as they are known.
pub(super) fn window(call: &Arguments, layer: WindowLayer) -> Result<VariableInfo> {
    let sizes = WindowSizes {
        input: listed(call, "input_shape")?,
        filters: match layer.has_filters() {
            true => {
                let [filters, channels, ..] = listed::<4>(call, "filter_shape")?;
                Some([filters, channels])
            }
            false => None,
        },
        window: match layer.has_filters() {
            true => {
                let [_, _, height, width] = listed(call, "filter_shape")?;
                [height, width]
            }
            false => listed(call, "pool_size")?,
        },
        stride: listed(call, "stride")?,
        padding: listed(call, "padding")?,
    };
    let places = layer.operands().iter().map(|(name, _)| call.named(name));
    let shapes: Vec<Shape> = places
        .map(|place| {
            let size = place.map_or(Characteristics::UNKNOWN, |place| call.size_of(place));
            Shape {
                rows: size.rows,
                cols: size.cols,
            }
        })
        .collect();
    let misfits = sizes.misfits(layer, &shapes);
    if !misfits.is_empty() && is_fixed(call) {
        return Err(call.mismatch(misfits.join("; ")));
    }
    let given = sizes.shape(layer.gives());
    Ok(VariableInfo::matrix(Characteristics::new(
        given.rows, given.cols, None,
    )))
}

/// The members of a list of sizes.
fn listed<const COUNT: usize>(call: &Arguments, list: &str) -> Result<[Option<u64>; COUNT]> {
    let mut sizes = [None; COUNT];
    for (number, size) in (1..).zip(&mut sizes) {
        if let Some(place) = call.named(&format!("{list}{number}")) {
            *size = call.size(place)?;
        }
    }
    Ok(sizes)
}

/// Whether all sizes in lists that are known rest on no variable: else a branch that is not taken may have given them.
fn is_fixed(call: &Arguments) -> bool {
    let scalars = (0..call.arity()).filter(|place| call.is_scalar(*place));
    scalars
        .filter(|place| call.constant(*place).is_some())
        .all(|place| call.fixed(place).is_some())
}

pub(super) fn channel_row(call: &Arguments) -> Result<VariableInfo> {
    let cols = match call.named("cols") {
        Some(place) => call.size(place)?,
        None => None,
    };
    let size = call.main_size();
    let shape = Shape {
        rows: size.rows,
        cols: size.cols,
    };
    if let Some(misfit) = channel_misfit(shape, cols)
        && is_fixed(call)
    {
        return Err(call.mismatch(misfit));
    }
    Ok(VariableInfo::matrix(Characteristics::new(
        Some(1),
        cols,
        None,
    )))
}

/// Rows, outputs, and steps.
fn lstm_sizes(call: &Arguments) -> Option<[u64; 3]> {
    let (input, weights) = (call.main_size(), call.size_of(call.named("weights")?));
    let units = weights.cols? / 4;
    let features = weights.rows?.checked_sub(units)?;
    Some([input.rows?, units, input.cols?.checked_div(features)?])
}

/// One row of all results.
pub(super) fn lstm(call: &Arguments) -> Result<VariableInfo> {
    let place = call.named("return_sequences");
    let sequences = match place.and_then(|place| call.constant(place)) {
        Some(Literal::Boolean(sequences)) => Some(*sequences),
        other => other.and_then(Literal::as_f64).map(|value| value != 0.0),
    };
    let cols = lstm_sizes(call).and_then(|[rows, units, steps]| {
        let kept = if sequences? { steps } else { 1 };
        let parts = steps.checked_mul(6)?.checked_add(kept)?.checked_add(1)?;
        rows.checked_mul(units)?.checked_mul(parts)
    });
    Ok(VariableInfo::matrix(Characteristics::new(
        Some(1),
        cols,
        None,
    )))
}

/// One row of all gradients.
pub(super) fn lstm_backward(call: &Arguments) -> Result<VariableInfo> {
    let weights = call.named("weights").map(|place| call.size_of(place));
    let cols = lstm_sizes(call).zip(weights).and_then(|(sizes, weights)| {
        let [rows, units, _] = sizes;
        let input = rows.checked_mul(call.main_size().cols?)?;
        let weights = weights.rows?.checked_add(1)?.checked_mul(weights.cols?)?;
        let before = rows.checked_mul(units)?.checked_mul(2)?;
        input.checked_add(weights)?.checked_add(before)
    });
    Ok(VariableInfo::matrix(Characteristics::new(
        Some(1),
        cols,
        None,
    )))
}

/// For each thread, a row of operand and result, and a tile of pixels under windows.
pub(super) fn scratch(output: &Characteristics, input: &Characteristics) -> Option<u64> {
    let cells = output.cols?.saturating_add(input.cols?);
    Some(cells.saturating_mul(8).saturating_mul(THREADS))
}

/// Copies of what the steps gave, and of inputs that are sparse.
pub(super) fn steps(output: &Characteristics, input: &Characteristics) -> Option<u64> {
    Some(dense_bytes(output)?.saturating_add(dense_bytes(input)?))
}
