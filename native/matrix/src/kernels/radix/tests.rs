use fulgurite_error::ErrorKind;
use rayon::ThreadPoolBuilder;

use super::{super::chance::Random, *};

/// Columns of many kinds: each has its own way through the digits.
fn columns(length: usize) -> Vec<(&'static str, Vec<f64>)> {
    let mut random = Random(length as u64 + 1);
    let nan = |payload: u64| f64::from_bits(f64::NAN.to_bits() | payload);
    let special = [
        0.0,
        -0.0,
        nan(1),
        -nan(2),
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::MIN_POSITIVE / 4.0,
        -f64::MAX,
    ];
    let mut column = |cell: &mut dyn FnMut(usize, &mut Random) -> f64| -> Vec<f64> {
        (0..length).map(|row| cell(row, &mut random)).collect()
    };
    let outlier = |row: usize, random: &mut Random| match row {
        7 => 1e300,
        _ => 1.0 + random.unit() * 1e-9,
    };
    let sampled = (length / SAMPLE).max(1);
    let apart = |row: usize| {
        if row.is_multiple_of(sampled) {
            0.0
        } else {
            9.0
        }
    };
    vec![
        (
            "the sample deceives",
            column(&mut |row, random| apart(row) + random.unit()),
        ),
        ("unit", column(&mut |_, random| random.unit())),
        ("both signs", column(&mut |_, random| random.unit() - 0.5)),
        (
            "bits",
            column(&mut |_, random| f64::from_bits(random.below(u64::MAX) << 11)),
        ),
        (
            "exponents",
            column(&mut |_, random| (random.unit() * 1400.0 - 700.0).exp()),
        ),
        ("few", column(&mut |_, random| random.below(5) as f64)),
        (
            "one and few",
            column(&mut |_, random| random.below(50).saturating_sub(45) as f64),
        ),
        ("equal", column(&mut |_, _| 3.5)),
        ("ascending", column(&mut |row, _| row as f64)),
        ("descending", column(&mut |row, _| -(row as f64))),
        ("outlier", column(&mut |row, random| outlier(row, random))),
        (
            "special",
            column(&mut |_, random| match random.below(10) {
                9 => random.unit(),
                place => special[place as usize % special.len()],
            }),
        ),
    ]
}

fn bits(cells: &[f64]) -> Vec<u64> {
    cells.iter().map(|cell| cell.to_bits()).collect()
}

/// By comparisons that know nothing of ranks.
fn reference(cells: &[f64], decreasing: bool) -> Vec<f64> {
    let mut cells = cells.to_vec();
    let order = |left: &f64, right: &f64| {
        let numbers = left.partial_cmp(right);
        numbers.unwrap_or_else(|| left.is_nan().cmp(&right.is_nan()))
    };
    cells.sort_by(|left, right| match decreasing {
        true => order(right, left),
        false => order(left, right),
    });
    cells
}

fn check(length: usize) {
    for (name, cells) in columns(length) {
        for decreasing in [false, true] {
            let found = sorted_cells(&cells, decreasing).unwrap();
            let expected = reference(&cells, decreasing);
            assert!(
                bits(&found) == bits(&expected),
                "{length} {name}, {decreasing}"
            );
        }
        let expected = reference(&cells, false);
        let mut places = vec![];
        if length > 0 {
            places = vec![length / 2, 0, length - 1, length / 3, length / 2];
            places.extend((0..length).step_by(length.div_ceil(7)));
        }
        let found = at_places(&cells, &places, |cell| rank(*cell)).unwrap();
        let expected: Vec<f64> = places.iter().map(|place| expected[*place]).collect();
        assert!(bits(&found) == bits(&expected), "{length} {name}");
        let found = at_places(&cells, &places[..places.len().min(1)], |cell| rank(*cell)).unwrap();
        assert!(
            bits(&found) == bits(&expected[..found.len()]),
            "{length} {name}"
        );
        assert_eq!(found.len(), length.min(1));
        let rows: Vec<(u64, usize)> = cells.iter().map(|cell| rank(*cell)).zip(0..).collect();
        let mut expected = rows.clone();
        expected.sort_unstable();
        assert!(
            sorted(&rows, |(rank, _)| *rank).unwrap() == expected,
            "{length} {name}"
        );
    }
}

#[test]
fn short_columns_are_sorted_as_by_comparisons() {
    (0..=64).for_each(check);
    [127, 257, 509, 1021, 4099].into_iter().for_each(check);
}

#[test]
fn long_columns_are_sorted_the_same_on_any_number_of_threads() {
    for threads in [1, 2, 5] {
        let pool = ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| {
            [TASK_CELLS - 1, TASK_CELLS + 1, 140_009]
                .into_iter()
                .for_each(check)
        });
    }
}

#[test]
fn columns_that_a_sample_does_not_show_are_sorted() {
    // Every cell of the sample is the same, and the others are far from it.
    let length = 40 * SAMPLE;
    let mut random = Random(5);
    let cells: Vec<f64> = (0..length)
        .map(|row| match row % 40 {
            0 => 0.5,
            _ => random.unit() * 1e6 - 1e3,
        })
        .collect();
    let found = sorted_cells(&cells, false).unwrap();
    assert!(bits(&found) == bits(&reference(&cells, false)));
}

#[test]
fn an_interrupted_sort_is_an_error() {
    let cells: Vec<f64> = (0..200_000)
        .map(|cell| f64::from(cell * 7919 % 200_000))
        .collect();
    let interrupt = Interrupt::new();
    interrupt.set();
    interrupt.within(|| {
        let kinds = [
            sorted_cells(&cells, false).unwrap_err().kind(),
            at_places(&cells, &[3], |cell| rank(*cell))
                .unwrap_err()
                .kind(),
        ];
        assert_eq!(kinds, [ErrorKind::Interrupted; 2]);
    });
}
