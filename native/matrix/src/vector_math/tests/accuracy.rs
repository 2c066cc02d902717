//! How far results are from the exact ones, in units in the last place.

use super::{
    Every,
    reference::{self, Long, Scaled},
    uniform,
};
use crate::vector_math::{
    Cells, exponential::*, hyperbolic::*, inverse_trigonometric::*, log_base, logarithm::*,
    over::Unary, pow, trigonometric::*,
};

/// |got - exact| in units of the last place of the exact result.
fn error(got: f64, exact: Scaled) -> f64 {
    let Scaled { number, exponent } = exact;
    if number.high == 0.0 {
        return if got == 0.0 { 0.0 } else { f64::INFINITY };
    }
    let magnitude = (number.high.abs().to_bits() >> 52) as i32 - 1023 + exponent;
    if magnitude >= 1024 {
        let as_it_should = got.is_infinite() && (got > 0.0) == (number.high > 0.0);
        return if as_it_should { 0.0 } else { f64::INFINITY };
    }
    if got.is_infinite() {
        // Right where the exact result rounds to 2^1024.
        return if magnitude == 1023 && got > 0.0 {
            0.5
        } else {
            got
        };
    }
    let unit = magnitude.max(-1022) - 52;
    let units = |x: f64, exponent: i32| {
        let half = exponent / 2;
        x * 2f64.powi(half) * 2f64.powi(exponent - half)
    };
    let got = Long::from(units(got, -unit));
    let exact = Long {
        high: units(number.high, exponent - unit),
        low: units(number.low, exponent - unit),
    };
    (got - exact).high.abs()
}

/// The largest error over the arguments, with every set of instructions.
#[track_caller]
fn assert_within<T: Into<Scaled>>(
    function: impl Unary,
    exact: impl Fn(f64) -> T,
    arguments: Vec<f64>,
    bound: f64,
) {
    let [first, others @ ..] = &Every::of(function, &arguments).0[..] else {
        return;
    };
    for other in others {
        assert!(
            first
                .iter()
                .zip(other)
                .all(|(a, b)| a.to_bits() == b.to_bits())
        );
    }
    let mut worst = (0.0, f64::NAN, f64::NAN);
    for (x, got) in arguments.iter().zip(first) {
        let error = error(*got, exact(*x).into());
        if error > worst.0 {
            worst = (error, *x, *got);
        }
        assert!(!error.is_nan(), "f({x:e}) = {got:e}");
    }
    let (worst, x, got) = worst;
    println!(
        "{}: {worst:.3} ULP at {x:e}",
        std::any::type_name_of_val(&function)
    );
    assert!(worst <= bound, "off by {worst} ULP: f({x:e}) = {got:e}");
}

/// Random arguments between two numbers, and random magnitudes between them if they are positive.
fn spread(from: f64, to: f64) -> Vec<f64> {
    let linear = uniform(1, 12_000).map(|u| from + u * (to - from));
    let logs = (from.max(f64::MIN_POSITIVE).ln(), to.ln());
    let magnitudes = uniform(2, 12_000).map(|u| (logs.0 + u * (logs.1 - logs.0)).exp());
    let magnitudes = magnitudes.map(|x| x.clamp(from, to));
    linear.chain(magnitudes.filter(|_| from >= 0.0)).collect()
}

fn both_signs(arguments: Vec<f64>) -> Vec<f64> {
    let negated: Vec<f64> = arguments.iter().map(|x| -x).collect();
    [arguments, negated].concat()
}

/// The doubles next to a number.
fn around(x: f64) -> Vec<f64> {
    let steps = 200;
    (0..2 * steps)
        .map(|step| f64::from_bits(x.to_bits() + step - steps))
        .collect()
}

#[test]
fn exp_is_precise() {
    let arguments = [
        spread(-745.2, 709.8),
        spread(-1.0, 1.0),
        both_signs(spread(1e-300, 1.0)),
        around(709.782_712_893_384),
        around(-708.396_418_532_264),
        around(-745.133_219_101_941),
        around(std::f64::consts::LN_2 / 2.0),
    ];
    assert_within(
        Exp,
        |x| reference::exp(Long::from(x)),
        arguments.concat(),
        1.1,
    );
}

#[test]
fn exponentials_less_1_are_precise() {
    let arguments = [
        both_signs(spread(1e-300, 1.0)),
        both_signs(spread(0.0, 745.0)),
        both_signs(around(0.35)),
        around(709.782_712_893_384),
        around(-40.0),
    ];
    assert_within(ExpLess1, reference::exp_less_1, arguments.concat(), 2.0);
}

#[test]
fn logarithms_of_1_plus_are_precise() {
    let arguments = [
        both_signs(spread(1e-300, 0.9)),
        spread(0.5, f64::MAX),
        around(-0.5),
        (1..200)
            .map(|k| f64::from(k) * f64::EPSILON - 1.0)
            .collect(),
    ];
    let arguments = arguments.concat();
    assert_within(LogOf1Plus, reference::log_of_1_plus, arguments, 1.5);
}

#[test]
fn logarithms_to_2_and_10_are_precise_and_whole_for_powers() {
    assert_within(Log2, reference::log2, logarithm_arguments(), 0.6);
    assert_within(Log10, reference::log10, logarithm_arguments(), 0.6);
    let powers: Vec<f64> = (-300..300)
        .map(|k| format!("1e{k}").parse().unwrap())
        .collect();
    for results in Every::of(Log10, &powers).0 {
        assert!((-300..300).map(f64::from).eq(results));
    }
    let powers: Vec<f64> = (-1074..1024).map(f64::from).map(f64::exp2).collect();
    for results in Every::of(Log2, &powers).0 {
        assert!((-1074..1024).map(f64::from).eq(results));
    }
}

