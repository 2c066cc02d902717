//! Lines of text as rows of cells: numbers and separators only, nothing is quoted.

use memchr::{memchr, memmem};

use super::chunks::{is_blank, split_first_line};

/// Which lines have a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlankLines {
    /// Lines of white space that have no separator have none.
    Skipped,
    /// Blank lines have one empty cell.
    Rows,
    /// As `Rows`. Lines that end with a line feed and hold nothing but a carriage return are no data: workers put them where
    /// headers were.
    RowsButMarks,
}

/// The lines that have rows, one after the other.
pub(super) struct RowLines<'a> {
    rest: &'a [u8],
    separator: &'a [u8],
    blank: BlankLines,
}

impl<'a> RowLines<'a> {
    pub(super) fn of(text: &'a [u8], separator: &'a str, blank: BlankLines) -> Self {
        RowLines {
            rest: text,
            separator: separator.as_bytes(),
            blank,
        }
    }

    /// The text after the latest line.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Passes over a row that the caller found at the front of the rest.
    pub(super) fn pass(&mut self, bytes: usize) {
        self.rest = &self.rest[bytes..];
    }
}

impl<'a> Iterator for RowLines<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        while !self.rest.is_empty() {
            let is_mark = self.rest.starts_with(b"\r\n");
            let (line, after) = split_first_line(self.rest);
            self.rest = after;
            let is_row = match self.blank {
                BlankLines::Skipped => !is_blank(line) || find(self.separator, line).is_some(),
                BlankLines::Rows => true,
                BlankLines::RowsButMarks => !is_mark,
            };
            if is_row {
                return Some(line);
            }
        }
        None
    }
}

/// The cells of a line: one more than it has separators.
pub(super) fn cells<'a>(line: &'a [u8], separator: &'a str) -> impl Iterator<Item = &'a [u8]> {
    let mut rest = Some(line);
    std::iter::from_fn(move || {
        let text = rest.take()?;
        let Some(end) = find(separator.as_bytes(), text) else {
            return Some(text);
        };
        rest = Some(&text[end + separator.len()..]);
        Some(&text[..end])
    })
}

fn find(separator: &[u8], text: &[u8]) -> Option<usize> {
    match separator {
        [byte] => memchr(*byte, text),
        several => memmem::find(text, several),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::chunks::lines;

    /// The cells of each row, and the number of its line.
    fn rows(text: &str, separator: &str, blank: BlankLines) -> Vec<(Vec<String>, usize)> {
        let mut row_lines = RowLines::of(text.as_bytes(), separator, blank);
        let mut found = Vec::new();
        while let Some(line) = row_lines.next() {
            let cells = cells(line, separator).map(|cell| String::from_utf8_lossy(cell).into());
            let read = text.len() - row_lines.rest().len();
            let number = lines(&text.as_bytes()[..read]).count();
            found.push((cells.collect(), number));
        }
        assert!(row_lines.rest().is_empty(), "{text:?}");
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
            let several = rows(&text.replace(',', "::"), "::", BlankLines::Skipped);
            assert_eq!(rows(text, ",", BlankLines::Skipped), several, "{text:?}");
            for (cells, line) in several {
                let expected = lines(text.as_bytes()).nth(line - 1);
                assert_eq!(expected, Some(cells.join(",").as_bytes()), "{text:?}");
            }
        }
    }

    #[test]
    fn blank_lines_may_be_rows() {
        let cells = |text, blank| {
            let found = rows(text, ",", blank).into_iter();
            found
                .map(|(cells, _)| cells.join("|"))
                .collect::<Vec<_>>()
                .join(";")
        };
        assert_eq!(cells("1\n\n3\n", BlankLines::Skipped), "1;3");
        assert_eq!(cells("1\n \t\n,\n", BlankLines::Skipped), "1;|");
        assert_eq!(cells("1\n\n3\n", BlankLines::Rows), "1;;3");
        assert_eq!(cells("\r\n1\r\n\r\n", BlankLines::Rows), ";1;");
        assert_eq!(cells("\r\n1\n\n", BlankLines::RowsButMarks), "1;");
        assert_eq!(cells("1,2\n", BlankLines::Rows), "1|2");
    }
}
