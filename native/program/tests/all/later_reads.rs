//! What a block leaves to one later reader is computed there, and not by a job of its own.

use std::sync::Arc;

use fulgurite_backend_local::{Counters, LocalBackend};

use crate::common::{exact, script};

const ROWS: usize = 500;

/// R, and what the backend did, where X (32 kB) does not fit the driver, but its columns do.
fn run(text: &str) -> (f64, Counters) {
    run_of(ROWS, text)
}

fn run_of(rows: usize, text: &str) -> (f64, Counters) {
    let backend = Arc::new(LocalBackend::default());
    let ran = script(text)
        .backend(Arc::clone(&backend))
        .dataset("X", exact(rows, 8, 7), 37)
        .matrix("y", exact(rows, 1, 5))
        .config("fulgurite.memory.local", "16k")
        .output("R")
        .run();
    let here = script(text)
        .matrix("X", exact(rows, 8, 7))
        .matrix("y", exact(rows, 1, 5))
        .output("R")
        .run();
    assert_eq!(ran.number("R"), here.number("R"), "{text}");
    (ran.number("R"), backend.counters())
}

/// What keeps blocks apart; whether it holds is not known before the run.
const IF: &str = "if (sum(y) > 1e9) { print('large') }\n";

#[test]
fn what_is_read_once_is_not_persisted() {
    for text in [
        format!("Z = X * 2\n{IF}R = sum(Z + 1)"),
        // Read in one of two branches, and in a block that assigns it anew.
        "Z = X * 2\nif (sum(y) > 1e9) { R = sum(Z) } else { R = max(Z) }".to_owned(),
        format!("Z = X * 2\n{IF}Z = Z + 1\n{IF}R = sum(Z)"),
        // In each iteration of a loop it is another one.
        format!("R = 0\nfor (i in 1:3) {{ Z = X * i\n{IF}R = R + sum(Z + 1) }}"),
        // Its size is known without it.
        "Z = X * 2\nif (sum(y) > nrow(Z)) { print('large') }\nR = sum(Z + 1)".to_owned(),
    ] {
        let (_, counters) = run(&text);
        assert_eq!(counters.persisted, 0, "{text}: {counters:?}");
        assert_eq!(counters.source_scans, 1, "{text}");
    }
}

#[test]
fn what_is_read_more_often_is_computed_once() {
    for text in [
        format!("Z = X * 2\n{IF}R = sum(Z + 1)\n{IF}R = R + max(Z)"),
        "Z = X * 2\nR = 0\nfor (i in 1:3) { R = R + sum(Z * i) }".to_owned(),
        "Z = X * 2\nR = 0\nwhile (R < 1e4) { R = R + 9e3 + sum(Z * 2) - 2 * sum(Z) }".to_owned(),
    ] {
        let (_, counters) = run(&text);
        assert_eq!(counters.persisted, 1, "{text}: {counters:?}");
    }
}

/// Passes over columns read them several times. A column (32 kB) does not fit the driver, where one that does would be kept.
#[test]
fn an_operator_of_several_passes_keeps_what_it_reads() {
    let rows = 8 * ROWS;
    let median = format!("Z = X[, 1] * 2\n{IF}R = median(Z) + 1");
    // The aggregates of its stripes are kept as well, and C.
    let running = format!(
        "Z = rowSums(X * 2) + seq(1, {rows})\n{IF}C = cumsum(Z)\nR = as.scalar(C[{rows}, 1])"
    );
    for (text, persisted) in [(median, 1), (running, 3)] {
        let (_, counters) = run_of(rows, &text);
        assert_eq!(counters.persisted, persisted, "{text}: {counters:?}");
    }
}

/// Backends compute what is lazy by recursion, which ends somewhere.
#[test]
fn what_is_written_many_times_and_read_once_is_computed_in_stretches() {
    for (text, persisted) in [
        (
            "for (i in 1:400) { X[i, ] = matrix(i, 1, 8)\nif (i < 0) X = X * 2 }\nR = sum(X)",
            12,
        ),
        (
            "for (i in 1:400) { X = X * 0.5 + i\nif (i < 0) print(i) }\nR = sum(X)",
            12,
        ),
        (
            "for (i in 1:20) { X = X * 0.5 + i\nif (i < 0) print(i) }\nR = sum(X)",
            0,
        ),
    ] {
        let (_, counters) = run(text);
        assert_eq!(counters.persisted, persisted, "{text}: {counters:?}");
    }
}
