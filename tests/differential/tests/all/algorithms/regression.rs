//! Linear and generalised linear models.

use fulgurite_differential_tests::{Script, data, naive::Naive, script::relative_difference};
use fulgurite_matrix::MatrixBlock;

use super::{algorithm, assert_never_increases};

/// Has converged after a few iterations, so that modes agree to many digits.
fn precise(script: Script) -> Script {
    script.argument("moi", 100).argument("mii", 0)
}

/// The normal distribution's cumulative function, by Simpson's rule.
fn normal(x: f64) -> f64 {
    let density = |x: f64| (-x * x / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let steps = 2000;
    let width = x / f64::from(steps);
    let inner: f64 = (1..steps)
        .map(|step| f64::from(2 + 2 * (step % 2)) * density(f64::from(step) * width))
        .sum();
    0.5 + (density(0.0) + inner + density(x)) * width / 3.0
}

/// What the derivative of the negative log-likelihood by beta must be at the optimum: -reg beta.
fn check_gradient(x: &Naive, beta: &Naive, reg: f64, slope: impl Fn(usize, f64) -> f64) {
    let eta = x.times(beta);
    let slopes = Naive::from_fn(x.rows(), 1, |row, _| slope(row, eta.at(row, 0)));
    let gradient = x
        .transposed()
        .times(&slopes)
        .with(beta, |slope, weight| slope + reg * weight);
    assert!(
        gradient.largest() < 1e-5,
        "the gradient is {}",
        gradient.largest()
    );
}

#[test]
fn glm_binomial_probit() {
    let x = data::features(400, 8, 0.5, 11);
    let y = data::labels(&x, 12, |score| if score > 0.05 { 1.0 } else { 0.0 });
    let script = || {
        algorithm!("glm.dml")
            .argument("reg", 0.1)
            .input("X", &x)
            .input("y", &y)
            .outputs(&["B"])
    };
    let run = script().agrees_in_every_mode();
    assert_never_increases(&run.printed_after("iteration", "objective "), 5);
    precise(script()).argument("icpt", 1).agrees_in_every_mode();

    let run = precise(script()).run();
    check_gradient(
        &Naive::from(&x),
        &Naive::from(run.output("B")),
        0.1,
        |row, eta| {
            let density = (-eta * eta / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
            match y.get(row, 0) {
                1.0 => -density / normal(eta),
                _ => density / normal(-eta),
            }
        },
    );
}

#[test]
fn glm_binomial_logit() {
    let x = data::features(400, 8, 0.5, 13);
    let y = data::labels(&x, 14, |score| if score > 0.05 { 4.0 } else { 3.0 });
    let script = || {
        algorithm!("glm.dml")
            .argument("link", "logit")
            .argument("reg", 0.1)
            .input("X", &x)
            .input("y", &y)
            .outputs(&["B"])
    };
    script().agrees_in_every_mode();
    let run = precise(script()).run();
    check_gradient(
        &Naive::from(&x),
        &Naive::from(run.output("B")),
        0.1,
        |row, eta| 1.0 / (1.0 + (-eta).exp()) - (y.get(row, 0) - 3.0),
    );
}

#[test]
fn glm_poisson() {
    let x = data::features(400, 8, 0.5, 15);
    let y = data::labels(&x, 16, |score| (2.0 * score).exp().round());
    let script = || {
        algorithm!("glm.dml")
            .argument("family", "poisson")
            .input("X", &x)
            .input("y", &y)
            .outputs(&["B"])
    };
    script().argument("icpt", 1).agrees_in_every_mode();
    let run = precise(script()).run();
    check_gradient(
        &Naive::from(&x),
        &Naive::from(run.output("B")),
        0.001,
        |row, eta| eta.exp() - y.get(row, 0),
    );
}

#[test]
fn glm_gaussian_is_linear_regression() {
    let x = data::features(300, 8, 0.5, 17);
    let y = data::labels(&x, 18, |score| 3.0 * score + 1.0);
    let given = |script: Script| {
        script
            .argument("icpt", 1)
            .input("X", &x)
            .input("y", &y)
            .outputs(&["B"])
    };
    let glm =
        given(precise(algorithm!("glm.dml")).argument("family", "gaussian")).agrees_in_every_mode();
    let direct = given(algorithm!("linreg_ds.dml")).run();
    assert!(relative_difference(glm.output("B"), direct.output("B")) < 1e-9);
}

#[test]
fn linear_regression_solves_the_normal_equations() {
    let x = data::features(400, 12, 0.3, 5);
    let y = data::labels(&x, 6, |score| 3.0 * score + 1.0);
    let given = |script: Script| {
        script
            .argument("reg", 0.1)
            .input("X", &x)
            .input("y", &y)
            .outputs(&["B"])
    };
    let iterative = given(algorithm!("linreg_cg.dml")).agrees_in_every_mode();
    let direct = given(algorithm!("linreg_ds.dml")).agrees_in_every_mode();
    assert!(relative_difference(iterative.output("B"), direct.output("B")) < 1e-9);
    let (features, response) = (Naive::from(&x), Naive::from(&y));
    check_gradient(
        &features,
        &Naive::from(direct.output("B")),
        0.1,
        |row, eta| eta - response.at(row, 0),
    );
}

/// Without regularisation, shifting and scaling of columns makes no difference to the weights that come back.
#[test]
fn standardized_columns_give_the_weights_of_the_columns_as_they_were() {
    let shifted = Naive::from(&data::features(200, 5, 0.8, 21));
    let x: MatrixBlock = (&Naive::from_fn(200, 5, |row, col| {
        10.0 * (col as f64 + 1.0) * (shifted.at(row, col) + 2.0)
    }))
        .into();
    let y = data::labels(&data::features(200, 5, 0.8, 21), 22, |score| {
        3.0 * score + 1.0
    });
    for script in [
        algorithm!("linreg_ds.dml"),
        algorithm!("linreg_cg.dml").argument("maxi", 100),
    ] {
        let given = script
            .argument("reg", 0)
            .input("X", &x)
            .input("y", &y)
            .outputs(&["B"]);
        let standardized = given.clone().argument("icpt", 2).agrees_in_every_mode();
        let plain = given.argument("icpt", 1).run();
        let difference = relative_difference(standardized.output("B"), plain.output("B"));
        assert!(difference < 1e-7, "{difference:e}");
    }
}

#[test]
fn dependent_columns_are_refused_by_name_and_place() {
    let x = data::features(50, 4, 1.0, 25);
    let doubled: MatrixBlock = (&Naive::from_fn(50, 5, |row, col| x.get(row, col.min(3)))).into();
    let error = algorithm!("linreg_ds.dml")
        .argument("reg", 0)
        .input("X", &doubled)
        .input("y", &data::labels(&x, 26, |score| score))
        .refuses();
    let text = error.to_string();
    assert!(
        text.contains("singular") && text.contains("column 5"),
        "{text}"
    );
    assert!(text.contains("beta = solve(A, b)"), "{text}");
}
