//! Lines of text as records of cells: numbers and separators only, nothing is quoted.

use csv::{ByteRecord, Reader, ReaderBuilder};
use memchr::{memchr_iter, memmem};

use super::chunks::split_first_line;

/// Which lines have a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlankLines {
    /// Empty lines have none.
    Skipped,
    /// Empty lines have one empty cell.
    Rows,
    /// As `Rows`. Lines that end with a line feed and hold nothing but a carriage return are no data: workers put them where
    /// headers were.
    RowsButMarks,
}

/// Reads the records of whole lines.
pub(super) enum Records<'a> {
    /// Separators of one byte, which is all that `csv` knows.
    OneByte(Box<Reader<&'a [u8]>>),
    /// Separators of any length.
    Plain {
        text: &'a [u8],
        rest: &'a [u8],
        separator: &'a [u8],
        blank: BlankLines,
    },
}

impl<'a> Records<'a> {
    pub(super) fn of(text: &'a [u8], separator: &'a str, blank: BlankLines) -> Self {
        match separator.as_bytes() {
            [byte] if blank == BlankLines::Skipped => Records::OneByte(Box::new(
                ReaderBuilder::new()
                    .has_headers(false)
                    .flexible(true)
                    .quoting(false)
                    .delimiter(*byte)
                    .from_reader(text),
            )),
            separator => Records::Plain {
                text,
                rest: text,
                separator,
                blank,
            },
        }
    }

    /// The next record; false where there is none.
    pub(super) fn read(&mut self, record: &mut ByteRecord) -> bool {
        match self {
            // Records of any length, of bytes in memory: nothing can be wrong.
            Records::OneByte(reader) => matches!(reader.read_byte_record(record), Ok(true)),
            Records::Plain {
                rest,
                separator,
                blank,
                ..
            } => {
                while !rest.is_empty() {
                    let is_mark = *blank == BlankLines::RowsButMarks && rest.starts_with(b"\r\n");
                    let (line, after) = split_first_line(rest);
                    *rest = after;
                    let is_row = !line.is_empty() || *blank != BlankLines::Skipped;
                    if is_row && !is_mark {
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
            Records::Plain { text, rest, .. } => text.len() - rest.len(),
        }
    }
}

fn split(line: &[u8], separator: &[u8], record: &mut ByteRecord) {
    record.clear();
    let mut start = 0;
    let mut push = |at: usize| {
        record.push_field(&line[start..at]);
        start = at + separator.len();
    };
    match separator {
        [byte] => memchr_iter(*byte, line).for_each(&mut push),
        several => memmem::find_iter(line, several).for_each(&mut push),
    }
    record.push_field(&line[start..]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::chunks::lines;

    /// The cells of each record, and the number of its line.
    fn records(text: &str, separator: &str, blank: BlankLines) -> Vec<(Vec<String>, usize)> {
        let mut records = Records::of(text.as_bytes(), separator, blank);
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
            let several = records(&text.replace(',', "::"), "::", BlankLines::Skipped);
            assert_eq!(records(text, ",", BlankLines::Skipped), several, "{text:?}");
            for (cells, line) in several {
                let expected = lines(text.as_bytes()).nth(line - 1);
                assert_eq!(expected, Some(cells.join(",").as_bytes()), "{text:?}");
            }
        }
    }

    #[test]
    fn blank_lines_may_be_rows() {
        let cells = |text, blank| {
            let found = records(text, ",", blank).into_iter();
            found
                .map(|(cells, _)| cells.join("|"))
                .collect::<Vec<_>>()
                .join(";")
        };
        assert_eq!(cells("1\n\n3\n", BlankLines::Skipped), "1;3");
        assert_eq!(cells("1\n\n3\n", BlankLines::Rows), "1;;3");
        assert_eq!(cells("\r\n1\r\n\r\n", BlankLines::Rows), ";1;");
        assert_eq!(cells("\r\n1\n\n", BlankLines::RowsButMarks), "1;");
        assert_eq!(cells("1,2\n", BlankLines::Rows), "1|2");
    }
}
