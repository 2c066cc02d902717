//! Lines of text as records of cells: numbers and separators only, nothing is quoted.

use csv::{ByteRecord, Reader, ReaderBuilder};
use memchr::memmem;

use super::chunks::split_first_line;

/// Reads the records of whole lines; empty lines have none.
pub(super) enum Records<'a> {
    /// Separators of one byte, which is all that `csv` knows.
    OneByte(Box<Reader<&'a [u8]>>),
    SeveralBytes {
        text: &'a [u8],
        rest: &'a [u8],
        separator: &'a [u8],
    },
}

impl<'a> Records<'a> {
    pub(super) fn of(text: &'a [u8], separator: &'a str) -> Self {
        match separator.as_bytes() {
            [byte] => Records::OneByte(Box::new(
                ReaderBuilder::new()
                    .has_headers(false)
                    .flexible(true)
                    .quoting(false)
                    .delimiter(*byte)
                    .from_reader(text),
            )),
            separator => Records::SeveralBytes {
                text,
                rest: text,
                separator,
            },
        }
    }

    /// The next record; false where there is none.
    pub(super) fn read(&mut self, record: &mut ByteRecord) -> bool {
        match self {
            // Records of any length, of bytes in memory: nothing can be wrong.
            Records::OneByte(reader) => matches!(reader.read_byte_record(record), Ok(true)),
            Records::SeveralBytes {
                rest, separator, ..
            } => {
                while !rest.is_empty() {
                    let (line, after) = split_first_line(rest);
                    *rest = after;
                    if !line.is_empty() {
                        split(line, separator, record);
                        return true;
                    }
                }
                false
            }
        }
    }

    /// Up to the end of the latest record, with the first byte of its line end at least.
    pub(super) fn bytes_read(&self) -> usize {
        match self {
            Records::OneByte(reader) => reader.position().byte() as usize,
            Records::SeveralBytes { text, rest, .. } => text.len() - rest.len(),
        }
    }
}

fn split(line: &[u8], separator: &[u8], record: &mut ByteRecord) {
    record.clear();
    let mut start = 0;
    for at in memmem::find_iter(line, separator) {
        record.push_field(&line[start..at]);
        start = at + separator.len();
    }
    record.push_field(&line[start..]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::chunks::lines;

    /// The cells of each record, and the number of its line.
    fn records(text: &str, separator: &str) -> Vec<(Vec<String>, usize)> {
        let mut records = Records::of(text.as_bytes(), separator);
        let mut record = ByteRecord::new();
        let mut found = Vec::new();
        while records.read(&mut record) {
            let cells = record.iter().map(|cell| String::from_utf8_lossy(cell));
            let line = lines(&text.as_bytes()[..records.bytes_read()]).count();
            found.push((cells.map(Into::into).collect(), line));
        }
        assert_eq!(records.bytes_read(), text.len(), "{text:?}");
        found
    }

    #[test]
    fn separators_of_one_byte_and_of_several_cut_alike() {
        for text in [
            "",
            "\n\n",
            "1,2\n3,4",
            "1,2\r\n3,4\r\n",
            "1,2\r3,4\r",
            "\n1,2\n\r\n\n,\n3\n \n,,4\n\n",
            "\"a,b\"\n\"\n'",
        ] {
            let several = records(&text.replace(',', "::"), "::");
            assert_eq!(records(text, ","), several, "{text:?}");
            for (cells, line) in several {
                let expected = lines(text.as_bytes()).nth(line - 1);
                assert_eq!(expected, Some(cells.join(",").as_bytes()), "{text:?}");
            }
        }
    }
}
