//! Inputs made by DML scripts, so that peers can make the same cells from the same text.

use std::{collections::BTreeMap, fs, path::Path};

use fulgurite_error::{Error, Result};
use fulgurite_matrix::MatrixBlock;
use fulgurite_program::{Execution, OutputValue, Request, Session, execute};

/// A script that makes inputs. Its first lines are comments that say what a benchmark needs to know:
/// `# key: words`.
pub struct DataScript {
    name: String,
    text: String,
}

impl DataScript {
    /// # Errors
    /// `io` when the file can't be read.
    pub fn read(path: &Path) -> Result<Self> {
        Ok(DataScript {
            name: path.display().to_string(),
            text: read(path)?,
        })
    }

    /// The words of the line `# key: words`.
    ///
    /// # Errors
    /// `argument` where there is no such line.
    pub fn words(&self, key: &str) -> Result<Vec<&str>> {
        let prefix = format!("# {key}:");
        self.text
            .lines()
            .find_map(|line| line.strip_prefix(&prefix))
            .map(|words| words.split_whitespace().collect())
            .ok_or_else(|| Error::argument(format!("{} needs a line '{prefix} ...'", self.name)))
    }

    /// Runs the script and takes the matrices that its line `# inputs:` names.
    ///
    /// # Errors
    /// Those of the script; `argument` when an input is no matrix of this process.
    pub fn make(
        &self,
        arguments: &[(&str, String)],
        session: &Session,
    ) -> Result<BTreeMap<String, MatrixBlock>> {
        let mut request = Request::script(&self.name, &self.text);
        request.arguments = arguments
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect();
        request.outputs = self
            .words("inputs")?
            .into_iter()
            .map(str::to_owned)
            .collect();
        let made = Execution::new(request, BTreeMap::new());
        (execute(made, session)?.outputs.into_iter())
            .map(|(name, value)| match value {
                OutputValue::Matrix(matrix) => Ok((name, matrix)),
                _ => Err(Error::argument(format!(
                    "{}: {name} is not a local matrix",
                    self.name
                ))),
            })
            .collect()
    }
}

/// # Errors
/// `io`, naming the file.
pub fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(|error| Error::io(format!("{}: {error}", path.display())))
}
