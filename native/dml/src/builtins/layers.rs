//! Layers of neural networks.
//!
//! Bias and batch normalisation are made of other operators: these fuse with their neighbours and run on stripes. An operator gives one
//! value, so the results of a recurrent layer come one after the other in one row, and index operators take them apart.

use fulgurite_error::{Error, Result};
use fulgurite_hop::{BinaryOp, Direction, HopId, HopOp, Literal, ParameterizedOp, UnaryOp};

use super::{
    BoundCall, Builtin, Kind, Parameter, Rule, build::with_names, builtin, optional, required,
};

pub(super) const BUILTINS: &[Builtin] = &[
    builtin(
        "conv2d",
        &convolution("input", "filter"),
        Rule::Function(|call| window(call, ParameterizedOp::Conv2d)),
    ),
    builtin(
        "conv2d_backward_filter",
        &convolution("input", "dout"),
        Rule::Function(|call| window(call, ParameterizedOp::Conv2dBackwardFilter)),
    ),
    builtin(
        "conv2d_backward_data",
        &convolution("filter", "dout"),
        Rule::Function(|call| window(call, ParameterizedOp::Conv2dBackwardData)),
    ),
    builtin(
        "max_pool",
        POOLING,
        Rule::Function(|call| window(call, ParameterizedOp::MaxPool)),
    ),
    builtin(
        "max_pool_backward",
        POOLING_BACKWARD,
        Rule::Function(|call| window(call, ParameterizedOp::MaxPoolBackward)),
    ),
    builtin(
        "avg_pool",
        POOLING,
        Rule::Function(|call| window(call, ParameterizedOp::AvgPool)),
    ),
    builtin(
        "avg_pool_backward",
        POOLING_BACKWARD,
        Rule::Function(|call| window(call, ParameterizedOp::AvgPoolBackward)),
    ),
    builtin(
        "bias_add",
        BIAS,
        Rule::Function(|call| bias(call, |layer, x, y| layer.plus(x, y))),
    ),
    builtin(
        "bias_multiply",
        BIAS,
        Rule::Function(|call| bias(call, |layer, x, y| layer.times(x, y))),
    ),
    builtin(
        "batch_norm2d",
        BATCH_NORM,
        Rule::Several(&[5], batch_norm2d),
    ),
    builtin(
        "batch_norm2d_backward",
        BATCH_NORM_BACKWARD,
        Rule::Several(&[3], batch_norm2d_backward),
    ),
    // SystemML's has two results, and SystemDS's the steps' besides.
    builtin("lstm", LSTM, Rule::Several(&[5, 2], lstm)),
    builtin(
        "lstm_backward",
        LSTM_BACKWARD,
        Rule::Several(&[5], lstm_backward),
    ),
];

const INPUT_SHAPE: Parameter = required("input_shape", Kind::Sizes(4));
const STRIDE: Parameter = optional("stride", Kind::Sizes(2));
const PADDING: Parameter = optional("padding", Kind::Sizes(2));

const fn convolution(first: &'static str, second: &'static str) -> [Parameter; 6] {
    [
        required(first, Kind::Matrix),
        required(second, Kind::Matrix),
        INPUT_SHAPE,
        required("filter_shape", Kind::Sizes(4)),
        STRIDE,
        PADDING,
    ]
}

const POOLING: &[Parameter] = &[
    required("input", Kind::Matrix),
    INPUT_SHAPE,
    required("pool_size", Kind::Sizes(2)),
    STRIDE,
    PADDING,
];
const POOLING_BACKWARD: &[Parameter] = &[
    required("input", Kind::Matrix),
    required("dout", Kind::Matrix),
    INPUT_SHAPE,
    required("pool_size", Kind::Sizes(2)),
    STRIDE,
    PADDING,
];
const BIAS: &[Parameter] = &[
    required("input", Kind::Matrix),
    required("bias", Kind::Matrix),
];
const BATCH_NORM: &[Parameter] = &[
    required("input", Kind::Matrix),
    required("gamma", Kind::Matrix),
    required("beta", Kind::Matrix),
    required("ema_mean", Kind::Matrix),
    required("ema_var", Kind::Matrix),
    required("mode", Kind::String),
    required("epsilon", Kind::Number),
    required("mu", Kind::Number),
];
const BATCH_NORM_BACKWARD: &[Parameter] = &[
    required("input", Kind::Matrix),
    required("dout", Kind::Matrix),
    required("gamma", Kind::Matrix),
    required("epsilon", Kind::Number),
    required("cache_mean", Kind::Matrix),
    required("cache_inv_var", Kind::Matrix),
];
const LSTM: &[Parameter] = &[
    required("input", Kind::Matrix),
    required("weights", Kind::Matrix),
    required("bias", Kind::Matrix),
    required("out0", Kind::Matrix),
    required("c0", Kind::Matrix),
    required("return_sequences", Kind::Boolean),
];
const LSTM_BACKWARD: &[Parameter] = &[
    required("input", Kind::Matrix),
    required("weights", Kind::Matrix),
    required("bias", Kind::Matrix),
    required("out0", Kind::Matrix),
    required("c0", Kind::Matrix),
    required("return_sequences", Kind::Boolean),
    required("dout", Kind::Matrix),
    required("dc", Kind::Matrix),
    optional("cache_out", Kind::Matrix),
    optional("cache_c", Kind::Matrix),
    optional("cache_ifog", Kind::Matrix),
];

