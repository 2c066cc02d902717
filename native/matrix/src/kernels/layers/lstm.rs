//! A layer of long short-term memory.
//!
//! Each of N rows of the input has T steps of D features. A step takes its features and the outputs of the step before, `input`, and gives
//! M outputs: `input %*% W + b` are the gates i, f and o, and the candidates g, in this order; `c = f * c + i * g`; `out = o * tanh(c)`.

use fulgurite_error::{Error, Result};
use rayon::prelude::*;

use crate::{
    DenseMatrix, Interrupt, MatrixBlock,
    kernels::dense_product::{View, product_in_parallel},
    memory::{self, cells},
    parallel::TASK_CELLS,
    vector_math,
};

/// What both directions take.
#[derive(Debug, Clone, Copy)]
pub struct LstmInputs<'a> {
    /// N x TD
    pub input: &'a MatrixBlock,
    /// (D + M) x 4M
    pub weights: &'a MatrixBlock,
    /// 1 x 4M
    pub bias: &'a MatrixBlock,
    /// Outputs before the first step: N x M.
    pub output: &'a MatrixBlock,
    /// The state before the first step: N x M.
    pub state: &'a MatrixBlock,
    /// Whether outputs are those of all steps, and not of the last one only.
    pub sequences: bool,
}

/// What the steps gave, a row for each step.
#[derive(Debug, Clone, Copy)]
pub struct LstmStates<'a> {
    /// T x NM
    pub outputs: &'a MatrixBlock,
    /// T x NM
    pub states: &'a MatrixBlock,
    /// T x 4NM
    pub gates: &'a MatrixBlock,
}

/// Inputs that fit each other, dense.
struct Layer {
    input: DenseMatrix,
    weights: DenseMatrix,
    bias: DenseMatrix,
    output: DenseMatrix,
    state: DenseMatrix,
    sequences: bool,
    rows: usize,
    features: usize,
    units: usize,
    steps: usize,
}

impl Layer {
    fn new(inputs: &LstmInputs<'_>) -> Result<Self> {
        let (rows, units) = (inputs.input.rows(), inputs.output.cols());
        let features = inputs.weights.rows().checked_sub(units);
        let steps = features.and_then(|features| {
            let steps = inputs.input.cols().checked_div(features)?;
            (steps > 0 && steps * features == inputs.input.cols()).then_some(steps)
        });
        let gates = units.checked_mul(4);
        let fits = [
            units > 0,
            gates == Some(inputs.weights.cols()),
            gates == Some(inputs.bias.cols()) && inputs.bias.rows() == 1,
            inputs.output.rows() == rows,
            inputs.state.rows() == rows && inputs.state.cols() == units,
        ];
        let (Some(features), Some(steps), [true, true, true, true, true]) = (features, steps, fits)
        else {
            return Err(misfit(inputs));
        };
        Ok(Layer {
            input: inputs.input.to_dense()?,
            weights: inputs.weights.to_dense()?,
            bias: inputs.bias.to_dense()?,
            output: inputs.output.to_dense()?,
            state: inputs.state.to_dense()?,
            sequences: inputs.sequences,
            rows,
            features,
            units,
            steps,
        })
    }

    /// Features of a step beside outputs of the step before.
    fn step_input(&self, step: usize, before: &[f64]) -> Result<Vec<f64>> {
        let (features, units) = (self.features, self.units);
        let mut input = memory::room(cells(self.rows, features + units)?)?;
        for row in 0..self.rows {
            let all = self.input.row(row);
            input.extend_from_slice(&all[step * features..][..features]);
            input.extend_from_slice(&before[row * units..][..units]);
        }
        Ok(input)
    }

    fn weights(&self) -> View<'_> {
        let (rows, cols) = (self.weights.rows(), self.weights.cols());
        View::of_rows(self.weights.values(), rows, cols, cols)
    }

    /// Gates and candidates of a step: N x 4M.
    fn gates(&self, step: usize, before: &[f64]) -> Result<Vec<f64>> {
        let depth = self.weights.rows();
        let input = self.step_input(step, before)?;
        let input = View::of_rows(&input, self.rows, depth, depth);
        let mut gates = product_in_parallel(input, self.weights())?;
        let (units, bias) = (self.units, self.bias.values());
        let width = 4 * units;
        let chunk = (TASK_CELLS / width.max(1)).max(1) * width.max(1);
        gates.par_chunks_mut(chunk).for_each(|gates| {
            let mut raw = [0.0; 256];
            for row in gates.chunks_exact_mut(width) {
                for (cell, bias) in row.iter_mut().zip(bias) {
                    *cell += bias;
                }
                let (squashed, candidates) = row.split_at_mut(3 * units);
                let forms: [(&mut [f64], vector_math::UnaryForm); 2] = [
                    (squashed, vector_math::sigmoid),
                    (candidates, vector_math::tanh),
                ];
                for (cells, form) in forms {
                    for cells in cells.chunks_mut(raw.len()) {
                        let raw = &mut raw[..cells.len()];
                        raw.copy_from_slice(cells);
                        form(raw, cells);
                    }
                }
            }
        });
        Ok(gates)
    }
}

