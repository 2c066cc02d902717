//! Files, pipes and devices, as the command reads and writes them.

use std::{
    fs,
    io::Write,
    path::Path,
    process::{Command, Output, Stdio},
};

fn folder(script: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    put(&folder, "script.dml", script);
    folder
}

fn put(folder: &tempfile::TempDir, name: &str, text: &str) {
    fs::write(folder.path().join(name), text).expect("it is writable");
}

/// Runs the script with what comes through a pipe.
fn piped(folder: &Path, arguments: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_fulgurite"))
        .args(["run", "script.dml"])
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command was built");
    let mut pipe = child.stdin.take().expect("it is piped");
    // A script that reads nothing may be through before.
    let _ = pipe.write_all(input);
    drop(pipe);
    child.wait_with_output().expect("it ends")
}

/// What the script prints, and says on the standard error.
fn run(folder: &tempfile::TempDir, arguments: &[&str], input: &str) -> (String, String) {
    let output = piped(folder.path(), arguments, input.as_bytes());
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

/// The high-level operators of a script.
fn explained(folder: &tempfile::TempDir, format: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_fulgurite"))
        .args(["explain", "--level", "hops", "--format", format])
        .arg("script.dml")
        .current_dir(folder.path())
        .output()
        .expect("the command was built");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[cfg(target_os = "linux")]
#[test]
fn a_pipe_is_read_once_and_whole() {
    let csv = folder("X = read($1, format='csv')\nprint(nrow(X) + ' ' + sum(X))");
    let (printed, error) = run(&csv, &["-args", "/dev/stdin"], "1,2\n3,4\n");
    assert_eq!((printed.as_str(), error.as_str()), ("2 10.0\n", ""));
    let market = folder("X = read($1)\nprint(nrow(X) + ' ' + sum(X))");
    let text = "%%MatrixMarket matrix coordinate real general\n3 1 1\n2 1 2.5\n";
    let (printed, error) = run(&market, &["-args", "/dev/stdin"], text);
    assert_eq!((printed.as_str(), error.as_str()), ("3 2.5\n", ""));
    let (_, error) = run(&market, &["-args", "/dev/stdin"], "1,2\n");
    assert!(error.contains("pass format= to read()"), "{error}");
}

#[cfg(target_os = "linux")]
#[test]
fn devices_are_written_to_and_no_script() {
    let writes = folder("write(matrix(7, 1, 2), $1, format='csv')");
    for (device, printed) in [("/dev/stdout", "7.0,7.0\n"), ("/dev/null", "")] {
        let found = run(&writes, &["-args", device], "");
        assert_eq!(found, (printed.to_owned(), String::new()));
    }
    let (_, error) = run(&writes, &["-args", "/dev/full"], "");
    assert!(
        error.starts_with("io error[E0600]: cannot write /dev/full"),
        "{error}"
    );
    let sources = folder("source('/dev/zero') as zero\nprint(1)");
    let (_, error) = run(&sources, &[], "");
    assert!(error.contains("it is no file"), "{error}");
}

#[test]
fn headers_promise_and_coordinates_hold() {
    let sums = folder("X = read($1)\nprint(sum(X) + ' ' + nrow(X))");
    let market =
        |sizes: &str| format!("%%MatrixMarket matrix coordinate real general\n{sizes}\n7 1 2.5\n");
    put(&sums, "X.mtx", &market("1000000000000 1 1"));
    let (printed, error) = run(&sums, &["-args", "X.mtx"], "");
    assert_eq!(
        (printed.as_str(), error.as_str()),
        ("2.5 1000000000000\n", "")
    );
    put(&sums, "X.mtx", &market("9 1 18446744073709551615"));
    let (_, error) = run(&sums, &["-args", "X.mtx"], "");
    assert!(
        error.starts_with("data error[E0700]: X.mtx: line 2:"),
        "{error}"
    );
    put(&sums, "X.csv", "1\n");
    for (metadata, reason) in [
        (
            r#"{"rows": 1000000000000000000, "cols": 1}"#,
            "its metadata promise 1000000000000000000",
        ),
        (
            r#"{"rows": 1, "cols": 1, "nnz": 2}"#,
            "2 non-zeros are more than a 1 x 1 matrix has cells",
        ),
    ] {
        put(&sums, "X.csv.mtd", metadata);
        let (_, error) = run(&sums, &["-args", "X.csv"], "");
        assert!(
            error.starts_with("data error") && error.contains(reason),
            "{error}"
        );
    }
}

#[test]
fn empty_cells_are_counted_unless_somebody_has_said_what_they_are() {
    let sums = folder("X = read('X.csv')\nprint(nrow(X) + ' ' + sum(X))");
    put(&sums, "X.csv", "1\n\n3\n");
    let (printed, error) = run(&sums, &[], "");
    assert_eq!(printed, "3 4.0\n");
    assert_eq!(
        error.matches("1 empty cells are read as 0").count(),
        1,
        "{error}"
    );
    let said = folder("X = read('X.csv', fill=TRUE)\nprint(sum(X))");
    put(&said, "X.csv", "1\n\n3\n");
    assert_eq!(run(&said, &[], ""), ("4.0\n".to_owned(), String::new()));
    let missing = folder("X = read('X.csv', na.strings='NA·?')\nprint(sum(X != X))");
    put(&missing, "X.csv", "1,NA\n?,nan\n");
    assert_eq!(run(&missing, &[], ""), ("3.0\n".to_owned(), String::new()));
}

#[test]
fn errors_show_neither_credentials_nor_control_characters() {
    let reads = folder("X = read($1, format='csv')\nprint(sum(X))");
    let (_, error) = run(
        &reads,
        &["-args", "s3a://KEY:SECRET@bucket/X.csv?token=abc"],
        "",
    );
    assert!(
        error.contains("s3a://***@bucket/X.csv?token=***"),
        "{error}"
    );
    assert!(
        !error.contains("SECRET") && !error.contains("abc"),
        "{error}"
    );
    let uri = "s3a://KEY:SECRET@bucket/X.csv?token=abc";
    let script = format!("X = rand(rows=9, cols=9)\nwrite(X, '{uri}')\nprint(sum(X))");
    let writes = folder(&script);
    for format in ["text", "json", "dot", "svg", "html"] {
        let explained = explained(&writes, format);
        let shows_paths = !matches!(format, "dot" | "svg");
        assert!(
            !shows_paths || explained.contains("bucket/X.csv"),
            "{format}: {explained}"
        );
        assert!(!explained.contains("SECRET"), "{format}: {explained}");
    }
    put(&reads, "X.csv", "1,\u{1b}]0;title\u{7}\n");
    let (_, error) = run(&reads, &["-args", "X.csv"], "");
    assert!(
        !error.contains(['\u{1b}', '\u{7}']) && error.contains("\\u{1b}]0;title"),
        "{error}"
    );
}
