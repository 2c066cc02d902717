//! The incomplete gamma and beta functions as two tails, each exact: neither is 1 minus the other.
//!
//! They hold, and end, for every shape that a double can be. Libraries cancel digits where shapes are large (`a ln x - x - ln gamma(a)` has none
//! left at 1e16), and sum for as long as the shape is large. So what stands before the sums is taken from Loader's deviances (*Fast and Accurate
//! Computation of Binomial Probabilities*, 2000), and shapes whose sums would be long have the leading terms of Temme's expansions (DLMF 8.12, 8.18).

use std::f64::consts::{LN_2, PI};

use statrs::function::{erf::erfc, gamma::ln_gamma};

/// Probabilities of a value up to some point, and of a larger one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Tails {
    pub lower: f64,
    pub upper: f64,
}

/// Shapes from here on (of the beta distribution: both) have Temme's leading terms, which are exact to 1e-9 there.
const LARGE_GAMMA: f64 = 1e8;
const LARGE_BETA: f64 = 1e10;
/// A shape of the beta distribution this much smaller than the other one leaves a gamma distribution, to 1e-12.
const ONE_SIDED: f64 = 3e-6;
/// e^-x of more is 0.
const OUT_OF_REACH: f64 = 750.0;
/// More than the sums of shapes below these take.
const MOST_TERMS: u32 = 20_000_000;

impl Tails {
    pub fn of_lower(lower: f64) -> Self {
        let lower = lower.clamp(0.0, 1.0);
        Tails {
            lower,
            upper: 1.0 - lower,
        }
    }

    pub fn swapped(self) -> Self {
        Tails {
            lower: self.upper,
            upper: self.lower,
        }
    }

    /// Of the standard normal distribution.
    pub fn normal(z: f64) -> Self {
        let scaled = z / std::f64::consts::SQRT_2;
        Tails {
            lower: 0.5 * erfc(-scaled),
            upper: 0.5 * erfc(scaled),
        }
    }

    /// The regularised incomplete gamma functions P(a, x) and Q(a, x), for finite a > 0 and x >= 0.
    pub fn gamma(a: f64, x: f64) -> Self {
        if x <= 0.0 {
            return Tails::of_lower(0.0);
        }
        if x.is_infinite() {
            return Tails::of_lower(1.0);
        }
        if a > LARGE_GAMMA {
            // a eta^2 / 2 is the deviance.
            let distance = deviance(a, x);
            if distance > OUT_OF_REACH {
                return Tails::of_lower(f64::from(u8::from(x > a)));
            }
            let eta = (2.0 * distance / a).sqrt().copysign(x - a);
            let correction = (eta / 12.0 - 1.0 / 3.0) / (2.0 * PI * a).sqrt();
            return around(x - a, distance, correction);
        }
        // x^a e^-x / gamma(a + 1)
        let front = if a < 1.0 {
            (a * x.ln() - x - ln_gamma(a + 1.0)).exp()
        } else {
            (-deviance(a, x) - stirling_error(a)).exp() / (2.0 * PI * a).sqrt()
        };
        if x < a + 1.0 {
            let (mut term, mut sum) = (1.0, 1.0);
            for step in 1..MOST_TERMS {
                term *= x / (a + f64::from(step));
                sum += term;
                if term <= sum * f64::EPSILON {
                    break;
                }
            }
            return Tails::of_lower(front * sum);
        }
        let mut fraction = Fraction::new(x + 1.0 - a);
        for step in 1..MOST_TERMS {
            let step = f64::from(step);
            if fraction.next(step * (a - step), x + 2.0 * step + 1.0 - a) {
                break;
            }
        }
        Tails::of_lower(front * a / fraction.value).swapped()
    }

    /// The regularised incomplete beta function of shapes a and b, both finite and positive, at x, whose complement is y.
    pub fn beta(a: f64, b: f64, x: f64, y: f64) -> Self {
        if x <= 0.0 {
            return Tails::of_lower(0.0);
        }
        if y <= 0.0 {
            return Tails::of_lower(1.0);
        }
        if b < ONE_SIDED * a {
            return Tails::gamma(b, -(a + (b - 1.0) / 2.0) * ln_of_complement(x, y)).swapped();
        }
        if a < ONE_SIDED * b {
            return Tails::gamma(a, -(b + (a - 1.0) / 2.0) * ln_of_complement(y, x));
        }
        let n = a + b;
        // The smaller one of x and y has more digits of both.
        let above = if x < y { n * x - a } else { b - n * y };
        let distance = deviance_from(a, n * x, -above) + deviance_from(b, n * y, above);
        if a.min(b) > LARGE_BETA {
            if distance > OUT_OF_REACH {
                return Tails::of_lower(f64::from(u8::from(above > 0.0)));
            }
            let (p, q) = (a / n, b / n);
            let correction = (q - p) / (3.0 * (2.0 * PI * n * p * q).sqrt());
            return around(above, distance, -correction);
        }
        // x^a y^b / beta(a, b)
        let front = (a * b / (2.0 * PI * n)).sqrt()
            * (stirling_error(n) - stirling_error(a) - stirling_error(b) - distance).exp();
        if above <= 0.0 {
            Tails::of_lower(front * beta_fraction(a, b, x, y, -above))
        } else {
            Tails::of_lower(front * beta_fraction(b, a, y, x, above)).swapped()
        }
    }
}

