//! Metadata in a folder, as SystemML's `transform` writes them and SystemDS's `transformmeta` reads them.
//!
//! `column.names` holds the names with commas between them, `Recode/NAME.map` a line `"category",code,count` for each category and
//! `Recode/NAME.ndistinct` their number, `Bin/NAME.bin` the line `column,min,max,width,bins`, `Impute/NAME.impute` the line `column,value`, and
//! `spec.json` the specification.

use std::{fs, io::ErrorKind, path::Path};

use fulgurite_error::{Code, Error, Result};
use fulgurite_matrix::{java_double, memory, parse_double};

use super::{Binning, Coding, Spec};
use crate::{Cell, Column, ColumnMeta, ColumnType, Frame, types::SEPARATOR};

const NAMES: &str = "column.names";
const SPECIFICATION: &str = "spec.json";

/// The frame of metadata of a folder.
///
/// # Errors
/// `io` with the path of a file that is not there; `data` with path and line of one that does not read.
pub fn stored_metadata(spec: &Spec, folder: &Path) -> Result<Frame> {
    let names = read(&folder.join(NAMES))?;
    let names: Vec<&str> = names.trim_end().split(',').collect();
    let named = names
        .iter()
        .map(|_| Column::of_cells(ColumnType::String, "", [].into_iter()));
    let plan = spec.columns(&Frame::new(
        named.collect::<Result<_>>()?,
        Some(names.iter().map(|name| (*name).into()).collect()),
    )?)?;
    let mut columns = Vec::new();
    let mut column_meta = Vec::new();
    for (name, plan) in names.iter().zip(&plan) {
        columns.push(match plan.coding {
            Coding::Recode => recoded(&folder.join(format!("Recode/{name}.map")))?,
            Coding::Bin { .. } => binned(&folder.join(format!("Bin/{name}.bin")))?,
            Coding::Hash { buckets } => vec![buckets.to_string()],
            Coding::Pass => Vec::new(),
            Coding::Scale(_) | Coding::Embed => return Err(not_stored(name)),
        });
        let fill = match plan.fill {
            None => None,
            Some(_) => Some(filled(&folder.join(format!("Impute/{name}.impute")))?),
        };
        column_meta.push(ColumnMeta {
            fill: fill.map(Into::into),
            distinct: None,
        });
    }
    let rows = columns.iter().map(Vec::len).max().unwrap_or(0);
    for ((meta, cells), plan) in column_meta.iter_mut().zip(&columns).zip(&plan) {
        meta.distinct = (plan.coding == Coding::Recode).then_some(cells.len());
    }
    let columns = columns.iter().map(|cells| {
        let missing = std::iter::repeat_n(None, rows - cells.len());
        let cells = cells.iter().map(|text| Some(Cell::Text(text)));
        Column::of_cells(ColumnType::String, "", cells.chain(missing))
    });
    let names = names.iter().map(|name| (*name).into()).collect();
    let frame = Frame::new(columns.collect::<Result<_>>()?, Some(names))?;
    match column_meta.iter().any(|meta| meta.fill.is_some()) {
        true => frame.with_column_meta(column_meta),
        false => Ok(frame),
    }
}

/// The specification of a folder.
///
/// # Errors
/// `io`, when it is not there.
pub fn stored_specification(folder: &Path) -> Result<String> {
    read(&folder.join(SPECIFICATION))
}

/// Writes metadata and their specification into a folder, which is made if it is not there.
///
/// # Errors
/// `io` with the path; `unsupported` for a column whose code the files have no place for: bins of different widths, scales and embeddings.
pub fn store(meta: &Frame, spec: &str, folder: &Path) -> Result<()> {
    let plan = Spec::parse(spec)?.columns(meta)?;
    let mut files = vec![
        (NAMES.to_owned(), format!("{}\n", meta.names().join(","))),
        (SPECIFICATION.to_owned(), spec.to_owned()),
    ];
    let columns = meta.columns().iter().zip(meta.names()).zip(&plan);
    for (number, ((column, name), plan)) in (1..).zip(columns) {
        let cells = column.cells().flatten();
        match plan.coding {
            Coding::Recode => {
                let mut lines = String::new();
                let mut count = 0;
                for cell in cells {
                    let cell = cell.text();
                    let (category, code) =
                        cell.rsplit_once(SEPARATOR).ok_or_else(|| unread(name))?;
                    let category = category.replace('\\', "\\\\").replace('"', "\\\"");
                    lines.push_str(&format!("\"{category}\",{code},1\n"));
                    count += 1;
                }
                files.push((format!("Recode/{name}.map"), lines));
                files.push((format!("Recode/{name}.ndistinct"), count.to_string()));
            }
            Coding::Bin {
                method: Binning::EquiWidth,
                ..
            } => {
                let mut bins = Vec::new();
                for cell in cells {
                    let cell = cell.text();
                    let ends = cell.split_once(SEPARATOR);
                    let ends = ends.and_then(|(a, b)| Some((parse_double(a)?, parse_double(b)?)));
                    bins.push(ends.ok_or_else(|| unread(name))?);
                }
                let (min, width) = bins
                    .first()
                    .map_or((0.0, 0.0), |(min, max)| (*min, max - min));
                let max = bins.last().map_or(0.0, |(_, max)| *max);
                let [min, max, width] = [min, max, width].map(java_double);
                let line = format!("{number},{min},{max},{width},{}\n", bins.len());
                files.push((format!("Bin/{name}.bin"), line));
            }
            Coding::Pass | Coding::Hash { .. } => {}
            Coding::Bin {
                method: Binning::EquiHeight,
                ..
            }
            | Coding::Scale(_)
            | Coding::Embed => return Err(not_stored(name)),
        }
        let fill = meta.column_meta().get(number - 1);
        if let Some(fill) = fill.and_then(|meta| meta.fill.as_ref()) {
            files.push((
                format!("Impute/{name}.impute"),
                format!("{number},{fill}\n"),
            ));
        }
    }
    for (name, text) in files {
        let path = folder.join(name);
        let parent = path.parent().unwrap_or(folder);
        fs::create_dir_all(parent).map_err(|error| cannot("write", parent, &error))?;
        fs::write(&path, text).map_err(|error| cannot("write", &path, &error))?;
    }
    Ok(())
}

