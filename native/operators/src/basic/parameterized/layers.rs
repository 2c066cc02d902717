//! Layers of neural networks.

use fulgurite_error::Result;
use fulgurite_matrix::{
    MatrixBlock,
    kernels::layers::{self, LstmInputs, LstmStates, WindowLayer, WindowSizes},
};

use super::{super::super::value::Value, Named};

/// A layer that moves a window over images.
pub(super) fn window(layer: WindowLayer, named: &Named<'_>) -> Result<Value> {
    let (filters, window) = match layer.has_filters() {
        true => {
            let [filters, channels, height, width] = listed(named, "filter_shape")?;
            (Some([filters, channels]), [height, width])
        }
        false => (None, listed(named, "pool_size")?),
    };
    let sizes = WindowSizes {
        input: listed(named, "input_shape")?,
        filters,
        window,
        stride: listed(named, "stride")?,
        padding: listed(named, "padding")?,
    };
    let operands = layer.operands().iter();
    let operands: Vec<&MatrixBlock> = operands
        .map(|(name, _)| named.matrix(name))
        .collect::<Result<_>>()?;
    layers::window_layer(layer, &operands, &sizes).map(Value::Matrix)
}

/// The members of a list of sizes.
fn listed<const COUNT: usize>(named: &Named<'_>, list: &str) -> Result<[Option<u64>; COUNT]> {
    let mut sizes = [None; COUNT];
    for (number, size) in (1..).zip(&mut sizes) {
        *size = Some(named.size(&format!("{list}{number}"))? as u64);
    }
    Ok(sizes)
}

pub(super) fn lstm(named: &Named<'_>) -> Result<Value> {
    layers::lstm(&lstm_inputs(named)?).map(Value::Matrix)
}

pub(super) fn lstm_backward(named: &Named<'_>) -> Result<Value> {
    let states = match named.places.contains_key("cache_out") {
        true => Some(LstmStates {
            outputs: named.matrix("cache_out")?,
            states: named.matrix("cache_c")?,
            gates: named.matrix("cache_ifog")?,
        }),
        false => None,
    };
    layers::lstm_backward(
        &lstm_inputs(named)?,
        named.matrix("dout")?,
        named.matrix("dc")?,
        states,
    )
    .map(Value::Matrix)
}

fn lstm_inputs<'a>(named: &Named<'a>) -> Result<LstmInputs<'a>> {
    Ok(LstmInputs {
        input: named.matrix("input")?,
        weights: named.matrix("weights")?,
        bias: named.matrix("bias")?,
        output: named.matrix("out0")?,
        state: named.matrix("c0")?,
        sequences: named.truth_or("return_sequences", true)?,
    })
}
