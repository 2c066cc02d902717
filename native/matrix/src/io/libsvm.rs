//! Lines `label index:value index:value ...`: the label becomes the last column, the features those before it.

use fulgurite_error::{Error, Result};

use super::{
    BadLine,
    cells::for_each_non_zero,
    chunks::{lines, parsed, shown, stretches, words},
    numbers::{number, whole_number},
};
use crate::{CsrMatrix, JavaDouble, MatrixBlock, memory};

/// Rows of a chunk up to its end or its first problem.
#[derive(Default)]
struct Part {
    labels: Vec<f64>,
    /// Where each row's features end.
    ends: Vec<usize>,
    indices: Vec<i32>,
    values: Vec<f64>,
    lines: usize,
    /// Of the indices, from 1; zeros count.
    largest: i64,
    problem: Option<String>,
    /// `qid:` entries, which are left out.
    query_ids: usize,
}

/// Parses whole lines on all threads. Blank lines, what follows a `#`, and `qid:` entries are skipped; gives how many of the latter
/// there are, too.
///
/// `cols`, where it is known, counts the label; otherwise the largest index tells.
///
/// # Errors
/// `data`, naming the line, for what is no row, and for indices that do not ascend or are too large.
pub(super) fn parse(bytes: &[u8], cols: Option<usize>) -> Result<(MatrixBlock, usize)> {
    let most = most_features(cols)?;
    let parts: Vec<Part> = parsed(bytes, |chunk| Ok(parse_chunk(chunk, most)))?;
    let mut lines = 0;
    for part in &parts {
        lines += part.lines;
        if let Some(problem) = &part.problem {
            return Err(Error::data(format!("line {lines}: {problem}")).with_help(HELP));
        }
    }
    let rows: usize = parts.iter().map(|part| part.labels.len()).sum();
    if rows == 0 && cols.is_none() {
        return Ok((MatrixBlock::dense(0, 0, Vec::new())?, 0));
    }
    let largest = parts.iter().map(|part| part.largest).max().unwrap_or(0);
    let cols = cols.unwrap_or(largest as usize + 1);
    let query_ids = parts.iter().map(|part| part.query_ids).sum();
    Ok((assemble(parts, cols)?, query_ids))
}

const HELP: &str = "a line is 'label index:value index:value ...', with indices from 1 that ascend";

fn most_features(cols: Option<usize>) -> Result<i32> {
    match cols {
        Some(0) => Err(Error::data(
            "a libsvm file has at least a column, of labels",
        )),
        Some(cols) => Ok(i32::try_from(cols - 1).unwrap_or(i32::MAX - 1)),
        None => Ok(i32::MAX - 1),
    }
}

/// Parses whole lines on this thread into matrices of at most so many rows and about so many bytes, each in the
/// layout that suits it; without rows there are none. Also gives how many `qid:` entries there are.
///
/// # Errors
/// `data` where there are no columns; what is wrong with a line is the result.
pub(super) fn parse_stripes(
    text: &[u8],
    cols: usize,
    most_rows: usize,
    most_bytes: usize,
) -> Result<Result<(Vec<MatrixBlock>, usize), BadLine>> {
    let most = most_features(Some(cols))?;
    let (mut stripes, mut before, mut query_ids) = (Vec::new(), 0, 0);
    for stretch in stretches(text, lines_of_a_stripe(text, most_rows, most_bytes)) {
        let part = parse_chunk(stretch, most);
        if let Some(problem) = part.problem {
            return Ok(Err(BadLine::of(stretch, before, part.lines, problem, HELP)));
        }
        before += part.lines;
        query_ids += part.query_ids;
        if !part.labels.is_empty() {
            stripes.push(assemble(vec![part], cols)?);
        }
    }
    Ok(Ok((stripes, query_ids)))
}

/// As many lines as become about so many bytes: each has a pointer and a label, and a feature has a colon.
fn lines_of_a_stripe(text: &[u8], most_rows: usize, most_bytes: usize) -> usize {
    const STORED_BYTES: usize = size_of::<f64>() + size_of::<i32>();
    let rows = lines(text).count().max(1);
    let bytes = memchr::memchr_iter(b':', text).count() * STORED_BYTES
        + rows * (STORED_BYTES + size_of::<i64>());
    most_rows.min(rows.div_ceil(bytes.div_ceil(most_bytes.max(1))))
}

