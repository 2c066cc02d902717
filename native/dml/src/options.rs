//! What a script is compiled with.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use fulgurite_error::{Code, Error, Result, Source};
use fulgurite_hop::{Characteristics, DataType, Dialect, Literal, ValueType, scalar};
use fulgurite_matrix::io::Metadata;

use crate::library::Library;

/// What a script is compiled with: arguments, variables that come from and go to the caller, and files.
pub struct CompileOptions<'a> {
    /// `$`-arguments, by their names without the `$`.
    pub arguments: BTreeMap<String, Literal>,
    /// Variables bound from outside. A `read` assigned to one of them reads no file.
    pub inputs: BTreeMap<String, InputVariable>,
    /// Variables the caller wants. A `write` of one of them writes no file.
    pub outputs: Vec<String>,
    /// Scalars of the script's own body, as if it assigned these values to them.
    pub assumed: BTreeMap<String, Literal>,
    /// Assignments that nobody reads stay, so that what is wrong with them is found.
    pub keep_unused: bool,
    /// Arguments that are not given are empty strings instead of errors.
    pub allow_missing_arguments: bool,
    pub dialect: Dialect,
    pub resolver: &'a dyn SourceResolver,
}

impl Default for CompileOptions<'_> {
    fn default() -> Self {
        CompileOptions {
            arguments: BTreeMap::new(),
            inputs: BTreeMap::new(),
            outputs: Vec::new(),
            assumed: BTreeMap::new(),
            keep_unused: false,
            allow_missing_arguments: false,
            dialect: Dialect::default(),
            resolver: &NoFiles,
        }
    }
}

/// What is known of a variable bound from outside.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct InputVariable {
    pub data_type: DataType,
    pub value_type: ValueType,
    pub characteristics: Characteristics,
}

impl InputVariable {
    pub fn matrix(characteristics: Characteristics) -> Self {
        InputVariable {
            data_type: DataType::Matrix,
            value_type: ValueType::Double,
            characteristics,
        }
    }

    pub fn scalar(value_type: ValueType) -> Self {
        InputVariable {
            data_type: DataType::Scalar,
            value_type,
            characteristics: Characteristics::SCALAR,
        }
    }
}

/// Where the compiler finds files.
pub trait SourceResolver {
    /// The script that `source(path)` names.
    ///
    /// # Errors
    /// Io, if there is none.
    fn load(&self, path: &str) -> Result<Arc<Source>>;

    /// As [`SourceResolver::load`], for a script that a script in `folder` names.
    ///
    /// # Errors
    /// Io, if there is none.
    fn load_beside(&self, path: &str, _folder: Option<&str>) -> Result<Arc<Source>> {
        self.load(path)
    }

    /// The builtin script `name.dml`, if there is one.
    ///
    /// # Errors
    /// Io, if it is there and cannot be read.
    fn builtin(&self, _name: &str) -> Result<Option<Arc<Source>>> {
        Ok(None)
    }

    /// Where builtin scripts are looked for.
    fn builtin_roots(&self) -> Vec<String> {
        Vec::new()
    }

    /// The types that the metadata of a file to read declare; `None` if there are none, or the compiler
    /// should assume a matrix.
    fn declared_type(&self, _path: &str) -> Option<(DataType, ValueType)> {
        None
    }
}

/// Finds nothing.
pub struct NoFiles;

impl SourceResolver for NoFiles {
    fn load(&self, path: &str) -> Result<Arc<Source>> {
        Err(Error::io(format!("the script '{path}' cannot be loaded"))
            .with_code(Code::FileNotFound)
            .with_help("this program was compiled without access to files"))
    }
}

/// Finds scripts in the file system: relative to a folder or one above it, else to the current one; and builtin scripts, and
/// what these source, in a library.
pub struct FileSystem {
    pub folder: PathBuf,
    pub library: Library,
}

impl FileSystem {
    /// The file that a script in one of these folders names.
    fn file(&self, path: &str, folder: Option<&str>) -> Option<PathBuf> {
        let near = folder
            .map(Path::new)
            .into_iter()
            .chain([self.folder.as_path()]);
        let near = near
            .flat_map(Path::ancestors)
            .map(|folder| folder.join(path));
        let mut candidates = [PathBuf::from(path)].into_iter().chain(near);
        let beside = Some(self.folder.join(path)).filter(|file| file.exists());
        beside.or_else(|| candidates.find(|file| file.exists()))
    }
}

impl SourceResolver for FileSystem {
    fn load(&self, path: &str) -> Result<Arc<Source>> {
        self.load_beside(path, None)
    }