fn misfit(inputs: &LstmInputs<'_>) -> Error {
    let shape = |block: &MatrixBlock| format!("{} x {}", block.rows(), block.cols());
    Error::dimension(format!(
        "an input of {}, weights of {}, a bias of {}, outputs of {} and states of {} before the first step do not fit",
        shape(inputs.input),
        shape(inputs.weights),
        shape(inputs.bias),
        shape(inputs.output),
        shape(inputs.state),
    ))
    .with_help(
        "for N rows of T steps with D features, and M outputs, they are N x TD, (D+M) x 4M, 1 x 4M, N x M and N x M",
    )
}

/// Outputs, the last state, and outputs, states and gates of all steps, each by its rows, one after the other in one row.
///
/// # Errors
/// `dimension`, where shapes don't fit; `memory`; `interrupted`.
pub fn lstm(inputs: &LstmInputs<'_>) -> Result<MatrixBlock> {
    let layer = Layer::new(inputs)?;
    let (rows, units, steps) = (layer.rows, layer.units, layer.steps);
    let step_cells = cells(rows, units)?;
    let kept = if layer.sequences { steps } else { 1 };
    let all = cells(step_cells, kept + 1 + 6 * steps)?;
    let mut result = memory::zeros(all)?;
    let (outputs, rest) = result.split_at_mut(step_cells * kept);
    let (last_state, rest) = rest.split_at_mut(step_cells);
    let (step_outputs, rest) = rest.split_at_mut(step_cells * steps);
    let (step_states, step_gates) = rest.split_at_mut(step_cells * steps);
    let interrupt = Interrupt::current();
    let mut before = memory::copied(layer.output.values())?;
    let mut state = memory::copied(layer.state.values())?;
    let mut squashed = memory::zeros(step_cells)?;
    for step in 0..steps {
        interrupt.check()?;
        let gates = layer.gates(step, &before)?;
        for (row, gates) in gates.chunks_exact(4 * units.max(1)).enumerate() {
            let state = &mut state[row * units..][..units];
            let (i, f, g) = (&gates[..units], &gates[units..], &gates[3 * units..]);
            for (unit, state) in state.iter_mut().enumerate() {
                *state = f[unit] * *state + i[unit] * g[unit];
            }
        }
        vector_math::tanh(&state, &mut squashed);
        for (row, gates) in gates.chunks_exact(4 * units.max(1)).enumerate() {
            let o = &gates[2 * units..][..units];
            let squashed = &squashed[row * units..];
            let before = &mut before[row * units..][..units];
            for (unit, out) in before.iter_mut().enumerate() {
                *out = o[unit] * squashed[unit];
            }
            let column = if layer.sequences { step } else { 0 };
            outputs[(row * kept + column) * units..][..units].copy_from_slice(before);
        }
        step_outputs[step * step_cells..][..step_cells].copy_from_slice(&before);
        step_states[step * step_cells..][..step_cells].copy_from_slice(&state);
        step_gates[step * 4 * step_cells..][..4 * step_cells].copy_from_slice(&gates);
    }
    last_state.copy_from_slice(&state);
    MatrixBlock::dense(1, all, result)
}

