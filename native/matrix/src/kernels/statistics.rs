//! Statistics of column vectors: moments, order statistics, and aggregates by group; optionally weighted,
//! a weight standing for so many equal observations.

use fulgurite_error::{Error, Result};

use super::{
    aggregate::{Accumulator, Sum},
    radix::{at_places, rank, sorted},
    results::shape,
};
use crate::{DenseMatrix, MatrixBlock, memory};

/// A value and its weight.
pub(super) type Observation = (f64, f64);

pub(super) fn observations(
    values: &MatrixBlock,
    weights: Option<&MatrixBlock>,
) -> Result<Vec<Observation>> {
    let (values, weights) = columns(values, weights)?;
    let values = values.values().iter().copied();
    match &weights {
        Some(weights) => memory::collected(values.zip(weights.values().iter().copied())),
        None => memory::collected(values.map(|value| (value, 1.0))),
    }
}

/// Values, and a weight for each.
pub(super) fn columns(
    values: &MatrixBlock,
    weights: Option<&MatrixBlock>,
) -> Result<(DenseMatrix, Option<DenseMatrix>)> {
    let (values, weights) = (column(values)?, weights.map(column).transpose()?);
    match &weights {
        Some(weights) if weights.rows() != values.rows() => Err(Error::dimension(format!(
            "{} values have {} weights",
            values.rows(),
            weights.rows()
        ))),
        _ => Ok((values, weights)),
    }
}

/// The cells of a column vector: those of a dense one are shared.
pub(super) fn column(matrix: &MatrixBlock) -> Result<DenseMatrix> {
    if matrix.cols() != 1 {
        return Err(Error::dimension(format!(
            "a column vector is needed, not a {} matrix",
            shape(matrix)
        )));
    }
    matrix.to_dense()
}

pub(super) fn total(terms: impl Iterator<Item = f64>) -> f64 {
    let mut sum = Sum::START;
    for term in terms {
        sum.add(term);
    }
    sum.result()
}

/// `moment(values, weights, order)`: the central moment of order 2, 3 or 4, divided by the total weight.
///
/// # Errors
/// `argument` for another order, `dimension` for anything but column vectors of one length.
pub fn central_moment(
    values: &MatrixBlock,
    weights: Option<&MatrixBlock>,
    order: i64,
) -> Result<f64> {
    let power = match order {
        2..=4 => order as i32,
        _ => {
            return Err(Error::argument(format!(
                "moments are of order 2, 3 or 4, not {order}"
            )));
        }
    };
    Ok(moment_of(&observations(values, weights)?, power))
}

pub(super) fn moment_of(observations: &[Observation], power: i32) -> f64 {
    let weight = total(observations.iter().map(|(_, weight)| *weight));
    let mean = total(observations.iter().map(|(value, weight)| value * weight)) / weight;
    total(
        observations
            .iter()
            .map(|(value, weight)| weight * (value - mean).powi(power)),
    ) / weight
}

/// `cov(left, right, weights)`: the covariance, divided by the total weight less 1.
///
/// # Errors
/// `dimension` for anything but column vectors of one length.
pub fn covariance(
    left: &MatrixBlock,
    right: &MatrixBlock,
    weights: Option<&MatrixBlock>,
) -> Result<f64> {
    let (left, right) = (observations(left, weights)?, column(right)?);
    let right = right.values();
    if left.len() != right.len() {
        return Err(Error::dimension(format!(
            "the covariance of {} and {} values",
            left.len(),
            right.len()
        )));
    }
    let weight = total(left.iter().map(|(_, weight)| *weight));
    let left_mean = total(left.iter().map(|(value, weight)| value * weight)) / weight;
    let weighted_right = left
        .iter()
        .zip(right)
        .map(|((_, weight), value)| value * weight);
    let right_mean = total(weighted_right) / weight;
    let products = left
        .iter()
        .zip(right)
        .map(|((x, weight), y)| weight * (x - left_mean) * (y - right_mean));
    Ok(total(products) / (weight - 1.0))
}

/// Observations by ascending value, and their total weight.
struct Sorted {
    observations: Vec<Observation>,
    weight: f64,
}