    fn load_beside(&self, path: &str, folder: Option<&str>) -> Result<Arc<Source>> {
        let found = self.file(path, folder);
        if found.is_none()
            && let Some(source) = self.library.sourced(path)?
        {
            return Ok(source);
        }
        let file = found.unwrap_or_else(|| PathBuf::from(path));
        let failed = |error: &std::io::Error| {
            let failed = Error::io(format!("cannot read the script '{path}': {error}"));
            let failed = match error.kind() {
                std::io::ErrorKind::NotFound => failed.with_code(Code::FileNotFound),
                _ => failed,
            };
            failed.with_help(
                "paths are relative to setwd(), the folder of the script, a folder above it or the current folder",
            )
        };
        // A pipe or device may never end, and a script may be read more than once.
        if !std::fs::metadata(&file)
            .map_err(|error| failed(&error))?
            .is_file()
        {
            return Err(
                Error::io(format!("cannot read the script '{path}': it is no file"))
                    .with_help("source() reads regular files"),
            );
        }
        let text = std::fs::read_to_string(&file).map_err(|error| failed(&error))?;
        Ok(Source::new(file.display().to_string(), text))
    }

    fn builtin(&self, name: &str) -> Result<Option<Arc<Source>>> {
        self.library.builtin(name)
    }

    fn builtin_roots(&self) -> Vec<String> {
        let roots = self.library.roots();
        roots.map(|root| root.display().to_string()).collect()
    }

    fn declared_type(&self, path: &str) -> Option<(DataType, ValueType)> {
        // What is wrong with the metadata comes to light when the file is read.
        let metadata = PathBuf::from(format!("{path}.mtd"));
        if !metadata.is_file() {
            return None;
        }
        let text = std::fs::read_to_string(metadata).ok()?;
        let metadata = Metadata::parse(&text).ok()?;
        let data_type = match metadata.data_type.as_deref() {
            Some("scalar") => DataType::Scalar,
            Some("frame") => DataType::Frame,
            Some("list") => DataType::List,
            _ => DataType::Matrix,
        };
        let value_type = match metadata.value_type.as_deref() {
            Some("int") => ValueType::Int,
            Some("boolean") => ValueType::Boolean,
            Some("string") => ValueType::String,
            _ => ValueType::Double,
        };
        Some((data_type, value_type))
    }
}

/// The value of a `$`-argument given as text: `TRUE` or `FALSE`, else an int, else a double, else a string,
/// without the quotes around it. An empty text counts as not given, which is for the caller to see to.
pub fn parse_argument(text: &str) -> Literal {
    match text {
        "TRUE" => return Literal::Boolean(true),
        "FALSE" => return Literal::Boolean(false),
        _ => {}
    }
    if let Ok(value) = text.parse() {
        return Literal::Int(value);
    }
    let string = Literal::String(text.to_owned());
    if let Ok(value) = scalar::convert(&string, ValueType::Double) {
        return value;
    }
    let unquoted = ['"', '\''].into_iter().find_map(|quote| {
        let inner = text.strip_prefix(quote)?;
        inner.strip_suffix(quote)
    });
    unquoted.map_or(string, |inner| Literal::String(inner.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_declare_their_types() -> std::io::Result<()> {
        let folder = tempfile::tempdir()?;
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text);
        write("s.mtd", r#"{"data_type": "scalar", "value_type": "int"}"#)?;
        write("X.mtd", r#"{"rows": 3, "cols": 2}"#)?;
        write("f.dml", "x = 1")?;
        let files = FileSystem {
            folder: folder.path().to_path_buf(),
            library: Library::default(),
        };
        let declared =
            |name: &str| files.declared_type(&folder.path().join(name).to_string_lossy());
        assert_eq!(declared("s"), Some((DataType::Scalar, ValueType::Int)));
        assert_eq!(declared("X"), Some((DataType::Matrix, ValueType::Double)));
        assert_eq!(declared("none"), None);
        assert_eq!(
            files.load("f.dml").map(|f| f.text.clone()),
            Ok("x = 1".to_owned())
        );
        assert!(files.load("g.dml").is_err());
        for no_file in ["/dev/zero", "/dev/null", "."] {
            let refused = files.load(no_file).expect_err(no_file);
            assert!(refused.message().contains("no file"), "{refused}");
        }
        Ok(())
    }

    #[test]
    fn arguments_take_the_narrowest_type() {
        let cases = [
            ("TRUE", Literal::Boolean(true)),
            ("true", Literal::String("true".into())),
            ("007", Literal::Int(7)),
            ("-3", Literal::Int(-3)),
            ("1e3", Literal::Double(1000.0)),
            ("99999999999999999999", Literal::Double(1e20)),
            ("Infinity", Literal::Double(f64::INFINITY)),
            ("inf", Literal::String("inf".into())),
            ("'a b'", Literal::String("a b".into())),
            ("\"7\"", Literal::String("7".into())),
            ("\"", Literal::String("\"".into())),
            (" ", Literal::String(" ".into())),
            ("data/X.csv", Literal::String("data/X.csv".into())),
        ];
        for (text, value) in cases {
            assert_eq!(parse_argument(text), value, "{text}");
        }
    }
}