/// Gradients of the input, the weights, the bias, and the outputs and states before the first step, each by its rows, one after the
/// other in one row.
///
/// # Errors
/// As [`lstm`].
pub fn lstm_backward(
    inputs: &LstmInputs<'_>,
    output_gradient: &MatrixBlock,
    state_gradient: &MatrixBlock,
    states: Option<LstmStates<'_>>,
) -> Result<MatrixBlock> {
    let layer = Layer::new(inputs)?;
    let (rows, units, steps, features) = (layer.rows, layer.units, layer.steps, layer.features);
    let step_cells = cells(rows, units)?;
    let kept = if layer.sequences { steps } else { 1 };
    let check = |name: &str, block: &MatrixBlock, rows: usize, cols: usize| match block.rows()
        == rows
        && block.cols() == cols
    {
        true => Ok(()),
        false => Err(Error::dimension(format!(
            "{name} are {} x {}, and the other inputs make them {rows} x {cols}",
            block.rows(),
            block.cols()
        ))),
    };
    check(
        "gradients of outputs",
        output_gradient,
        rows,
        cells(units, kept)?,
    )?;
    check("gradients of states", state_gradient, rows, units)?;
    if let Some(states) = &states {
        check("outputs of steps", states.outputs, steps, step_cells)?;
        check("states of steps", states.states, steps, step_cells)?;
        check("gates of steps", states.gates, steps, cells(step_cells, 4)?)?;
    }
    // Without what the steps gave, they are run again.
    let (step_outputs, step_states, step_gates) = match states {
        Some(states) => (
            states.outputs.to_dense()?.into_vec()?,
            states.states.to_dense()?.into_vec()?,
            states.gates.to_dense()?.into_vec()?,
        ),
        None => {
            let again = lstm(inputs)?.to_dense()?;
            let (_, rest) = again.values().split_at(step_cells * (kept + 1));
            let (outputs, rest) = rest.split_at(step_cells * steps);
            let (states, gates) = rest.split_at(step_cells * steps);
            (
                memory::copied(outputs)?,
                memory::copied(states)?,
                memory::copied(gates)?,
            )
        }
    };
    let (depth, width) = (features + units, 4 * units);
    let (output_gradient, state_gradient) =
        (output_gradient.to_dense()?, state_gradient.to_dense()?);
    let input_cells = cells(rows, layer.input.cols())?;
    let weight_cells = cells(depth, width)?;
    let all = input_cells + weight_cells + width + 2 * step_cells;
    let mut result = memory::zeros(all)?;
    let (d_input, rest) = result.split_at_mut(input_cells);
    let (d_weights, rest) = rest.split_at_mut(weight_cells);
    let (d_bias, rest) = rest.split_at_mut(width);
    let (d_first_output, d_first_state) = rest.split_at_mut(step_cells);
    let interrupt = Interrupt::current();
    // Gradients of the state and outputs of a step that come from later ones.
    let mut d_state = memory::copied(state_gradient.values())?;
    let mut d_output = memory::zeros(step_cells)?;
    let mut d_gates = memory::zeros(cells(rows, width)?)?;
    let mut squashed = memory::zeros(step_cells)?;
    for step in (0..steps).rev() {
        interrupt.check()?;
        let of_step = |step: usize| step * step_cells..(step + 1) * step_cells;
        let states = &step_states[of_step(step)];
        let gates = &step_gates[4 * step * step_cells..][..4 * step_cells];
        let (before, state_before) = match step.checked_sub(1) {
            None => (layer.output.values(), layer.state.values()),
            Some(earlier) => (
                &step_outputs[of_step(earlier)],
                &step_states[of_step(earlier)],
            ),
        };
        vector_math::tanh(states, &mut squashed);
        let has_gradient = layer.sequences || step + 1 == steps;
        let column = if layer.sequences { step } else { 0 };
        for row in 0..rows {
            let gates = &gates[row * width..][..width];
            let d_gates = &mut d_gates[row * width..][..width];
            for unit in 0..units {
                let cell = row * units + unit;
                let [i, f, o, g] = [0, 1, 2, 3].map(|gate| gates[gate * units + unit]);
                let from_above = match has_gradient {
                    true => output_gradient.row(row)[column * units + unit],
                    false => 0.0,
                };
                let d_out = from_above + d_output[cell];
                let tanh = squashed[cell];
                let d = d_state[cell] + o * ((1.0 - tanh * tanh) * d_out);
                d_gates[unit] = i * (1.0 - i) * (g * d);
                d_gates[units + unit] = f * (1.0 - f) * (state_before[cell] * d);
                d_gates[2 * units + unit] = o * (1.0 - o) * (tanh * d_out);
                d_gates[3 * units + unit] = (1.0 - g * g) * (i * d);
                d_state[cell] = f * d;
            }
            for (sum, cell) in d_bias.iter_mut().zip(&*d_gates) {
                *sum += cell;
            }
        }
        let gradient = View::of_rows(&d_gates, rows, width, width);
        let input = layer.step_input(step, before)?;
        let input = View::of_rows(&input, rows, depth, depth);
        let d_step = product_in_parallel(input.transposed(), gradient)?;
        for (sum, cell) in d_weights.iter_mut().zip(d_step) {
            *sum += cell;
        }
        let d_step = product_in_parallel(gradient, layer.weights().transposed())?;
        for (row, d_step) in d_step.chunks_exact(depth.max(1)).enumerate() {
            let (of_features, of_outputs) = d_step.split_at(features);
            let start = row * layer.input.cols() + step * features;
            d_input[start..start + features].copy_from_slice(of_features);
            d_output[row * units..][..units].copy_from_slice(of_outputs);
        }
    }
    d_first_output.copy_from_slice(&d_output);
    d_first_state.copy_from_slice(&d_state);
    MatrixBlock::dense(1, all, result)
}