/// An operator whose lists of sizes become inputs each: `stride=[2, 1]` gives `stride1` and `stride2`.
fn window(call: &mut BoundCall<'_>, op: ParameterizedOp) -> Result<HopId> {
    let mut inputs = Vec::new();
    for (place, parameter) in call.builtin.parameters.iter().enumerate() {
        let Kind::Sizes(count) = parameter.kind else {
            inputs.push((parameter.name.to_owned(), call.argument(place)?));
            continue;
        };
        let members = match call.optional(place) {
            Some(list) => members(call, place, list, count)?,
            None => {
                let left_out = i64::from(parameter.name == STRIDE.name);
                vec![call.block.int(left_out, call.position); count]
            }
        };
        for (number, member) in (1..).zip(members) {
            inputs.push((format!("{}{number}", parameter.name), member));
        }
    }
    let (op, inputs) = with_names(op, inputs);
    Ok(call.matrix(op, inputs))
}

/// The members of a list that is written out.
fn members(call: &BoundCall<'_>, place: usize, list: HopId, count: usize) -> Result<Vec<HopId>> {
    let hop = call.block.hop(list);
    let is_number = |id: &HopId| {
        let hop = call.block.hop(*id);
        hop.is_scalar() && !call.block.is_string(*id)
    };
    match hop.op.with_named_inputs() {
        Some((ParameterizedOp::List, _))
            if hop.inputs.len() == count && hop.inputs.iter().all(is_number) =>
        {
            Ok(hop.inputs.clone())
        }
        _ => Err(call.wrong_type(place, &Kind::Sizes(count).describe())),
    }
}

/// Each pixel combined with the number of its channel: a row in which that number stands for all its pixels is broadcast.
fn bias(call: &mut BoundCall<'_>, combine: Combine) -> Result<HopId> {
    let (input, bias) = (call.argument(0)?, call.argument(1)?);
    let mut layer = Formula { call };
    let cols = layer.cols(input);
    let row = layer.channel_row(bias, cols);
    combine(&mut layer, input, row)
}

/// `((X - mean) / sqrt(var + epsilon)) * gamma + beta`, with the means and variances of channels in this batch, or moving averages.
fn batch_norm2d(call: &mut BoundCall<'_>) -> Result<Vec<HopId>> {
    let [input, gamma, beta, ema_mean, ema_var, mode, epsilon, mu] = arguments(call)?;
    let training = match call.block.constant(mode) {
        Some(Literal::String(text)) => Some(text == "train"),
        _ => None,
    };
    let mut layer = Formula { call };
    let cols = layer.cols(input);
    let one = layer.int(1);
    // Averages where it is known to be no training are never computed.
    let (mean, var, new_mean, new_var) = if training == Some(false) {
        (ema_mean, ema_var, ema_mean, ema_var)
    } else {
        let channels = layer.rows(gamma);
        let pixels = layer.binary(BinaryOp::IntDiv, cols, channels)?;
        let rows = layer.rows(input);
        let count = layer.times(rows, pixels)?;
        let sums = layer.channel_sums(input, channels)?;
        let mean = layer.binary(BinaryOp::Div, sums, count)?;
        let mean_row = layer.channel_row(mean, cols);
        let centered = layer.minus(input, mean_row)?;
        let squares = layer.times(centered, centered)?;
        let sums = layer.channel_sums(squares, channels)?;
        let var = layer.binary(BinaryOp::Div, sums, count)?;
        let rest = layer.minus(one, mu)?;
        let moved = |layer: &mut Formula<'_, '_>, average, new| {
            let kept = layer.times(mu, average)?;
            let added = layer.times(rest, new)?;
            layer.plus(kept, added)
        };
        let new_mean = moved(&mut layer, ema_mean, mean)?;
        let new_var = moved(&mut layer, ema_var, var)?;
        match training {
            Some(_) => (mean, var, new_mean, new_var),
            None => {
                let train = layer.text("train");
                let train = layer.binary(BinaryOp::Equal, mode, train)?;
                (
                    layer.if_else(train, mean, ema_mean)?,
                    layer.if_else(train, var, ema_var)?,
                    layer.if_else(train, new_mean, ema_mean)?,
                    layer.if_else(train, new_var, ema_var)?,
                )
            }
        }
    };
    let shifted = layer.plus(var, epsilon)?;
    let deviation = layer.unary(UnaryOp::Sqrt, shifted)?;
    let inverse = layer.binary(BinaryOp::Div, one, deviation)?;
    let mut result = input;
    let steps: [(Combine, HopId); 4] = [
        (|layer, x, y| layer.minus(x, y), mean),
        (|layer, x, y| layer.times(x, y), inverse),
        (|layer, x, y| layer.times(x, y), gamma),
        (|layer, x, y| layer.plus(x, y), beta),
    ];
    for (combine, channels) in steps {
        let row = layer.channel_row(channels, cols);
        result = combine(&mut layer, result, row)?;
    }
    Ok(vec![result, new_mean, new_var, mean, inverse])
}

