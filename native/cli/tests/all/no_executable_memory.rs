//! Where a process may not make memory executable, fused operators are interpreted, and it is said.
#![cfg(target_os = "linux")]

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output};
use std::{fs, io};

const SCRIPT: &str = "X = matrix(seq(1, 3000), rows=100, cols=30)
s = sum(X * exp(X / -1000))
P = t(X) %*% (X %*% rowSums(t(X)))
print(s + ' ' + sum(P))
";

/// Runs the command in a process that may write to memory or execute it, but not the one after the other.
fn denied(folder: &Path, arguments: &[&str]) -> io::Result<Output> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fulgurite"));
    command.args(arguments).current_dir(folder);
    // SAFETY: between fork and exec, one system call is made, and its error is read.
    unsafe {
        command.pre_exec(|| {
            let refuse = u64::from(libc::PR_MDWE_REFUSE_EXEC_GAIN);
            match libc::prctl(libc::PR_SET_MDWE, refuse, 0, 0, 0) {
                0 => Ok(()),
                _ => Err(io::Error::last_os_error()),
            }
        });
    }
    command.output()
}

#[test]
fn scripts_run_interpreted_and_say_so() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("script.dml"), SCRIPT).expect("it is writable");
    let arguments = ["run", "script.dml", "--stats"];
    let output = match denied(folder.path(), &arguments) {
        Ok(output) => output,
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
            eprintln!("not tested: this kernel can't deny executable memory");
            return;
        }
        Err(error) => panic!("the command does not start: {error}"),
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, report) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{report}");
    assert!(report.contains("fused("), "{report}");
    assert!(report.contains("were interpreted: "), "{report}");

    let free = Command::new(env!("CARGO_BIN_EXE_fulgurite"))
        .args(arguments)
        .current_dir(folder.path())
        .output()
        .expect("the command was built");
    assert!(!text(&free.stderr).contains("interpreted"), "{free:?}");
    let numbers = |text: &str| -> Vec<f64> {
        text.split_whitespace()
            .map(|word| word.parse().expect("a number"))
            .collect()
    };
    let pairs: Vec<_> = numbers(&out)
        .into_iter()
        .zip(numbers(&text(&free.stdout)))
        .collect();
    assert_eq!(pairs.len(), 2);
    for (interpreted, compiled) in pairs {
        let error = (interpreted - compiled).abs();
        let is_close = compiled.is_finite() && error <= 1e-12 * compiled.abs();
        assert!(is_close, "{interpreted} {compiled}");
    }

    let explain = ["explain", "script.dml", "--level", "cplan"];
    let explained = denied(folder.path(), &explain).expect("it started before");
    let explained = text(&explained.stdout);
    assert!(explained.contains("interpreted: "), "{explained}");
}
