//! The reference of functions says what their declarations say, and examples print what the pages show. UPDATE_DOCS=1 writes both anew;
//! words and examples are written by hand.

use std::{
    collections::BTreeMap,
    fs,
    io::Write as _,
    process::{Command, Stdio},
};

use fulgurite_dml::{ArgumentPresence, FunctionDeclaration, functions};

use crate::docs::{anchor, is_current, repository};

const FOLDER: &str = "docs/language/functions";
const SCRIPT: &str = "```r\n";
const OUTPUT: &str = "```text\n";
const FENCE: &str = "```";

/// What a script prints, errors included, in a folder without files.
fn printed(script: &str) -> String {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut child = Command::new("sh")
        .args([
            "-c",
            "exec \"$0\" run - 2>&1",
            env!("CARGO_BIN_EXE_fulgurite"),
        ])
        .env("XDG_CACHE_HOME", folder.path())
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("there is a shell");
    let mut input = child.stdin.take().expect("a pipe");
    input
        .write_all(script.as_bytes())
        .expect("it reads the script");
    drop(input);
    let output = child.wait_with_output().expect("it ends");
    String::from_utf8(output.stdout).expect("text")
}

/// Whether the scripts of a page go on where the one before ended.
#[derive(Clone, Copy, PartialEq)]
enum Scripts {
    Separate,
    OneSession,
}

/// The text with what its scripts print, and how many there are. A script whose output is not shown belongs to the next one.
fn with_outputs(text: &str, scripts: Scripts) -> (String, usize) {
    let mut parts = text.split(SCRIPT);
    let mut now = parts.next().unwrap_or_default().to_owned();
    let (mut session, mut seen) = (String::new(), String::new());
    let mut count = 0;
    for part in parts {
        let (script, after) = part.split_once(FENCE).expect("an end of the script");
        now += &format!("{SCRIPT}{script}{FENCE}");
        if scripts == Scripts::Separate {
            (session, seen) = (String::new(), String::new());
        }
        session += script;
        let Some(after) = after.strip_prefix(&format!("\n\n{OUTPUT}")) else {
            now += after;
            continue;
        };
        let (_, after) = after.split_once(FENCE).expect("an end of the output");
        let all = printed(&session);
        let new = all.strip_prefix(&seen).unwrap_or(&all);
        now += &format!("\n\n{OUTPUT}{new}{FENCE}{after}");
        seen = all;
        count += 1;
    }
    (now, count)
}

/// The part of a page about one function.
struct Entry<'p> {
    name: &'p str,
    /// The last cells of its table, by the first ones.
    meanings: BTreeMap<&'p str, &'p str>,
    /// Names and types of its results.
    results: Vec<(&'p str, &'p str)>,
    /// What follows its table.
    words: &'p str,
}

impl<'p> Entry<'p> {
    fn of(text: &'p str) -> Self {
        let (name, rest) = text.split_once('\n').unwrap_or((text, ""));
        let start = rest.find("\n|").map_or(rest.len(), |before| before + 1);
        let (_, table) = rest.split_at(start);
        let lines = table.split_inclusive('\n');
        let rows: Vec<&str> = lines.take_while(|line| line.starts_with('|')).collect();
        let words = &table[rows.iter().map(|row| row.len()).sum()..];
        let mut entry = Entry {
            name,
            meanings: BTreeMap::new(),
            results: Vec::new(),
            words,
        };
        for row in rows.iter().skip(2) {
            let row = row.trim().trim_start_matches('|').trim_end_matches('|');
            let cells: Vec<&str> = row.splitn(4, '|').collect();
            let [first, kind, _, meaning] = cells[..] else {
                panic!("{name}: a row of the table has four cells: {row}");
            };
            let first = first.trim();
            entry.meanings.insert(first, meaning.trim());
            if let Some(result) = first.strip_prefix("**") {
                entry
                    .results
                    .push((result.trim_end_matches("**"), kind.trim()));
            }
        }
        entry
    }