/// Gradients of input, gamma and beta.
fn batch_norm2d_backward(call: &mut BoundCall<'_>) -> Result<Vec<HopId>> {
    let [input, dout, gamma, _, mean, inverse] = arguments(call)?;
    let mut layer = Formula { call };
    let cols = layer.cols(input);
    let rows = layer.rows(input);
    let channels = layer.rows(gamma);
    let pixels = layer.binary(BinaryOp::IntDiv, cols, channels)?;
    let count = layer.times(rows, pixels)?;
    let mean_row = layer.channel_row(mean, cols);
    let inverse_row = layer.channel_row(inverse, cols);
    let gamma_row = layer.channel_row(gamma, cols);
    let centered = layer.minus(input, mean_row)?;
    let norm = layer.times(centered, inverse_row)?;
    let weighted = layer.times(dout, norm)?;
    let d_gamma = layer.channel_sums(weighted, channels)?;
    let d_beta = layer.channel_sums(dout, channels)?;
    let d_norm = layer.times(dout, gamma_row)?;
    // The mean acts through each pixel, and the variance through its distance from the mean.
    let d_norm_sum = layer.channel_sums(d_norm, channels)?;
    let weighted = layer.times(d_norm, norm)?;
    let d_norm_weighted = layer.channel_sums(weighted, channels)?;
    let d_var = layer.binary(BinaryOp::Div, d_norm_weighted, count)?;
    let d_mean = layer.binary(BinaryOp::Div, d_norm_sum, count)?;
    // Where the mean is not that of this batch, the variance depends on it, too.
    let norm_sum = layer.channel_sums(norm, channels)?;
    let norm_mean = layer.binary(BinaryOp::Div, norm_sum, count)?;
    let through_both = layer.times(norm_mean, d_var)?;
    let d_mean = layer.minus(d_mean, through_both)?;
    let d_mean = layer.channel_row(d_mean, cols);
    let d_var = layer.channel_row(d_var, cols);
    let through_var = layer.times(norm, d_var)?;
    let d_input = layer.minus(d_norm, d_mean)?;
    let d_input = layer.minus(d_input, through_var)?;
    let d_input = layer.times(d_input, inverse_row)?;
    Ok(vec![d_input, d_gamma, d_beta])
}

/// Outputs, the last state, and outputs, states and gates of all steps.
fn lstm(call: &mut BoundCall<'_>) -> Result<Vec<HopId>> {
    let (op, inputs) = call.named(ParameterizedOp::Lstm);
    let results = call.matrix(op, inputs);
    let sequences = call.argument(5)?;
    let mut layer = Formula { call };
    let [rows, units, features] = layer.lstm_sizes()?;
    let input = layer.call.argument(0)?;
    let cols = layer.cols(input);
    let steps = layer.binary(BinaryOp::IntDiv, cols, features)?;
    let (one, four) = (layer.int(1), layer.int(4));
    let kept = layer.if_else(sequences, steps, one)?;
    let outputs = layer.times(kept, units)?;
    let step = layer.times(rows, units)?;
    let gates = layer.times(four, step)?;
    layer.taken_apart(
        results,
        &[
            [rows, outputs],
            [rows, units],
            [steps, step],
            [steps, step],
            [steps, gates],
        ],
    )
}

/// Gradients of input, weights, bias, and the outputs and states before the first step.
fn lstm_backward(call: &mut BoundCall<'_>) -> Result<Vec<HopId>> {
    let caches = [8, 9, 10].map(|place| call.optional(place).is_some());
    if caches != [true; 3] && caches != [false; 3] {
        return Err(Error::validation(format!(
            "'{}' takes all results of the steps, or none",
            call.name
        ))
        .at(call.position)
        .with_help("cache_out, cache_c and cache_ifog are results of lstm()"));
    }
    let (op, inputs) = call.named(ParameterizedOp::LstmBackward);
    let results = call.matrix(op, inputs);
    let (input, weights) = (call.argument(0)?, call.argument(1)?);
    let mut layer = Formula { call };
    let [rows, units, _] = layer.lstm_sizes()?;
    let cols = layer.cols(input);
    let depth = layer.rows(weights);
    let gates = layer.cols(weights);
    let one = layer.int(1);
    layer.taken_apart(
        results,
        &[
            [rows, cols],
            [depth, gates],
            [one, gates],
            [rows, units],
            [rows, units],
        ],
    )
}

