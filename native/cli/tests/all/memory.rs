//! A size that only a run knows, or a machine that has no memory left, ends a script with a typed error, never the process.
#![cfg(target_os = "linux")]

use std::{
    fs,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
};

use fulgurite_test_numbers::is_close;

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The command in `folder`; its address space is limited to so many bytes.
fn command(folder: &Path, arguments: &[&str], address_space: Option<u64>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fulgurite"));
    command
        .args(arguments)
        .current_dir(folder)
        .env("XDG_CACHE_HOME", folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    if let Some(bytes) = address_space {
        let limit = libc::rlimit {
            rlim_cur: bytes,
            rlim_max: bytes,
        };
        // SAFETY: between fork and exec, one system call is made, and its error is read.
        unsafe {
            command.pre_exec(move || match libc::setrlimit(libc::RLIMIT_AS, &limit) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            });
        }
    }
    command
}

fn run(folder: &Path, arguments: &[&str], address_space: Option<u64>) -> Output {
    let mut command = command(folder, arguments, address_space);
    command.output().expect("the command starts")
}

/// A script that makes something too large fails with a memory error that names the operator, its line and what raises the limit.
#[track_caller]
fn is_too_large(script: &str, line: usize, operator: &str) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("s.dml"), script).expect("writable");
    let output = run(folder.path(), &["run", "s.dml"], None);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{script}\n{error}");
    assert!(
        error.starts_with("memory error[E1000]: "),
        "{script}\n{error}"
    );
    assert!(
        error.contains(&format!("s.dml:{line}:")),
        "{script}\n{error}"
    );
    assert!(
        error.contains(&format!("(in {operator})")),
        "{script}\n{error}"
    );
    assert!(error.contains("= help: "), "{script}\n{error}");
}

/// Numbers that no compiler knows.
const UNKNOWN: &str =
    "n = nrow(removeEmpty(target=matrix(\"1 2\", rows=2, cols=1), margin=\"rows\"))\n";

#[test]
fn one_bad_label_is_a_memory_error() {
    is_too_large(
        "F = table(matrix(\"1 9781234500000\", rows=2, cols=1), 1)\nprint(sum(F))\n",
        1,
        "t(ctable)",
    );
    is_too_large(
        "g = matrix(\"1 9781234500000\", rows=2, cols=1)\nF = aggregate(target=g, groups=g, fn=\"sum\")\nprint(sum(F))\n",
        2,
        "p(aggregate)",
    );
    is_too_large(
        "g = matrix(\"1 9781234500000\", rows=2, cols=1)\nF = aggregate(target=g, groups=g, fn=\"variance\")\nprint(sum(F))\n",
        2,
        "p(aggregate)",
    );
    is_too_large(
        "g = matrix(\"1 978123450000\", rows=2, cols=1)\nF = outer(g, t(seq(1, max(g))), \"==\")\nprint(sum(F))\n",
        2,
        "dg(seq)",
    );
    // As in examples/mlogreg.dml with a time stamp among the labels: the indicators fit, what is trained does not.
    is_too_large(
        "Y = matrix(\"1 2 3 1700000000\", rows=4, cols=1)\nR = table(seq(1, nrow(Y)), Y)\nP = matrix(1, rows=1000, cols=ncol(R))\nprint(sum(P %*% t(R)))\n",
        3,
        "dg(matrix)",
    );
}

#[test]
fn matrices_of_any_size_are_memory_errors() {
    let of = |statement: &str| format!("{UNKNOWN}F = {statement}\nprint(sum(F * F) + F[1, 1])\n");
    is_too_large(
        &of("matrix(1, rows=n * 100000000000, cols=1)"),
        2,
        "dg(matrix)",
    );
    is_too_large(
        &of("rand(rows=n * 1000000000000000000, cols=1)"),
        2,
        "dg(rand)",
    );
    is_too_large(
        &of("rand(rows=n * 1000000000000, cols=30, sparsity=0.1)"),
        2,
        "dg(rand)",
    );
    is_too_large(&of("seq(1, n * 10000000000000)"), 2, "dg(seq)");
    is_too_large(
        &of("sample(n * 1000000000000, n * 1000000000000)"),
        2,
        "dg(sample)",
    );
    is_too_large(
        &of("exp(matrix(0, rows=n * 1000000000000, cols=3))"),
        2,
        "u(exp)",
    );
}

#[test]
fn zeros_of_any_size_are_legal() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let script = format!(
        "{UNKNOWN}X = matrix(0, rows=n * 1000000000000, cols=3)\nprint(sum(X) + ' ' + nrow(X))\nprint(sum(colSums(X)) + max(X))\nF = cumsum(X)\nprint(sum(F * F) + as.scalar(F[1, 1]))\n"
    );
    fs::write(folder.path().join("s.dml"), script).expect("writable");
    let output = run(folder.path(), &["run", "s.dml"], None);
    assert_eq!(
        text(&output.stdout),
        "0.0 2000000000000\n0.0\n0.0\n",
        "{}",
        text(&output.stderr)
    );
}

