//! `cdf` and `icdf`: probability distributions and their quantiles, for all parameters that doubles can be.

mod tails;

use fulgurite_error::{Error, Result};
use statrs::function::erf::erfc_inv;
use tails::Tails;

/// A distribution with its parameters, which are in range.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Distribution {
    Normal { mean: f64, sd: f64 },
    Exponential { rate: f64 },
    ChiSquared { df: f64 },
    StudentsT { df: f64 },
    F { df1: f64, df2: f64 },
}

/// Which of the two tails a probability is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tail {
    Lower,
    Upper,
}

/// Degrees of freedom from which the t distribution is a normal one of a transformed value (Hill's algorithm 395), to 1e-14.
const NEARLY_NORMAL: f64 = 1e5;

/// What more degrees of freedom are taken for: so many cannot be told from more, and sums of them are finite.
const MOST_DEGREES: f64 = 1e300;

impl Distribution {
    /// The distribution that DML calls `name`; `parameter` looks up its parameters.
    ///
    /// # Errors
    /// `argument`, for an unknown name and for parameters that are missing or out of range.
    pub(super) fn new(name: &str, parameter: impl Fn(&str) -> Result<Option<f64>>) -> Result<Self> {
        let of = |name, default| Ok::<_, Error>(parameter(name)?.unwrap_or(default));
        let out_of_range = |parameter: &str, value: f64, must: &str| {
            Error::argument(format!(
                "the parameter '{parameter}' of the distribution '{name}' is {value}: it must be {must}"
            ))
        };
        let positive = |parameter: &str, value: f64| match value > 0.0 && value.is_finite() {
            true => Ok(value),
            false => Err(out_of_range(parameter, value, "positive and finite")),
        };
        let degrees = |name: &str| match parameter(name)? {
            // As in SystemML: a fraction is dropped.
            Some(f64::INFINITY) => Ok(f64::INFINITY),
            Some(degrees) => Ok(degrees.floor().min(MOST_DEGREES)),
            None => Err(Error::argument(format!(
                "the distribution needs the parameter '{name}'"
            ))),
        };
        match name {
            "normal" => {
                let mean = of("mean", 0.0)?;
                if !mean.is_finite() {
                    return Err(out_of_range("mean", mean, "finite"));
                }
                let sd = positive("sd", of("sd", 1.0)?)?;
                Ok(Distribution::Normal { mean, sd })
            }
            "exp" => Ok(Distribution::Exponential {
                rate: positive("rate", of("rate", 1.0)?)?,
            }),
            "chisq" => Ok(Distribution::ChiSquared {
                df: positive("df", degrees("df")?)?,
            }),
            "t" => match degrees("df")? {
                df if df > 0.0 => Ok(Distribution::StudentsT { df }),
                df => Err(out_of_range("df", df, "positive")),
            },
            "f" => Ok(Distribution::F {
                df1: positive("df1", degrees("df1")?)?,
                df2: positive("df2", degrees("df2")?)?,
            }),
            other => Err(
                Error::argument(format!("there is no distribution '{other}'"))
                    .with_help("dist is \"normal\", \"exp\", \"chisq\", \"t\" or \"f\""),
            ),
        }
    }

    /// The probability of a value up to `x`, or of a larger one. Either is exact: no tail is 1 minus the other.
    pub(super) fn probability(&self, x: f64, tail: Tail) -> f64 {
        if x.is_nan() {
            return f64::NAN;
        }
        let tails = self.tails(x);
        match tail {
            Tail::Lower => tails.lower,
            Tail::Upper => tails.upper,
        }
    }

