//! Files that the backend knows and this process does not.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use fulgurite_backend_local::LocalBackend;
use fulgurite_config::Config;
use fulgurite_dataflow::{Backend, FoundFile, Primitive, Reply, SourceSpec};
use fulgurite_error::{Error, ErrorKind, Result};
use fulgurite_matrix::MatrixBlock;
use fulgurite_program::{Execution, Outcome, Request, Session, execute};

/// Knows `mock:` files, which lie in a folder, in parts.
struct Mock {
    root: tempfile::TempDir,
    inner: LocalBackend,
    asked: Mutex<Vec<&'static str>>,
}

impl Mock {
    fn new() -> Arc<Self> {
        Arc::new(Mock {
            root: tempfile::tempdir().unwrap(),
            inner: LocalBackend::default(),
            asked: Mutex::default(),
        })
    }

    fn local(&self, path: &str) -> PathBuf {
        let name = path.strip_prefix("mock:/").unwrap_or(path);
        self.root.path().join("files").join(name)
    }

    fn put(&self, name: &str, text: &str) {
        let path = self.local(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn scratch(&self) -> PathBuf {
        let folder = self.root.path().join("scratch");
        fs::create_dir(&folder).unwrap();
        folder
    }

    fn asked(&self) -> String {
        assert!(!self.root.path().join("scratch").exists(), "a copy is left");
        std::mem::take(&mut *self.asked.lock().unwrap()).join(" ")
    }

    fn run(self: &Arc<Self>, text: &str, budget: &str) -> Result<Outcome> {
        let mut request = Request::script("test.dml", text);
        request.outputs = vec!["s".into()];
        request
            .config
            .insert("fulgurite.memory.local".into(), budget.into());
        let session =
            Session::new(Config::default()).with_backend(Arc::clone(self) as Arc<dyn Backend>);
        let execution = Execution {
            request,
            ..Execution::default()
        };
        execute(execution, &session)
    }

    fn sum(self: &Arc<Self>, text: &str, budget: &str) -> f64 {
        let outcome = self.run(text, budget).unwrap();
        match &outcome.outputs["s"] {
            fulgurite_program::OutputValue::Scalar(value) => value.as_f64().unwrap(),
            other => panic!("{other:?}"),
        }
    }

    fn note(&self, what: &'static str) {
        let mut asked = self.asked.lock().unwrap();
        if asked.last() != Some(&what) {
            asked.push(what);
        }
    }
}

fn missing(path: &Path) -> Error {
    Error::io(format!("{} is not there", path.display()))
}

impl Backend for Mock {
    fn name(&self) -> &str {
        "mock"
    }

    fn apply(&self, primitive: &Primitive, payload: Option<&MatrixBlock>) -> Result<Reply> {
        match primitive {
            Primitive::FindFile { path, head } => {
                self.note("find");
                let file = self.local(path);
                let bytes = fs::read(&file).map_err(|_| missing(&file))?;
                let most = usize::try_from(*head).unwrap().min(bytes.len());
                let found = FoundFile {
                    bytes: bytes.len() as u64,
                    head: bytes[..most].iter().copied().map(char::from).collect(),
                    metadata: fs::read_to_string(self.local(&format!("{path}.mtd"))).ok(),
                };
                Ok(Reply {
                    file: Some(found),
                    ..Reply::default()
                })
            }
            Primitive::FetchFile { path, .. } => {
                self.note("fetch");
                let folder = self.scratch();
                // In two parts: what is in order stays in order.
                let text = fs::read_to_string(self.local(path)).unwrap();
                let middle = text.find('\n').map_or(text.len(), |end| end + 1);
                fs::write(folder.join("1"), &text[middle..]).unwrap();
                fs::write(folder.join("0"), &text[..middle]).unwrap();
                Ok(Reply {
                    folder: Some(folder.to_str().unwrap().into()),
                    ..Reply::default()
                })
            }
            Primitive::StageFile { path } => {
                self.note("stage");
                if path.contains("forbidden") {
                    return Err(Error::io(format!("'{path}' may not be written")));
                }
                Ok(Reply {
                    folder: Some(self.scratch().to_str().unwrap().into()),
                    ..Reply::default()
                })
            }
            Primitive::StoreFile { folder, path } => {
                self.note("store");
                let target = self.local(path);
                fs::create_dir_all(target.parent().unwrap()).unwrap();
                fs::copy(format!("{folder}/staged"), &target).unwrap();
                let described = format!("{folder}/staged.mtd");
                if Path::new(&described).exists() {
                    fs::copy(described, self.local(&format!("{path}.mtd"))).unwrap();
                }
                Ok(Reply::default())
            }
            Primitive::Source {
                source:
                    SourceSpec::Csv {
                        path,
                        separator,
                        header,
                        fill,
                        default,
                        warns_of_empty,
                        na_strings,
                        columns,
                    },
            } => {
                self.note("source");
                let source = SourceSpec::Csv {
                    path: self.local(path).to_str().unwrap().into(),
                    separator: separator.clone(),
                    header: *header,
                    fill: *fill,
                    default: default.clone(),
                    warns_of_empty: *warns_of_empty,
                    na_strings: na_strings.clone(),
                    columns: *columns,
                };
                self.inner.apply(&Primitive::Source { source }, payload)
            }
            other => self.inner.apply(other, payload),
        }
    }
}

#[test]
fn small_files_come_as_a_copy_and_large_ones_stay_with_the_workers() {
    let mock = Mock::new();
    mock.put("x.csv", &"1,2\n".repeat(1000));
    mock.put("x.csv.mtd", r#"{"format": "csv"}"#);
    let text = "X = read('mock:/x.csv')\ns = sum(X)";
    assert_eq!(mock.sum(text, "1g"), 3000.0);
    assert_eq!(mock.asked(), "find fetch");
    assert_eq!(mock.sum(text, "4k"), 3000.0);
    assert_eq!(mock.asked(), "find source");
    // Small by its metadata, but not as a text.
    let padded = format!("1,{}2\n", " ".repeat(8000));
    mock.put("y.csv", &padded);
    mock.put("y.csv.mtd", r#"{"format": "csv", "rows": 1, "cols": 2}"#);
    assert_eq!(mock.sum("s = sum(read('mock:/y.csv'))", "4k"), 3.0);
    assert_eq!(mock.asked(), "find source");
}

#[test]
fn formats_are_known_by_their_first_bytes() {
    let mock = Mock::new();
    let comment = "% long enough\n".repeat(20);
    let head = "%%MatrixMarket matrix coordinate real general\n";
    mock.put("x", &format!("{head}{comment}2 3 2\n1 1 5\n2 3 7\n"));
    let text = "X = read('mock:/x')\ns = sum(X) + 100 * ncol(X)";
    assert_eq!(mock.sum(text, "1g"), 312.0);
    assert_eq!(mock.asked(), "find fetch");
    mock.put("y", "1,2\n");
    let error = mock.run("s = sum(read('mock:/y'))", "1g").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Argument, "{error}");
    assert!(
        error.message().contains("there is no mock:/y.mtd"),
        "{error}"
    );
}

#[test]
fn what_is_written_is_staged_and_stored() {
    let mock = Mock::new();
    let text = "write(matrix(2, 3, 4), 'mock:/out/x', format='csv')\nwrite(7, 'mock:/s')\ns = 1";
    assert_eq!(mock.sum(text, "1g"), 1.0);
    assert_eq!(mock.asked(), "stage store stage store");
    let back = "s = sum(read('mock:/out/x')) + read('mock:/s')";
    assert_eq!(mock.sum(back, "1g"), 31.0);
    let error = mock
        .run("s = 1\nwrite(matrix(2, 3, 4), 'mock:/forbidden')", "1g")
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    assert_eq!(error.position().map(|place| place.line), Some(2), "{error}");
}

#[test]
fn errors_name_the_file_and_the_line_of_the_script() {
    let mock = Mock::new();
    mock.put("bad.csv", "1,2\n3,x\n");
    for (path, kind, reason) in [
        ("mock:/none", ErrorKind::Io, "none is not there"),
        ("mock:/bad.csv", ErrorKind::Data, "mock:/bad.csv: row 2"),
    ] {
        let text = format!("s = 1\nX = read('{path}', format='csv')\ns = sum(X)");
        let error = mock.run(&text, "1g").unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.message().contains(reason), "{error}");
        assert_eq!(error.position().map(|place| place.line), Some(2), "{error}");
        mock.asked();
    }
    mock.put("long", &"9".repeat(5000));
    mock.put(
        "long.mtd",
        r#"{"data_type": "scalar", "value_type": "string"}"#,
    );
    let error = mock.run("s = read('mock:/long')", "4k").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Memory, "{error}");
}

/// As on the command line.
#[test]
fn without_spark_other_file_systems_are_errors() {
    for backend in [None, Some(Arc::new(LocalBackend::default()))] {
        for statement in [
            "X = read('hdfs://host/x', format='csv')\nprint(sum(X))",
            "write(matrix(1, 2, 2), 's3a://bucket/x')",
            "write(7, 'hdfs:/x')",
        ] {
            let mut session = Session::new(Config::default());
            if let Some(backend) = &backend {
                session = session.with_backend(Arc::clone(backend) as Arc<dyn Backend>);
            }
            let request = Request::script("test.dml", format!("x = 1\n{statement}"));
            let execution = Execution {
                request,
                ..Execution::default()
            };
            let error = execute(execution, &session).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
            assert_eq!(error.position().map(|place| place.line), Some(2), "{error}");
            let text = error.to_string();
            let path = statement.split('\'').nth(1).unwrap();
            assert!(
                text.contains(path) && text.contains("spark-submit"),
                "{text}"
            );
        }
    }
}
