//! Loops that do not end by themselves end when their run is interrupted, and say where.

use std::{collections::BTreeMap, sync::Arc, thread, time::Duration};

use fulgurite_config::Config;
use fulgurite_error::{Error, ErrorKind};
use fulgurite_matrix::{Interrupt, MatrixBlock};
use fulgurite_program::{
    Execution, Request, Session, execute,
    request::{Binding, Input},
};

use crate::common::exact;

const FUNCTIONS: &str = "nothing = function(double x) return (double y) { y = x }\n";

/// Bodies of an endless loop, which is on the fourth line.
const BODIES: [&str; 9] = [
    // Of scalars, which is compiled.
    "while (x >= 0) { x = x + 1\nif (x > 100) { x = 1 } }",
    "while (x >= 0) { }",
    "while (x >= 0) { x = nothing(x) }",
    // Of matrices.
    "while (sum(abs(X * x)) >= 0) { x = x + 1 }",
    "while (sum(abs(X * x)) >= 0) { }",
    "for (i in 1:1000000000000) { x = x + sum(X * i) }",
    // Nobody reads what they assign: nothing is left to run.
    "for (i in 1:1000000000000) { y = sum(X * i) }",
    "parfor (i in 1:1000000000000) { y = sum(X * i) }",
    "parfor (i in 1:1000000000000, par=2) { y = sum(X * i)\nif (y > 0) { z = y } }",
];

/// Runs a script that prints a line, and is interrupted a little later from another thread.
fn interrupted(text: &str, threads: usize, matrix: MatrixBlock) -> Error {
    let interrupt = Interrupt::new();
    let flag = interrupt.clone();
    let sink = Arc::new(move |line: &str| {
        assert_eq!(line, "begun", "{line}");
        let flag = flag.clone();
        thread::spawn(move || {
            thread::sleep(Duration::from_millis(20));
            flag.set();
        });
        Ok(())
    });
    let session = Session::new(Config::default())
        .with_print(sink)
        .with_interrupt(interrupt);
    let mut request = Request::script("test.dml", text);
    request
        .config
        .insert("fulgurite.threads".into(), threads.to_string());
    request.inputs.push(Input {
        name: "X".into(),
        binding: Binding::Local { handle: 0 },
    });
    let matrices = BTreeMap::from([("X".to_owned(), matrix)]);
    execute(Execution::new(request, matrices), &session).expect_err(text)
}

#[test]
fn loops_without_an_end_are_interrupted() {
    for body in BODIES {
        for threads in [1, 2] {
            let text = format!("{FUNCTIONS}x = 0\nprint('begun')\n{body}\nprint('never ' + x)");
            let error = interrupted(&text, threads, exact(3, 2, 3));
            assert_eq!(error.kind(), ErrorKind::Interrupted, "{body}: {error}");
            let line = error.position().map(|position| position.line);
            assert_eq!(line, Some(4), "{body}: {error}");
        }
    }
}