    fn tails(&self, x: f64) -> Tails {
        if x.is_infinite() {
            return Tails::of_lower(f64::from(u8::from(x > 0.0)));
        }
        match *self {
            Distribution::Normal { mean, sd } => Tails::normal((x - mean) / sd),
            _ if x <= 0.0 && !self.is_symmetric() => Tails::of_lower(0.0),
            Distribution::Exponential { rate } => Tails {
                lower: -(-rate * x).exp_m1(),
                upper: (-rate * x).exp(),
            },
            Distribution::ChiSquared { df } => Tails::gamma(df / 2.0, x / 2.0),
            Distribution::StudentsT { df } if df >= NEARLY_NORMAL => {
                Tails::normal(normal_of_t(x, df))
            }
            Distribution::StudentsT { df } => {
                // Of the square, which may overflow: its ratio to the degrees of freedom.
                let ratio = (x / df.sqrt()).powi(2);
                let (near, far) = shares(ratio);
                let outside = 0.5 * Tails::beta(df / 2.0, 0.5, far, near).lower;
                let above = Tails {
                    lower: 1.0 - outside,
                    upper: outside,
                };
                if x > 0.0 { above } else { above.swapped() }
            }
            Distribution::F { df1, df2 } => {
                let (near, far) = shares(df1 / df2 * x);
                Tails::beta(df1 / 2.0, df2 / 2.0, near, far)
            }
        }
    }

    fn is_symmetric(&self) -> bool {
        matches!(
            self,
            Distribution::Normal { .. } | Distribution::StudentsT { .. }
        )
    }

    /// The x up to which, or from which on, the probability is `probability`.
    ///
    /// # Errors
    /// `runtime`, if it is not between 0 and 1.
    pub(super) fn quantile(&self, probability: f64, tail: Tail) -> Result<f64> {
        if probability.is_nan() {
            return Ok(f64::NAN);
        }
        if !(0.0..=1.0).contains(&probability) {
            return Err(Error::runtime(format!(
                "{probability} is no probability: it must be between 0 and 1"
            )));
        }
        let from_below = tail == Tail::Lower;
        if probability == 0.0 || probability == 1.0 {
            return Ok(match (probability == 0.0) == from_below {
                false => f64::INFINITY,
                true if self.is_symmetric() => f64::NEG_INFINITY,
                true => 0.0,
            });
        }
        Ok(match *self {
            Distribution::Normal { mean, sd } => {
                let z = std::f64::consts::SQRT_2 * erfc_inv(2.0 * probability);
                mean + sd * if from_below { -z } else { z }
            }
            Distribution::Exponential { rate } => {
                let scaled = match from_below {
                    true => -(-probability).ln_1p(),
                    false => -probability.ln(),
                };
                scaled / rate
            }
            // The half with the smaller probability, which has all its digits; 1 - p has no more than p.
            _ if self.is_symmetric() && probability > 0.5 => -self.search(1.0 - probability, tail),
            _ => self.search(probability, tail),
        })
    }

    /// Halves the doubles between the ends of the distribution, of which there are fewer than 2^64.
    fn search(&self, probability: f64, tail: Tail) -> f64 {
        // Symmetric ones are negative up to a probability of a half.
        let mirrored = self.is_symmetric() && tail == Tail::Lower;
        let beyond = |x: f64| match tail {
            Tail::Lower if mirrored => self.tails(-x).lower <= probability,
            Tail::Lower => self.tails(x).lower >= probability,
            Tail::Upper => self.tails(x).upper <= probability,
        };
        let (mut low, mut high) = (0u64, f64::MAX.to_bits());
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if beyond(f64::from_bits(middle)) {
                high = middle;
            } else {
                low = middle;
            }
        }
        let found = f64::from_bits(high);
        if mirrored { -found } else { found }
    }
}

/// `ratio / (1 + ratio)` and `1 / (1 + ratio)`.
fn shares(ratio: f64) -> (f64, f64) {
    match ratio.is_finite() {
        true => (ratio / (1.0 + ratio), 1.0 / (1.0 + ratio)),
        false => (1.0, 0.0),
    }
}

/// The value of the standard normal distribution that has the tails of `t` (Hill, *Algorithm 395*, 1970).
fn normal_of_t(t: f64, df: f64) -> f64 {
    if df.is_infinite() {
        return t;
    }
    let a = df - 0.5;
    let b = 48.0 * a * a;
    let scaled = t / df.sqrt();
    let log = match scaled.abs() < 1e150 {
        true => (scaled * scaled).ln_1p(),
        false => 2.0 * scaled.abs().ln(),
    };
    let y = (a * log).sqrt();
    if y > 1e3 {
        // No tail is left, whatever is corrected.
        return y.copysign(t);
    }
    let y2 = y * y;
    let third = (((-0.4 * y2 - 3.3) * y2 - 24.0) * y2 - 85.5) / (0.8 * y2 * y2 + 100.0 + b);
    ((third + y2 + 3.0) / b + 1.0) * y.copysign(t)
}

