//! Time per element, of tiles that lie in the first-level cache:
//! `cargo test --release -p fulgurite-matrix vector_math::tests::timings -- --ignored --nocapture`

use std::{hint::black_box, time::Instant};

use super::{present, uniform};
use crate::vector_math::{
    exponential::*,
    hyperbolic::*,
    inverse_trigonometric::*,
    lanes::Instructions,
    logarithm::*,
    over::{Binary, Cells, Unary, binary_with, unary_with},
    power::*,
    trigonometric::*,
};

const TILE: usize = 1024;

/// Nanoseconds an element, the best of some runs.
fn time(mut work: impl FnMut()) -> f64 {
    let repeats = 200;
    let run = |work: &mut dyn FnMut()| {
        let start = Instant::now();
        for _ in 0..repeats {
            work();
        }
        start.elapsed().as_secs_f64() * 1e9 / (repeats * TILE) as f64
    };
    (0..20).map(|_| run(&mut work)).fold(f64::MAX, f64::min)
}

fn instruction_sets() -> Vec<Option<Instructions>> {
    present().map(Some).chain([None]).collect()
}

fn report(name: &str, time_with: impl Fn(Option<Instructions>) -> f64) {
    let times = instruction_sets().into_iter().map(time_with);
    let times: Vec<String> = times.map(|time| format!("{time:9.2}")).collect();
    println!("{name:12}{}", times.join(""));
}

fn unary(name: &str, function: impl Unary, from: f64, to: f64) {
    let x: Vec<f64> = uniform(5, TILE).map(|u| from + u * (to - from)).collect();
    report(name, |instructions| {
        let mut out = vec![0.0; TILE];
        time(|| unary_with(instructions, function, black_box(&x), black_box(&mut out)))
    });
}

fn binary(name: &str, function: impl Binary, x: Cells, y: Cells) {
    report(name, |instructions| {
        let mut out = vec![0.0; TILE];
        time(|| {
            binary_with(
                instructions,
                function,
                black_box(x),
                black_box(y),
                black_box(&mut out),
            )
        })
    });
}

#[test]
#[ignore = "prints times"]
fn print() {
    let names = instruction_sets().into_iter();
    let names = names.map(|set| set.map_or("scalar".into(), |set| format!("{set:?}")));
    let names: Vec<String> = names.map(|name| format!("{name:>9}")).collect();
    println!("ns/element  {}", names.join(""));
    unary("exp", Exp, -10.0, 10.0);
    unary("exp to 0", Exp, -1400.0, 0.0);
    unary("log", Log, 0.0, 100.0);
    unary("sigmoid", Sigmoid, -10.0, 10.0);
    unary("tanh", Tanh, -4.0, 4.0);
    unary("sinh", Sinh, -4.0, 4.0);
    unary("cosh", Cosh, -4.0, 4.0);
    unary("sin", Sin, -10.0, 10.0);
    unary("cos", Cos, -10.0, 10.0);
    unary("tan", Tan, -10.0, 10.0);
    unary("asin", Asin, -1.0, 1.0);
    unary("acos", Acos, -1.0, 1.0);
    unary("atan", Atan, -5.0, 5.0);
    for (exponent, short_cut) in SHORT_CUTS {
        unary(&format!("x^{exponent}"), short_cut, 0.0, 10.0);
    }
    let x: Vec<f64> = uniform(6, TILE).map(|u| 10.0 * u).collect();
    let y: Vec<f64> = uniform(7, TILE).map(|u| 10.0 * u - 5.0).collect();
    let signed: Vec<f64> = y.iter().map(|y| y.round()).collect();
    binary("x^1.7", Pow, Cells::Each(&x), Cells::Same(1.7));
    binary("x^y", Pow, Cells::Each(&x), Cells::Each(&y));
    binary("2^y", Pow, Cells::Same(2.0), Cells::Each(&y));
    binary("(+-x)^4", Pow, Cells::Each(&y), Cells::Same(4.0));
    binary("(+-x)^n", Pow, Cells::Each(&y), Cells::Each(&signed));
    binary("log(x, 2)", LogBase, Cells::Each(&x), Cells::Same(2.0));
}
