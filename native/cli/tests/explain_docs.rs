//! `docs/explain.md` shows what the command prints. With UPDATE_DOCS=1 this test writes it anew; review what it wrote.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

const OPENING: &str = "```console\n$ fulgurite ";

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What the command prints, the first lines where the page says `| head -N`.
fn printed(command: &str) -> String {
    let (command, most) = match command.split_once(" | head -") {
        Some((command, most)) => (command, most.parse().expect("a number of lines")),
        None => (command, usize::MAX),
    };
    // The page's costs are those of speeds that nobody measured, so that they are the same everywhere.
    let output = Command::new(env!("CARGO_BIN_EXE_fulgurite"))
        .args(command.split_whitespace())
        .args(["--config", "fulgurite.cost.calibrate=false"])
        .args(["--config", "fulgurite.cost.compute=8"])
        .current_dir(repository())
        .output()
        .expect("the command was built");
    let text = String::from_utf8([output.stdout, output.stderr].concat()).expect("text");
    text.lines()
        .take(most)
        .map(|line| format!("{line}\n"))
        .collect()
}

/// Times differ from run to run.
fn without_times(text: &str, command: &str) -> String {
    let is_time = |word: &&str| {
        command.contains("stats") && word.contains('.') && word.parse::<f64>().is_ok()
    };
    let line = |line: &str| {
        let words = line.split_whitespace();
        let words: Vec<&str> = words
            .map(|word| if is_time(&word) { "#" } else { word })
            .collect();
        words.join(" ") + "\n"
    };
    match command.contains("stats") {
        true => text.lines().map(line).collect(),
        false => text.to_owned(),
    }
}

#[test]
fn the_page_shows_what_is_printed() {
    let path = repository().join("docs/explain.md");
    let page = fs::read_to_string(&path).expect("the page");
    let mut parts = page.split(OPENING);
    let mut now = parts.next().unwrap_or_default().to_owned();
    let mut commands = 0;
    for part in parts {
        let (command, rest) = part.split_once('\n').expect("a command");
        let (shown, after) = rest.split_once("```").expect("an end");
        let printed = printed(command);
        let is_same = without_times(shown, command) == without_times(&printed, command);
        now += &format!(
            "{OPENING}{command}\n{}```{after}",
            if is_same { shown } else { &printed }
        );
        commands += 1;
    }
    assert!(commands > 5, "the page shows nothing");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, now).expect("the page can be written");
    } else {
        assert!(
            page == now,
            "docs/explain.md shows other things: UPDATE_DOCS=1 writes it anew\n{now}"
        );
    }
}