#[cfg(test)]
mod tests {
    use fulgurite_error::ErrorKind;

    use super::*;

    fn distribution(name: &str, parameters: &[(&str, f64)]) -> Result<Distribution> {
        Distribution::new(name, |wanted| {
            let found = parameters.iter().find(|(name, _)| *name == wanted);
            Ok(found.map(|(_, value)| *value))
        })
    }

    fn close(value: f64, expected: f64) {
        assert!(
            (value - expected).abs() <= 1e-9 * expected.abs(),
            "{value} instead of {expected}"
        );
    }

    /// Closed forms where there are any, else what tables have.
    #[test]
    fn probabilities_and_quantiles_are_those_of_the_tables() {
        let normal = distribution("normal", &[]).expect("a standard one");
        close(normal.probability(1.3, Tail::Lower), 0.903199515414390);
        close(normal.probability(10.0, Tail::Upper), 7.61985302416053e-24);
        close(
            normal.quantile(0.975, Tail::Lower).expect("a probability"),
            1.95996398454005,
        );
        let shifted = distribution("normal", &[("mean", 2.0), ("sd", 3.0)]).expect("sd > 0");
        close(shifted.probability(2.0, Tail::Lower), 0.5);
        let exponential = distribution("exp", &[("rate", 2.0)]).expect("rate > 0");
        close(exponential.probability(1.0, Tail::Upper), (-2.0f64).exp());
        let chi_squared = distribution("chisq", &[("df", 3.9)]).expect("3 degrees of freedom");
        close(chi_squared.probability(3.0, Tail::Upper), 0.391625176271089);
        close(
            chi_squared
                .quantile(0.95, Tail::Lower)
                .expect("a probability"),
            7.81472790325118,
        );
        let t = distribution("t", &[("df", 3.0)]).expect("degrees of freedom");
        close(t.probability(-1.0, Tail::Lower), 0.195501109477885);
        close(
            t.quantile(0.025, Tail::Upper).expect("a probability"),
            3.18244630528371,
        );
        let f = distribution("f", &[("df1", 2.0), ("df2", 5.0)]).expect("degrees of freedom");
        close(f.probability(3.0, Tail::Lower), 1.0 - 2.2f64.powf(-2.5));
    }

    #[test]
    fn ends_and_errors() {
        let normal = distribution("normal", &[]).expect("a standard one");
        assert_eq!(
            normal.quantile(0.0, Tail::Lower).expect("the end"),
            f64::NEG_INFINITY
        );
        assert_eq!(
            normal.quantile(0.0, Tail::Upper).expect("the end"),
            f64::INFINITY
        );
        assert!(
            normal
                .quantile(f64::NAN, Tail::Lower)
                .expect("NaN stays")
                .is_nan()
        );
        assert_eq!(
            normal
                .quantile(1.5, Tail::Lower)
                .expect_err("no probability")
                .kind(),
            ErrorKind::Runtime
        );
        let f = distribution("f", &[("df1", 2.0), ("df2", 5.0)]).expect("degrees of freedom");
        assert_eq!(f.probability(-1.0, Tail::Lower), 0.0);
        assert_eq!(f.probability(f64::INFINITY, Tail::Lower), 1.0);
        assert_eq!(f.probability(f64::NEG_INFINITY, Tail::Upper), 1.0);
        for (name, parameters) in [
            ("normal", vec![("sd", 0.0)]),
            ("chisq", vec![]),
            ("t", vec![("df", 0.5)]),
            ("beta", vec![]),
        ] {
            let error = distribution(name, &parameters).expect_err("bad parameters");
            assert_eq!(error.kind(), ErrorKind::Argument, "{name}");
        }
    }