/// The largest index; that of a line is its last. What is no row is found when it is parsed.
pub(super) fn largest_index(text: &[u8]) -> i64 {
    let last = |line| {
        let line = data(line);
        let colon = memchr::memrchr(b':', line)?;
        whole_number::<i64>(words(&line[..colon]).last()?)
    };
    lines(text).filter_map(last).max().unwrap_or(0).max(0)
}

/// A line without its comment.
fn data(line: &[u8]) -> &[u8] {
    memchr::memchr(b'#', line).map_or(line, |comment| &line[..comment])
}

/// The rows of parts, one below the other; the label is the last column.
fn assemble(parts: Vec<Part>, cols: usize) -> Result<MatrixBlock> {
    let rows: usize = parts.iter().map(|part| part.labels.len()).sum();
    let stored = parts.iter().map(|part| part.values.len()).sum::<usize>() + rows;
    let mut pointers = memory::room(rows + 1)?;
    let (mut indices, mut values) = (memory::room(stored)?, memory::room(stored)?);
    pointers.push(0i64);
    for part in parts {
        let mut from = 0;
        for (label, end) in part.labels.iter().zip(part.ends) {
            indices.extend_from_slice(&part.indices[from..end]);
            values.extend_from_slice(&part.values[from..end]);
            if *label != 0.0 {
                indices.push((cols - 1) as i32);
                values.push(*label);
            }
            pointers.push(values.len() as i64);
            from = end;
        }
    }
    let csr = CsrMatrix::new(rows, cols, pointers, indices, values)?;
    MatrixBlock::Csr(csr).in_best_layout()
}

fn parse_chunk(chunk: &[u8], most: i32) -> Part {
    let mut part = Part::default();
    for line in lines(chunk) {
        part.lines += 1;
        part.problem = part.push_row(data(line), most).err();
        if part.problem.is_some() {
            break;
        }
    }
    part
}

/// What names the query that a row belongs to, in files for ranking.
const QUERY: &[u8] = b"qid";

fn split_feature(word: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = memchr::memchr(b':', word)?;
    Some((&word[..colon], &word[colon + 1..]))
}

impl Part {
    fn push_row(&mut self, line: &[u8], most: i32) -> Result<(), String> {
        let mut words = words(line);
        let Some(label) = words.next() else {
            return Ok(());
        };
        let label =
            number(label).ok_or_else(|| format!("the label '{}' is not a number", shown(label)))?;
        let mut before = 0;
        while let Some(word) = words.next() {
            let wrong = || format!("'{}' is not 'index:value'", shown(word));
            let (index, value) = split_feature(word).ok_or_else(wrong)?;
            // A blank may follow the colon.
            let value = match value {
                [] => words.next().ok_or_else(wrong)?,
                value => value,
            };
            if index == QUERY {
                self.query_ids += 1;
                continue;
            }
            let feature = whole_number::<i64>(index).zip(number(value));
            let (index, value) = feature.ok_or_else(wrong)?;
            if index < 1 {
                return Err(format!("the index {index} is less than 1"));
            }
            if index <= before {
                return Err(format!("the index {index} comes after {before}"));
            }
            if index > i64::from(most) {
                return Err(format!("the index {index} is beyond the {most} features"));
            }
            before = index;
            self.largest = self.largest.max(index);
            if value != 0.0 {
                self.indices.push((index - 1) as i32);
                self.values.push(value);
            }
        }
        self.labels.push(label);
        self.ends.push(self.values.len());
        Ok(())
    }
}

/// Appends the lines of some rows.
pub(super) fn format_rows(matrix: &MatrixBlock, rows: std::ops::Range<usize>, text: &mut Vec<u8>) {
    let label_at = matrix.cols().saturating_sub(1);
    let mut features = Vec::new();
    let mut digits = itoa::Buffer::new();
    for row in rows {
        let mut label = 0.0;
        features.clear();
        for_each_non_zero(matrix, row, |col, value| {
            if col == label_at {
                label = value;
            } else {
                features.push(b' ');
                features.extend_from_slice(digits.format(col + 1).as_bytes());
                features.push(b':');
                JavaDouble(value).append_to(&mut features);
            }
        });
        JavaDouble(label).append_to(text);
        text.extend_from_slice(&features);
        text.push(b'\n');
    }
}