    /// The entry with what the declaration says.
    fn written(&self, declared: &FunctionDeclaration) -> String {
        let mut text = format!("{}\n\n`", self.name);
        if self.results.len() > 1 {
            let names: Vec<&str> = self.results.iter().map(|(name, _)| *name).collect();
            text += &format!("[{}] = ", names.join(", "));
        }
        text += &declared.signature;
        text += "`";
        for (place, alias) in declared.aliases.iter().enumerate() {
            let before = if place == 0 { "; also" } else { "," };
            text += &format!("{before} `{alias}`");
        }
        text += "\n\n| argument | type | default | meaning |\n|---|---|---|---|\n";
        for argument in &declared.arguments {
            let name = format!("`{}`", argument.name);
            let default = match &argument.presence {
                ArgumentPresence::Required => String::new(),
                ArgumentPresence::Optional => " none".to_owned(),
                ArgumentPresence::Default(value) => format!(" `{value}`"),
            };
            let meaning = self.meanings.get(&name[..]).copied().unwrap_or_default();
            text += &format!("| {name} | {} |{default} | {meaning} |\n", argument.kind);
        }
        for (name, kind) in &self.results {
            let kind = declared.result.unwrap_or(kind);
            let name = format!("**{name}**");
            let meaning = self.meanings.get(&name[..]).copied().unwrap_or_default();
            text += &format!("| {name} | {kind} | | {meaning} |\n");
        }
        text + self.words
    }

    /// What is missing.
    fn gaps(&self, declared: &FunctionDeclaration, examples: usize) -> Vec<String> {
        let name = self.name;
        let mut gaps = Vec::new();
        for argument in &declared.arguments {
            let key = format!("`{}`", argument.name);
            if self
                .meanings
                .get(&key[..])
                .is_none_or(|text| text.is_empty())
            {
                gaps.push(format!("{name}: what {key} means"));
            }
        }
        if self.results.len() != declared.results {
            gaps.push(format!("{name}: rows for {} results", declared.results));
        }
        for (result, kind) in &self.results {
            let key = format!("**{result}**");
            if declared.result.unwrap_or(kind).is_empty() || self.meanings[&key[..]].is_empty() {
                gaps.push(format!("{name}: the type and size of {key}"));
            }
        }
        if self.summary().is_empty() {
            gaps.push(format!("{name}: a sentence on what it does"));
        }
        if examples == 0 {
            gaps.push(format!("{name}: an example with its output"));
        }
        gaps
    }

    /// Its first sentence.
    fn summary(&self) -> String {
        let paragraph = self.words.trim_start().split("\n\n").next();
        let text = paragraph.unwrap_or_default().replace('\n', " ");
        match text.split_once(". ") {
            _ if text.starts_with(FENCE) => String::new(),
            Some((first, _)) => format!("{first}."),
            None => text,
        }
    }
}

/// The pages of functions, by their names.
fn pages() -> Vec<(String, String)> {
    let mut pages: Vec<(String, String)> = fs::read_dir(repository().join(FOLDER))
        .expect("the folder")
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name.ends_with(".md") && name != "README.md")
        .map(|name| {
            let text = fs::read_to_string(repository().join(FOLDER).join(&name));
            (name, text.expect("a page"))
        })
        .collect();
    pages.sort();
    pages
}

#[test]
fn the_reference_says_what_declarations_say() {
    let declared = functions();
    let supported = declared.iter().filter(|function| function.is_supported);
    let mut missing: BTreeMap<&str, &FunctionDeclaration> = supported
        .map(|function| (function.name, function))
        .collect();
    let mut gaps = Vec::new();
    let mut written = Vec::new();
    for (name, page) in pages() {
        let mut parts = page.split("\n### ");
        let mut now = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let entry = Entry::of(part);
            let Some(declared) = missing.remove(entry.name) else {
                gaps.push(format!("{name}: '{}' is no function, or twice", entry.name));
                continue;
            };
            let (text, examples) = with_outputs(&entry.written(declared), Scripts::Separate);
            gaps.extend(entry.gaps(declared, examples));
            let errors = text.lines().filter(|line| line.contains(" error["));
            let wrong = errors.filter(|line| !line.starts_with("stopped error["));
            gaps.extend(wrong.map(|line| format!("{}: {line}", entry.name)));
            now += &format!("\n### {text}");
        }
        written.push((name, page, now));
    }
    gaps.extend(
        missing
            .keys()
            .map(|name| format!("{name}: a part `### {name}` in a page of {FOLDER}")),
    );
    for (name, page, now) in written {
        is_current(&format!("{FOLDER}/{name}"), &page, &now);
    }
    assert!(gaps.is_empty(), "to be written:\n{}", gaps.join("\n"));
}

