//! Builtin scripts: a call of a function that is not there looks for a script of its name.

use std::{
    fs::File,
    io::Read,
    path::{Path, PathBuf},
    sync::Arc,
};

use fulgurite_error::{Error, Result, Source};
use zip::{ZipArchive, result::ZipError};

/// Where a root may have its builtin scripts, and where the scripts that these source may be.
const FOLDERS: &[&str] = &["", "scripts/builtin", "builtin", "scripts"];

/// The root that is no folder: the scripts of examples/algorithms, which are built in.
const EXAMPLES: &str = "examples";

macro_rules! examples {
    ($($name:literal)*) => {
        /// The scripts of examples/algorithms by their names.
        const EXAMPLE_SCRIPTS: &[(&str, &str)] = &[$((
            concat!($name, ".dml"),
            include_str!(concat!("../../../examples/algorithms/", $name, ".dml")),
        )),*];
    };
}

examples! {
    "als_cg" "als_predict" "autoencoder" "autoencoder_encode" "glm" "glm_predict" "kmeans" "kmeans_predict" "l2svm" "l2svm_predict" "linreg_cg"
    "linreg_ds" "linreg_predict" "mlogreg" "mlogreg_predict" "msvm" "msvm_predict" "naive_bayes" "naive_bayes_predict" "pagerank" "pca"
    "pca_project" "pnmf" "score_classes" "score_values"
}

/// Folders and jars that hold builtin scripts, searched in this order. `examples` is those of examples/algorithms.
#[derive(Debug, Clone, Default)]
pub struct Library {
    roots: Vec<PathBuf>,
}

impl Library {
    /// The scripts of these folders and jars.
    pub fn new(roots: impl IntoIterator<Item = PathBuf>) -> Self {
        Library {
            roots: roots.into_iter().collect(),
        }
    }

    /// The folders and jars.
    pub fn roots(&self) -> impl Iterator<Item = &Path> {
        self.roots.iter().map(PathBuf::as_path)
    }

    /// The script `name.dml`, if a root has it.
    ///
    /// # Errors
    /// Io, for a root that is not there or cannot be read.
    pub fn builtin(&self, name: &str) -> Result<Option<Arc<Source>>> {
        self.find(&format!("{name}.dml"))
    }

    /// The script that a builtin script sources by this path.
    ///
    /// # Errors
    /// Io, for a root that is not there or cannot be read.
    pub fn sourced(&self, path: &str) -> Result<Option<Arc<Source>>> {
        self.find(path)
    }

