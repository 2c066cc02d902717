//! Medians, quantiles and interquartile means of a column that is not sorted: the value of a rank is closed in on by
//! counting how many values are up to each of some pivots, a pass over the stripes for five bits of the value.

use fulgurite_dataflow::{Combine, Variable, Whole};
use fulgurite_error::{Error, Result};
use fulgurite_hop::{Formulas, Literal, scalar};
use fulgurite_matrix::MatrixBlock;

use super::{columns::Columns, named};
use crate::{operator::Operator, workers::Workers};

/// Pivots of a pass, for each rank that is looked for.
const PIVOTS: u64 = 31;

/// `median(target, weights)`: the middle value, or the mean of the two middle ones.
pub(super) fn median(
    workers: &Workers,
    operator: &Operator,
    inputs: &[Variable],
) -> Result<Variable> {
    let column = Column::new(workers, operator, inputs)?;
    let half = column.weight / 2.0;
    let has_two = half.floor() == half;
    let ranks = [half.ceil(), half + 1.0];
    let values = column.at(&ranks[..1 + usize::from(has_two)])?;
    Ok(double(values.iter().sum::<f64>() / values.len() as f64))
}

/// `quantile(target, weights, probabilities)`: the values at ranks ceil(p n), without interpolation.
pub(super) fn quantile(
    workers: &Workers,
    operator: &Operator,
    inputs: &[Variable],
) -> Result<Variable> {
    let given = named(operator, inputs, "probabilities")?;
    let probabilities = match given.whole()? {
        Whole::Scalar(probability) => vec![scalar::number(probability)?],
        Whole::Matrix(matrix) => matrix.block().to_dense()?.into_vec()?,
        Whole::Distributed(matrix) => {
            let matrix = workers.collected(matrix)?;
            matrix.block().to_dense()?.into_vec()?
        }
    };
    if let Some(other) = probabilities.iter().find(|p| !(0.0..=1.0).contains(*p)) {
        return Err(Error::argument(format!(
            "a quantile's probability is from 0 to 1, not {other}"
        )));
    }
    let column = Column::new(workers, operator, inputs)?;
    let rank = |p: &f64| (p * column.weight).ceil().max(1.0);
    let ranks: Vec<f64> = probabilities.iter().map(rank).collect();
    let values = column.at(&ranks)?;
    match (given, &values[..]) {
        (Variable::Scalar(_), [value]) => Ok(double(*value)),
        _ => MatrixBlock::dense(values.len(), 1, values).map(Variable::matrix),
    }
}

/// `interQuartileMean(target, weights)`: the mean of the central half, whose edges count in part.
pub(super) fn interquartile_mean(
    workers: &Workers,
    operator: &Operator,
    inputs: &[Variable],
) -> Result<Variable> {
    let column = Column::new(workers, operator, inputs)?;
    let (low_rank, high_rank) = (0.25 * column.weight, 0.75 * column.weight);
    let edges = column.at(&[low_rank.ceil(), high_rank.ceil()])?;
    let [low, high] = edges[..] else {
        return Err(Error::internal("two ranks without two values"));
    };
    let weights = column.weights_up_to(&[low, high])?;
    let [up_to_low, up_to_high] = weights[..] else {
        return Err(Error::internal("two values without two weights"));
    };
    // Of values that are as large as an edge, the part above the rank, or below, counts.
    let between = column.columns.sums(|task| {
        let values = task.column("target")?;
        let (low, high) = (task.number(low), task.number(high));
        let above = task.greater(values, low);
        let below = task.less_equal(values, high);
        let inside = task.times(above, below);
        let (weighted, zero) = (task.weighted("target")?, task.number(0.0));
        Ok(vec![task.if_else(inside, weighted, zero)])
    })?;
    let between = between.first().copied().unwrap_or(f64::NAN);
    let low_edge = (up_to_low - low_rank) * low;
    let high_edge = (up_to_high - high_rank) * high;
    Ok(double(
        (between + low_edge - high_edge) / (0.5 * column.weight),
    ))
}

/// A column of values, perhaps weighted, and what a first pass finds of it.
struct Column<'a> {
    columns: Columns<'a>,
    /// Of all values.
    weight: f64,
    /// Of values that are numbers; NaN stands behind them.
    weight_of_numbers: f64,
    least: f64,
    greatest: f64,
}

impl<'a> Column<'a> {
    fn new(
        workers: &'a Workers<'a>,
        operator: &Operator<'a>,
        inputs: &'a [Variable],
    ) -> Result<Self> {
        let columns = Columns::new(workers, operator, inputs, &["target", "weights"])?;
        let combine = Combine::ByRow(vec![Combine::Sum, Combine::Sum, Combine::Min, Combine::Max]);
        let found = columns.combined(&combine, |task| {
            let values = task.column("target")?;
            let is_nan = task.not_equal(values, values);
            let (zero, one) = (task.number(0.0), task.number(1.0));
            let is_number = task.minus(one, is_nan);
            let mut or = |other: f64| {
                let other = task.number(other);
                task.if_else(is_nan, other, values)
            };
            let (for_least, for_greatest) = (or(f64::INFINITY), or(f64::NEG_INFINITY));
            let weights = task.weights();
            let of_numbers = task.if_else(is_number, weights, zero);
            let rows = vec![
                task.sums_of_columns(weights),
                task.sums_of_columns(of_numbers),
                task.minima_of_columns(for_least),
                task.maxima_of_columns(for_greatest),
            ];
            Ok(task.stacked(rows))
        })?;
        Ok(Column {
            columns,
            weight: found.get(0, 0),
            weight_of_numbers: found.get(1, 0),
            least: found.get(2, 0),
            greatest: found.get(3, 0),
        })
    }

