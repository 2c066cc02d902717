//! Text cut at line ends, so that threads can parse the pieces; lines and words in it.

use fulgurite_error::{Result, printable};
use memchr::{memchr, memchr_iter, memchr2};
use rayon::prelude::*;

use crate::Interrupt;

/// Bytes of a piece: enough to outweigh handing it to a thread.
const CHUNK_BYTES: usize = 1 << 20;

/// What a parser makes of pieces of whole lines, in order.
///
/// # Errors
/// Those of the parser; `interrupted`, once the run is to stop.
pub(super) fn parsed<T: Send>(
    text: &[u8],
    parse: impl Fn(&[u8]) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let interrupt = Interrupt::current();
    let piece = |piece| interrupt.check().and_then(|()| parse(piece));
    chunks(text).into_par_iter().map(piece).collect()
}

/// Pieces of whole lines, in order.
pub(super) fn chunks(mut bytes: &[u8]) -> Vec<&[u8]> {
    let mut chunks = Vec::new();
    while bytes.len() > CHUNK_BYTES {
        let Some(line_end) = memchr(b'\n', &bytes[CHUNK_BYTES..]) else {
            break;
        };
        let (chunk, rest) = bytes.split_at(CHUNK_BYTES + line_end + 1);
        chunks.push(chunk);
        bytes = rest;
    }
    if !bytes.is_empty() {
        chunks.push(bytes);
    }
    chunks
}

/// The first line and what follows it. Lines end as Hadoop's do: with a line feed, a carriage return, or both.
pub(super) fn split_first_line(bytes: &[u8]) -> (&[u8], &[u8]) {
    let Some(end) = memchr2(b'\n', b'\r', bytes) else {
        return (bytes, &[]);
    };
    let ends_with_both = bytes[end..].starts_with(b"\r\n");
    (
        &bytes[..end],
        &bytes[end + 1 + usize::from(ends_with_both)..],
    )
}

/// Bytes of a line end at the front of the text, or of its end. `None` where something else stands there, and for a carriage
/// return alone.
#[inline]
pub(super) fn line_end(text: &[u8]) -> Option<usize> {
    match text {
        [] => Some(0),
        [b'\n', ..] => Some(1),
        [b'\r', b'\n', ..] => Some(2),
        _ => None,
    }
}

/// A text from its first line on: a byte order mark before that is no data.
pub(super) fn without_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text)
}

/// The number of lines, as fast as memory is read; too small where lines end with a carriage return alone.
pub(super) fn count_line_feeds(text: &[u8]) -> usize {
    memchr_iter(b'\n', text).count() + usize::from(!text.ends_with(b"\n"))
}

/// The number of lines.
pub(super) fn count_lines(text: &[u8]) -> usize {
    lines(text).count()
}

pub(super) fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (line, after) = split_first_line(rest);
        rest = after;
        Some(line)
    })
}

pub(super) fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty())
}

pub(super) fn is_blank(line: &[u8]) -> bool {
    line.trim_ascii().is_empty()
}

/// Bytes as an error shows them: on one line, without control characters, the first ones of many.
pub(super) fn shown(bytes: &[u8]) -> String {
    const MOST_BYTES: usize = 200;
    let first = String::from_utf8_lossy(&bytes[..bytes.len().min(MOST_BYTES)]);
    let mut text = printable(&first).replace('\n', "\\n").replace('\t', "\\t");
    if bytes.len() > MOST_BYTES {
        text.push('…');
    }
    text
}

/// Stretches of at most so many lines, as equal as can be, in order.
pub(super) fn stretches(text: &[u8], most_lines: usize) -> Vec<&[u8]> {
    let count = lines(text).count();
    let height = count.div_ceil(count.div_ceil(most_lines.max(1)).max(1));
    let mut stretches = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let mut after = rest;
        for _ in 0..height {
            after = split_first_line(after).1;
        }
        stretches.push(&rest[..rest.len() - after.len()]);
        rest = after;
    }
    stretches
}

#[cfg(test)]
mod tests {
    use fulgurite_error::ErrorKind;

    use super::*;

    #[test]
    fn runs_that_are_to_stop_parse_nothing() {
        let interrupt = Interrupt::new();
        let lines = || interrupt.within(|| parsed(b"1\n2\n", |piece| Ok(lines(piece).count())));
        assert_eq!(lines().ok(), Some(vec![2]));
        interrupt.set();
        let error = lines().expect_err("it is to stop");
        assert_eq!(error.kind(), ErrorKind::Interrupted);
    }
}
