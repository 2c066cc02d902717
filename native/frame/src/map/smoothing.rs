//! Exponential smoothing of columns, where a missing number is what is forecast for it (Brown, Holt, and Holt and Winters).

use fulgurite_error::{Error, Result};
use fulgurite_matrix::{Interrupt, memory};
use rayon::prelude::*;

use crate::{Column, Frame, column::ROWS_AT_ONCE, frame::column_of_numbers};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// Of a level.
    Single,
    /// With a trend.
    Double,
    /// With a trend and a season of so many rows.
    Triple { season: usize },
}

impl Mode {
    /// How many of the weights it takes.
    fn weights(self) -> usize {
        match self {
            Mode::Single => 1,
            Mode::Double => 2,
            Mode::Triple { .. } => 3,
        }
    }
}

#[derive(Debug, Clone)]
pub(super) struct Smoothing {
    pub(super) mode: Mode,
    /// Of a new number in the level, the trend and the season. NaN is one to be searched.
    pub(super) weights: [f64; 3],
    /// How many weights a search tries.
    pub(super) iterations: usize,
}

/// Multiples of these, without what is before the point, cover a cube evenly.
const STEPS: [f64; 3] = [
    0.819_172_513_396_164_4,
    0.671_043_606_703_789_2,
    0.549_700_477_901_970_3,
];

impl Smoothing {
    pub(super) fn columns(&self, frame: &Frame) -> Result<Vec<Column>> {
        let interrupt = Interrupt::current();
        let columns = frame.columns().par_iter().zip(frame.names());
        let columns = columns.map(|(column, name)| {
            interrupt.within(|| {
                let data = column_of_numbers(column, name)?;
                let smooth = self.of(&data).map_err(|error| {
                    Error::new(
                        error.kind(),
                        format!("column '{name}': {}", error.message()),
                    )
                })?;
                Ok(Column::Fp64(smooth.into()))
            })
        });
        columns.collect()
    }

    fn of(&self, data: &[f64]) -> Result<Vec<f64>> {
        if let Mode::Triple { season } = self.mode
            && data.len() / 2 < season
        {
            return Err(Error::data(format!(
                "{} rows are less than two seasons of {season}",
                data.len()
            )));
        }
        let taken = &self.weights[..self.mode.weights()];
        if !taken.iter().any(|weight| weight.is_nan()) {
            return Ok(self.smoothed(data, self.weights)?.0);
        }
        let mut best: Option<(Vec<f64>, f64)> = None;
        for turn in 1..=self.iterations {
            let mut weights = self.weights;
            for (weight, step) in weights.iter_mut().zip(STEPS) {
                if weight.is_nan() {
                    *weight = (turn as f64 * step).fract();
                }
            }
            let next = self.smoothed(data, weights)?;
            if best.as_ref().is_none_or(|(_, error)| next.1 < *error) {
                best = Some(next);
            }
        }
        best.map(|(smooth, _)| smooth).ok_or_else(|| {
            Error::argument("a weight that is NaN is searched in 1 iteration or more, not 0")
        })
    }

    /// The smooth numbers, and the sum of the squares by which forecasts of one row miss the numbers that are there.
    fn smoothed(&self, data: &[f64], weights: [f64; 3]) -> Result<(Vec<f64>, f64)> {
        match self.mode {
            Mode::Single => leveled(data, [weights[0], 0.0], false),
            Mode::Double => leveled(data, [weights[0], weights[1]], true),
            Mode::Triple { season } => seasonal(data, season, weights),
        }
    }
}

/// What is forecast for the next row after each one. The first row has its own number.
fn leveled(data: &[f64], [alpha, beta]: [f64; 2], has_trend: bool) -> Result<(Vec<f64>, f64)> {
    let interrupt = Interrupt::current();
    let mut smooth = memory::room(data.len())?;
    let Some(first) = data.first() else {
        return Ok((smooth, 0.0));
    };
    smooth.push(*first);
    let mut level = *first;
    let mut trend = match (has_trend, data.get(1)) {
        (true, Some(second)) => second - first,
        _ => 0.0,
    };
    let mut squares = 0.0;
    let mut forecast = if has_trend { level + trend } else { level };
    for (row, number) in data.iter().enumerate().skip(1) {
        if row % ROWS_AT_ONCE == 0 {
            interrupt.check()?;
        }
        squares += missed(*number, forecast);
        let number = if number.is_nan() { forecast } else { *number };
        let before = level;
        level = alpha * number + (1.0 - alpha) * forecast;
        if has_trend {
            trend = beta * (level - before) + (1.0 - beta) * trend;
        }
        forecast = level + trend;
        smooth.push(forecast);
    }
    Ok((smooth, squares))
}

fn missed(number: f64, forecast: f64) -> f64 {
    match number.is_nan() {
        true => 0.0,
        false => (number - forecast).powi(2),
    }
}

/// The numbers of the first season, then what is forecast for each row by those before it.
fn seasonal(data: &[f64], season: usize, weights: [f64; 3]) -> Result<(Vec<f64>, f64)> {
    let interrupt = Interrupt::current();
    let [alpha, beta, gamma] = weights;
    let (mut level, mut trend, mut seasons) = begin(data, season)?;
    let mut smooth = memory::room(data.len())?;
    smooth.extend_from_slice(&data[..season]);
    let mut squares = 0.0;
    for (row, number) in data.iter().enumerate().skip(season) {
        if row % ROWS_AT_ONCE == 0 {
            interrupt.check()?;
        }
        let of_season = &mut seasons[row % season];
        let forecast = level + trend + *of_season;
        smooth.push(forecast);
        squares += missed(*number, forecast);
        let number = if number.is_nan() { forecast } else { *number };
        let before = level;
        level = alpha * (number - *of_season) + (1.0 - alpha) * (level + trend);
        trend = beta * (level - before) + (1.0 - beta) * trend;
        *of_season = gamma * (number - level) + (1.0 - gamma) * *of_season;
    }
    Ok((smooth, squares))
}

/// Level, trend and season of two seasons: the line through their moving averages, and what the numbers differ from the averages.
///
/// The level is that of the row before the first average, from which the line takes the first forecast. So SystemDS begins.
fn begin(data: &[f64], season: usize) -> Result<(f64, f64, Vec<f64>)> {
    let interrupt = Interrupt::current();
    let (half, length) = (season / 2, season as f64);
    let mut seasons = memory::zeros(season)?;
    let middle = (length + 1.0) / 2.0;
    let (mut sum, mut products, mut squares, mut rest) = (0.0, 0.0, 0.0, 0.0);
    let mut window: f64 = data[..2 * half + 1].iter().sum();
    for at in 0..season {
        if at % ROWS_AT_ONCE == 0 {
            interrupt.check()?;
        }
        let (first, last) = (data[at], data[at + 2 * half]);
        // Of an even season, the window has a row more, and its ends count half.
        let ends = if season.is_multiple_of(2) {
            (first + last) / 2.0
        } else {
            0.0
        };
        let average = (window - ends) / length;
        let row = at + half;
        let distance = (at + 1) as f64 - middle;
        sum += average;
        products += distance * average;
        squares += distance * distance;
        seasons[row % season] = data[row] - average;
        rest += data[row] - average;
        if at + 1 < season {
            window += data[at + 2 * half + 1] - first;
        }
    }
    for value in &mut seasons {
        *value -= rest / length;
    }
    let trend = products / squares;
    Ok((sum / length - trend * middle, trend, seasons))
}
