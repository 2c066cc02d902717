//! Nanoseconds per cell of the elementary functions, on tiles that lie in the first-level cache, one thread, beside the
//! scalar functions of the standard library: `cargo bench -p fulgurite-matrix --bench vector_math`.

use std::{hint::black_box, time::Instant};

use fulgurite_matrix::vector_math::{self, Cells, UnaryForm};

const TILE: usize = 1024;
const REPEATS: usize = 200;
const RUNS: usize = 20;

/// Name, by vectors, by scalars, and the arguments it is timed for.
type Unary = (&'static str, UnaryForm, fn(f64) -> f64, f64, f64);

/// The best of some runs.
fn nanoseconds(mut work: impl FnMut()) -> f64 {
    let run = |_| {
        let start = Instant::now();
        for _ in 0..REPEATS {
            work();
        }
        start.elapsed().as_secs_f64() * 1e9 / (REPEATS * TILE) as f64
    };
    (0..RUNS).map(run).fold(f64::MAX, f64::min)
}

fn cells(from: f64, to: f64) -> Vec<f64> {
    // Neighbours are far apart, so that branches can't be foretold.
    let place = |at: usize| (at * 389 % TILE) as f64 / TILE as f64;
    (0..TILE).map(|at| from + place(at) * (to - from)).collect()
}

fn main() {
    let mut out = vec![0.0; TILE];
    println!("ns per cell   vectors    scalar");
    let unary: [Unary; 13] = [
        ("exp", vector_math::exp, f64::exp, -10.0, 10.0),
        ("log", vector_math::log, f64::ln, 0.0, 100.0),
        ("sigmoid", vector_math::sigmoid, sigmoid, -10.0, 10.0),
        ("tanh", vector_math::tanh, f64::tanh, -4.0, 4.0),
        ("sinh", vector_math::sinh, f64::sinh, -4.0, 4.0),
        ("cosh", vector_math::cosh, f64::cosh, -4.0, 4.0),
        ("sin", vector_math::sin, f64::sin, -10.0, 10.0),
        ("cos", vector_math::cos, f64::cos, -10.0, 10.0),
        ("tan", vector_math::tan, f64::tan, -10.0, 10.0),
        ("asin", vector_math::asin, f64::asin, -1.0, 1.0),
        ("acos", vector_math::acos, f64::acos, -1.0, 1.0),
        ("atan", vector_math::atan, f64::atan, -5.0, 5.0),
        (
            "round",
            vector_math::round,
            vector_math::half_up,
            -50.0,
            50.0,
        ),
    ];
    for (name, vectors, scalar, from, to) in unary {
        let x = cells(from, to);
        let with_vectors = nanoseconds(|| vectors(black_box(&x), black_box(&mut out)));
        let with_scalars = nanoseconds(|| {
            for (out, x) in black_box(&mut out).iter_mut().zip(black_box(&x)) {
                *out = scalar(*x);
            }
        });
        println!("{name:12}{with_vectors:9.2} {with_scalars:9.2}");
    }
    let (x, signed) = (cells(0.0, 10.0), cells(-5.0, 5.0));
    let powers = [
        ("x^1.7", Cells::Each(&x), Cells::Same(1.7)),
        ("x^0.5", Cells::Each(&x), Cells::Same(0.5)),
        ("x^3", Cells::Each(&x), Cells::Same(3.0)),
        ("x^y", Cells::Each(&x), Cells::Each(&signed)),
        ("(+-x)^4", Cells::Each(&signed), Cells::Same(4.0)),
    ];
    for (name, x, y) in powers {
        let with_vectors = nanoseconds(|| {
            vector_math::pow(black_box(x), black_box(y), black_box(&mut out));
        });
        let with_scalars = nanoseconds(|| {
            for (index, out) in black_box(&mut out).iter_mut().enumerate() {
                *out = vector_math::java_pow(black_box(x).at(index), black_box(y).at(index));
            }
        });
        println!("{name:12}{with_vectors:9.2} {with_scalars:9.2}");
    }
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}
