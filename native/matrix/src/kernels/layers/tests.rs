//! Layers against their definitions, cell by cell.

use super::*;
use crate::{Layout, kernels::chance::Random};

fn on_threads<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> R {
    let pool = memory::thread_pool(rayon::ThreadPoolBuilder::new(), threads, "test").unwrap();
    pool.install(work)
}

/// Whole numbers, so that sums have no rounding; some zeros.
fn cells(random: &mut Random, rows: usize, cols: usize) -> MatrixBlock {
    let cell = |random: &mut Random| match random.below(3) {
        0 => 0.0,
        _ => random.below(9) as f64 - 4.0,
    };
    let values = (0..rows * cols).map(|_| cell(random)).collect();
    MatrixBlock::dense(rows, cols, values).unwrap()
}

#[derive(Debug, Clone, Copy)]
struct Case {
    images: usize,
    channels: usize,
    filters: usize,
    image: [usize; 2],
    window: [usize; 2],
    stride: [usize; 2],
    padding: [usize; 2],
}

impl Case {
    fn any(random: &mut Random) -> Self {
        let mut below = |limit: u64| random.below(limit) as usize;
        let image = [1 + below(7), 1 + below(7)];
        let padding = [below(3), below(3)];
        let window = [0, 1].map(|axis| {
            let padded: usize = image[axis] + 2 * padding[axis];
            1 + below(padded.min(4) as u64)
        });
        Case {
            images: below(5),
            channels: 1 + below(3),
            filters: 1 + below(4),
            image,
            window,
            stride: [1 + below(3), 1 + below(3)],
            padding,
        }
    }

    fn sizes(&self, layer: WindowLayer) -> WindowSizes {
        let known = |size: usize| Some(size as u64);
        WindowSizes {
            input: [self.images, self.channels, self.image[0], self.image[1]].map(known),
            filters: layer
                .has_filters()
                .then(|| [self.filters, self.channels].map(known)),
            window: self.window.map(known),
            stride: self.stride.map(known),
            padding: self.padding.map(known),
        }
    }

    fn places(&self) -> [usize; 2] {
        [0, 1].map(|axis| {
            (self.image[axis] + 2 * self.padding[axis] - self.window[axis]) / self.stride[axis] + 1
        })
    }

    /// A matrix of this role.
    fn matrix(&self, random: &mut Random, layer: WindowLayer, role: Role) -> MatrixBlock {
        let shape = self.sizes(layer).shape(role);
        cells(
            random,
            shape.rows.unwrap() as usize,
            shape.cols.unwrap() as usize,
        )
    }

    /// Calls `visit(image, channel, place, weight, pixel)` for each pixel under each place of the window: cells of rows of results
    /// (without their channel), of filters and of images. Outside the image the pixel is `None`.
    fn visit(&self, mut visit: impl FnMut(usize, usize, usize, usize, Option<usize>)) {
        let [down, across] = self.places();
        for image in 0..self.images {
            for channel in 0..self.channels {
                for place in 0..down * across {
                    for cell in 0..self.window[0] * self.window[1] {
                        let row = place / across * self.stride[0] + cell / self.window[1];
                        let col = place % across * self.stride[1] + cell % self.window[1];
                        let inside = row
                            .checked_sub(self.padding[0])
                            .zip(col.checked_sub(self.padding[1]));
                        let inside = inside
                            .filter(|(row, col)| *row < self.image[0] && *col < self.image[1]);
                        let pixel = inside.map(|(row, col)| {
                            (channel * self.image[0] + row) * self.image[1] + col
                        });
                        let weight = channel * self.window[0] * self.window[1] + cell;
                        visit(image, channel, place, weight, pixel);
                    }
                }
            }
        }
    }