    fn find(&self, path: &str) -> Result<Option<Arc<Source>>> {
        for root in &self.roots {
            let found = match root.to_str() {
                Some(EXAMPLES) => in_examples(path),
                _ => {
                    let metadata = std::fs::metadata(root);
                    let metadata = metadata.map_err(|error| unreadable(root, &error))?;
                    match metadata.is_dir() {
                        true => in_folder(root, path)?,
                        false => in_jar(root, path)?,
                    }
                }
            };
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }
}

fn in_examples(path: &str) -> Option<Arc<Source>> {
    let mut scripts = EXAMPLE_SCRIPTS.iter();
    let (name, text) = scripts.find(|(name, _)| *name == path)?;
    Some(Source::new(
        format!("examples/algorithms/{name}"),
        (*text).to_owned(),
    ))
}

/// A folder of builtin scripts may itself lie among the scripts that these source.
fn in_folder(root: &Path, path: &str) -> Result<Option<Arc<Source>>> {
    let inside = FOLDERS.iter().map(|folder| root.join(folder));
    let above = root.ancestors().skip(1).take(2).map(Path::to_path_buf);
    for folder in inside.chain(above) {
        let file = folder.join(path);
        if file.is_file() {
            let text = std::fs::read_to_string(&file).map_err(|error| unreadable(&file, &error))?;
            return Ok(Some(Source::new(file.display().to_string(), text)));
        }
    }
    Ok(None)
}

fn in_jar(jar: &Path, path: &str) -> Result<Option<Arc<Source>>> {
    let file = File::open(jar).map_err(|error| unreadable(jar, &error))?;
    let mut archive = ZipArchive::new(file).map_err(|error| unreadable(jar, &error))?;
    for folder in FOLDERS {
        let name = match folder.is_empty() {
            true => path.to_owned(),
            false => format!("{folder}/{path}"),
        };
        let mut entry = match archive.by_name(&name) {
            Ok(entry) => entry,
            Err(ZipError::FileNotFound) => continue,
            Err(error) => return Err(unreadable(jar, &error)),
        };
        let mut text = String::new();
        entry
            .read_to_string(&mut text)
            .map_err(|error| unreadable(jar, &error))?;
        return Ok(Some(Source::new(
            format!("{}!/{name}", jar.display()),
            text,
        )));
    }
    Ok(None)
}

fn unreadable(path: &Path, error: &dyn std::fmt::Display) -> Error {
    Error::io(format!(
        "cannot read builtin scripts from '{}': {error}",
        path.display()
    ))
    .with_help("fulgurite.builtins names folders and jars of scripts")
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use zip::write::SimpleFileOptions;

    use super::*;

    #[test]
    fn folders_and_jars_are_searched_in_order() -> Result<()> {
        let folder = tempfile::tempdir().expect("a folder");
        let builtin = folder.path().join("scripts/builtin");
        std::fs::create_dir_all(&builtin).expect("folders");
        std::fs::create_dir_all(folder.path().join("scripts/nn")).expect("folders");
        std::fs::write(builtin.join("f.dml"), "in folder").expect("a script");
        std::fs::write(folder.path().join("scripts/nn/l.dml"), "layer").expect("a script");
        let jar = folder.path().join("a.jar");
        let mut archive = zip::ZipWriter::new(File::create(&jar).expect("a jar"));
        for (name, text) in [("f", "in jar"), ("g", "only there")] {
            let name = format!("scripts/builtin/{name}.dml");
            let started = archive.start_file(name, SimpleFileOptions::default());
            started.expect("an entry");
            archive.write_all(text.as_bytes()).expect("text");
        }
        archive.finish().expect("a jar");

        let text = |found: Option<Arc<Source>>| found.map(|source| source.text.clone());
        let library = Library::new([builtin, jar.clone()]);
        assert_eq!(text(library.builtin("f")?).as_deref(), Some("in folder"));
        assert_eq!(text(library.builtin("g")?).as_deref(), Some("only there"));
        assert_eq!(text(library.builtin("h")?), None);
        for path in ["nn/l.dml", "scripts/nn/l.dml"] {
            assert_eq!(text(library.sourced(path)?).as_deref(), Some("layer"));
        }
        let library = Library::new([jar, folder.path().to_path_buf()]);
        assert_eq!(text(library.builtin("f")?).as_deref(), Some("in jar"));
        assert_eq!(text(library.sourced("nn/l.dml")?).as_deref(), Some("layer"));
        Ok(())
    }

    #[test]
    fn all_examples_are_built_in() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/algorithms");
        let files = std::fs::read_dir(folder).expect("the folder of examples");
        let names = files.map(|file| file.expect("a file").file_name().into_string());
        let mut names: Vec<String> = names.filter_map(|name| name.ok()).collect();
        names.retain(|name| name.ends_with(".dml"));
        names.sort();
        let known: Vec<&str> = EXAMPLE_SCRIPTS.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, known);
    }

    #[test]
    fn what_is_no_jar_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let text = folder.path().join("text");
        std::fs::write(&text, "no jar").expect("a file");
        for path in [text, folder.path().join("none")] {
            let error = Library::new([path.clone()])
                .builtin("f")
                .expect_err("no jar");
            assert!(error.to_string().contains(&path.display().to_string()));
        }
    }
}
