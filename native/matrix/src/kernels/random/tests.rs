use super::{RandStream::*, blocks::Values, generators::Well1024a, *};
use crate::kernels::aggregate::{Sum, full, variance};

/// The sum of all cells and of their squares.
fn sums(
    (rows, cols): (usize, usize),
    distribution: Distribution,
    sparsity: f64,
    seed: i64,
    stream: RandStream,
) -> (f64, f64) {
    let drawn = rand(rows, cols, distribution, sparsity, Some(seed), stream).unwrap();
    (full::<Sum>(&drawn, |x| x), full::<Sum>(&drawn, |x| x * x))
}

/// What SystemDS 3.4.0 and SystemML 1.2.0 printed for the same calls.
#[test]
fn streams_are_those_of_systemml_and_systemds() {
    let unit = Distribution::Uniform { min: 0.0, max: 1.0 };
    let wide = Distribution::Uniform {
        min: -1.0,
        max: 2.0,
    };
    let calls = [
        (
            (900, 900),
            unit,
            1.0,
            7,
            (405084.04619428725, 269974.8886018753),
            (405084.2353598118, 269975.04724722635),
        ),
        (
            (1500, 10),
            unit,
            1.0,
            7,
            (7518.7734507545465, 4983.123166015597),
            (7519.04368406617, 4983.402222493285),
        ),
        (
            (1500, 1200),
            wide,
            0.1,
            42,
            (90183.98270936808, 180157.8138809808),
            (89962.3718952274, 179728.14906332403),
        ),
        (
            (30, 3),
            wide,
            0.2,
            5,
            (8.032993632323251, 20.749660033106323),
            (6.635891013440902, 17.1173587209953),
        ),
        (
            (100, 7),
            Distribution::Normal,
            1.0,
            5,
            (-27.925575491040938, 728.5209894740387),
            (-29.642664334470442, 731.3606569050021),
        ),
        (
            (40, 50),
            Distribution::Normal,
            0.7,
            11,
            (-29.856350928137118, 1367.9157177804186),
            (-33.581552030082776, 1372.891006828781),
        ),
        (
            (60, 20),
            Distribution::Poisson { lambda: 2.5 },
            1.0,
            3,
            (2963.0, 10279.0),
            (2961.0, 10275.0),
        ),
        (
            (2000, 1),
            unit,
            0.05,
            6,
            (52.968283575854535, 33.40154724675087),
            (42.89854377127227, 27.257585063831854),
        ),
    ];
    for (shape, distribution, sparsity, seed, of_systemml, of_systemds) in calls {
        for (stream, expected) in [(SystemMl, of_systemml), (SystemDs, of_systemds)] {
            let drawn = sums(shape, distribution, sparsity, seed, stream);
            let near = |left: f64, right: f64| (left - right).abs() <= 1e-12 * right.abs();
            assert!(
                near(drawn.0, expected.0) && near(drawn.1, expected.1),
                "{shape:?} {stream:?}: {drawn:?}, not {expected:?}"
            );
        }
    }
}

#[test]
fn a_part_of_the_rows_is_that_of_the_whole() {
    for (cols, sparsity) in [(3, 1.0), (1100, 0.1), (40, 0.7)] {
        let unit = Distribution::Uniform { min: 0.0, max: 1.0 };
        let whole = rand(2300, cols, unit, sparsity, Some(3), SystemDs).unwrap();
        for part in [0..2300, 0..1, 999..1001, 1000..2000, 1500..2300, 5..5] {
            let rows =
                rand_rows(2300, cols, unit, sparsity, Some(3), SystemDs, part.clone()).unwrap();
            let expected = whole.slice_rows(part.start, part.end);
            assert_eq!(
                rows.to_dense().unwrap(),
                expected.to_dense().unwrap(),
                "{part:?}"
            );
        }
    }
    let unit = Distribution::Uniform { min: 0.0, max: 1.0 };
    assert!(rand_rows(9, 1, unit, 1.0, Some(3), SystemMl, 5..10).is_err());
}