    /// As the layer is defined.
    fn expected(&self, layer: WindowLayer, operands: &[&MatrixBlock]) -> MatrixBlock {
        let shape = self.sizes(layer).shape(layer.gives());
        let (rows, cols) = (shape.rows.unwrap() as usize, shape.cols.unwrap() as usize);
        let start = match layer {
            WindowLayer::MaxPool => f64::NEG_INFINITY,
            _ => 0.0,
        };
        let mut out = vec![start; rows * cols];
        let places = self.places().iter().product::<usize>();
        let size = (self.window[0] * self.window[1]) as f64;
        let mut largest: std::collections::BTreeMap<(usize, usize), (f64, usize)> =
            Default::default();
        self.visit(|image, channel, place, weight, pixel| {
            let Some(pixel) = pixel else {
                // Convolutions take padding as zeros, which meet weights and gradients that are not numbers.
                for filter in 0..self.filters {
                    let convolved = filter * places + place;
                    match layer {
                        WindowLayer::Conv2d => {
                            out[image * cols + convolved] += 0.0 * operands[1].get(filter, weight);
                        }
                        WindowLayer::Conv2dBackwardFilter => {
                            out[filter * cols + weight] += 0.0 * operands[1].get(image, convolved);
                        }
                        _ => {}
                    }
                }
                return;
            };
            let pooled = channel * places + place;
            for filter in 0..self.filters {
                let convolved = filter * places + place;
                match layer {
                    WindowLayer::Conv2d => {
                        out[image * cols + convolved] +=
                            operands[0].get(image, pixel) * operands[1].get(filter, weight);
                    }
                    WindowLayer::Conv2dBackwardFilter => {
                        out[filter * cols + weight] +=
                            operands[0].get(image, pixel) * operands[1].get(image, convolved);
                    }
                    WindowLayer::Conv2dBackwardData => {
                        out[image * cols + pixel] +=
                            operands[0].get(filter, weight) * operands[1].get(image, convolved);
                    }
                    _ => {}
                }
            }
            match layer {
                WindowLayer::MaxPool => {
                    let cell = &mut out[image * cols + pooled];
                    let value = operands[0].get(image, pixel);
                    if value.is_nan() || cell.is_nan() {
                        *cell = f64::NAN;
                    } else if value > *cell {
                        *cell = value;
                    }
                }
                WindowLayer::AvgPool => {
                    out[image * cols + pooled] += operands[0].get(image, pixel);
                }
                WindowLayer::MaxPoolBackward => {
                    let value = operands[0].get(image, pixel);
                    let best = largest.entry((image, pooled)).or_insert((value, pixel));
                    if value > best.0 || value.is_nan() && !best.0.is_nan() {
                        *best = (value, pixel);
                    }
                }
                WindowLayer::AvgPoolBackward => {
                    out[image * cols + pixel] += operands[1].get(image, pooled) / size;
                }
                _ => {}
            }
        });
        for ((image, pooled), (_, pixel)) in largest {
            out[image * cols + pixel] += operands[1].get(image, pooled);
        }
        if layer == WindowLayer::AvgPool {
            out.iter_mut().for_each(|cell| *cell /= size);
        }
        MatrixBlock::dense(rows, cols, out).unwrap()
    }
}

/// Cells, of which NaN is NaN; those of the averages' gradients may be added in another order.
fn same(left: &MatrixBlock, right: &MatrixBlock) -> bool {
    let close = |(x, y): (&f64, &f64)| {
        x == y || x.is_nan() && y.is_nan() || (x - y).abs() <= 1e-12 * y.abs().max(1.0)
    };
    let same_shape = (left.rows(), left.cols()) == (right.rows(), right.cols());
    same_shape && left.values().iter().zip(right.values()).all(close)
}

