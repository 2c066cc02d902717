//! The crates of this repository and their files.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The root of the repository.
pub fn root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.ancestors().nth(2).unwrap_or(package).to_path_buf()
}

/// The names of the folders in `native`, in alphabetical order.
pub fn crates() -> Vec<String> {
    entries(&root().join("native"))
        .iter()
        .filter(|folder| folder.join("Cargo.toml").is_file())
        .filter_map(|folder| Some(folder.file_name()?.to_str()?.to_owned()))
        .collect()
}

/// The `lib.rs` and `main.rs` of a crate.
pub fn roots(name: &str) -> Vec<PathBuf> {
    let sources = root().join("native").join(name).join("src");
    ["lib.rs", "main.rs"]
        .map(|file| sources.join(file))
        .into_iter()
        .filter(|path| path.is_file())
        .collect()
}

/// All Rust files below a folder, in alphabetical order.
pub fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in entries(folder) {
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

/// The path from the root of the repository, as messages show it.
pub fn shown(path: &Path) -> String {
    let short = path.strip_prefix(root()).unwrap_or(path);
    short.display().to_string()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    paths.sort();
    paths
}
