//! Special values come out as from the scalar functions; and a cell's result depends on the cell alone.

use super::{Every, present, uniform};
use crate::vector_math::{
    BinaryForm, Cells, UnaryForm,
    exponential::*,
    few_instructions::{Quotient, SquareRoot},
    hyperbolic::*,
    inverse_trigonometric::*,
    logarithm::*,
    over::{Binary, Unary, binary_with, unary_with},
    power::*,
    trigonometric::*,
};

const SPECIAL: [f64; 34] = [
    0.0,
    -0.0,
    0.5,
    1.0,
    -1.0,
    2.0,
    -3.0,
    4.0,
    0.999_999_999_999_999_9,
    -1.000_000_000_000_000_2,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    -f64::NAN,
    f64::MIN_POSITIVE,
    5e-324,
    -5e-324,
    2.5e-310,
    -2.5e-310,
    1e-300,
    f64::MAX,
    f64::MIN,
    709.79,
    -708.4,
    -744.9,
    -745.133_219_101_941_1,
    -745.133_219_101_941_3,
    -745.2,
    710.5,
    1e22,
    -1e10,
    4_503_599_627_370_497.0,  // 2^52 + 1, odd
    -9_007_199_254_740_991.0, // 2^53 - 1, odd
    9_007_199_254_740_992.0,
];

/// Equal as far as the functions promise: NaN, infinities and signs of zeros exactly.
fn alike(got: f64, want: f64) -> bool {
    if want.is_nan() || got.is_nan() {
        return want.is_nan() && got.is_nan();
    }
    got.to_bits().abs_diff(want.to_bits()) <= if want == 0.0 { 0 } else { 4 }
}

fn assert_special<F: Unary>(function: F) {
    for results in Every::of(function, &SPECIAL).0 {
        for (x, got) in SPECIAL.iter().zip(results) {
            let want = function.scalar(*x);
            let name = std::any::type_name::<F>();
            assert!(alike(got, want), "{name}({x:e}) = {got:e}, not {want:e}");
        }
    }
    let mut out = [0.0; SPECIAL.len()];
    unary_with(None, function, &SPECIAL, &mut out);
    let scalar = SPECIAL.map(|x| function.scalar(x));
    assert_eq!(out.map(f64::to_bits), scalar.map(f64::to_bits));
}

#[test]
fn functions_of_one_cell_treat_special_values_as_scalar_functions_do() {
    assert_special(SquareRoot);
    assert_special(Exp);
    assert_special(Log);
    assert_special(ExpLess1);
    assert_special(LogOf1Plus);
    assert_special(Log2);
    assert_special(Log10);
    assert_special(Sigmoid);
    assert_special(Sinh);
    assert_special(Cosh);
    assert_special(Tanh);
    assert_special(Sin);
    assert_special(Cos);
    assert_special(Tan);
    assert_special(Asin);
    assert_special(Acos);
    assert_special(Atan);
    for (_, short_cut) in SHORT_CUTS {
        assert_special(short_cut);
    }
}

fn assert_special_pairs<F: Binary>(function: F) {
    for instructions in present().map(Some).chain([None]) {
        for y in SPECIAL {
            let mut out = [0.0; SPECIAL.len()];
            let cells = Cells::Each(&SPECIAL);
            binary_with(instructions, function, cells, Cells::Same(y), &mut out);
            for (x, got) in SPECIAL.iter().zip(out) {
                let want = function.scalar(*x, y);
                let name = std::any::type_name::<F>();
                assert!(
                    alike(got, want),
                    "{name}({x:e}, {y:e}) = {got:e}, not {want:e}"
                );
            }
        }
    }
}

#[test]
fn functions_of_two_cells_treat_special_values_as_scalar_functions_do() {
    assert_special_pairs(Quotient);
    assert_special_pairs(Pow);
    assert_special_pairs(LogBase);
}