#[test]
fn java_random_gives_javas_numbers() {
    let mut random = JavaRandom::new(42);
    assert_eq!(random.next_int(), -1170105035);
    assert_eq!(random.next_int(), 234785527);
    assert_eq!(JavaRandom::new(42).next_double(), 0.7275636800328681);
    assert_eq!(JavaRandom::new(42).next_int_below(10), 0);
    assert_eq!(JavaRandom::new(0).next_long(), -4962768465676381896);
}

/// Numbers that commons-math 3.6.1 gave.
#[test]
fn well1024a_gives_commons_maths_numbers() {
    let mut seeds = JavaRandom::new(7);
    let mut random = Well1024a::new(std::array::from_fn(|_| seeds.next_int()));
    for _ in 0..40 {
        random.next_long();
    }
    assert_eq!(random.next_long(), 5295659379915778657);
    assert_eq!(random.next_long(), -4958942808339396139);
    let mut random = Well1024a::from_long(-123456789012345);
    assert_eq!(random.next_long(), 5227669236545767799);
    assert_eq!(random.next_double(), 0.793424472441135);
    assert_eq!(random.next(32), -1333720213);
    let mut poisson = Values::new(Distribution::Poisson { lambda: 2.5 }, 5);
    let drawn: Vec<f64> = (0..12).map(|_| poisson.next()).collect();
    assert_eq!(
        drawn,
        [1.0, 4.0, 6.0, 3.0, 1.0, 3.0, 3.0, 1.0, 2.0, 7.0, 2.0, 3.0]
    );
}

#[test]
fn moments_are_those_of_the_distribution() {
    let check = |distribution, sparsity: f64, mean: f64, spread: f64| {
        let matrix = rand(1200, 300, distribution, sparsity, Some(7), SystemMl).unwrap();
        let again = rand(1200, 300, distribution, sparsity, Some(7), SystemMl).unwrap();
        assert_eq!(matrix, again);
        let cells = 1200.0 * 300.0;
        assert!((matrix.nnz() as f64 / cells - sparsity).abs() < 0.01 || mean < 5.0);
        assert!(
            (full::<Sum>(&matrix, |x| x) / cells - mean).abs() < 0.02,
            "{distribution:?}"
        );
        assert!(
            (variance(&matrix) - spread).abs() < 0.05,
            "{distribution:?}"
        );
    };
    let uniform = Distribution::Uniform {
        min: -1.0,
        max: 3.0,
    };
    check(uniform, 1.0, 1.0, 16.0 / 12.0);
    check(Distribution::Normal, 1.0, 0.0, 1.0);
    check(Distribution::Normal, 0.1, 0.0, 0.1);
    check(Distribution::Normal, 0.6, 0.0, 0.6);
    check(Distribution::Poisson { lambda: 2.5 }, 1.0, 2.5, 2.5);
    let sparse = rand(1200, 300, Distribution::Normal, 0.1, Some(7), SystemMl).unwrap();
    assert!((sparse.nnz() as f64 / 360000.0 - 0.1).abs() < 0.005);
    assert!(matches!(sparse, MatrixBlock::Csr(_)));
    assert_ne!(
        rand(3, 3, uniform, 1.0, None, SystemMl).unwrap(),
        rand(3, 3, uniform, 1.0, None, SystemMl).unwrap()
    );
}

#[test]
fn samples_are_distinct_unless_replaced() {
    let mut drawn = sample(1000, 300, false, Some(3))
        .unwrap()
        .to_dense()
        .unwrap()
        .into_vec()
        .unwrap();
    drawn.sort_by(f64::total_cmp);
    drawn.dedup();
    assert_eq!(drawn.len(), 300);
    assert!(drawn.iter().all(|number| (1.0..=1000.0).contains(number)));
    assert!(sample(3, 4, false, None).is_err());
    let repeated = sample(3, 100, true, Some(1))
        .unwrap()
        .to_dense()
        .unwrap()
        .into_vec()
        .unwrap();
    assert!(
        repeated
            .iter()
            .all(|number| [1.0, 2.0, 3.0].contains(number))
    );
    let all = sample(5, 5, false, Some(9))
        .unwrap()
        .to_dense()
        .unwrap()
        .into_vec()
        .unwrap();
    assert_eq!(all.iter().sum::<f64>(), 15.0);
}
