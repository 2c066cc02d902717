//! `cdf` and `icdf`: probability distributions, by the `statrs` crate.

use fulgurite_error::{Error, Result};
use statrs::distribution::{ChiSquared, ContinuousCDF, Exp, FisherSnedecor, Normal, StudentsT};

/// A distribution with its parameters.
#[derive(Debug)]
pub(super) enum Distribution {
    Normal(Normal),
    Exponential(Exp),
    ChiSquared(ChiSquared),
    StudentsT(StudentsT),
    F(FisherSnedecor),
}

/// Which of the two tails a probability is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tail {
    Lower,
    Upper,
}

impl Distribution {
    /// The distribution that DML calls `name`; `parameter` looks up its parameters.
    ///
    /// # Errors
    /// `argument`, for an unknown name and for parameters that are missing or out of range.
    pub(super) fn new(name: &str, parameter: impl Fn(&str) -> Result<Option<f64>>) -> Result<Self> {
        let or = |name, default| Ok::<_, Error>(parameter(name)?.unwrap_or(default));
        let degrees = |name: &str| match parameter(name)? {
            // As in SystemML: a fraction is dropped.
            Some(degrees) => Ok(degrees.floor()),
            None => Err(Error::argument(format!(
                "the distribution needs the parameter '{name}'"
            ))),
        };
        let out_of_range = |error: &dyn std::fmt::Display| {
            Error::argument(format!(
                "a parameter of the distribution '{name}' is out of range: {error}"
            ))
        };
        match name {
            "normal" => Normal::new(or("mean", 0.0)?, or("sd", 1.0)?)
                .map(Distribution::Normal)
                .map_err(|error| out_of_range(&error)),
            "exp" => Exp::new(or("rate", 1.0)?)
                .map(Distribution::Exponential)
                .map_err(|error| out_of_range(&error)),
            "chisq" => ChiSquared::new(degrees("df")?)
                .map(Distribution::ChiSquared)
                .map_err(|error| out_of_range(&error)),
            "t" => StudentsT::new(0.0, 1.0, degrees("df")?)
                .map(Distribution::StudentsT)
                .map_err(|error| out_of_range(&error)),
            "f" => FisherSnedecor::new(degrees("df1")?, degrees("df2")?)
                .map(Distribution::F)
                .map_err(|error| out_of_range(&error)),
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
        if x.is_infinite() {
            return f64::from(u8::from((x > 0.0) == (tail == Tail::Lower)));
        }
        macro_rules! of {
            ($($kind:ident)*) => {
                match (self, tail) {
                    $((Distribution::$kind(d), Tail::Lower) => d.cdf(x),
                      (Distribution::$kind(d), Tail::Upper) => d.sf(x),)*
                }
            };
        }
        of!(Normal Exponential ChiSquared StudentsT F)
    }

    /// The x up to which the probability is `probability`.
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
        let lower = match tail {
            Tail::Lower => probability,
            Tail::Upper => 1.0 - probability,
        };
        let symmetric = matches!(self, Distribution::Normal(_) | Distribution::StudentsT(_));
        if lower == 0.0 {
            return Ok(if symmetric { f64::NEG_INFINITY } else { 0.0 });
        }
        if lower == 1.0 {
            return Ok(f64::INFINITY);
        }
        Ok(match self {
            Distribution::Normal(d) => d.inverse_cdf(lower),
            Distribution::Exponential(d) => d.inverse_cdf(lower),
            Distribution::ChiSquared(d) => d.inverse_cdf(lower),
            Distribution::StudentsT(d) => d.inverse_cdf(lower),
            Distribution::F(d) => d.inverse_cdf(lower),
        })
    }
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
}