#[test]
fn layers_are_what_they_are_defined_as() {
    let mut random = Random(7);
    for round in 0..300 {
        let case = Case::any(&mut random);
        for layer in WindowLayer::ALL {
            let operands: Vec<MatrixBlock> = layer
                .operands()
                .iter()
                .map(|(_, role)| {
                    let mut matrix = case.matrix(&mut random, layer, *role);
                    // Not a number meets pixels, weights and zeros.
                    if round % 5 == 0 && matrix.rows() * matrix.cols() > 0 {
                        let mut cells = matrix.to_dense().unwrap().into_vec().unwrap();
                        let at = random.below(cells.len() as u64) as usize;
                        cells[at] = f64::NAN;
                        matrix = MatrixBlock::dense(matrix.rows(), matrix.cols(), cells).unwrap();
                    }
                    matrix
                })
                .collect();
            let dense: Vec<&MatrixBlock> = operands.iter().collect();
            let expected = case.expected(layer, &dense);
            let sparse: Vec<MatrixBlock> = operands
                .iter()
                .map(|operand| operand.clone().in_layout(Layout::Csr).unwrap())
                .collect();
            let sparse: Vec<&MatrixBlock> = sparse.iter().collect();
            let sizes = case.sizes(layer);
            let one = on_threads(1, || window_layer(layer, &dense, &sizes)).unwrap();
            assert!(
                same(&one, &expected),
                "{layer:?} {case:?}\n{one:?}\n{expected:?}"
            );
            let bits = |block: &MatrixBlock| -> Vec<u64> {
                block.values().iter().map(|cell| cell.to_bits()).collect()
            };
            let two = on_threads(2, || window_layer(layer, &dense, &sizes)).unwrap();
            assert_eq!(bits(&one), bits(&two), "{layer:?} {case:?} on two threads");
            let rows = on_threads(2, || window_layer(layer, &sparse, &sizes)).unwrap();
            assert_eq!(bits(&one), bits(&rows), "{layer:?} {case:?} sparse");
        }
    }
}

#[test]
fn tiles_and_tasks_do_not_show() {
    let mut random = Random(11);
    let case = Case {
        images: 70,
        channels: 16,
        filters: 5,
        image: [40, 44],
        window: [5, 5],
        stride: [1, 2],
        padding: [2, 1],
    };
    for layer in WindowLayer::ALL {
        let images = match layer.has_filters() {
            true => 3,
            false => 70,
        };
        let case = Case { images, ..case };
        let operands = layer.operands().iter();
        let operands: Vec<MatrixBlock> = operands
            .map(|(_, role)| case.matrix(&mut random, layer, *role))
            .collect();
        let operands: Vec<&MatrixBlock> = operands.iter().collect();
        let sizes = case.sizes(layer);
        let expected = case.expected(layer, &operands);
        for threads in [1, 2] {
            let found = on_threads(threads, || window_layer(layer, &operands, &sizes)).unwrap();
            assert!(same(&found, &expected), "{layer:?} on {threads} threads");
        }
    }
}

