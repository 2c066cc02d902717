//! k-means and PageRank.

use fulgurite_differential_tests::{data, naive::Naive};
use fulgurite_matrix::MatrixBlock;

use super::{algorithm, assert_never_increases};

#[test]
fn kmeans() {
    let x = data::features(400, 6, 0.6, 91);
    let run = algorithm!("kmeans.dml")
        .argument("k", 4)
        .argument("maxi", 10)
        .input("X", &x)
        .outputs(&["C", "best"])
        .agrees_in_every_mode();
    assert_never_increases(&run.printed_after("run 1, iteration", "distances "), 5);
    let centroids = run.output("C");
    let nearest = |row: usize| {
        let distances = (0..4).map(|k| -> f64 {
            (0..6)
                .map(|col| (x.get(row, col) - centroids.get(k, col)).powi(2))
                .sum()
        });
        distances.fold(f64::INFINITY, f64::min)
    };
    let expected: f64 = (0..400).map(nearest).sum();
    assert!((run.number("best") - expected).abs() < 1e-9 * expected);
}

#[test]
fn kmeans_keeps_the_best_of_its_runs() {
    let x = data::features(200, 4, 1.0, 93);
    let run = algorithm!("kmeans.dml")
        .argument("runs", 4)
        .input("X", &x)
        .outputs(&["best"])
        .run();
    let ends: Vec<f64> = (1..=4)
        .flat_map(|number| run.printed_after(&format!("run {number}: "), "distances "))
        .collect();
    assert_eq!(ends.len(), 4);
    assert_eq!(
        run.number("best"),
        ends.iter().copied().fold(f64::INFINITY, f64::min)
    );
}

/// Two groups far apart: each gets a centroid, its mean.
#[test]
fn kmeans_finds_groups() {
    let x = Naive::from_fn(40, 1, |row, _| {
        if row % 2 == 0 {
            row as f64 / 40.0
        } else {
            100.0
        }
    });
    let run = algorithm!("kmeans.dml")
        .argument("k", 2)
        .input("X", &(&x).into())
        .outputs(&["C"])
        .run();
    let mut centroids = [run.output("C").get(0, 0), run.output("C").get(1, 0)];
    centroids.sort_by(f64::total_cmp);
    assert!(
        (centroids[0] - 0.475).abs() < 1e-12 && (centroids[1] - 100.0).abs() < 1e-12,
        "{centroids:?}"
    );
}

#[test]
fn pagerank() {
    let links = Naive::from(&data::counts(80, 80, 3, 0.05, 95));
    // A node without links.
    let links = Naive::from_fn(
        80,
        80,
        |row, col| if row == 7 { 0.0 } else { links.at(row, col) },
    );
    let graph: MatrixBlock = (&links).into();
    let run = algorithm!("pagerank.dml")
        .argument("maxi", 200)
        .argument("tol", 1e-14)
        .input("G", &graph)
        .outputs(&["p"])
        .agrees_in_every_mode();
    let ranks = Naive::from(run.output("p"));
    assert!((ranks.sum() - 1.0).abs() < 1e-12);
    // The fixed point of the walker's stochastic matrix.
    let step = Naive::from_fn(80, 80, |to, from| {
        let out: f64 = (0..80).map(|col| links.at(from, col)).sum();
        let follows = if out == 0.0 {
            1.0 / 80.0
        } else {
            links.at(from, to) / out
        };
        0.85 * follows + 0.15 / 80.0
    });
    assert!(step.times(&ranks).minus(&ranks).largest() < 1e-13);
}