/// Usual and special numbers.
fn mixed(seed: u64) -> Vec<f64> {
    let usual = uniform(seed, 100).map(|u| 20.0 * u - 4.0);
    usual.chain(SPECIAL).collect()
}

const UNARY: [UnaryForm; 17] = {
    use crate::vector_math::*;
    [
        sqrt,
        exp,
        exp_less_1,
        log,
        log_of_1_plus,
        log2,
        log10,
        sigmoid,
        sinh,
        cosh,
        tanh,
        sin,
        cos,
        tan,
        asin,
        acos,
        atan,
    ]
};

const BINARY: [BinaryForm; 3] = {
    use crate::vector_math::*;
    [divide, pow, log_base]
};

fn bits(cells: &[f64]) -> Vec<u64> {
    cells.iter().map(|cell| cell.to_bits()).collect()
}

#[test]
fn places_and_lengths_do_not_matter() {
    let x = mixed(11);
    for function in UNARY {
        let alone: Vec<f64> = x.iter().map(|x| one(function, *x)).collect();
        for (from, length) in pieces() {
            let mut out = [7.0; 50];
            function(&x[from..from + length], &mut out[..length]);
            assert_eq!(bits(&out[..length]), bits(&alone[from..from + length]));
            assert!(out[length..].iter().all(|cell| *cell == 7.0));
        }
    }
}

/// All lengths below 41 from all starts in two cache lines, and special values in the middle.
fn pieces() -> impl Iterator<Item = (usize, usize)> {
    (0..16)
        .chain([95])
        .flat_map(|from| (0..=39).map(move |length| (from, length)))
}

fn one(function: UnaryForm, x: f64) -> f64 {
    let mut out = [0.0];
    function(&[x], &mut out);
    out[0]
}

#[test]
fn one_operand_for_all_cells_is_as_one_for_each() {
    let (x, exponents) = (mixed(12), [-1.0, 0.5, 1.0, 2.0, 3.0, 0.3, f64::NAN, 1e9]);
    for function in BINARY {
        for y in exponents {
            let mut all = vec![0.0; x.len()];
            function(Cells::Each(&x), Cells::Same(y), &mut all);
            for (from, length) in pieces() {
                let part = &x[from..from + length];
                let same = [y; 40];
                let mut out = [7.0; 50];
                let each = Cells::Each(&same[..length]);
                function(Cells::Each(part), each, &mut out[..length]);
                assert_eq!(bits(&out[..length]), bits(&all[from..from + length]));
                assert!(out[length..].iter().all(|cell| *cell == 7.0));
            }
            for (x, together) in x.iter().zip(&all) {
                let mut out = [0.0];
                function(Cells::Same(*x), Cells::Each(&[y]), &mut out);
                assert_eq!(out[0].to_bits(), together.to_bits(), "{x:e}, {y:e}");
                function(Cells::Same(*x), Cells::Same(y), &mut out);
                assert_eq!(out[0].to_bits(), together.to_bits(), "{x:e}, {y:e}");
            }
        }
    }
}

#[test]
fn powers_are_the_same_with_all_instructions() {
    let (x, y) = (mixed(13), mixed(14));
    let y: Vec<f64> = y.iter().rev().cycle().take(x.len()).copied().collect();
    let results = present().map(|instructions| {
        let mut out = vec![0.0; x.len()];
        binary_with(
            Some(instructions),
            Pow,
            Cells::Each(&x),
            Cells::Each(&y),
            &mut out,
        );
        bits(&out)
    });
    let results: Vec<_> = results.collect();
    assert!(results.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn shorter_operands_write_fewer_cells() {
    let mut out = [7.0; 4];
    crate::vector_math::exp(&[0.0, 0.0], &mut out);
    assert_eq!(out, [1.0, 1.0, 7.0, 7.0]);
    crate::vector_math::pow(Cells::Same(2.0), Cells::Each(&[4.0]), &mut out);
    assert_eq!(out, [16.0, 1.0, 7.0, 7.0]);
}