/// The tails of what is nearly normal: `deviance` is half the square of the distance from the middle in standard deviations,
/// `correction` what the lower tail lacks in the middle.
fn around(above: f64, deviance: f64, correction: f64) -> Tails {
    let z = (2.0 * deviance).sqrt().copysign(above);
    let normal = Tails::normal(z);
    let lacks = correction * (-deviance).exp();
    Tails {
        lower: (normal.lower - lacks).clamp(0.0, 1.0),
        upper: (normal.upper + lacks).clamp(0.0, 1.0),
    }
}

/// ln(x), where y is 1 - x.
fn ln_of_complement(x: f64, y: f64) -> f64 {
    if y < 0.5 { (-y).ln_1p() } else { x.ln() }
}

/// The incomplete beta function by what stands before its continued fraction, where x is not beyond the mean: `below`, which
/// is `a - (a + b) x`, is not negative.
fn beta_fraction(a: f64, b: f64, x: f64, y: f64, below: f64) -> f64 {
    if a.min(b) <= 1.0 {
        // DLMF 8.17.22.
        let mut fraction = Fraction::new(1.0);
        for step in 0..MOST_TERMS {
            let m = f64::from(step / 2);
            let numerator = if step % 2 == 0 {
                -((a + m) / (a + 2.0 * m)) * ((a + b + m) / (a + 2.0 * m + 1.0)) * x
            } else {
                let m = m + 1.0;
                (m / (a + 2.0 * m - 1.0)) * ((b - m) / (a + 2.0 * m)) * x
            };
            if fraction.next(numerator, 1.0) {
                break;
            }
        }
        return 1.0 / (a * fraction.value);
    }
    // DiDonato and Morris (Algorithm 708, 1992), equation 9: nothing cancels where x or y is nearly 1.
    let mut fraction = Fraction::new((below + 1.0) / (1.0 + 1.0 / a));
    for step in 1..MOST_TERMS {
        let n = f64::from(step);
        let before = n - 1.0;
        let share = (a + before) / (a + 2.0 * n - 1.0);
        let pairs = n * (b - n) * x;
        let numerator = share * ((a + b + before) / (a + 2.0 * n - 1.0)) * pairs * x;
        let denominator = n
            + pairs / (a + 2.0 * n - 1.0)
            + (a + n) / (a + 2.0 * n + 1.0) * (below + 1.0 + n * (1.0 + y));
        if fraction.next(numerator, denominator) {
            break;
        }
    }
    1.0 / fraction.value
}

/// A continued fraction, term by term, by Lentz's method.
struct Fraction {
    value: f64,
    c: f64,
    d: f64,
}

impl Fraction {
    const TINY: f64 = 1e-300;

    fn new(first: f64) -> Self {
        let first = Self::not_zero(first);
        Fraction {
            value: first,
            c: first,
            d: 0.0,
        }
    }

    fn not_zero(value: f64) -> f64 {
        if value.abs() < Self::TINY {
            Self::TINY
        } else {
            value
        }
    }

    /// Whether nothing changes any more.
    fn next(&mut self, numerator: f64, denominator: f64) -> bool {
        self.d = 1.0 / Self::not_zero(denominator + numerator * self.d);
        self.c = Self::not_zero(denominator + numerator / self.c);
        let factor = self.c * self.d;
        self.value *= factor;
        (factor - 1.0).abs() <= f64::EPSILON
    }
}

/// `a ln(a / m) + m - a`, without cancellation where a and m are near.
fn deviance(a: f64, m: f64) -> f64 {
    deviance_from(a, m, a - m)
}

/// The same where `a - m` is known better than from the two.
fn deviance_from(a: f64, m: f64, difference: f64) -> f64 {
    if difference.abs() >= 0.1 * (a + m) {
        // Not a / m, which may overflow.
        return a * (a.ln() - m.ln()) - difference;
    }
    let v = difference / (a + m);
    let mut sum = difference * v;
    let mut term = 2.0 * a * v;
    for j in 1..1000 {
        term *= v * v;
        let next = sum + term / f64::from(2 * j + 1);
        if next == sum {
            break;
        }
        sum = next;
    }
    sum
}

/// What Stirling's formula for ln(z!) lacks.
fn stirling_error(z: f64) -> f64 {
    if z <= 15.0 {
        return ln_gamma(z + 1.0) - (z + 0.5) * z.ln() + z - 0.5 * (LN_2 + PI.ln());
    }
    let square = z * z;
    let series = [1.0 / 1260.0, 1.0 / 1680.0, 1.0 / 1188.0, 691.0 / 360_360.0];
    let [s2, s3, s4, s5] = series;
    (1.0 / 12.0
        - (1.0 / 360.0 - (s2 - (s3 - (s4 - s5 / square) / square) / square) / square) / square)
        / z
}