/// `category·code` for each line.
fn recoded(path: &Path) -> Result<Vec<String>> {
    let text = read(path)?;
    let mut cells = Vec::new();
    for (number, line) in (1..).zip(text.lines().filter(|line| !line.is_empty())) {
        // A category may have anything in it, but not behind its last quote.
        let found = line.rsplit_once('"').and_then(|(category, rest)| {
            let code = rest.strip_prefix(',')?.split(',').next()?.trim();
            let code: usize = code.parse().ok()?;
            let category = category.strip_prefix('"').unwrap_or(category);
            let category = category.replace("\\\"", "\"").replace("\\\\", "\\");
            Some(format!("{category}{SEPARATOR}{code}"))
        });
        cells.push(found.ok_or_else(|| {
            Error::data(format!(
                "{}, line {number}: '{line}' is no \"category\",code",
                path.display()
            ))
        })?);
    }
    Ok(cells)
}

/// `min·max` for each bin.
fn binned(path: &Path) -> Result<Vec<String>> {
    let text = read(path)?;
    let line = text.trim();
    let fields: Vec<&str> = line.split(',').collect();
    let found = match fields[..] {
        [_, min, _, width, bins, ..] => parse_double(min)
            .zip(parse_double(width))
            .zip(bins.trim().parse::<usize>().ok()),
        _ => None,
    };
    let ((min, width), bins) = found.ok_or_else(|| {
        Error::data(format!(
            "{}: '{line}' is no column,min,max,width,bins",
            path.display()
        ))
    })?;
    memory::admit(bins.saturating_mul(BYTES_OF_A_BIN))?;
    let ends = (0..bins).map(|bin| {
        let low = java_double(min + bin as f64 * width);
        let high = java_double(min + (bin + 1) as f64 * width);
        format!("{low}{SEPARATOR}{high}")
    });
    Ok(ends.collect())
}

/// The text of two doubles, and the string that holds it.
const BYTES_OF_A_BIN: usize = 72;

fn filled(path: &Path) -> Result<String> {
    let text = read(path)?;
    let line = text.trim_end_matches(['\n', '\r']);
    let found = line.split_once(',').map(|(_, value)| value.to_owned());
    found.ok_or_else(|| Error::data(format!("{}: '{line}' is no column,value", path.display())))
}

fn read(path: &Path) -> Result<String> {
    let length = fs::metadata(path)
        .map_err(|error| cannot("read", path, &error))?
        .len();
    memory::admit(usize::try_from(length).unwrap_or(usize::MAX))?;
    fs::read_to_string(path).map_err(|error| cannot("read", path, &error))
}

fn cannot(what: &str, path: &Path, error: &std::io::Error) -> Error {
    let failed = Error::io(format!("cannot {what} '{}': {error}", path.display()));
    match error.kind() {
        ErrorKind::NotFound => failed
            .with_code(Code::FileNotFound)
            .with_help("a folder of metadata holds column.names, and a file for each coded column"),
        _ => failed,
    }
}

fn not_stored(name: &str) -> Error {
    Error::unsupported(format!(
        "column '{name}': bins of different widths, scales and embeddings in a folder of metadata"
    ))
    .with_help("write the frame of metadata: [X, M] = transformencode(...), then write(M, file)")
}

fn unread(name: &str) -> Error {
    Error::data(format!("the metadata of column '{name}' do not read"))
}
