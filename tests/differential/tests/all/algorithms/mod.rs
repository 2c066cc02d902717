//! The scripts of examples/algorithms: each gives the same model in every mode, and the model is right: its gradient is 0,
//! its loss never increased, or it is what loops over the data count.

mod classification;
mod factors;
mod graphs_and_clusters;
mod regression;

macro_rules! algorithm {
    ($name:literal) => {
        fulgurite_differential_tests::Script::new(
            $name,
            include_str!(concat!("../../../../../examples/algorithms/", $name)),
        )
    };
}
pub(crate) use algorithm;

/// What an algorithm minimises goes down, or stays up to rounding.
fn assert_never_increases(objectives: &[f64], at_least: usize) {
    assert!(
        objectives.len() >= at_least,
        "only {} were printed",
        objectives.len()
    );
    for pair in objectives.windows(2) {
        assert!(pair[1] <= pair[0] + 1e-12 * pair[0].abs(), "{objectives:?}");
    }
}
