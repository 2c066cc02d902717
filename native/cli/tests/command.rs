//! The command as users type it.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

fn fulgurite(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fulgurite"))
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("the command was built")
}

fn standard_error(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn standard_output(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn folder(script: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("script.dml"), script).expect("it is writable");
    folder
}

#[test]
fn file_uris_are_local_and_other_file_systems_are_sparks() {
    let folder = folder("X = read($X, format='csv')\nwrite(t(X), $Y, format='csv')\n");
    let uri = |name: &str| format!("file://{}", folder.path().join(name).display());
    fs::write(folder.path().join("X.csv"), "1,2\n").expect("writable");
    let run = |x: &str, y: &str| {
        let (x, y) = (format!("X={x}"), format!("Y={y}"));
        fulgurite(folder.path(), &["run", "script.dml", "-nvargs", &x, &y])
    };
    let output = run(&uri("X.csv"), &uri("Y.csv"));
    assert!(output.status.success(), "{}", standard_error(&output));
    let written = fs::read_to_string(folder.path().join("Y.csv"));
    assert_eq!(written.expect("it was written"), "1.0\n2.0\n");
    for (x, y, path, line) in [
        ("hdfs://host/X", "Y", "hdfs://host/X", 1),
        (&uri("X.csv"), "s3a://bucket/Y", "s3a://bucket/Y", 2),
    ] {
        let output = run(x, y);
        let error = standard_error(&output);
        assert!(!output.status.success());
        assert!(
            error.contains(path) && error.contains("spark-submit"),
            "{error}"
        );
        assert!(error.contains(&format!("script.dml:{line}:")), "{error}");
    }
}

#[test]
fn a_script_reads_computes_and_writes() {
    let folder = folder("X = read($X)\nprint('sum ' + sum(X))\nwrite(t(X), $Y, format='csv')\n");
    let file = |name: &str| folder.path().join(name);
    fs::write(file("X.csv"), "1,2\n3,4.5\n").expect("writable");
    fs::write(
        file("X.csv.mtd"),
        r#"{"format": "csv", "data_type": "matrix"}"#,
    )
    .expect("writable");
    let output = fulgurite(
        folder.path(),
        &[
            "run",
            "script.dml",
            "--stats",
            "-nvargs",
            "X=X.csv",
            "Y=Y.csv",
        ],
    );
    assert_eq!(output.status.code(), Some(0), "{}", standard_error(&output));
    assert_eq!(standard_output(&output), "sum 10.5\n");
    assert!(
        standard_error(&output).contains("compiled"),
        "{}",
        standard_error(&output)
    );
    assert_eq!(
        fs::read_to_string(file("Y.csv")).expect("written"),
        "1.0,3.0\n2.0,4.5\n"
    );
    assert!(file("Y.csv.mtd").is_file());
}

#[test]
fn systemml_options_run_a_script() {
    let folder = folder("print($1 + $2)");
    let output = fulgurite(
        folder.path(),
        &[
            "-f",
            "script.dml",
            "-exec",
            "singlenode",
            "-args",
            "3",
            "-5",
        ],
    );
    assert_eq!(
        standard_output(&output),
        "-2\n",
        "{}",
        standard_error(&output)
    );
}

#[test]
fn errors_point_at_the_script_and_exit_with_1() {
    let folder = folder("x = 1\ny = x + undefined_name\nprint(y)\n");
    let output = fulgurite(folder.path(), &["run", "script.dml"]);
    assert_eq!(output.status.code(), Some(1));
    let text = standard_error(&output);
    assert!(
        text.contains("script.dml:2:9") && text.contains('^'),
        "{text}"
    );
    let checked = fulgurite(folder.path(), &["check", "script.dml"]);
    assert_eq!(
        (checked.status.code(), standard_error(&checked)),
        (Some(1), text)
    );
    let missing = fulgurite(folder.path(), &["run", "nowhere.dml"]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(standard_error(&missing).contains("nowhere.dml"));
}

#[test]
fn wrong_usage_exits_with_2() {
    let folder = folder("print(1)");
    for arguments in [
        &["run"][..],
        &["run", "script.dml", "--nonsense"],
        &["run", "script.dml", "--explain", "everything"],
        &["explain", "script.dml", "--level", "everything"],
        &["explain", "script.dml", "--format", "png"],
        &[
            "explain",
            "script.dml",
            "--level",
            "memo",
            "--format",
            "svg",
        ],
        &["explain", "script.dml", "--size", "X=10"],
        &["-f", "script.dml", "-gpu"],
        &["frobnicate"],
    ] {
        let output = fulgurite(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn unwritable_outputs_leave_nothing_behind() {
    let folder = folder("write(matrix(1, 2, 2), 'script.dml/folder/out.csv', format='csv')");
    let output = fulgurite(folder.path(), &["run", "script.dml"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        standard_error(&output).contains("script.dml:1"),
        "{}",
        standard_error(&output)
    );
    assert!(folder.path().join("script.dml").is_file());
}

#[test]
fn explain_shows_every_level() {
    let folder = folder("X = rand(rows=100, cols=10, seed=1)\ny = sum(X * X + 1)\nprint(y)");
    for (level, _, _) in fulgurite_runtime::ExplainLevel::ALL {
        for format in level.formats() {
            let (level, format) = (level.name(), format.name());
            let arguments = [
                "explain",
                "script.dml",
                "--level",
                level,
                "--format",
                format,
            ];
            let output = fulgurite(folder.path(), &arguments);
            assert_eq!(output.status.code(), Some(0), "{}", standard_error(&output));
            assert!(!standard_output(&output).is_empty(), "{level} {format}");
        }
    }
}

#[test]
fn explain_takes_sizes_from_metadata_and_from_the_command_line() {
    let folder = folder("X = read($X)\ny = read($y)\nb = t(X) %*% (X %*% y)\nprint(sum(b))");
    let metadata =
        r#"{"data_type": "matrix", "format": "csv", "rows": 500, "cols": 20, "nnz": 10000}"#;
    fs::write(folder.path().join("X.csv.mtd"), metadata).expect("writable");
    // What is in it is not read.
    fs::write(folder.path().join("X.csv"), "").expect("writable");
    let arguments = [
        "explain",
        "script.dml",
        "--size",
        "y=20x1:20",
        "-nvargs",
        "X=X.csv",
    ];
    let output = fulgurite(folder.path(), &arguments);
    assert_eq!(output.status.code(), Some(0), "{}", standard_error(&output));
    let text = standard_output(&output);
    assert!(
        text.contains("[500 x 20, nnz 10000]") && text.contains("fused(0) Row"),
        "{text}"
    );
    assert!(!text.contains('?'), "{text}");
}

#[test]
fn explain_answers_why() {
    let folder = folder("X = rand(rows=100, cols=10, seed=1)\nprint(sum(X * X + 1))");
    let output = fulgurite(folder.path(), &["explain", "script.dml", "--why", "2:13"]);
    assert!(
        standard_output(&output).contains("in fused(0) Cell ua(+)"),
        "{output:?}"
    );
    let output = fulgurite(folder.path(), &["explain", "script.dml", "--why", "7"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(standard_error(&output).contains("line 7"), "{output:?}");
}

#[test]
fn statistics_show_the_plans_that_ran() {
    let folder = folder("X = rand(rows=100, cols=10, seed=1)\nprint(sum(X * X + 1))");
    let output = fulgurite(folder.path(), &["run", "script.dml", "--stats"]);
    let text = standard_error(&output);
    assert!(text.contains("fused(0) Cell ua(+) script.dml:2"), "{text}");
    assert!(
        text.contains("scalar from [100 x 10") && text.contains("Cell(main)"),
        "{text}"
    );
}

#[test]
fn the_key_table_is_printed() {
    let output = fulgurite(Path::new("."), &["config"]);
    assert!(standard_output(&output).contains("fulgurite.memory.local = auto"));
}
