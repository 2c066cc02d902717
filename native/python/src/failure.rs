//! Errors as Python's exceptions: those of `fulgurite._errors`, by kind.

use fulgurite_error::Error;
use pyo3::{prelude::*, sync::PyOnceLock};

use fulgurite_lazy::{Place, SOURCE};

/// The exception for an error, which arose where a line of Python asked for an operator.
pub fn raised(py: Python<'_>, error: &Error, place: Option<&Place>) -> PyErr {
    static CLASS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let made = CLASS
        .get_or_try_init(py, || {
            let module = py.import("fulgurite._errors")?;
            module.getattr("from_engine").map(Bound::unbind)
        })
        .and_then(|make| {
            let position = error.position();
            let (file, line) = match (place, position) {
                (Some(place), _) => (Some(place.file.to_string()), place.line),
                (None, Some(position)) if position.source.name != SOURCE => {
                    (Some(position.source.name.clone()), position.line)
                }
                _ => (None, 0),
            };
            make.bind(py).call1((
                error.kind().name(),
                error.message(),
                error.operator(),
                file,
                line,
                error.help(),
                // The text with the line of a script, which a place in Python has not.
                place.is_none().then(|| error.to_string()),
                error.code().number(),
            ))
        });
    match made {
        Ok(exception) => PyErr::from_value(exception),
        Err(failed) => failed,
    }
}
