//! Classifiers.

use fulgurite_differential_tests::{data, naive::Naive};
use fulgurite_error::ErrorKind;
use fulgurite_matrix::MatrixBlock;

use super::{algorithm, assert_never_increases};

fn column(cells: &[f64]) -> MatrixBlock {
    (&Naive::from_fn(cells.len(), 1, |row, _| cells[row])).into()
}

/// The gradient of the squared hinge loss for labels -1 and 1.
fn hinge_gradient(x: &Naive, y: &Naive, w: &Naive, reg: f64) -> Naive {
    let slack = x
        .times(w)
        .with(y, |score, y| y * (1.0 - y * score).max(0.0));
    w.map(|weight| reg * weight)
        .minus(&x.transposed().times(&slack))
}

#[test]
fn l2svm() {
    let x = data::features(400, 15, 0.3, 3);
    let labels = data::labels(&x, 4, |score| if score > 0.1 { 2.0 } else { 1.0 });
    let script = || {
        algorithm!("l2svm.dml")
            .input("X", &x)
            .input("labels", &labels)
            .outputs(&["B"])
    };
    let run = script().agrees_in_every_mode();
    assert_never_increases(&run.printed_after("iteration", "objective "), 5);
    script().argument("icpt", 1).agrees_in_every_mode();

    let run = script()
        .argument("maxi", 500)
        .argument("icpt", 1)
        .argument("reg", 0.5)
        .run();
    let (features, w) = (Naive::from(&x).with_ones(), Naive::from(run.output("B")));
    let y = Naive::from(&labels).map(|label| 2.0 * label - 3.0);
    let gradient = hinge_gradient(&features, &y, &w, 0.5);
    let first = hinge_gradient(&features, &y, &w.map(|_| 0.0), 0.5);
    assert!(
        gradient.largest() < 1e-4 * first.largest(),
        "{}",
        gradient.largest()
    );
}

#[test]
fn l2svm_with_standardized_columns() {
    let x = data::features(300, 20, 0.8, 31);
    let labels = data::labels(&x, 32, |score| if score > 0.0 { 1.0 } else { -1.0 });
    let run = algorithm!("l2svm.dml")
        .argument("icpt", 2)
        .input("X", &x)
        .input("labels", &labels)
        .outputs(&["B", "w"])
        .agrees_in_every_mode();
    // The weights for the columns as they were give the same scores.
    let x = Naive::from(&x);
    let standardized = x
        .standardized()
        .with_ones()
        .times(&Naive::from(run.output("w")));
    let original = x.with_ones().times(&Naive::from(run.output("B")));
    assert!(standardized.minus(&original).largest() < 1e-9);
}

#[test]
fn mlogreg() {
    let x = data::features(400, 30, 0.3, 1);
    let y = data::labels(&x, 2, |score| (2.0 + 2.0 * score).round().clamp(1.0, 4.0));
    let script = || {
        algorithm!("mlogreg.dml")
            .input("X", &x)
            .input("y", &y)
            .outputs(&["B"])
    };
    let run = script().argument("moi", 8).agrees_in_every_mode();
    assert_never_increases(&run.printed_after("iteration", "objective "), 8);
    script()
        .argument("moi", 5)
        .argument("icpt", 1)
        .agrees_in_every_mode();

    let run = script()
        .argument("moi", 100)
        .argument("mii", 0)
        .argument("reg", 0.5)
        .run();
    let (x, b) = (Naive::from(&x), Naive::from(run.output("B")));
    let scores = x.times(&b);
    let residuals = Naive::from_fn(x.rows(), 3, |row, class| {
        let total: f64 = 1.0 + (0..3).map(|class| scores.at(row, class).exp()).sum::<f64>();
        let is_label = y.get(row, 0) == class as f64 + 1.0;
        scores.at(row, class).exp() / total - f64::from(u8::from(is_label))
    });
    let gradient = x
        .transposed()
        .times(&residuals)
        .with(&b, |slope, weight| slope + 0.5 * weight);
    assert!(gradient.largest() < 1e-6, "{}", gradient.largest());
}