impl Sorted {
    fn new(values: &MatrixBlock, weights: Option<&MatrixBlock>) -> Result<Self> {
        let observations = observations(values, weights)?;
        if observations.is_empty() {
            return Err(Error::dimension(NO_VALUE));
        }
        let observations = sorted(&observations, |(value, _)| rank(*value))?;
        let weight = total(observations.iter().map(|(_, weight)| *weight));
        Ok(Sorted {
            observations,
            weight,
        })
    }

    /// The value of the `rank`-th observation (from 1), counting weights.
    fn at(&self, rank: f64) -> f64 {
        let mut running = 0.0;
        for (value, weight) in &self.observations {
            running += weight;
            if running >= rank {
                return *value;
            }
        }
        self.observations
            .last()
            .map_or(f64::NAN, |(value, _)| *value)
    }
}

const NO_VALUE: &str = "order statistics need at least one value";

/// Observations that are asked for the values of ranks.
enum Ranked {
    Weighted(Sorted),
    /// In any order: selecting ranks takes less time than sorting all.
    Equal(DenseMatrix),
}

impl Ranked {
    fn new(values: &MatrixBlock, weights: Option<&MatrixBlock>) -> Result<Self> {
        if weights.is_some() {
            return Sorted::new(values, weights).map(Ranked::Weighted);
        }
        match column(values)? {
            values if values.rows() == 0 => Err(Error::dimension(NO_VALUE)),
            values => Ok(Ranked::Equal(values)),
        }
    }

    fn weight(&self) -> f64 {
        match self {
            Ranked::Weighted(sorted) => sorted.weight,
            Ranked::Equal(values) => values.rows() as f64,
        }
    }

    /// As [`Sorted::at`], of each rank.
    fn at(&self, ranks: &[f64]) -> Result<Vec<f64>> {
        match self {
            Ranked::Weighted(sorted) => {
                memory::collected(ranks.iter().map(|rank| sorted.at(*rank)))
            }
            Ranked::Equal(values) => {
                let place = |rank: &f64| (rank.ceil() as usize).clamp(1, values.rows()) - 1;
                let places = memory::collected(ranks.iter().map(place))?;
                at_places(values.values(), &places, |value| rank(*value))
            }
        }
    }
}

/// `quantile(values, weights, probabilities)`: the sorted value at rank ceil(p n), without interpolation.
///
/// # Errors
/// `argument` for a probability outside 0 to 1, `dimension` for anything but column vectors.
pub fn quantiles(
    values: &MatrixBlock,
    weights: Option<&MatrixBlock>,
    probabilities: &[f64],
) -> Result<Vec<f64>> {
    let ranked = Ranked::new(values, weights)?;
    let outside = |probability: &&f64| !(0.0..=1.0).contains(*probability);
    if let Some(probability) = probabilities.iter().find(outside) {
        return Err(Error::argument(format!(
            "a quantile's probability is from 0 to 1, not {probability}"
        )));
    }
    let rank = |probability: &f64| (probability * ranked.weight()).ceil().max(1.0);
    ranked.at(&memory::collected(probabilities.iter().map(rank))?)
}

/// The middle value, or the mean of the two middle ones.
///
/// # Errors
/// `dimension` for anything but column vectors of one length, with at least one value.
pub fn median(values: &MatrixBlock, weights: Option<&MatrixBlock>) -> Result<f64> {
    let ranked = Ranked::new(values, weights)?;
    let half = ranked.weight() / 2.0;
    let middle = match half.floor() == half {
        true => ranked.at(&[half, half + 1.0])?,
        false => ranked.at(&[half.ceil()])?,
    };
    Ok(middle.iter().sum::<f64>() / middle.len() as f64)
}

/// The mean of the central half, whose edges count in part.
///
/// # Errors
/// As [`median`].
pub fn interquartile_mean(values: &MatrixBlock, weights: Option<&MatrixBlock>) -> Result<f64> {
    let sorted = Sorted::new(values, weights)?;
    let (low, high) = (0.25 * sorted.weight, 0.75 * sorted.weight);
    let mut running = 0.0;
    let mut low_edge = None;
    let mut between = Sum::START;
    let mut high_edge = 0.0;
    for (value, weight) in &sorted.observations {
        running += weight;
        if low_edge.is_some() {
            between.add(value * weight);
        } else if running >= low.ceil() {
            low_edge = Some((running - low) * value);
        }
        if low_edge.is_some() && running >= high.ceil() {
            high_edge = (running - high) * value;
            break;
        }
    }
    let low_edge = low_edge.unwrap_or(0.0);
    Ok((between.result() + low_edge - high_edge) / (0.5 * sorted.weight))
}

