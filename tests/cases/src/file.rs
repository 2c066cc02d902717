//! Case files.
//!
//! ```text
//! run exact                      what is tested, and settings
//! # Why the case is there.
//! (0) TRead X [3 x 2]            the DAG (`.dag`), the CPlan (`.cplan`) or the statements (`.dml`)
//! (1) ua(R+) (0) [3 x 1]
//! (2) TWrite R (1) [3 x 1]
//! roots 2
//! X = 1 2; 3 4; 5 6              values of inputs, where something runs
//! ---
//! R = 3; 7; 11                   what is expected; a part for each kind, if several are tested
//! ```

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use fulgurite_error::{Error, Result};

/// What is tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// What is known of results before anything runs.
    Sizes,
    /// The DAG after rewrites.
    Rewrite,
    /// The memo table.
    Explore,
    /// The chosen plan with its costs, under constants that no machine changes.
    Select,
    /// The CPlans of the chosen plan.
    CPlan,
    /// The values, which every way of running gives.
    Run,
}

impl Kind {
    pub const ALL: [Kind; 6] = [
        Kind::Sizes,
        Kind::Rewrite,
        Kind::Explore,
        Kind::Select,
        Kind::CPlan,
        Kind::Run,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Kind::Sizes => "sizes",
            Kind::Rewrite => "rewrite",
            Kind::Explore => "explore",
            Kind::Select => "select",
            Kind::CPlan => "cplan",
            Kind::Run => "run",
        }
    }
}

/// Below these the cases are.
pub const FOLDERS: [&str; 4] = ["sizes", "rewrite", "fusion", "run"];

/// Of case files.
const EXTENSIONS: [&str; 3] = ["dag", "cplan", "dml"];

/// What stands between the case and an expectation.
const SEPARATOR: &str = "---";

/// A case file.
#[derive(Debug, Clone)]
pub struct Case {
    /// Below the folder of the cases.
    pub path: PathBuf,
    pub kinds: Vec<Kind>,
    /// The other words of the first line: `policy=fuse-all`, `exact`.
    pub settings: Vec<String>,
    /// The DAG, CPlan or statements, as they stand in the file.
    pub body: String,
    /// Values of inputs by name.
    pub inputs: BTreeMap<String, String>,
    /// The file's text up to the first expectation.
    head: String,
    /// By kind, as far as they are there.
    pub expected: Vec<String>,
}

impl Case {
    /// # Errors
    /// Io, where the file can't be read; argument, where its first line is not understood.
    pub fn read(path: &Path) -> Result<Case> {
        let text = fs::read_to_string(folder().join(path))
            .map_err(|error| Error::io(format!("{}: {error}", path.display())))?;
        let mut parts = vec![String::new()];
        for line in text.lines() {
            if is_separator(line) {
                parts.push(String::new());
            } else if let Some(part) = parts.last_mut() {
                *part += &format!("{line}\n");
            }
        }
        let head = parts.remove(0);
        let (first, rest) = head.split_once('\n').unwrap_or((&head, ""));
        let kind_of = |word: &str| Kind::ALL.into_iter().find(|kind| kind.name() == word);
        let kinds: Vec<Kind> = first.split_whitespace().map_while(kind_of).collect();
        let settings = first.split_whitespace().skip(kinds.len());
        if kinds.is_empty() {
            return Err(Error::argument(format!(
                "{}: the first line must say what is tested",
                path.display()
            ))
            .with_help("begin it with sizes, rewrite, explore, select, cplan or run"));
        }
        let is_input = |line: &&str| line.starts_with(char::is_alphabetic) && line.contains(" = ");
        let is_script = path.extension().is_some_and(|extension| extension == "dml");
        let (inputs, body): (Vec<&str>, Vec<&str>) =
            rest.lines().partition(|line| !is_script && is_input(line));
        let inputs = inputs.into_iter().filter_map(|line| line.split_once(" = "));
        Ok(Case {
            path: path.to_owned(),
            settings: settings.map(str::to_owned).collect(),
            body: body.join("\n"),
            inputs: inputs
                .map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()))
                .collect(),
            kinds,
            head: head.clone(),
            expected: parts,
        })
    }

    /// Whether this word stands in the first line.
    pub fn has(&self, word: &str) -> bool {
        self.settings.iter().any(|setting| setting == word)
    }

    /// The setting that is given as `key=value`.
    pub fn setting(&self, key: &str) -> Option<&str> {
        let mut settings = self.settings.iter();
        settings.find_map(|setting| setting.strip_prefix(key)?.strip_prefix('='))
    }

    /// The file with these expectations.
    pub fn with_expected(&self, expected: &[String]) -> String {
        let mut text = self.head.clone();
        for (kind, expected) in self.kinds.iter().zip(expected) {
            text += &match self.kinds.len() {
                1 => format!("{SEPARATOR}\n"),
                _ => format!("{SEPARATOR} {}\n", kind.name()),
            };
            text += expected;
        }
        text
    }

    /// # Errors
    /// Io.
    pub fn bless(&self, expected: &[String]) -> Result<()> {
        fs::write(folder().join(&self.path), self.with_expected(expected))
            .map_err(|error| Error::io(format!("{}: {error}", self.path.display())))
    }
}

fn is_separator(line: &str) -> bool {
    let Some(kind) = line.strip_prefix(SEPARATOR) else {
        return false;
    };
    kind.is_empty()
        || Kind::ALL
            .iter()
            .any(|known| kind == format!(" {}", known.name()))
}

fn folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// All case files below a folder of the cases, in the order of their names.
///
/// # Errors
/// Io; argument, where a file in one of the [`FOLDERS`] is no case; those of a file that is not understood.
pub fn cases(below: &str) -> Result<Vec<Case>> {
    let mut paths = Vec::new();
    collect(Path::new(below), &mut paths)?;
    paths.sort();
    paths.iter().map(|path| Case::read(path)).collect()
}

fn collect(below: &Path, paths: &mut Vec<PathBuf>) -> Result<()> {
    let io = |error: std::io::Error| Error::io(format!("{}: {error}", below.display()));
    for entry in fs::read_dir(folder().join(below)).map_err(io)? {
        let entry = entry.map_err(io)?;
        let path = below.join(entry.file_name());
        if entry.file_type().map_err(io)?.is_dir() {
            collect(&path, paths)?;
        } else if path
            .extension()
            .is_some_and(|extension| EXTENSIONS.iter().any(|known| extension == *known))
        {
            paths.push(path);
        } else if FOLDERS.iter().any(|folder| path.starts_with(folder)) {
            return Err(Error::argument(format!(
                "{}: not a case by its extension",
                path.display()
            ))
            .with_help("cases are .dag, .cplan and .dml files"));
        }
    }
    Ok(())
}
