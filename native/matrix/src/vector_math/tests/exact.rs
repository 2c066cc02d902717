//! Functions that round as the scalar ones do have their bits, with all instructions and at all places.

use super::{present, uniform};
use crate::vector_math::{
    Cells,
    few_instructions::*,
    over::*,
    rounding::*,
    {floored_modulo, half_up},
};

/// Zeros, halves, the edges of what doubles hold exactly, the largest and the smallest numbers, infinities and NaN.
const SPECIAL: [f64; 35] = [
    0.0,
    -0.0,
    0.5,
    -0.5,
    0.499_999_999_999_999_94,
    1.0,
    -1.0,
    1.5,
    -2.5,
    2.0,
    3.0,
    -3.0,
    7.0,
    0.1,
    -0.3,
    0.999_999_999_999_999_9,
    -1.000_000_000_000_000_2,
    5e-324,
    -1.5e-323,
    2.5e-310,
    f64::MIN_POSITIVE,
    1e-300,
    1e300,
    f64::MAX,
    f64::MIN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    -f64::NAN,
    2_251_799_813_685_248.5,  // 2^51 + 1/2
    4_503_599_627_370_495.5,  // 2^52 - 1/2
    -4_503_599_627_370_497.0, // 2^52 + 1
    9_007_199_254_740_993.0,
    1e22,
    -1e10,
];

/// Whole numbers, fractions, and numbers of all sizes.
fn mixed(seed: u64, count: usize) -> Vec<f64> {
    let (kinds, sizes) = (uniform(seed, count), uniform(seed ^ 77, count));
    let drawn = kinds.zip(sizes).map(|(kind, size)| match kind {
        kind if kind < 0.3 => (size * 40.0).floor() - 20.0,
        kind if kind < 0.5 => size * 20.0 - 10.0,
        kind if kind < 0.6 => (size * 80.0).floor() / 2.0 - 20.0,
        kind if kind < 0.8 => f64::from_bits((size * (1u64 << 63) as f64) as u64),
        kind if kind < 0.9 => -(size * 130.0 - 65.0).exp2(),
        kind => SPECIAL[(kind * 1e9) as usize % SPECIAL.len()],
    });
    drawn.collect()
}

/// NaN has one meaning, whatever its bits.
#[track_caller]
fn assert_bits(got: f64, want: f64, what: impl Fn() -> String) {
    let alike = got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan();
    assert!(alike, "{} = {got:e}, not {want:e}", what());
}

fn lengths() -> impl Iterator<Item = usize> {
    (0..=64).chain([97, 251])
}

fn assert_unary<F: Unary>(function: F) {
    let name = std::any::type_name::<F>();
    let x = [&SPECIAL[..], &mixed(3, 20_000)].concat();
    for instructions in present().map(Some).chain([None]) {
        let check = |x: &[f64]| {
            let mut out = vec![7.0; x.len() + 1];
            unary_with(instructions, function, x, &mut out);
            for (x, got) in x.iter().zip(&out) {
                let what = || format!("{name}({x:e}) with {instructions:?}");
                assert_bits(*got, function.scalar(*x), what);
            }
            assert_eq!(out[x.len()], 7.0, "{name} of {} cells", x.len());
        };
        check(&x);
        for length in lengths() {
            check(&x[length..2 * length]);
        }
    }
}

fn assert_binary<F: Binary>(function: F) {
    let name = std::any::type_name::<F>();
    let pairs = SPECIAL.iter().flat_map(|x| SPECIAL.map(|y| (*x, y)));
    let pairs = pairs.chain(mixed(5, 20_000).into_iter().zip(mixed(6, 20_000)));
    let (x, y): (Vec<f64>, Vec<f64>) = pairs.unzip();
    for instructions in present().map(Some).chain([None]) {
        let check = |x: Cells, y: Cells, length: usize| {
            let mut out = vec![7.0; length + 1];
            binary_with(instructions, function, x, y, &mut out[..length]);
            for (at, got) in out[..length].iter().enumerate() {
                let (x, y) = (x.at(at), y.at(at));
                let what = || format!("{name}({x:e}, {y:e}) with {instructions:?}");
                assert_bits(*got, function.scalar(x, y), what);
            }
            assert_eq!(out[length], 7.0, "{name} of {length} cells");
        };
        check(Cells::Each(&x), Cells::Each(&y), x.len());
        for length in lengths() {
            let range = 3 * length..4 * length;
            let (xs, ys) = (Cells::Each(&x[range.clone()]), Cells::Each(&y[range]));
            let (one, other) = (Cells::Same(x[length]), Cells::Same(y[length]));
            check(xs, ys, length);
            check(xs, other, length);
            check(one, ys, length);
            check(one, other, length);
        }
    }
}

fn assert_ternary<F: Ternary>(function: F) {
    let name = std::any::type_name::<F>();
    let [x, y, z] = [7, 8, 9].map(|seed| [&SPECIAL[..], &mixed(seed, 4000)].concat());
    for instructions in present().map(Some).chain([None]) {
        let check = |operands: [Cells; 3], length: usize| {
            let mut out = vec![7.0; length + 1];
            ternary_with(instructions, function, operands, &mut out[..length]);
            for (at, got) in out[..length].iter().enumerate() {
                let [x, y, z] = operands.map(|cells| cells.at(at));
                let what = || format!("{name}({x:e}, {y:e}, {z:e}) with {instructions:?}");
                assert_bits(*got, function.scalar(x, y, z), what);
            }
            assert_eq!(out[length], 7.0, "{name} of {length} cells");
        };
        check([&x, &y, &z].map(|cells| Cells::Each(cells)), x.len());
        for length in lengths() {
            let operands = [&x, &y, &z].map(|cells| Cells::Each(&cells[3 * length..4 * length]));
            check(operands, length);
            for at in 0..3 {
                let mut operands = operands;
                operands[at] = Cells::Same([x[length], y[length], z[length]][at]);
                check(operands, length);
            }
            check([x[0], y[length], z[length]].map(Cells::Same), length);
        }
    }
}

