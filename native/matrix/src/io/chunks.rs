//! Text cut at line ends, so that threads can parse the pieces.

/// Bytes of a piece: enough to outweigh handing it to a thread.
const CHUNK_BYTES: usize = 1 << 20;

/// Pieces of whole lines, in order.
pub(super) fn chunks(mut bytes: &[u8]) -> Vec<&[u8]> {
    let mut chunks = Vec::with_capacity(bytes.len() / CHUNK_BYTES + 1);
    while bytes.len() > CHUNK_BYTES {
        let line_end = bytes[CHUNK_BYTES..].iter().position(|byte| *byte == b'\n');
        let Some(line_end) = line_end else { break };
        let (chunk, rest) = bytes.split_at(CHUNK_BYTES + line_end + 1);
        chunks.push(chunk);
        bytes = rest;
    }
    if !bytes.is_empty() {
        chunks.push(bytes);
    }
    chunks
}

/// The first line and what follows it.
pub(super) fn split_first_line(bytes: &[u8]) -> (&[u8], &[u8]) {
    match bytes.iter().position(|byte| *byte == b'\n') {
        Some(end) => (&bytes[..end], &bytes[end + 1..]),
        None => (bytes, &[]),
    }
}