/// The first arguments, which are all required.
fn arguments<const COUNT: usize>(call: &BoundCall<'_>) -> Result<[HopId; COUNT]> {
    let mut arguments = [HopId(0); COUNT];
    for (place, argument) in arguments.iter_mut().enumerate() {
        *argument = call.argument(place)?;
    }
    Ok(arguments)
}

/// An operator on two values.
type Combine = for<'c, 'b> fn(&mut Formula<'c, 'b>, HopId, HopId) -> Result<HopId>;

/// HOPs of a layer, all at the place of its call.
struct Formula<'c, 'b> {
    call: &'c mut BoundCall<'b>,
}

impl Formula<'_, '_> {
    fn binary(&mut self, op: BinaryOp, left: HopId, right: HopId) -> Result<HopId> {
        self.call.block.binary(op, left, right, self.call.position)
    }

    fn unary(&mut self, op: UnaryOp, operand: HopId) -> Result<HopId> {
        self.call.block.unary(op, operand, self.call.position)
    }

    fn if_else(&mut self, condition: HopId, then: HopId, otherwise: HopId) -> Result<HopId> {
        let position = self.call.position;
        self.call
            .block
            .if_else(condition, then, otherwise, position)
    }

    fn plus(&mut self, left: HopId, right: HopId) -> Result<HopId> {
        self.call.block.plus(left, right, self.call.position)
    }

    fn minus(&mut self, left: HopId, right: HopId) -> Result<HopId> {
        self.binary(BinaryOp::Minus, left, right)
    }

    fn times(&mut self, left: HopId, right: HopId) -> Result<HopId> {
        self.call.block.times(left, right, self.call.position)
    }

    fn rows(&mut self, of: HopId) -> HopId {
        self.call.block.rows(of, self.call.position)
    }

    fn cols(&mut self, of: HopId) -> HopId {
        self.call.block.cols(of, self.call.position)
    }

    fn int(&mut self, value: i64) -> HopId {
        self.call.block.int(value, self.call.position)
    }

    fn text(&mut self, text: &str) -> HopId {
        let text = Literal::String(text.to_owned());
        self.call.block.literal(text, self.call.position)
    }

    /// A row of so many columns, in which each cell stands for all pixels of its channel.
    fn channel_row(&mut self, channels: HopId, cols: HopId) -> HopId {
        let named = vec![("target".to_owned(), channels), ("cols".to_owned(), cols)];
        let (op, inputs) = with_names(ParameterizedOp::ChannelRow, named);
        self.call.matrix(op, inputs)
    }

    /// The sum of all pixels of each channel, as a column.
    fn channel_sums(&mut self, images: HopId, channels: HopId) -> Result<HopId> {
        let sums = super::aggregates::sums(self.call, Direction::Col, images);
        let cols = self.cols(images);
        let pixels = self.binary(BinaryOp::IntDiv, cols, channels)?;
        let by_channel = self.reshape(sums, [channels, pixels]);
        Ok(super::aggregates::sums(
            self.call,
            Direction::Row,
            by_channel,
        ))
    }

    fn reshape(&mut self, matrix: HopId, [rows, cols]: [HopId; 2]) -> HopId {
        let op = HopOp::Reshape { by_row: true };
        self.call.matrix(op, vec![matrix, rows, cols])
    }

    /// Rows, outputs of a step and features of a step.
    fn lstm_sizes(&mut self) -> Result<[HopId; 3]> {
        let (input, weights) = (self.call.argument(0)?, self.call.argument(1)?);
        let rows = self.rows(input);
        let gates = self.cols(weights);
        let four = self.int(4);
        let units = self.binary(BinaryOp::IntDiv, gates, four)?;
        let depth = self.rows(weights);
        let features = self.minus(depth, units)?;
        Ok([rows, units, features])
    }

    /// Matrices of these sizes, which lie one after the other in one row.
    fn taken_apart(&mut self, results: HopId, sizes: &[[HopId; 2]]) -> Result<Vec<HopId>> {
        let one = self.int(1);
        let mut first = one;
        let mut parts = Vec::new();
        for [rows, cols] in sizes.iter().copied() {
            let cells = self.times(rows, cols)?;
            let next = self.plus(first, cells)?;
            let last = self.minus(next, one)?;
            let bounds = [one, one, first, last];
            let part = self.call.block.part(results, bounds, self.call.position);
            parts.push(self.reshape(part, [rows, cols]));
            first = next;
        }
        Ok(parts)
    }
}