#[test]
fn mlogreg_of_two_classes_is_logistic_regression() {
    let x = data::features(200, 6, 0.6, 41);
    let y = data::labels(&x, 42, |score| if score > 0.0 { 1.0 } else { 2.0 });
    let settings = |script: fulgurite_differential_tests::Script| {
        script
            .argument("reg", 0.5)
            .argument("moi", 100)
            .argument("mii", 0)
            .argument("icpt", 2)
    };
    let multinomial = settings(algorithm!("mlogreg.dml"))
        .input("X", &x)
        .input("y", &y)
        .outputs(&["B"])
        .run();
    // There, the larger label is the success; here, the last one is the baseline.
    let binomial = settings(algorithm!("glm.dml"))
        .argument("link", "logit")
        .input("X", &x)
        .input("y", &(&Naive::from(&y).map(|label| 2.0 - label)).into())
        .outputs(&["B"])
        .run();
    let difference = Naive::from(multinomial.output("B")).minus(&Naive::from(binomial.output("B")));
    assert!(difference.largest() < 1e-6, "{}", difference.largest());
}

#[test]
fn msvm() {
    let x = data::features(400, 10, 0.5, 51);
    let labels = data::classes(&x, 4, 52);
    let script = || {
        algorithm!("msvm.dml")
            .input("X", &x)
            .input("labels", &labels)
            .outputs(&["W", "accuracy"])
    };
    let run = script().agrees_in_every_mode();
    assert!(run.number("accuracy") > 0.9, "{}", run.number("accuracy"));

    // One column is the binary machine of its class.
    let binary = algorithm!("l2svm.dml")
        .input("X", &x)
        .input(
            "labels",
            &(&Naive::from(&labels).map(|label| f64::from(u8::from(label == 2.0)))).into(),
        )
        .outputs(&["B"])
        .run();
    let of_class = Naive::from_fn(10, 1, |row, _| run.output("W").get(row, 1));
    assert!(of_class.minus(&Naive::from(binary.output("B"))).largest() < 1e-9);
}

#[test]
fn naive_bayes() {
    let x = data::counts(300, 12, 5, 0.4, 61);
    let y = data::classes(&x, 3, 62);
    let run = algorithm!("naive_bayes.dml")
        .input("X", &x)
        .input("y", &y)
        .outputs(&["prior", "conditionals"])
        .agrees_in_every_mode();
    let in_class = |row: usize, class: usize| y.get(row, 0) == class as f64 + 1.0;
    for class in 0..3 {
        let members: Vec<usize> = (0..300).filter(|row| in_class(*row, class)).collect();
        let prior = run.output("prior").get(class, 0);
        assert!((prior - members.len() as f64 / 300.0).abs() < 1e-15);
        let count = |col: usize| members.iter().map(|row| x.get(*row, col)).sum::<f64>();
        let total: f64 = (0..12).map(count).sum();
        for col in 0..12 {
            let expected = (count(col) + 1.0) / (total + 12.0);
            assert!((run.output("conditionals").get(class, col) - expected).abs() < 1e-14);
        }
    }
}

#[test]
fn bad_labels_are_refused() {
    let x = data::features(3, 2, 1.0, 71);
    let mlogreg = |labels: &[f64]| {
        algorithm!("mlogreg.dml")
            .input("X", &x)
            .input("y", &column(labels))
    };
    let l2svm = |labels: &[f64]| {
        algorithm!("l2svm.dml")
            .input("X", &x)
            .input("labels", &column(labels))
    };
    let refused = [
        (
            mlogreg(&[0.0, 1.0, 2.0]),
            ErrorKind::Stopped,
            "whole numbers from 1",
        ),
        (
            mlogreg(&[1.0, 1.0, 1.0]),
            ErrorKind::Stopped,
            "one class only",
        ),
        (l2svm(&[1.0, 2.0, 3.0]), ErrorKind::Stopped, "two classes"),
        // Known before the script could say so.
        (
            l2svm(&[1.0, 2.0]),
            ErrorKind::Dimension,
            "shapes do not fit",
        ),
    ];
    for (script, kind, message) in refused {
        let error = script.refuses();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(message), "{error}");
    }
}
