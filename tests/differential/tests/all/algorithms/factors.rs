//! Matrix factors, components and codes.

use fulgurite_differential_tests::{data, naive::Naive};

use super::{algorithm, assert_never_increases};

#[test]
fn als_cg() {
    let x = data::counts(120, 60, 5, 0.2, 81);
    for reg in ["wL2", "L2"] {
        let run = algorithm!("als_cg.dml")
            .argument("reg", reg)
            .argument("rank", 4)
            .argument("lambda", 0.1)
            .argument("maxi", 3)
            .input("X", &x)
            .outputs(&["U", "V", "loss"])
            .agrees_in_every_mode();
        let mut losses = run.printed_after("start", "loss ");
        losses.extend(run.printed_after("iteration", "loss "));
        assert_never_increases(&losses, 4);

        let (u, v) = (Naive::from(run.output("U")), Naive::from(run.output("V")));
        let product = u.times(&v.transposed());
        let mut expected = 0.0;
        for i in 0..120 {
            for j in (0..60).filter(|j| x.get(i, *j) != 0.0) {
                expected += 0.5 * (x.get(i, j) - product.at(i, j)).powi(2);
            }
        }
        let norm = |factor: &Naive, row: usize| -> f64 {
            (0..4).map(|col| factor.at(row, col).powi(2)).sum()
        };
        let weight = |count: usize| if reg == "wL2" { count as f64 } else { 1.0 };
        for i in 0..120 {
            let count = (0..60).filter(|j| x.get(i, *j) != 0.0).count();
            expected += 0.05 * weight(count) * norm(&u, i);
        }
        for j in 0..60 {
            let count = (0..120).filter(|i| x.get(*i, j) != 0.0).count();
            expected += 0.05 * weight(count) * norm(&v, j);
        }
        let loss = run.number("loss");
        assert!(
            (loss - expected).abs() < 1e-9 * expected,
            "{reg}: {loss} instead of {expected}"
        );
    }
}

#[test]
fn pnmf() {
    let x = data::counts(120, 60, 5, 0.2, 83);
    let run = algorithm!("pnmf.dml")
        .argument("rank", 4)
        .argument("maxi", 10)
        .input("X", &x)
        .outputs(&["W", "H", "objective"])
        .agrees_in_every_mode();
    let mut objectives = run.printed_after("start", "objective ");
    objectives.extend(run.printed_after("iteration", "objective "));
    assert_never_increases(&objectives, 11);
    let (w, h) = (Naive::from(run.output("W")), Naive::from(run.output("H")));
    assert!(
        w.map(|cell| cell.min(0.0)).largest() == 0.0
            && h.map(|cell| cell.min(0.0)).largest() == 0.0
    );
    let product = w.times(&h);
    let likelihood = Naive::from(&x).with(
        &product,
        |x, mean| if x == 0.0 { 0.0 } else { x * mean.ln() },
    );
    let expected = product.sum() - likelihood.sum();
    assert!((run.number("objective") - expected).abs() < 1e-9 * expected.abs());
}

#[test]
fn pca() {
    let x = data::features(300, 8, 0.6, 85);
    for (center, scale) in [(1, 0), (1, 1), (0, 0)] {
        let run = algorithm!("pca.dml")
            .argument("center", center)
            .argument("scale", scale)
            .argument("k", 3)
            .input("X", &x)
            .outputs(&["components", "variances"])
            .agrees_in_every_mode();
        let x = Naive::from(&x);
        let means = Naive::from_fn(1, 8, |_, col| {
            (0..300).map(|row| x.at(row, col)).sum::<f64>() / 300.0
        });
        let prepared = match (center, scale) {
            (1, 1) => x.standardized(),
            (1, _) => x.minus(&means),
            _ => x.clone(),
        };
        let covariance = prepared
            .transposed()
            .times(&prepared)
            .map(|cell| cell / 299.0);
        let components = Naive::from(run.output("components"));
        let variances = Naive::from(run.output("variances"));
        let scaled = components.with(&variances.transposed(), |cell, variance| cell * variance);
        assert!(covariance.times(&components).minus(&scaled).largest() < 1e-12);
        let identity = Naive::from_fn(3, 3, |row, col| f64::from(u8::from(row == col)));
        assert!(
            components
                .transposed()
                .times(&components)
                .minus(&identity)
                .largest()
                < 1e-12
        );
        assert!((1..3).all(|place| variances.at(place - 1, 0) >= variances.at(place, 0)));
    }
}

#[test]
fn autoencoder() {
    let x = data::features(300, 20, 1.0, 87);
    // Columns that depend on one another, so that there is something to learn.
    let x = Naive::from_fn(300, 20, |row, col| {
        x.get(row, col % 2) + 0.1 * x.get(row, col)
    });
    let run = algorithm!("autoencoder.dml")
        .argument("H1", 12)
        .argument("H2", 2)
        .argument("batch", 64)
        .argument("epochs", 5)
        .input("X", &(&x).into())
        .outputs(&[
            "W1",
            "W2",
            "W3",
            "W4",
            "b1",
            "b2",
            "b3",
            "b4",
            "loss",
            "iteration",
        ])
        .agrees_in_every_mode();
    assert_never_increases(&run.printed_after("epoch", "training "), 5);
    assert_eq!(run.number("iteration"), 25.0);

    let layer = |input: &Naive, weights: &str, biases: &str| {
        input
            .times(&Naive::from(run.output(weights)))
            .with(&Naive::from(run.output(biases)), |x, b| x + b)
    };
    let sigmoid = |input: Naive| input.map(|x| 1.0 / (1.0 + (-x).exp()));
    let x = x.standardized();
    let hidden = sigmoid(layer(&x, "W1", "b1"));
    let codes = sigmoid(layer(&hidden, "W2", "b2"));
    let back = layer(&sigmoid(layer(&codes, "W3", "b3")), "W4", "b4");
    let expected = 0.5 * back.minus(&x).squares() / 300.0;
    assert!((run.number("loss") - expected).abs() < 1e-9 * expected);
}