    /// Figures of mpmath with 40 digits, and of SciPy 1.16 where that has as many.
    #[test]
    fn large_parameters_are_right() {
        let of = |name: &str, parameters: &[f64]| {
            let names: &[&str] = match name {
                "f" => &["df1", "df2"],
                _ => &["df"],
            };
            let pairs: Vec<_> = names
                .iter()
                .copied()
                .zip(parameters.iter().copied())
                .collect();
            distribution(name, &pairs).expect("parameters in range")
        };
        let lower = |name, parameters: &[f64], x| of(name, parameters).probability(x, Tail::Lower);
        let quantile = |name, parameters: &[f64], p, tail| {
            of(name, parameters)
                .quantile(p, tail)
                .expect("a probability")
        };
        close(
            quantile("t", &[1e10], 0.3, Tail::Lower),
            -0.5244005127247555,
        );
        close(
            quantile("t", &[f64::INFINITY], 0.3, Tail::Lower),
            -0.524400512708041,
        );
        close(lower("t", &[1e5], -3.0), 0.0013502304420323617);
        close(
            lower("chisq", &[1e8], 99_886_862.915_010_15),
            6.072586312170156e-16,
        );
        close(
            lower("chisq", &[1e10], 9_998_868_629.150_1),
            6.205972903488003e-16,
        );
        close(
            quantile("chisq", &[1e10], 0.5, Tail::Lower),
            9_999_999_999.333_333,
        );
        close(lower("f", &[1e9, 50.0], 0.8999999975), 0.2734695122879612);
        close(
            lower("f", &[1e4, 1e9], 1.0070711031671162),
            0.6927068008891004,
        );
        close(
            lower("f", &[1e6, 1e11], 1.0007071103167116),
            0.6915869283835592,
        );
        // (0.1^(-2 / df2) - 1) df2 / 2
        close(
            quantile("f", &[2.0, 1e9], 0.9, Tail::Lower),
            2.302585098295945,
        );
    }

    /// Where 1 - p is 1.
    #[test]
    fn upper_tails_have_their_own_quantiles() {
        for (name, parameters) in [
            ("normal", vec![]),
            ("exp", vec![]),
            ("chisq", vec![("df", 3.0)]),
            ("t", vec![("df", 5.0)]),
            ("f", vec![("df1", 2.0), ("df2", 7.0)]),
        ] {
            let distribution = distribution(name, &parameters).expect("in range");
            let x = distribution
                .quantile(1e-20, Tail::Upper)
                .expect("a probability");
            let back = distribution.probability(x, Tail::Upper);
            assert!(
                x.is_finite() && (back / 1e-20 - 1.0).abs() < 1e-9,
                "{name}: {x} {back}"
            );
        }
    }

    #[test]
    fn odd_parameters_are_errors_and_all_ends() {
        let odd = [
            0.0,
            -1.0,
            1.0,
            5.5,
            1e-300,
            1e10,
            1e300,
            f64::MAX,
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
        ];
        for name in ["normal", "exp", "chisq", "t", "f"] {
            for first in odd {
                for second in odd {
                    let made = Distribution::new(name, |parameter| {
                        Ok(Some(match parameter {
                            "sd" | "df2" => second,
                            _ => first,
                        }))
                    });
                    let made = match made {
                        Ok(made) => made,
                        Err(error) => {
                            assert_eq!(error.kind(), ErrorKind::Argument, "{error}");
                            continue;
                        }
                    };
                    for x in odd.into_iter().chain([0.3, 1.0 - 1e-16]) {
                        for tail in [Tail::Lower, Tail::Upper] {
                            let probability = made.probability(x, tail);
                            assert_eq!(probability.is_nan(), x.is_nan(), "{made:?} {x}");
                            assert!(
                                x.is_nan() || (0.0..=1.0).contains(&probability),
                                "{made:?} {x}"
                            );
                            match made.quantile(x, tail) {
                                Ok(found) => assert_eq!(found.is_nan(), x.is_nan(), "{made:?} {x}"),
                                Err(error) => assert_eq!(error.kind(), ErrorKind::Runtime),
                            }
                        }
                    }
                }
            }
        }
    }
}
