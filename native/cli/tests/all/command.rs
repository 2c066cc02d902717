//! The command as users type it.

use std::{
    ffi::OsStr,
    fs,
    io::Write,
    os::unix::ffi::OsStrExt,
    path::Path,
    process::{Command, Output, Stdio},
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
fn errors_and_warnings_come_together_and_as_json() {
    let folder = folder("a = 1\nX = Y\nb = c(1)\nd = X + b\nprint(a)\nwrite(d, 'o')");
    let check = |script: &str, more: &[&str]| {
        fs::write(folder.path().join("script.dml"), script).expect("writable");
        fulgurite(folder.path(), &[&["check", "script.dml"], more].concat())
    };
    let script = "a = 1\nX = Y\nb = c(1)\nd = X + b\nwrite(d, 'o')";
    let output = check(script, &[]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(standard_output(&output), "");
    let shown = standard_error(&output);
    let headings: Vec<&str> = shown.lines().filter(|line| line.contains("]: ")).collect();
    assert_eq!(
        headings,
        [
            "warning[W0101]: the variable 'a' is assigned and never read",
            "validation error[E0201]: variable 'Y' is not defined",
            "validation error[E0202]: unknown function 'c'",
        ]
    );
    assert!(shown.ends_with("\n\n2 errors, 1 warning\n"), "{shown}");
    let output = check(script, &["--format", "json"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(standard_error(&output), "");
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a document");
    assert_eq!((&json["errors"], &json["warnings"]), (&2.into(), &1.into()));
    let second = &json["diagnostics"][1];
    let parts = [
        "severity", "code", "kind", "file", "line", "column", "length",
    ];
    let parts = parts.map(|part| second[part].to_string());
    assert_eq!(
        parts.join(" "),
        r#""error" "E0201" "validation" "script.dml" 2 5 1"#
    );
    // A warning is no failure, and no run tells of it.
    let output = check("a = 1\nwrite(2, 'o')", &[]);
    assert_eq!(output.status.code(), Some(0));
    assert!(standard_error(&output).starts_with("warning[W0101]"));
    let output = fulgurite(folder.path(), &["run", "script.dml"]);
    assert_eq!(standard_error(&output), "");
    let output = check("", &["--config", "no=1", "--format", "json"]);
    assert_eq!(output.status.code(), Some(1));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a document");
    assert_eq!(json["diagnostics"][0]["code"], "E0502");
    assert!(json["diagnostics"][0]["line"].is_null());
}

#[test]
fn a_run_tells_all_errors_but_no_more_than_twenty() {
    let script: String = (0..30).map(|n| format!("x{n} = f{n}(1)\n")).collect();
    let folder = folder(&script);
    for command in ["run", "check"] {
        let output = fulgurite(folder.path(), &[command, "script.dml"]);
        assert_eq!(output.status.code(), Some(1));
        let shown = standard_error(&output);
        assert_eq!(shown.matches("E0202").count(), 20, "{shown}");
        let last = shown.lines().last().unwrap_or_default();
        assert!(
            last.starts_with("30 errors") && last.contains("10 "),
            "{last}"
        );
    }
}

#[test]
fn pages_about_codes_are_printed() {
    let folder = folder("");
    let output = fulgurite(folder.path(), &["check", "--explain", "e0201"]);
    assert!(standard_output(&output).starts_with("# E0201: a variable is not defined\n"));
    let output = fulgurite(folder.path(), &["check", "--explain", "E9999"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(standard_error(&output).contains("no such code"));
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
    for (level, _, _) in fulgurite_program::ExplainLevel::ALL {
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

/// `sh -c`, with the command as `$F`.
fn shell(folder: &Path, line: &str) -> Output {
    Command::new("bash")
        .args(["-c", line])
        .env("F", env!("CARGO_BIN_EXE_fulgurite"))
        .current_dir(folder)
        .output()
        .expect("there is a shell")
}

#[test]
fn closed_and_full_outputs_end_no_process() {
    let folder = folder("for (i in 1:100000) {\n  print(i)\n}\nprint('through')\n");
    fs::write(folder.path().join("bad.dml"), "x = \n").expect("writable");
    for (line, code) in [
        ("$F run script.dml | head -1; exit ${PIPESTATUS[0]}", 141),
        (
            "$F config | true; exit $(( ${PIPESTATUS[0]} == 0 || ${PIPESTATUS[0]} == 141 ? 0 : 1 ))",
            0,
        ),
        ("$F run script.dml > /dev/full", 1),
        ("$F run script.dml >&-", 0),
        ("$F run script.dml --stats > /dev/null 2>&-", 0),
        ("$F run script.dml --stats > /dev/null 2> /dev/full", 0),
        ("$F run bad.dml 2>&-", 1),
        ("$F run bad.dml 2> /dev/full", 1),
        ("$F frobnicate 2> /dev/full", 2),
        ("RUST_LOG=trace $F run bad.dml 2> /dev/full", 1),
        ("$F --help > /dev/full", 0),
    ] {
        let output = shell(folder.path(), line);
        assert_eq!(
            output.status.code(),
            Some(code),
            "{line}: {}",
            standard_error(&output)
        );
        assert!(!standard_error(&output).contains("panicked"), "{line}");
    }
    let full = shell(folder.path(), "$F run script.dml > /dev/full");
    let error = standard_error(&full);
    assert!(
        error.contains("io error") && error.contains("script.dml:2:"),
        "{error}"
    );
}

#[test]
fn arguments_that_are_no_text_are_wrong_usage() {
    let output = Command::new(env!("CARGO_BIN_EXE_fulgurite"))
        .arg("run")
        .arg(OsStr::from_bytes(b"\xff.dml"))
        .output()
        .expect("the command was built");
    assert_eq!(output.status.code(), Some(2));
    assert!(standard_error(&output).contains("UTF-8"), "{output:?}");
}

#[test]
fn a_script_may_come_from_the_standard_input() {
    let run = |text: &[u8]| {
        let mut child = Command::new(env!("CARGO_BIN_EXE_fulgurite"))
            .args(["run", "-", "-args", "3"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command was built");
        let mut input = child.stdin.take().expect("a pipe");
        input.write_all(text).expect("it is read");
        drop(input);
        child.wait_with_output().expect("it ends")
    };
    assert_eq!(standard_output(&run(b"print($1 + 1)")), "4\n");
    let wrong = run(b"x = 1\ny = z\n");
    assert_eq!(wrong.status.code(), Some(1));
    assert!(standard_error(&wrong).contains("<stdin>:2:5"), "{wrong:?}");
    assert_eq!(run(b"\xff").status.code(), Some(1));
}

#[test]
fn sizes_of_what_the_script_does_not_have_are_wrong_usage() {
    let folder = folder("X = read($X)\nprint(sum(X))");
    let arguments = [
        "explain",
        "script.dml",
        "--size",
        "x=10x10",
        "-nvargs",
        "X=X.csv",
    ];
    let output = fulgurite(folder.path(), &arguments);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        standard_error(&output).contains("no variable 'x'"),
        "{output:?}"
    );
}

#[test]
fn long_strings_are_errors_that_name_the_line() {
    let folder = folder("s = 'ab'\nfor (i in 1:40) {\n  s = s + s\n}\nprint(s)");
    let output = fulgurite(folder.path(), &["run", "script.dml"]);
    let error = standard_error(&output);
    assert_eq!(output.status.code(), Some(1));
    for part in ["memory error", "script.dml:3:", "b(+)", "64 MB"] {
        assert!(error.contains(part), "{error}");
    }
    // Without a loop, constants are not kept either.
    fs::write(
        folder.path().join("line.dml"),
        "s = 'ab'\n".to_owned() + &"s = s + s\n".repeat(40) + "print(s)",
    )
    .expect("writable");
    let output = fulgurite(folder.path(), &["run", "line.dml"]);
    assert!(
        standard_error(&output).contains("memory error"),
        "{}",
        standard_error(&output)
    );
    fs::write(
        folder.path().join("text.dml"),
        "X = matrix(1, rows=9000, cols=9000)\nprint(length(toString(X, rows=9000, cols=9000)))",
    )
    .expect("writable");
    let output = fulgurite(folder.path(), &["run", "text.dml"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        standard_error(&output).contains("text.dml:2:"),
        "{}",
        standard_error(&output)
    );
}

/// On a stack of a megabyte, which threads of the JVM have, too.
#[test]
fn deep_scripts_run() {
    let folder = folder("");
    let repeated = |text: &str, times: usize| text.repeat(times);
    let else_ifs: String = (1..=500)
        .map(|i| format!(" else if (x == {i}) {{ y = {i} }}"))
        .collect();
    let scripts = [
        ("calls", "f = function(int n) return (int r) { if (n > 0) { r = f(n - 1) + 1 } else { r = 0 } }\nprint(f(3000))".into(), "3000\n"),
        ("else", format!("x = nrow(rand(rows=500, cols=1))\ny = 0\nif (x == 0) {{ y = -1 }}{else_ifs} else {{ y = -2 }}\nprint(y)"), "500\n"),
        ("sum", format!("x = as.scalar(rand(rows=1, cols=1, min=1, max=1))\ny = x{}\nprint(y)", repeated(" + x", 1000)), "1001.0\n"),
        ("cells", format!("X = matrix(1, rows=10, cols=10)\nY = X{}\nprint(sum(Y))", repeated(" * 2 - X", 500)), "-99700.0\n"),
        ("parentheses", format!("x = {}1{}\nprint(x)", repeated("(", 200), repeated(")", 200)), "1\n"),
        ("minus", format!("x = 2\nprint({}x)", repeated("-", 200)), "2\n"),
    ];
    for (name, script, printed) in scripts {
        let file = format!("{name}.dml");
        fs::write(folder.path().join(&file), script).expect("writable");
        for command in ["run", "check", "explain"] {
            let output = shell(
                folder.path(),
                &format!("ulimit -s 1024; $F {command} {file}"),
            );
            assert_eq!(
                output.status.code(),
                Some(0),
                "{command} {file}: {}",
                standard_error(&output)
            );
            if command == "run" {
                assert_eq!(standard_output(&output), printed, "{file}");
            }
        }
    }
    let error = |script: &str| {
        fs::write(folder.path().join("limit.dml"), script).expect("writable");
        let output = fulgurite(folder.path(), &["run", "limit.dml"]);
        assert_eq!(output.status.code(), Some(1));
        standard_error(&output)
    };
    let endless = error("f = function(int n) return (int r) { r = f(n + 1) }\nprint(f(1))");
    assert!(endless.contains("more than 5000 calls"), "{endless}");
    let long = error(&format!("x = 1{}", repeated(" + 1", 1001)));
    assert!(long.contains("more than 1000 operators"), "{long}");
    let nested = error(&format!(
        "x = {}1{}",
        repeated("(", 251),
        repeated(")", 251)
    ));
    assert!(nested.contains("more than 250 levels"), "{nested}");
    let branches = "if (1 == 2) { }".to_owned() + &repeated(" else if (1 == 2) { }", 1001);
    assert!(error(&branches).contains("more than 1000 times 'else if'"));
}