/// What few cells of a column of 10^12 rows say, fused and one operator at a time.
#[test]
fn a_few_cells_of_any_number_of_rows_are_legal() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let cells = "%%MatrixMarket matrix coordinate real general\n1000000000000 1 2\n3 1 -2.5\n999999999999 1 4\n";
    fs::write(folder.path().join("X.mtx"), cells).expect("writable");
    for (expression, expected) in [
        ("sum(X)", "1.5"),
        ("sum(abs(X))", "6.5"),
        ("sum(X * X)", "22.25"),
        ("sum(X * 2)", "3.0"),
        ("max(X)", "4.0"),
        ("sum(round(X))", "2.0"),
        ("sum(t(X) %*% X)", "22.25"),
        ("sum(X + X)", "3.0"),
        ("sum(X - X)", "0.0"),
        ("sum(X[3:10,])", "-2.5"),
        ("sum(X > 0)", "1.0"),
        ("sum(rev(X))", "1.5"),
        ("nrow(removeEmpty(target=X, margin='rows'))", "2"),
        ("sum(X ^ 2)", "22.25"),
        ("mean(X)", "1.5E-12"),
        ("sum(sqrt(abs(X)))", "3.58113883008419"),
        ("sum(rbind(X, X))", "3.0"),
        ("sum(cbind(X, 2 * X))", "4.5"),
        ("sum(colSums(X))", "1.5"),
        ("sum(max(X, 0))", "4.0"),
        ("sum(X %*% matrix(2, 1, 1))", "3.0"),
        ("sum(replace(target=X, pattern=4, replacement=5))", "2.5"),
        ("sum(X * (X > 0))", "4.0"),
        ("sum(abs(X) * 2 + X)", "14.5"),
    ] {
        fs::write(
            folder.path().join("s.dml"),
            format!("X = read('X.mtx', format='mm')\nprint({expression})\n"),
        )
        .expect("writable");
        for policy in ["cost", "fuse-all", "none"] {
            let policy = format!("fulgurite.fusion.policy={policy}");
            let output = run(folder.path(), &["run", "--config", &policy, "s.dml"], None);
            assert_eq!(
                text(&output.stdout).trim_end(),
                expected,
                "{expression} with {policy}\n{}",
                text(&output.stderr)
            );
        }
    }
}

/// A script with its arguments, which writes or prints a model.
struct Rung {
    script: PathBuf,
    arguments: Vec<&'static str>,
}

fn rungs() -> Vec<Rung> {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let rung = |script: &str, arguments: &[&'static str]| Rung {
        script: examples.join(script),
        arguments: arguments.to_vec(),
    };
    vec![
        rung("linreg_cg.dml", &["X=X.csv", "Y=y.csv", "B=B.csv"]),
        rung("mlogreg.dml", &["X=X.csv", "Y=classes.csv", "B=B.csv"]),
        rung("l2svm.dml", &["X=X.csv", "Y=labels.csv", "B=B.csv"]),
        rung("algorithms/linreg_cg.dml", &["X=X.csv", "Y=y.csv"]),
        rung("algorithms/linreg_ds.dml", &["X=X.csv", "Y=y.csv"]),
        rung(
            "algorithms/l2svm.dml",
            &["X=X.csv", "Y=labels.csv", "maxi=2"],
        ),
        rung(
            "algorithms/msvm.dml",
            &["X=X.csv", "Y=classes.csv", "maxi=2"],
        ),
        rung(
            "algorithms/mlogreg.dml",
            &["X=X.csv", "Y=classes.csv", "moi=2", "mii=2"],
        ),
        rung(
            "algorithms/glm.dml",
            &["X=X.csv", "Y=labels.csv", "moi=2", "mii=2"],
        ),
        rung("algorithms/kmeans.dml", &["X=X.csv", "k=3", "maxi=2"]),
        rung(
            "algorithms/als_cg.dml",
            &["X=S.csv", "rank=4", "maxi=1", "mii=1"],
        ),
        rung("algorithms/autoencoder.dml", &["X=X.csv", "H1=8", "H2=2"]),
        rung("algorithms/naive_bayes.dml", &["X=X.csv", "Y=classes.csv"]),
        rung("algorithms/pca.dml", &["X=X.csv", "k=2"]),
        rung("algorithms/pnmf.dml", &["X=X.csv", "rank=4", "maxi=2"]),
    ]
}

const DATA: &str = "X = rand(rows=20000, cols=40, seed=1)
w = rand(rows=40, cols=1, seed=2, min=-1)
y = X %*% w
write(X, 'X.csv', format='csv')
write(y, 'y.csv', format='csv')
write(1 + (y > 0), 'labels.csv', format='csv')
write(1 + (y > 0) + (y > 1), 'classes.csv', format='csv')
write(rand(rows=2000, cols=400, sparsity=0.1, seed=3), 'S.csv', format='csv')
";

const SHARES: [f64; 6] = [2.0, 1.0, 0.7, 0.5, 0.3, 0.1];

