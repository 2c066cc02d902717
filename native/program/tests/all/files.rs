//! `read` and `write` in scripts.

use std::{fs, sync::Arc};

use fulgurite_backend_local::LocalBackend;
use fulgurite_error::ErrorKind;

use crate::common::script;

#[test]
fn a_missing_file_is_an_error_only_when_it_is_read() {
    let ran = script(
        "if (FALSE) { X = read('nowhere.csv', format='csv'); print(sum(X)) }\nprint('fine')",
    )
    .run();
    assert_eq!(ran.text(), "fine\n");
    let ran = script("print('before')\nX = read('nowhere.csv', format='csv')\nprint(sum(X))").run();
    let error = ran.result.as_ref().expect_err("there is no such file");
    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
    assert_eq!(
        error.position().map(|position| position.line),
        Some(2),
        "{error}"
    );
    assert_eq!(ran.printed, "before\n");
}

#[test]
fn scalars_and_matrices_come_back_as_they_were_written() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let ran = script("write(7.5, $s)\nwrite(matrix('1 0 2 3', 2, 2), $m, format='csv')")
        .argument("s", &path("s"))
        .argument("m", &path("m.csv"))
        .run();
    assert_eq!(ran.text(), "");
    let ran = script("s = read($s)\nM = read($m)\nprint(s + ' ' + sum(M) + ' ' + nrow(M))")
        .argument("s", &path("s"))
        .argument("m", &path("m.csv"))
        .run();
    assert_eq!(ran.text(), "7.5 6.0 2\n");
}

#[test]
fn booleans_are_small_in_files_and_capital_in_prints() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("b").display().to_string();
    let ran = script("b = 1 < 2\nprint(b)\nwrite(b, $b)")
        .argument("b", &path)
        .run();
    assert_eq!(ran.text(), "TRUE\n");
    assert_eq!(fs::read_to_string(&path).expect("written"), "true");
    let back = "b = read($b)\nprint(b + ' ' + !b)";
    assert_eq!(
        script(back).argument("b", &path).run().text(),
        "TRUE FALSE\n"
    );
    fs::write(&path, "yes").expect("writable");
    let ran = script(back).argument("b", &path).run();
    let error = ran.result.as_ref().expect_err("no boolean");
    assert_eq!(error.kind(), ErrorKind::Data, "{error}");
}

#[test]
fn a_csv_file_beyond_the_budget_is_read_by_the_workers() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = |name: &str| folder.path().join(name);
    let rows: String = (0..4000)
        .map(|row| format!("{},{}\n", row % 7, row % 3))
        .collect();
    fs::write(file("X.csv"), rows).expect("writable");
    fs::write(file("X.csv.mtd"), r#"{"format": "csv"}"#).expect("writable");
    let backend = Arc::new(LocalBackend::default());
    let ran = script(
        "X = read($X)\ns = sum(X)\nY = X * 2\nwrite(Y, $Y, format='csv')\nprint(s + ' ' + nrow(X))",
    )
    .backend(Arc::clone(&backend))
    .argument("X", &file("X.csv").display().to_string())
    .argument("Y", &file("Y.csv").display().to_string())
    .config("fulgurite.memory.local", "32k")
    .run();
    assert_eq!(ran.text(), "15993.0 4000\n");
    let counters = backend.counters();
    assert_eq!(counters.source_scans, 1);
    // A sum comes with its error.
    assert!(counters.largest_collected <= 2, "{counters:?}");
    let written = fs::read_to_string(file("Y.csv")).expect("written");
    assert_eq!(written.lines().count(), 4000);
}

#[test]
fn files_of_every_text_format_beyond_the_budget_are_read_and_written_by_the_workers() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let written = script(
        "X = rand(rows=3000, cols=4, seed=7, sparsity=0.5)\n\
         write(X, $text, format='text')\nwrite(X, $mm, format='mm')\nwrite(X, $libsvm, format='libsvm')",
    )
    .argument("text", &path("text"))
    .argument("mm", &path("mm"))
    .argument("libsvm", &path("libsvm"))
    .run();
    assert_eq!(written.text(), "");
    let expected =
        script("X = rand(rows=3000, cols=4, seed=7, sparsity=0.5)\nprint(sum(X * seq(1, 3000)))")
            .run();
    for format in ["text", "mm", "libsvm"] {
        let backend = Arc::new(LocalBackend::default());
        let ran =
            script("X = read($X)\nwrite(X * 2, $Y, format=$format)\nprint(sum(X * seq(1, 3000)))")
                .backend(Arc::clone(&backend))
                .argument("X", &path(format))
                .argument("Y", &path(&format!("{format}-doubled")))
                .argument("format", format)
                .config("fulgurite.memory.local", "32k")
                .run();
        assert_eq!(ran.text(), expected.text(), "{format}");
        assert!(backend.counters().source_scans > 0, "{format}");
        let back = script("Y = read($Y)\nX = read($X)\nprint(sum(abs(Y - 2 * X)))")
            .argument("X", &path(format))
            .argument("Y", &path(&format!("{format}-doubled")))
            .run();
        assert_eq!(back.text(), "0.0\n", "{format}");
    }
}

#[test]
fn parquet_is_for_spark() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("x.parquet");
    fs::write(&file, b"PAR1....PAR1").expect("writable");
    let ran = script("X = read($X)\nprint(sum(X))")
        .argument("X", &file.display().to_string())
        .run();
    let error = ran.result.as_ref().expect_err("no reader");
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    assert!(
        error.to_string().contains("run the script on Spark"),
        "{error}"
    );
}

#[test]
fn a_file_that_is_not_as_long_as_its_metadata_say_is_an_error_on_the_workers() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = |name: &str| folder.path().join(name);
    fs::write(file("X"), "1 1:2\n".repeat(4000)).expect("writable");
    fs::write(
        file("X.mtd"),
        r#"{"format": "libsvm", "rows": 4001, "cols": 2}"#,
    )
    .expect("writable");
    let ran = script("X = read($X)\nprint(sum(X))")
        .backend(Arc::new(LocalBackend::default()))
        .argument("X", &file("X").display().to_string())
        .config("fulgurite.memory.local", "16k")
        .run();
    let error = ran.result.as_ref().expect_err("a row is missing");
    assert_eq!(error.kind(), ErrorKind::Data, "{error}");
    assert!(
        error
            .to_string()
            .contains("the file has 4000 rows, its metadata promise 4001"),
        "{error}"
    );
}