    /// The values at ranks (from 1, counting weights): the least up to which there is as much weight.
    fn at(&self, ranks: &[f64]) -> Result<Vec<f64>> {
        let mut searches: Vec<Search> = ranks.iter().map(|rank| self.search(*rank)).collect();
        loop {
            let pivots: Vec<f64> = searches.iter().flat_map(Search::pivots).collect();
            if pivots.is_empty() {
                break;
            }
            let weights = self.weights_up_to(&pivots)?;
            let mut found = pivots.into_iter().zip(weights);
            for search in &mut searches {
                let own = search.pivots().count();
                search.narrow(found.by_ref().take(own));
            }
        }
        let values = searches.iter().map(|search| match search.range {
            Some((_, value)) => value_of(value),
            None => f64::NAN,
        });
        Ok(values.collect())
    }

    fn search(&self, rank: f64) -> Search {
        // NaN stands at ranks above those of all numbers; rounded weights alone do not reach it.
        let has_nan = self.weight > self.weight_of_numbers;
        let is_nan = self.weight_of_numbers < rank && has_nan;
        let (least, greatest) = (place_of(self.least), place_of(self.greatest));
        Search {
            rank,
            range: (!is_nan && least <= greatest).then_some((least.saturating_sub(1), greatest)),
        }
    }

    /// The weight of the values up to each of these.
    fn weights_up_to(&self, values: &[f64]) -> Result<Vec<f64>> {
        let bounds = MatrixBlock::dense(1, values.len(), values.to_vec())?;
        let bounds = Variable::matrix(bounds);
        let weights = self
            .columns
            .combined_with(&Combine::Sum, &bounds, |task, bounds| {
                task.builder.carries_errors = false;
                let values = task.column("target")?;
                let up_to = task.outer(values, bounds, "<=");
                Ok(match task.given_weights() {
                    None => task.sums_of_columns(up_to),
                    Some(weights) => {
                        let weights = task.transposed(weights);
                        task.product(weights, up_to)
                    }
                })
            })?;
        weights.to_dense()?.into_vec()
    }
}

/// The value of a rank lies above the first place and up to the second, in the order of all doubles; `None`, if it
/// is NaN.
struct Search {
    rank: f64,
    range: Option<(u64, u64)>,
}

impl Search {
    /// Places inside the range, ascending; none once it has a single value.
    fn pivots(&self) -> impl Iterator<Item = f64> + use<> {
        let (from, to) = self.range.unwrap_or((0, 1));
        let inside = (to - from).saturating_sub(1).min(PIVOTS);
        let share = move |pivot: u64| {
            let distance = u128::from(to - from) * u128::from(pivot) / u128::from(inside + 1);
            from + u64::try_from(distance).unwrap_or(u64::MAX)
        };
        (1..=inside).map(move |pivot| value_of(share(pivot)))
    }

    fn narrow(&mut self, weights: impl Iterator<Item = (f64, f64)>) {
        let Some((from, to)) = &mut self.range else {
            return;
        };
        for (pivot, weight) in weights {
            match weight >= self.rank {
                true => *to = (*to).min(place_of(pivot)),
                false => *from = (*from).max(place_of(pivot)),
            }
        }
    }
}

/// The place of a number in the order of all doubles, in which 0 and -0 have one each.
fn place_of(value: f64) -> u64 {
    let bits = value.to_bits();
    match bits >> 63 {
        0 => bits | 1 << 63,
        _ => !bits,
    }
}

fn value_of(place: u64) -> f64 {
    f64::from_bits(match place >> 63 {
        1 => place & !(1 << 63),
        _ => !place,
    })
}

fn double(value: f64) -> Variable {
    Variable::Scalar(Literal::Double(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_in_the_order_of_numbers() {
        let ordered = [
            f64::NEG_INFINITY,
            -1.5,
            -f64::MIN_POSITIVE,
            -0.0,
            0.0,
            5e-324,
            1.0,
            f64::INFINITY,
        ];
        assert!(
            ordered
                .map(place_of)
                .is_sorted_by(|left, right| left < right)
        );
        assert_eq!(ordered.map(|value| value_of(place_of(value))), ordered);
    }

    #[test]
    fn a_search_ends_at_the_least_value_with_the_weight() {
        let values = [-3.0, -0.0, 0.0, 0.1, 0.1, 7.0, 7.0, 1e300];
        for rank in 1..=values.len() {
            let mut search = Search {
                rank: rank as f64,
                range: Some((place_of(-3.0) - 1, place_of(1e300))),
            };
            let mut passes = 0;
            while search.pivots().count() > 0 {
                let weight = |pivot: &f64| values.iter().filter(|value| *value <= pivot).count();
                let found: Vec<_> = search.pivots().map(|p| (p, weight(&p) as f64)).collect();
                search.narrow(found.into_iter());
                passes += 1;
            }
            let (_, found) = search.range.expect("a number");
            assert_eq!(value_of(found), values[rank - 1], "rank {rank}");
            assert!(passes <= 13, "{passes} passes");
        }
    }
}
