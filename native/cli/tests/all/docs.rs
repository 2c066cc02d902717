//! The pages of `docs/` show what the command prints. With UPDATE_DOCS=1 this test writes it anew; review what it wrote.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::Command,
};

use fulgurite_error::Code;

const OPENING: &str = "```console\n";

pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What stands in a block of a page.
#[derive(Default)]
struct Session<'p> {
    /// Commands as they are shown, with the lines that they bring along.
    typed: Vec<&'p str>,
    /// As a shell gets them.
    commands: Vec<&'p str>,
    printed: Vec<&'p str>,
}

impl<'p> Session<'p> {
    fn of(block: &'p str) -> Self {
        let mut session = Session::default();
        let mut lines = block.lines();
        while let Some(line) = lines.next() {
            let Some(command) = line.strip_prefix("$ ") else {
                session.printed.push(line);
                continue;
            };
            session.typed.push(line);
            session.commands.push(command);
            let brings = command.split_once("<<'");
            let end = brings.and_then(|(_, after)| after.split('\'').next());
            while let Some(end) = end
                && session.commands.last() != Some(&end)
                && let Some(line) = lines.next()
            {
                session.typed.push(line);
                session.commands.push(line);
            }
        }
        session
    }
}

fn joined(lines: &[&str]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// What a shell prints in a folder that has nothing but the examples.
fn printed(commands: &str) -> String {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (programs, work) = (folder.path().join("bin"), folder.path().join("work"));
    fs::create_dir_all(&programs).expect("writable");
    fs::create_dir_all(&work).expect("writable");
    symlink(repository().join("examples"), work.join("examples")).expect("writable");
    // The pages' costs are those of speeds that nobody measured, so that they are the same everywhere. Arguments of scripts come last.
    let fixed = "--config fulgurite.cost.calibrate=false --config fulgurite.cost.compute=8";
    let program = format!(
        "#!/bin/sh\ncase \" $* \" in\n*\" explain \"*) exec '{0}' \"$@\" {fixed};;\n*) exec '{0}' \"$@\";;\nesac\n",
        env!("CARGO_BIN_EXE_fulgurite")
    );
    let path = programs.join("fulgurite");
    fs::write(&path, program).expect("writable");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it is ours");
    let others = std::env::var("PATH").unwrap_or_default();
    let output = Command::new("bash")
        .args(["-c", &format!("exec 2>&1\n{commands}")])
        .env("PATH", format!("{}:{others}", programs.display()))
        .env("XDG_CACHE_HOME", folder.path())
        .current_dir(&work)
        .output()
        .expect("there is a shell");
    String::from_utf8(output.stdout).expect("text")
}

/// Times differ from run to run.
fn without_times(text: &str, commands: &str) -> String {
    let is_time = |word: &&str| {
        commands.contains("stats") && word.contains('.') && word.parse::<f64>().is_ok()
    };
    let line = |line: &str| {
        let words = line.split_whitespace();
        let words: Vec<&str> = words
            .map(|word| if is_time(&word) { "#" } else { word })
            .collect();
        words.join(" ") + "\n"
    };
    match commands.contains("stats") {
        true => text.lines().map(line).collect(),
        false => text.to_owned(),
    }
}

/// Compares a committed text with what it should be, or writes it.
pub(crate) fn is_current(path: &str, committed: &str, now: &str) {
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(repository().join(path), now).expect("the folder is writable");
    } else {
        let mut lines = committed.lines().zip(now.lines());
        let differing = lines.position(|(shown, printed)| shown != printed);
        let at = differing.unwrap_or(committed.lines().count().min(now.lines().count()));
        assert!(
            committed == now,
            "{path}:{} shows {:?}, and {:?} is printed: UPDATE_DOCS=1 writes it anew",
            at + 1,
            committed.lines().nth(at),
            now.lines().nth(at)
        );
    }
}

fn page_shows_what_is_printed(path: &str, least_blocks: usize) {
    let page = fs::read_to_string(repository().join(path)).expect("the page");
    let mut parts = page.split(OPENING);
    let mut now = parts.next().unwrap_or_default().to_owned();
    let mut blocks = 0;
    for part in parts {
        let (block, after) = part.split_once("```").expect("an end");
        let session = Session::of(block);
        let (commands, shown) = (joined(&session.commands), joined(&session.printed));
        let printed = printed(&commands);
        let is_same = without_times(&shown, &commands) == without_times(&printed, &commands);
        let block = match is_same {
            true => block.to_owned(),
            false => joined(&session.typed) + &printed,
        };
        now += &format!("{OPENING}{block}```{after}");
        blocks += 1;
    }
    assert!(blocks >= least_blocks, "{path} shows too little");
    is_current(path, &page, &now);
}

