//! Records and fields of csv, as RFC 4180 has them.
//!
//! A field is quoted when a quote is its first byte; a quote elsewhere is a letter. In quotes, two quotes are one. Text behind the closing
//! quote belongs to the field. Lines end with `\n`, `\r\n` or `\r`, and empty ones are no records.

use std::borrow::Cow;

use memchr::{memchr, memchr2, memchr3};

const QUOTE: u8 = b'"';

fn ends_line(byte: u8) -> bool {
    byte == b'\n' || byte == b'\r'
}

/// Where records begin in a text: the first behind each multiple of `step` bytes, and the end of the last one that is complete.
///
/// The text begins with a record. Its last line is complete when `is_all` of the input is here.
pub(super) fn boundaries(text: &[u8], separator: u8, step: usize, is_all: bool) -> Vec<usize> {
    let mut boundaries = vec![0];
    let mut complete = 0;
    let mut target = step;
    // Between two quoted fields all line ends are ends of records.
    let mut from = 0;
    loop {
        let quoted = next_quoted(text, from, separator);
        let until = quoted.unwrap_or(text.len());
        while target < until {
            let start = target.max(from);
            let Some(end) = memchr2(b'\n', b'\r', &text[start..until]) else {
                break;
            };
            let mut end = start + end + 1;
            // The end of a line of two bytes.
            end += usize::from(text[end - 1] == b'\r' && text.get(end) == Some(&b'\n'));
            boundaries.push(end);
            target = end + step;
        }
        if let Some(end) = text[from..until].iter().rposition(|byte| ends_line(*byte)) {
            complete = from + end + 1;
        }
        match quoted.map(|at| close(text, at + 1)) {
            None | Some(None) => break,
            Some(Some(end)) => from = end,
        }
    }
    if is_all {
        complete = text.len();
    }
    boundaries.retain(|at| *at < complete);
    boundaries.push(complete);
    boundaries
}

/// The first quote from here on that begins a field.
fn next_quoted(text: &[u8], mut from: usize, separator: u8) -> Option<usize> {
    loop {
        let at = from + memchr(QUOTE, text.get(from..)?)?;
        let before = at.checked_sub(1).map(|before| text[before]);
        if before.is_none_or(|before| before == separator || ends_line(before)) {
            return Some(at);
        }
        from = at + 1;
    }
}

/// The place behind the quote that closes a field whose content begins here.
fn close(text: &[u8], mut from: usize) -> Option<usize> {
    loop {
        let at = from + memchr(QUOTE, text.get(from..)?)?;
        match text.get(at + 1) {
            Some(&QUOTE) => from = at + 2,
            _ => return Some(at + 1),
        }
    }
}

/// The records of a text, field by field.
pub(super) struct Records<'a> {
    text: &'a str,
    at: usize,
    separator: u8,
}

impl<'a> Records<'a> {
    pub(super) fn new(text: &'a str, separator: u8) -> Self {
        Records {
            text,
            at: 0,
            separator,
        }
    }

    /// The place behind the last record that was read.
    pub(super) fn place(&self) -> usize {
        self.at
    }

    /// Calls for each field of the next record, by its number; what is not quoted comes without the spaces around it. The number of
    /// fields, or none at the end.
    #[inline]
    pub(super) fn next(&mut self, mut field: impl FnMut(usize, Cow<'a, str>)) -> Option<usize> {
        let bytes = self.text.as_bytes();
        while bytes.get(self.at).is_some_and(|byte| ends_line(*byte)) {
            self.at += 1;
        }
        if self.at >= bytes.len() {
            return None;
        }
        let mut fields = 0;
        loop {
            let (content, end) = match bytes.get(self.at) {
                Some(&QUOTE) => self.quoted(),
                _ => {
                    let rest = &bytes[self.at..];
                    let end = memchr3(self.separator, b'\n', b'\r', rest);
                    let end = self.at + end.unwrap_or(rest.len());
                    (Cow::Borrowed(self.text[self.at..end].trim()), end)
                }
            };
            field(fields, content);
            fields += 1;
            self.at = end + 1;
            match bytes.get(end) {
                Some(byte) if *byte == self.separator => {}
                Some(_) => return Some(fields),
                None => {
                    self.at = end;
                    return Some(fields);
                }
            }
        }
    }

    /// The content of the quoted field that begins here, and its end.
    fn quoted(&self) -> (Cow<'a, str>, usize) {
        let bytes = self.text.as_bytes();
        let begin = self.at + 1;
        let Some(after) = close(bytes, begin) else {
            let open = &self.text[begin..];
            return (unescaped(open), bytes.len());
        };
        let content = unescaped(&self.text[begin..after - 1]);
        let rest = &bytes[after..];
        let end = memchr3(self.separator, b'\n', b'\r', rest).unwrap_or(rest.len());
        match end {
            0 => (content, after),
            _ => {
                let more = &self.text[after..after + end];
                (Cow::Owned(format!("{content}{more}")), after + end)
            }
        }
    }
}

fn unescaped(content: &str) -> Cow<'_, str> {
    match memchr(QUOTE, content.as_bytes()) {
        None => Cow::Borrowed(content),
        Some(_) => Cow::Owned(content.replace("\"\"", "\"")),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn records(text: &str) -> Vec<Vec<String>> {
        let mut records = Records::new(text, b',');
        let mut all = Vec::new();
        loop {
            let mut fields = Vec::new();
            if records
                .next(|_, field| fields.push(field.into_owned()))
                .is_none()
            {
                return all;
            }
            all.push(fields);
        }
    }

    #[test]
    fn quotes_keep_spaces() {
        let text = "  a ,\" b \",\" \"\"c \" , \"d\" \n\" \",\t,  \n";
        let expected = [["a", " b ", " \"c  ", "\"d\""].as_slice(), &[" ", "", ""]];
        assert_eq!(records(text), expected);
    }

    proptest! {
        /// Records are those of the `csv` library, whole and in pieces.
        #[test]
        fn pieces_have_the_records_of_the_whole(text in "[ab,\"\n\ré]{0,40}", step in 1_usize..12) {
            let mut reader = ::csv::ReaderBuilder::new()
                .has_headers(false)
                .flexible(true)
                .from_reader(text.as_bytes());
            let expected: Vec<Vec<String>> = reader
                .records()
                .map(|record| record.unwrap().iter().map(str::to_owned).collect())
                .collect();
            prop_assert_eq!(&records(&text), &expected);
            let bytes = text.as_bytes();
            let ends = boundaries(bytes, b',', step, true);
            let pieces = ends.windows(2).flat_map(|piece| records(&text[piece[0]..piece[1]]));
            prop_assert_eq!(&pieces.collect::<Vec<_>>(), &expected);
            // What has come so far, and the rest with what has not.
            for cut in (0..=text.len()).filter(|cut| text.is_char_boundary(*cut)) {
                let complete = boundaries(&bytes[..cut], b',', step, false);
                let end = complete.last().copied().unwrap_or(0);
                let mut both = records(&text[..end]);
                both.extend(records(&text[end..]));
                prop_assert_eq!(&both, &expected);
            }
        }
    }
}