#[cfg(test)]
mod tests {
    use super::{super::chance::Random, *};

    fn vector(cells: &[f64]) -> MatrixBlock {
        MatrixBlock::dense(cells.len(), 1, cells.to_vec()).unwrap()
    }

    #[test]
    fn order_statistics() {
        let iqm = |cells: &[f64]| interquartile_mean(&vector(cells), None).unwrap();
        assert!((iqm(&[9.0, 1.0, 2.0, 3.0, 5.0, 7.0]) - 4.166666666666667).abs() < 1e-12);
        assert!((iqm(&[1.0, 2.0, 3.0, 4.0, 5.0, 7.0, 9.0]) - 4.071428571428571).abs() < 1e-12);
        let ten: Vec<f64> = (1..=10).map(f64::from).collect();
        assert!((iqm(&ten) - 5.5).abs() < 1e-12);
        let (values, weights) = (vector(&[3.0, 1.0]), vector(&[1.0, 3.0]));
        assert_eq!(median(&values, None).unwrap(), 2.0);
        assert_eq!(median(&values, Some(&weights)).unwrap(), 1.0);
        assert_eq!(median(&vector(&[3.0, 1.0, 9.0]), None).unwrap(), 3.0);
        let quantiles = quantiles(&vector(&ten), None, &[0.0, 0.25, 0.5, 1.0]).unwrap();
        assert_eq!(quantiles, [1.0, 3.0, 5.0, 10.0]);
        assert!(super::quantiles(&vector(&ten), None, &[1.5]).is_err());
        assert!(median(&vector(&[]), None).is_err());
    }

    #[test]
    fn moments_and_covariance() {
        let values = vector(&[1.0, 2.0, 4.0]);
        let repeated = vector(&[1.0, 2.0, 2.0, 4.0, 4.0, 4.0]);
        let weights = vector(&[1.0, 2.0, 3.0]);
        for order in 2..=4 {
            let weighted = central_moment(&values, Some(&weights), order).unwrap();
            let plain = central_moment(&repeated, None, order).unwrap();
            assert!((weighted - plain).abs() < 1e-12);
        }
        assert!(central_moment(&values, None, 5).is_err());
        let covariance = covariance(&values, &vector(&[2.0, 4.0, 8.0]), None).unwrap();
        assert!((covariance - 2.0 * 7.0 / 3.0).abs() < 1e-12);
        assert!(super::covariance(&values, &repeated, None).is_err());
    }

    #[test]
    fn order_statistics_of_special_cells_and_of_weights() {
        let nan = [f64::NAN, 2.0, -0.0, 0.0, f64::INFINITY];
        let found = quantiles(&vector(&nan), None, &[0.2, 0.4, 0.6, 0.8, 1.0]).unwrap();
        assert_eq!(
            found.into_iter().map(f64::to_bits).collect::<Vec<_>>(),
            [-0.0, 0.0, 2.0, f64::INFINITY, f64::NAN].map(f64::to_bits)
        );
        let mut random = Random(9);
        let values: Vec<f64> = (0..90_001).map(|_| random.below(5000) as f64).collect();
        let ones = MatrixBlock::filled(values.len(), 1, 1.0).unwrap();
        let values = vector(&values);
        let tenths: Vec<f64> = (0..=10).map(|tenth| f64::from(tenth) / 10.0).collect();
        let weighted = quantiles(&values, Some(&ones), &tenths).unwrap();
        assert_eq!(quantiles(&values, None, &tenths).unwrap(), weighted);
        assert_eq!(median(&values, None), median(&values, Some(&ones)));
        assert_eq!(quantiles(&values, None, &[]).unwrap(), [0.0; 0]);
    }
}
