//! What messages may say: no control characters, which a terminal would obey, and no credentials.

use std::borrow::Cow;

/// A text without control characters, but for line feeds and tabs, and without credentials.
pub(crate) fn clean(text: String) -> String {
    let may_have_credentials = text.contains(":/") || text.contains('=');
    let text = match may_have_credentials {
        true => without_credentials(&text),
        false => text,
    };
    match printable(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(printable) => printable,
    }
}

/// Control characters, but for line feeds and tabs, and those that turn the direction of writing, as escapes.
///
/// ```
/// assert_eq!(fulgurite_error::printable("a\u{1b}[2Jb"), r"a\u{1b}[2Jb");
/// ```
pub fn printable(text: &str) -> Cow<'_, str> {
    let is_hidden = |c: char| {
        (c.is_control() && c != '\n' && c != '\t')
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match is_hidden(c) {
            true => shown.extend(c.escape_default()),
            false => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

/// A text in which the credentials of URIs (`user:secret@`, the values after `?`) and of settings (`fs.s3a.secret.key=...`) are `***`.
///
/// ```
/// let uri = "s3a://key:secret@bucket/X.csv?token=abc";
/// assert_eq!(fulgurite_error::without_credentials(uri), "s3a://***@bucket/X.csv?token=***");
/// ```
pub fn without_credentials(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(is_end).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        match uri_start(word) {
            Some(start) => {
                shown.push_str(&word[..start]);
                push_uri(&mut shown, &word[start..]);
            }
            None => push_setting(&mut shown, word),
        }
        let between = after.find(|c| !is_end(c)).unwrap_or(after.len());
        shown.push_str(&after[..between]);
        rest = &after[between..];
    }
    shown
}

/// What ends a URI in a sentence.
fn is_end(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\'' | '"' | '`' | '<' | '>' | ',' | ')' | ']' | '}')
}

/// Where the rest of a URI begins, behind its scheme and `:`.
fn uri_start(word: &str) -> Option<usize> {
    word.match_indices(":/").map(|(at, _)| at + 1).find(|at| {
        let before = &word[..at - 1];
        before.ends_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    })
}

/// A URI from its `/` or `//` on.
fn push_uri(shown: &mut String, uri: &str) {
    let (path, query) = match uri.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (uri, None),
    };
    match path.strip_prefix("//") {
        Some(place) => {
            shown.push_str("//");
            match user_end(place) {
                Some(end) => {
                    shown.push_str("***");
                    shown.push_str(&place[end..]);
                }
                None => shown.push_str(place),
            }
        }
        None => shown.push_str(path),
    }
    let Some(mut rest) = query else { return };
    shown.push('?');
    loop {
        let end = rest.find(['&', ';']).unwrap_or(rest.len());
        if let Some((key, _)) = rest[..end].split_once('=') {
            shown.push_str(key);
            shown.push('=');
        }
        shown.push_str("***");
        if end == rest.len() {
            return;
        }
        // A separator has one byte.
        shown.push_str(&rest[end..=end]);
        rest = &rest[end + 1..];
    }
}

/// Where the `@` stands that ends a user and password; these may hold a `/`.
fn user_end(place: &str) -> Option<usize> {
    let host = &place[..place.find('/').unwrap_or(place.len())];
    if let Some(end) = host.rfind('@') {
        return Some(end);
    }
    let (_, after) = host.split_once(':')?;
    let is_port = after.bytes().all(|byte| byte.is_ascii_digit());
    (!is_port).then(|| place.find('@')).flatten()
}

fn push_setting(shown: &mut String, word: &str) {
    const SECRETS: [&str; 6] = [
        "secret",
        "password",
        "passwd",
        "token",
        "access.key",
        "credential",
    ];
    let is_secret = |name: &str| {
        let name = name.to_ascii_lowercase();
        SECRETS.iter().any(|secret| name.contains(secret))
    };
    match word.split_once('=') {
        // Not `==`, and not the names of arguments without a value.
        Some((name, value)) if !value.is_empty() && !value.starts_with('=') && is_secret(name) => {
            shown.push_str(name);
            shown.push_str("=***");
        }
        _ => shown.push_str(word),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;

    #[test]
    fn credentials_are_not_shown() {
        let cases = [
            (
                "cannot read s3a://KEY:SEC/RET@bucket/x: no",
                "cannot read s3a://***@bucket/x: no",
            ),
            ("'hdfs://host:9000/a@b?x'", "'hdfs://host:9000/a@b?***'"),
            (
                "https://u@h/x?a=1&sig=2;t=3 gone",
                "https://***@h/x?a=***&sig=***;t=*** gone",
            ),
            ("(abfs://c@acc.dfs/x)", "(abfs://***@acc.dfs/x)"),
            (
                "fs.s3a.secret.key=abc fs.s3a.access.key=k",
                "fs.s3a.secret.key=*** fs.s3a.access.key=***",
            ),
            // What follows a query without a blank is taken for it.
            (
                "file:/tmp/a.csv?token=1: gone",
                "file:/tmp/a.csv?token=*** gone",
            ),
            ("a == b, x=1, c:/d e://f", "a == b, x=1, c:/d e://f"),
            ("data/part-?.csv sep=\"?\"", "data/part-?.csv sep=\"?\""),
        ];
        for (text, shown) in cases {
            assert_eq!(without_credentials(text), shown);
        }
    }

    #[test]
    fn messages_do_not_control_terminals() {
        let error = Error::data("a\u{1b}]0;x\u{7}\r\nb\tc\u{202e}").with_help("\u{8}");
        assert_eq!(error.message(), "a\\u{1b}]0;x\\u{7}\\r\nb\tc\\u{202e}");
        assert_eq!(error.help(), Some("\\u{8}"));
        let error = Error::io("'s3a://k:s@b/x' is not there").with_help("see https://k:s@h/?t=1");
        assert_eq!(error.message(), "'s3a://***@b/x' is not there");
        assert_eq!(error.help(), Some("see https://***@h/?t=***"));
    }
}