#[test]
fn explain_shows_what_is_printed() {
    page_shows_what_is_printed("docs/explain.md", 11);
}

#[test]
fn getting_started_shows_what_is_printed() {
    page_shows_what_is_printed("docs/getting-started.md", 3);
}

#[test]
fn errors_show_what_is_printed() {
    page_shows_what_is_printed("docs/errors/README.md", 1);
}

#[test]
fn troubleshooting_shows_what_is_printed() {
    page_shows_what_is_printed("docs/troubleshooting.md", 16);
}

/// Codes that no script on its own gives: of requests, of a backend, of a user's Ctrl-C, and of bugs.
const WITHOUT_EXAMPLE: [Code; 8] = [
    Code::Syntax,
    Code::OutputNotAssigned,
    Code::Plan,
    Code::UnsupportedFunction,
    Code::Interrupted,
    Code::Backend,
    Code::Internal,
    Code::Validation,
];

#[test]
fn each_code_has_a_page_with_an_example_that_gives_it() {
    for code in Code::ALL {
        let path = format!("docs/errors/{code}.md");
        let has_example = !WITHOUT_EXAMPLE.contains(code);
        page_shows_what_is_printed(&path, usize::from(has_example));
        let page = fs::read_to_string(repository().join(&path)).expect("the page");
        let shows_code = page.contains(&format!("[{code}]: "));
        assert_eq!(shows_code, has_example, "{path}");
    }
}

#[test]
fn codes_are_listed() {
    let path = "docs/errors/README.md";
    let committed = fs::read_to_string(repository().join(path)).expect("the page");
    let (text, _) = committed.split_once("\n| Code ").expect("a table");
    let rows = Code::ALL.iter();
    let rows: String = rows
        .map(|code| format!("| [{code}]({code}.md) | {} |\n", code.title()))
        .collect();
    let now = format!("{text}\n| Code | What is wrong |\n| --- | --- |\n{rows}");
    is_current(path, &committed, &now);
    let others = fs::read_dir(repository().join("docs/errors")).expect("a folder");
    assert_eq!(others.count(), Code::ALL.len() + 1, "a page without a code");
}

#[test]
fn the_language_shows_what_is_printed() {
    page_shows_what_is_printed("docs/language/README.md", 4);
}

#[test]
fn files_shows_what_is_printed() {
    page_shows_what_is_printed("docs/language/files.md", 5);
}

#[test]
fn the_picture_is_that_of_the_example() {
    let path = "docs/images/plan.svg";
    let committed = fs::read_to_string(repository().join(path)).expect("the picture");
    let drawn = printed("fulgurite explain examples/step.dml --format svg");
    is_current(path, &committed, &drawn);
}

/// The pages for people: all Markdown but what lies in folders that builds make.
fn pages() -> Vec<PathBuf> {
    let mut pages = Vec::new();
    let mut folders = vec![repository()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder").flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_made = matches!(name.as_str(), "target" | "dist" | "data" | "build");
            if entry.path().is_dir() && !is_made && (!name.starts_with('.') || name == ".github") {
                folders.push(entry.path());
            } else if name.ends_with(".md") {
                pages.push(entry.path());
            }
        }
    }
    pages
}

/// A page's text without its blocks of code.
fn prose(page: &Path) -> String {
    let text = fs::read_to_string(page).expect("a page");
    let mut is_code = false;
    text.lines()
        .filter(|line| {
            let is_fence = line.trim_start().starts_with("```");
            is_code ^= is_fence;
            !is_code && !is_fence
        })
        .map(|line| format!("{line}\n"))
        .collect()
}

/// The names that the headings of a page have in links.
fn anchors(page: &Path) -> Vec<String> {
    let text = prose(page);
    let headings = text.lines().filter(|line| line.starts_with('#'));
    headings
        .map(|line| anchor(line.trim_start_matches('#').trim()))
        .collect()
}

/// The name of a heading in links.
pub(crate) fn anchor(title: &str) -> String {
    title
        .to_lowercase()
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

#[test]
fn links_lead_somewhere() {
    let (mut links, mut broken) = (0, Vec::new());
    for page in pages() {
        let text = prose(&page);
        for (at, _) in text.match_indices("](") {
            let link = text[at + 2..].split(')').next().unwrap_or_default();
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            links += 1;
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = match path {
                "" => page.clone(),
                path => page.parent().expect("a folder").join(path),
            };
            let is_there = target.exists()
                && (anchor.is_empty() || anchors(&target).iter().any(|known| known == anchor));
            if !is_there {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(links > 50, "{links} links were seen");
    assert!(
        broken.is_empty(),
        "links to nowhere:\n{}",
        broken.join("\n")
    );
}