#[test]
fn all_that_does_not_fit_is_named() {
    let block = |rows: usize, cols: usize| MatrixBlock::filled(rows, cols, 1.0).unwrap();
    let sizes = WindowSizes {
        input: [2, 3, 4, 5].map(Some),
        filters: Some([Some(7), Some(2)]),
        window: [Some(9), Some(2)],
        stride: [Some(0), Some(1)],
        padding: [Some(1), Some(0)],
    };
    let (input, filter) = (block(2, 59), block(6, 12));
    let error = window_layer(WindowLayer::Conv2d, &[&input, &filter], &sizes).unwrap_err();
    insta::assert_snapshot!(error.message().replace("; ", "\n"), @"
    the stride down is 0
    a window of 9 x 2 is larger than images of 4 x 5 with padding of 1 and 0
    filter_shape has 2 channels, and input_shape 3
    'input' is 2 x 59, and input_shape makes it 2 x 60
    'filter' is 6 x 12, and filter_shape makes it 7 x 54
    ");
    for (rows, cols, wanted) in [(2, 2, 4), (3, 1, 4), (0, 1, 1)] {
        assert!(channel_row(&block(rows, cols), wanted).is_err());
    }
}

/// A layer of one output and one step, worked out by hand: 1 row, 1 feature.
#[test]
fn a_step_of_a_recurrent_layer() {
    let block = |rows: usize, cols: usize, values: &[f64]| {
        MatrixBlock::dense(rows, cols, values.to_vec()).unwrap()
    };
    let (input, bias) = (block(1, 1, &[0.5]), block(1, 4, &[0.1, 0.2, 0.3, 0.4]));
    let weights = block(2, 4, &[1.0, 2.0, 3.0, 4.0, 0.5, 0.25, 0.125, 1.0]);
    let (output, state) = (block(1, 1, &[2.0]), block(1, 1, &[3.0]));
    let inputs = LstmInputs {
        input: &input,
        weights: &weights,
        bias: &bias,
        output: &output,
        state: &state,
        sequences: true,
    };
    let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
    let (i, f, o) = (sigmoid(1.6), sigmoid(1.7), sigmoid(2.05));
    let g = 4.4f64.tanh();
    let c = f * 3.0 + i * g;
    let out = o * c.tanh();
    let expected = block(1, 9, &[out, c, out, c, i, f, o, g, 0.0]);
    let found = lstm(&inputs).unwrap();
    for (found, expected) in found.values().iter().zip(expected.values()) {
        assert!((found - expected).abs() < 1e-15, "{found} {expected}");
    }
    assert_eq!(found.cols(), 8);
}

/// Gradients of a weighted sum of outputs and last states are those that differences give.
#[test]
fn gradients_of_a_recurrent_layer_are_differences() {
    let mut random = Random(3);
    let (rows, features, units, steps) = (3, 2, 4, 3);
    let mut block = |rows: usize, cols: usize| {
        let values = (0..rows * cols).map(|_| random.unit() - 0.5).collect();
        MatrixBlock::dense(rows, cols, values).unwrap()
    };
    for sequences in [true, false] {
        let kept = if sequences { steps } else { 1 };
        let given = [
            block(rows, steps * features),
            block(features + units, 4 * units),
            block(1, 4 * units),
            block(rows, units),
            block(rows, units),
        ];
        let (d_output, d_state) = (block(rows, kept * units), block(rows, units));
        let inputs = |given: &'_ [MatrixBlock; 5]| -> [MatrixBlock; 5] { given.clone() };
        let layer = |[input, weights, bias, output, state]: &[MatrixBlock; 5],
                     run: &dyn Fn(&LstmInputs<'_>) -> Vec<f64>| {
            run(&LstmInputs {
                input,
                weights,
                bias,
                output,
                state,
                sequences,
            })
        };
        let forward = |inputs: &LstmInputs<'_>| lstm(inputs).unwrap().values().to_vec();
        let loss = |given: &[MatrixBlock; 5]| -> f64 {
            let results = layer(given, &forward);
            let weights = d_output.values().iter().chain(d_state.values());
            results.iter().zip(weights).map(|(x, y)| x * y).sum()
        };
        let backward = |inputs: &LstmInputs<'_>| {
            lstm_backward(inputs, &d_output, &d_state, None)
                .unwrap()
                .values()
                .to_vec()
        };
        let gradients = layer(&given, &backward);
        let mut at = 0;
        for (place, block) in given.iter().enumerate() {
            for cell in 0..block.values().len() {
                let moved = |by: f64| {
                    let mut given = inputs(&given);
                    let mut values = block.values().to_vec();
                    values[cell] += by;
                    given[place] = MatrixBlock::dense(block.rows(), block.cols(), values).unwrap();
                    loss(&given)
                };
                let difference = (moved(1e-5) - moved(-1e-5)) / 2e-5;
                let gradient = gradients[at];
                assert!(
                    (gradient - difference).abs() < 1e-8,
                    "{place} {cell}: {gradient} {difference}"
                );
                at += 1;
            }
        }
        assert_eq!(at, gradients.len());
        let states = layer(&given, &forward);
        let size = rows * units;
        let part = |from: usize, rows: usize, cols: usize| {
            let values = states[from..from + rows * cols].to_vec();
            MatrixBlock::dense(rows, cols, values).unwrap()
        };
        let first = size * (kept + 1);
        let (outputs, cells) = (
            part(first, steps, size),
            part(first + steps * size, steps, size),
        );
        let gates = part(first + 2 * steps * size, steps, 4 * size);
        let with_states = |inputs: &LstmInputs<'_>| {
            let states = LstmStates {
                outputs: &outputs,
                states: &cells,
                gates: &gates,
            };
            let result = lstm_backward(inputs, &d_output, &d_state, Some(states));
            result.unwrap().values().to_vec()
        };
        assert_eq!(layer(&given, &with_states), gradients);
    }
}