#[test]
fn functions_of_one_cell() {
    assert_unary(SquareRoot);
    assert_unary(Magnitude);
    assert_unary(Sign);
    assert_unary(Negation);
    assert_unary(Sprop);
    assert_unary(Square);
    assert_unary(Floor);
    assert_unary(Ceiling);
    assert_unary(HalfUp);
    assert_unary(HalfEven);
}

#[test]
fn functions_of_two_cells() {
    assert_binary(Sum);
    assert_binary(Difference);
    assert_binary(Product);
    assert_binary(Quotient);
    assert_binary(Minimum);
    assert_binary(Maximum);
    assert_binary(Less);
    assert_binary(LessEqual);
    assert_binary(Greater);
    assert_binary(GreaterEqual);
    assert_binary(Equal);
    assert_binary(NotEqual);
    assert_binary(Conjunction);
    assert_binary(Disjunction);
    assert_binary(ExclusiveDisjunction);
    assert_binary(WholeQuotient);
    assert_binary(Remainder);
}

#[test]
fn functions_of_three_cells() {
    assert_ternary(Choice);
    assert_ternary(PlusProduct);
    assert_ternary(MinusProduct);
}

/// Long stretches are written from the first aligned place on, and before it.
#[test]
fn long_stretches_begin_anywhere() {
    let [x, y, z] = [10, 11, 12].map(|seed| mixed(seed, 900));
    for instructions in present().map(Some) {
        for (shift, length) in (0..17).flat_map(|shift| [511, 512, 513, 601].map(|l| (shift, l))) {
            let range = shift..shift + length;
            let [xs, ys, zs] = [&x, &y, &z].map(|cells| Cells::Each(&cells[range.clone()]));
            let check = |name: &str, run: &dyn Fn(&mut [f64]), scalar: &dyn Fn(usize) -> f64| {
                let mut out = vec![7.0; length + 40];
                run(&mut out[range.clone()]);
                for (at, got) in out.iter().enumerate() {
                    let want = match range.contains(&at) {
                        true => scalar(at),
                        false => 7.0,
                    };
                    let what = || format!("{name} at {at} of {range:?} with {instructions:?}");
                    assert_bits(*got, want, what);
                }
            };
            check(
                "round",
                &|out| unary_with(instructions, HalfUp, &x[range.clone()], out),
                &|at| half_up(x[at]),
            );
            check(
                "%%",
                &|out| binary_with(instructions, Remainder, xs, ys, out),
                &|at| floored_modulo(x[at], y[at]),
            );
            check(
                "1.5 %/%",
                &|out| binary_with(instructions, WholeQuotient, Cells::Same(1.5), ys, out),
                &|at| WholeQuotient.scalar(1.5, y[at]),
            );
            check(
                "+*",
                &|out| ternary_with(instructions, PlusProduct, [xs, ys, zs], out),
                &|at| PlusProduct.scalar(x[at], y[at], z[at]),
            );
        }
    }
}

/// Quotients that are whole, or closer to a whole number than a double tells.
#[test]
fn remainders_next_to_multiples() {
    let divisors = [
        3.0,
        0.1,
        -0.7,
        1e-3,
        5e-324,
        1e-310,
        1.0,
        2.0,
        -1e200,
        1.0 / 3.0,
    ];
    let counts = [
        1.0,
        2.0,
        3.0,
        10.0,
        49.0,
        1e6,
        1e15,
        4_503_599_627_370_495.0,
        1e17,
    ];
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for divisor in divisors {
        for count in counts {
            let multiple: f64 = divisor * count;
            for near in [multiple.next_down(), multiple, multiple.next_up()] {
                x.extend([near, -near]);
                y.extend([divisor, divisor]);
            }
        }
    }
    for instructions in present() {
        let mut out = vec![0.0; x.len()];
        let (xs, ys) = (Cells::Each(&x), Cells::Each(&y));
        binary_with(Some(instructions), Remainder, xs, ys, &mut out);
        for (got, (x, y)) in out.iter().zip(x.iter().zip(&y)) {
            assert_bits(*got, floored_modulo(*x, *y), || format!("{x:e} %% {y:e}"));
        }
    }
}

#[test]
fn halves_go_up() {
    let mut out = [0.0; 8];
    let halves = [
        0.5,
        1.5,
        2.5,
        -0.5,
        -1.5,
        -2.5,
        0.499_999_999_999_999_94,
        -0.2,
    ];
    crate::vector_math::round(&halves, &mut out);
    assert_eq!(out, [1.0, 2.0, 3.0, 0.0, -1.0, -2.0, 0.0, 0.0]);
    assert!(out.iter().all(|cell| cell.to_bits() != (-0.0f64).to_bits()));
    assert_eq!(half_up(1e300), 1e300);
}