#[test]
fn the_index_lists_all_functions() {
    let path = format!("{FOLDER}/README.md");
    let index = fs::read_to_string(repository().join(&path)).expect("the index");
    let start = index.find("\n## ").map_or(index.len(), |before| before + 1);
    let mut now = index[..start].to_owned();
    let declared = functions();
    let mut parts = Vec::new();
    for (name, page) in pages() {
        let title = page.lines().next().unwrap_or_default();
        let title = title.trim_start_matches("# ");
        let mut part = format!("## [{title}]({name})\n\n| function | |\n|---|---|\n");
        for entry in page.split("\n### ").skip(1).map(Entry::of) {
            let of_name = declared.iter().find(|function| function.name == entry.name);
            let aliases = of_name.map_or(&[][..], |function| function.aliases);
            let aliases: String = aliases.iter().map(|alias| format!(", `{alias}`")).collect();
            part += &format!(
                "| [`{0}`]({name}#{1}){aliases} | {2} |\n",
                entry.name,
                anchor(entry.name),
                entry.summary()
            );
        }
        parts.push(part);
    }
    now += &parts.join("\n");
    is_current(&path, &index, &now);
}

fn tutorial_shows_what_is_printed(path: &str, least: usize) {
    let page = fs::read_to_string(repository().join(path)).expect("the page");
    let (now, scripts) = with_outputs(&page, Scripts::OneSession);
    assert!(scripts >= least, "{path} has {scripts} scripts with output");
    is_current(path, &page, &now);
}

#[test]
fn the_tutorial_for_numpy_shows_what_is_printed() {
    tutorial_shows_what_is_printed("docs/language/numpy.md", 10);
}

#[test]
fn the_tutorial_for_r_shows_what_is_printed() {
    tutorial_shows_what_is_printed("docs/language/r.md", 10);
}

/// The DML column of the table, which tests of the Python package compare with NumPy. Its last row ends with an error.
#[test]
fn the_table_of_languages_runs() {
    let page = repository().join("docs/language/table.md");
    let page = fs::read_to_string(page).expect("the page");
    let (_, setup) = page.split_once(SCRIPT).expect("a script with variables");
    let (setup, rows) = setup.split_once(FENCE).expect("an end of the script");
    let mut script = setup.to_owned();
    let mut count = 0;
    for row in rows.lines().filter(|line| line.starts_with('|')) {
        let cell = row.trim_end_matches(['|', ' ']).rsplit(" | ").next();
        let Some(code) = cell.and_then(|cell| cell.strip_prefix('`')) else {
            continue;
        };
        let code = code.trim_end_matches('`').replace("\\|", "|");
        count += 1;
        let target = code.split(" = ").next().unwrap_or_default();
        let effects = ["[", "print(", "write(", "stop("];
        let is_statement = effects.iter().any(|effect| code.starts_with(effect))
            || target.chars().all(char::is_alphanumeric);
        script += &match is_statement {
            true => format!("{code}\n"),
            false => format!("row{count} = {code}\n"),
        };
    }
    assert!(count >= 100, "the table has {count} rows");
    let printed = printed(&script);
    let errors = printed.lines().filter(|line| line.contains(" error["));
    let errors: Vec<&str> = errors.collect();
    assert_eq!(errors, ["stopped error[E1200]: x"], "{printed}");
}