#[test]
fn log_is_precise() {
    assert_within(Log, reference::log, logarithm_arguments(), 1.1);
}

fn logarithm_arguments() -> Vec<f64> {
    let arguments = [
        spread(f64::MIN_POSITIVE, f64::MAX),
        spread(0.5, 2.0),
        spread(0.99, 1.01),
        around(1.0),
        around(std::f64::consts::SQRT_2),
        around(std::f64::consts::FRAC_1_SQRT_2),
    ];
    arguments.concat()
}

#[test]
fn sigmoid_is_precise() {
    let arguments = [spread(-709.0, 709.0), spread(-40.0, 40.0)];
    assert_within(Sigmoid, reference::sigmoid, arguments.concat(), 2.5);
}

fn hyperbolic_arguments() -> Vec<f64> {
    both_signs(
        [
            spread(1e-310, 1.0),
            spread(0.0, 711.0),
            spread(0.3, 25.0),
            around(709.0),
            around(710.475_860_073_943_9),
            around(710.6),
        ]
        .concat(),
    )
}

#[test]
fn hyperbolic_functions_are_precise() {
    assert_within(Sinh, reference::sinh, hyperbolic_arguments(), 4.0);
    assert_within(Cosh, reference::cosh, hyperbolic_arguments(), 4.0);
    assert_within(Tanh, reference::tanh, hyperbolic_arguments(), 4.0);
}

fn angles() -> Vec<f64> {
    let turns = (0..5_000).map(|k| f64::from(k) * std::f64::consts::FRAC_PI_4);
    both_signs(
        [
            spread(0.0, 10.0),
            spread(1e-300, 1.07e9),
            turns.collect(),
            around(std::f64::consts::FRAC_PI_2),
            around(std::f64::consts::PI),
            around(1_073_741_823.0),
        ]
        .concat(),
    )
}

#[test]
fn trigonometric_functions_are_precise() {
    let sine = |x| reference::sine_and_cosine(x).0;
    assert_within(Sin, sine, angles(), 4.0);
    let cosine = |x| reference::sine_and_cosine(x).1;
    assert_within(Cos, cosine, angles(), 4.0);
    assert_within(Tan, reference::tan, angles(), 4.0);
}

#[test]
fn inverse_trigonometric_functions_are_precise() {
    let arguments = both_signs(
        [
            spread(1e-300, 1.0),
            around(0.5),
            (1..200)
                .map(|k| 1.0 - f64::from(k) * f64::EPSILON)
                .collect(),
        ]
        .concat(),
    );
    assert_within(Asin, reference::asin, arguments.clone(), 4.0);
    assert_within(Acos, reference::acos, arguments, 4.0);
    let arguments = [spread(1e-300, 1e100), spread(0.1, 10.0), around(1.0)].concat();
    assert_within(Atan, reference::atan, both_signs(arguments), 4.0);
}

/// Pairs whose power is neither zero nor infinite, and some that are.
fn powers() -> (Vec<f64>, Vec<f64>) {
    let exponents = uniform(3, 60_000).map(|u| (2.0 * u - 1.0) * 750.0);
    let bases = [spread(1e-300, 1e300), spread(0.5, 2.0), spread(1e-3, 1e3)];
    let bases: Vec<f64> = bases.concat().into_iter().chain(around(1.0)).collect();
    let exponents: Vec<f64> = exponents.collect();
    let wide = bases.iter().zip(exponents.iter().cycle());
    let wide = wide.map(|(x, product)| (*x, product / x.ln()));
    let usual = [
        0.25,
        1.5,
        1.0 / 3.0,
        -0.5,
        -2.0,
        4.0,
        5.0,
        7.5,
        10.0,
        100.0,
        0.5,
        2.0,
        3.0,
        -1.0,
    ];
    let usual = bases
        .iter()
        .zip(usual.iter().cycle())
        .map(|(x, y)| (*x, *y));
    let near = around(1.0)
        .into_iter()
        .flat_map(|x| [1e15, -1e17, 3.3e16].map(|y| (x, y)));
    wide.chain(usual)
        .chain(near)
        .filter(|(_, y)| y.is_finite())
        .unzip()
}

#[test]
fn powers_are_precise() {
    let (x, y) = powers();
    let mut out = vec![0.0; x.len()];
    pow(Cells::Each(&x), Cells::Each(&y), &mut out);
    let mut worst = (0.0, 0);
    for at in 0..x.len() {
        let error = error(out[at], reference::pow(x[at], y[at]));
        assert!(!error.is_nan(), "{:e} ^ {:e} = {:e}", x[at], y[at], out[at]);
        if error > worst.0 {
            worst = (error, at);
        }
    }
    let (worst, at) = worst;
    println!("pow: {worst:.3} ULP at {:e} ^ {:e}", x[at], y[at]);
    assert!(
        worst <= 1.1,
        "off by {worst} ULP: {:e} ^ {:e}",
        x[at],
        y[at]
    );
}

#[test]
fn logarithms_to_a_base_are_precise() {
    for base in [2.0, 10.0, 0.3, 1.001] {
        let x = [spread(1e-300, 1e300), spread(0.5, 2.0)].concat();
        let mut out = vec![0.0; x.len()];
        log_base(Cells::Each(&x), Cells::Same(base), &mut out);
        for (x, got) in x.iter().zip(out) {
            let error = error(got, (reference::log(*x) / reference::log(base)).into());
            assert!(error <= 2.5, "off by {error} ULP: log({x:e}, {base})");
        }
    }
}
