//! Text that workers read and write, a piece at a time, and the cells in it.

use fulgurite_error::{Error, Result};
use fulgurite_matrix::{
    Block,
    io::{
        BadLine, Gathered, MatrixMarketHeader, Outcome, Symmetry, TextFormat, WrittenText,
        format_text, gather_cells, parse_text, spread_cells,
    },
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::registry::registry;

/// What a piece of text gave, as JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Reply {
    lines: usize,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    handles: Vec<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    columns: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    header: Option<MatrixMarketHeader>,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<BadLine>,
    #[serde(skip_serializing_if = "is_zero")]
    empty_cells: usize,
    #[serde(skip_serializing_if = "is_zero")]
    query_ids: usize,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// By what ranges of rows cells are cut.
#[derive(Deserialize)]
struct Spread {
    starts: Vec<u64>,
    symmetry: Symmetry,
}

/// What stripes cells become.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Gather {
    from: u64,
    until: u64,
    cols: usize,
    height: usize,
    may_be_dense: bool,
}

/// What cells gave, as JSON.
#[derive(Serialize)]
struct GatherReply {
    handles: Vec<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    twice: Option<(u64, u64)>,
}

/// Parses whole lines: the reply, and the handles in it.
pub(crate) fn parse(format: &[u8], text: &[u8]) -> Result<(Vec<u8>, Vec<i64>)> {
    let format: TextFormat = read(format)?;
    let parsed = parse_text(text, &format)?;
    let mut reply = Reply {
        lines: parsed.lines,
        empty_cells: parsed.empty_cells,
        query_ids: parsed.query_ids,
        handles: Vec::new(),
        columns: None,
        header: None,
        problem: None,
    };
    match parsed.outcome {
        Outcome::Matrices(matrices) => {
            let inserted = matrices
                .into_iter()
                .map(|matrix| registry().insert_matrix(matrix));
            reply.handles = inserted.collect();
        }
        Outcome::Columns(columns) => reply.columns = columns,
        Outcome::Header(header) => reply.header = Some(header),
        Outcome::Bad(line) => reply.problem = Some(line),
    }
    Ok((written(&reply)?, reply.handles))
}

/// Cuts cells by ranges of rows: a handle for each, 0 where it has none.
pub(crate) fn spread(how: &[u8], handle: i64) -> Result<Vec<i64>> {
    let how: Spread = read(how)?;
    let cells = registry().get_matrix(handle)?;
    let parts = spread_cells(&cells, &how.starts, how.symmetry)?;
    let inserted = parts
        .into_iter()
        .map(|part| part.map_or(0, |cells| registry().insert_matrix(cells)));
    Ok(inserted.collect())
}

/// Makes stripes of the cells of a range of rows: the reply, and the handles in it.
pub(crate) fn gather(how: &[u8], handles: &[i64]) -> Result<(Vec<u8>, Vec<i64>)> {
    let how: Gather = read(how)?;
    let parts = handles.iter().map(|handle| registry().get_matrix(*handle));
    let parts = parts.collect::<Result<Vec<_>>>()?;
    let rows = how.from..how.until;
    let mut reply = GatherReply {
        handles: Vec::new(),
        twice: None,
    };
    match gather_cells(&parts, rows, how.cols, how.height, how.may_be_dense)? {
        Gathered::Twice(row, col) => reply.twice = Some((row, col)),
        Gathered::Stripes(stripes) => {
            let mut row_offset = how.from;
            for stripe in stripes {
                let rows = stripe.rows() as u64;
                let handle = registry().insert([Block::new(row_offset, 0, stripe)]);
                reply.handles.push(handle);
                row_offset += rows;
            }
        }
    }
    Ok((written(&reply)?, reply.handles))
}

/// Writes the lines of a stripe.
pub(crate) fn format(handle: i64, format: &[u8], output: impl std::io::Write) -> Result<()> {
    let format: WrittenText = read(format)?;
    let block = registry().get_block(handle)?;
    format_text(&block, &format, output, |error| {
        Error::io(format!("lines cannot be written: {error}"))
    })
}

fn written(reply: &impl Serialize) -> Result<Vec<u8>> {
    serde_json::to_vec(reply)
        .map_err(|error| Error::internal(format!("a reply cannot be written: {error}")))
}

fn read<T: DeserializeOwned>(format: &[u8]) -> Result<T> {
    serde_json::from_slice(format)
        .map_err(|error| Error::argument(format!("what is to be done is not understood: {error}")))
}