/// The most address space and the most memory that a process had, as far as a look every now and then shows.
fn watch(child: &mut Child) -> (u64, u64) {
    let status = format!("/proc/{}/status", child.id());
    let (mut space, mut resident) = (0, 0);
    while child.try_wait().expect("it is a child").is_none() {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let bytes = |name: &str| -> Option<u64> {
            let line = text.lines().find_map(|line| line.strip_prefix(name))?;
            Some(1024 * line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?)
        };
        space = bytes("VmPeak:").unwrap_or(0).max(space);
        resident = bytes("VmHWM:").unwrap_or(0).max(resident);
        std::thread::sleep(std::time::Duration::from_micros(500));
    }
    (space, resident)
}

/// glibc sets so much aside for each thread, unless all share one arena.
const ARENA_BYTES: u64 = 64 << 20;

/// Where the address space ends just as a thread has begun.
#[test]
fn a_thread_starts_or_is_refused_wherever_addresses_end() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let folder = folder.path();
    let script = "R = matrix(0, rows=4, cols=1)
parfor (i in 1:4) R[i,1] = sum(rand(rows=1000, cols=100, seed=i))
print(sum(R))
";
    fs::write(folder.join("s.dml"), script).expect("writable");
    let arguments = ["run", "s.dml"];
    let whole = run(folder, &arguments, None);
    assert!(whole.status.success(), "{}", text(&whole.stderr));
    for measured_under in [None, Some(1 << 40)] {
        let child = command(folder, &arguments, measured_under)
            .stdout(Stdio::null())
            .spawn();
        let (space, _) = watch(&mut child.expect("it starts"));
        for arenas in 0..3 {
            for pages in 0..6 {
                let limit = (space + pages * 4096).saturating_sub(arenas * ARENA_BYTES);
                let has_loaded = run(folder, &["--version"], Some(limit)).status.success();
                if has_loaded {
                    let output = run(folder, &arguments, Some(limit));
                    holds(&whole, &output, &format!("{limit} bytes of address space"));
                }
            }
        }
    }
}

/// Numbers in what was printed.
fn numbers(output: &Output) -> Vec<f64> {
    text(&output.stdout)
        .split(|separator: char| separator.is_whitespace() || separator == ',')
        .filter_map(|word| word.parse().ok())
        .collect()
}

/// The same result, or one typed error.
#[track_caller]
fn holds(whole: &Output, output: &Output, what: &str) {
    let error = text(&output.stderr);
    match output.status.code() {
        Some(0) => {
            let (expected, found) = (numbers(whole), numbers(output));
            assert_eq!(expected.len(), found.len(), "{what}");
            for (expected, found) in expected.iter().zip(&found) {
                assert!(
                    is_close(*found, *expected, 1e-6),
                    "{what}: {found}, not {expected}"
                );
            }
        }
        Some(1) => assert!(
            error.starts_with("memory error[E1000]: "),
            "{what}\n{error}"
        ),
        _ => panic!("{what}: {:?}\n{error}", output.status),
    }
}

/// Each algorithm, with shares of the memory that it takes: as the budget of an operator, and as address space (`ulimit -v`).
#[test]
fn algorithms_give_their_result_or_a_memory_error() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let folder = folder.path();
    fs::write(folder.join("data.dml"), DATA).expect("writable");
    let made = run(folder, &["run", "data.dml"], None);
    assert!(made.status.success(), "{}", text(&made.stderr));
    let (mut done, mut refused) = (0, 0);
    for Rung { script, arguments } in rungs() {
        let script = script.to_str().expect("a path of this repository");
        let all = |options: &[&str]| -> Vec<String> {
            let words = [&["run", script][..], options, &["-nvargs"], &arguments];
            words.concat().iter().map(ToString::to_string).collect()
        };
        let with = |options: &[&str], address_space| {
            let words = all(options);
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            run(folder, &words, address_space)
        };
        let words = all(&[]);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut child = command(folder, &words, None)
            .stdout(Stdio::null())
            .spawn()
            .expect("it starts");
        let (space, resident) = watch(&mut child);
        let whole = with(&[], None);
        assert!(whole.status.success(), "{script}: {}", text(&whole.stderr));
        for share in SHARES {
            let budget = format!(
                "fulgurite.memory.local={}",
                (resident as f64 * share) as u64
            );
            let output = with(&["--config", &budget], None);
            holds(&whole, &output, &format!("{script} with {budget}"));
            let limit = (space as f64 * share) as u64;
            // Where the system can't even load the program, there is nothing to see.
            if run(folder, &["--version"], Some(limit)).status.code() != Some(0) {
                continue;
            }
            let output = with(&[], Some(limit));
            holds(
                &whole,
                &output,
                &format!("{script} in {limit} bytes of address space"),
            );
            match output.status.success() {
                true => done += 1,
                false => refused += 1,
            }
        }
    }
    assert!(
        done > 0 && refused > 0,
        "{done} runs passed, {refused} were refused"
    );
}
