//! Texts as tokens. The rows are those of SystemDS 3.4, but where a token occurs within the one before it.

use fulgurite_error::ErrorKind;
use fulgurite_frame::{
    Cell, Column, ColumnType, Frame,
    tokenize::{Spec, tokenize},
};
use proptest::prelude::*;

fn texts(rows: &[(i64, Option<&str>)]) -> Frame {
    let ids = rows.iter().map(|(id, _)| Some(Cell::Int(*id)));
    let ids = Column::of_cells(ColumnType::Int64, "id", ids).unwrap();
    let texts = rows.iter().map(|(_, text)| text.map(Cell::Text));
    let texts = Column::of_cells(ColumnType::String, "text", texts).unwrap();
    Frame::new(vec![ids, texts], None).unwrap()
}

fn said() -> Frame {
    texts(&[
        (1, Some("hello world the cat the dog")),
        (2, Some("a, b. c! the the")),
        (3, None),
        (4, Some("Hello hello HELLO world-wide it's café")),
        (5, Some("  leading   double  spaces ")),
        (6, Some("")),
    ])
}

/// Each row as text, in order.
fn lines(frame: &Frame) -> Vec<String> {
    let row = |row: usize| {
        let cells = (0..frame.cols()).map(|col| {
            let cell = frame.cell(row, col);
            cell.map_or("null".into(), |cell| cell.text().into_owned())
        });
        cells.collect::<Vec<_>>().join(" ")
    };
    (0..frame.rows()).map(row).collect()
}

fn tokens(frame: &Frame, keys: &str, most: usize) -> Vec<String> {
    let spec = format!("{{{keys}, id_cols: [1], tokenize_col: 2}}");
    let spec = Spec::parse(&spec).unwrap_or_else(|error| panic!("{spec}: {error}"));
    lines(&tokenize(frame, &spec, most).unwrap())
}

#[test]
fn positions_begin_at_one_and_the_first_tokens_are_kept() {
    assert_eq!(
        tokens(
            &said(),
            r#""algo": "split", "out": "position", "out_params": {"sort_alpha": false}"#,
            4
        ),
        [
            "1 1 hello",
            "1 7 world",
            "1 13 the",
            "1 17 cat",
            "2 1 a,",
            "2 4 b.",
            "2 7 c!",
            "2 10 the",
            "4 1 Hello",
            "4 7 hello",
            "4 13 HELLO",
            "4 19 world-wide",
            "5 3 leading",
            "5 13 double",
            "5 21 spaces",
        ]
    );
    let frame = tokenize(
        &said(),
        &Spec::parse("{algo: split, out: position, id_cols: [1], tokenize_col: 2}").unwrap(),
        4,
    );
    assert_eq!(
        frame.unwrap().schema(),
        [ColumnType::String, ColumnType::Int64, ColumnType::String]
    );
}

/// Of those that occur equally often, the order of Java's hash map decides.
#[test]
fn the_most_frequent_are_kept() {
    assert_eq!(
        tokens(&said(), "algo: split, out: count", 4),
        [
            "1 the 2",
            "1 world 1",
            "1 cat 1",
            "1 hello 1",
            "2 the 2",
            "2 a, 1",
            "2 b. 1",
            "2 c! 1",
            "4 world-wide 1",
            "4 Hello 1",
            "4 HELLO 1",
            "4 it's 1",
            "5 leading 1",
            "5 double 1",
            "5 spaces 1",
        ]
    );
    assert_eq!(
        tokens(
            &said(),
            "algo: split, out: count, out_params: {sort_alpha: true}",
            4
        ),
        [
            "1 cat 1",
            "1 dog 1",
            "1 hello 1",
            "1 the 2",
            "2 a, 1",
            "2 b. 1",
            "2 c! 1",
            "2 the 2",
            "4 HELLO 1",
            "4 Hello 1",
            "4 café 1",
            "4 hello 1",
            "5 double 1",
            "5 leading 1",
            "5 spaces 1",
        ]
    );
}

#[test]
fn hashes_below_zero_have_buckets() {
    let frame = texts(&[
        (1, Some("polygenelubricants abc zz yy xx ww vv uu")),
        (
            2,
            Some("GydZG_ b aaaaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbb c d e"),
        ),
    ]);
    let keys = "algo: split, out: hash, out_params: {num_features: 7}";
    assert_eq!(
        tokens(&frame, keys, 100),
        [
            "1 1 1", "1 2 1", "1 4 1", "1 5 1", "1 6 2", "1 7 2", "2 1 2", "2 2 1", "2 3 1",
            "2 4 1", "2 6 1", "2 7 1"
        ]
    );
    assert_eq!(
        tokens(&frame, keys, 2),
        ["1 1 1", "1 2 1", "2 1 2", "2 2 1"]
    );
    let wide = format!("{keys}, format_wide: true");
    assert_eq!(
        tokens(&frame, &wide, 9),
        ["1 1 1 0 1 1 2 2 0 0", "2 2 1 1 1 0 1 1 0 0"]
    );
    assert_eq!(tokens(&frame, &wide, 3), ["1 1 1 0", "2 2 1 1"]);
    assert_eq!(
        tokens(
            &texts(&[(1, Some("hello the"))]),
            "algo: split, out: hash",
            9
        ),
        ["1 114802 1", "1 596179 1"]
    );
}

#[test]
fn a_text_without_tokens_has_a_row_in_the_wide_format_alone() {
    let frame = texts(&[(1, Some("a b c")), (2, None), (3, Some(" "))]);
    let wide = "algo: split, out: position, format_wide: true";
    assert_eq!(
        tokens(&frame, wide, 2),
        ["1 a b", "2 null null", "3 null null"]
    );
    assert_eq!(
        tokens(&frame, "algo: split, out: hash, format_wide: true", 2),
        ["1 0 0", "2 0 0", "3 0 0"]
    );
    assert_eq!(tokens(&frame, "algo: split, out: count", 1), ["1 a 1"]);
    assert_eq!(tokens(&frame, wide, 0), ["1", "2", "3"]);
    for keys in [wide, "algo: split, out: hash", "algo: ngram, out: count"] {
        assert!(tokens(&texts(&[]), keys, 2).is_empty());
    }
}

#[test]
fn sequences_of_words() {
    let keys = "algo: ngram, algo_params: {min_gram: 2, max_gram: 3}";
    let row = texts(&[(1, Some("hello world the cat the dog")), (2, Some("alone"))]);
    assert_eq!(
        tokens(&row, &format!("{keys}, out: position"), 7),
        [
            r#"1 1 "('hello', 'world')""#,
            r#"1 7 "('world', 'the')""#,
            r#"1 13 "('the', 'cat')""#,
            r#"1 17 "('cat', 'the')""#,
            r#"1 21 "('the', 'dog')""#,
            r#"1 1 "('hello', 'world', 'the')""#,
            r#"1 7 "('world', 'the', 'cat')""#,
        ]
    );
    assert_eq!(
        tokens(&row, &format!("{keys}, out: count"), 5),
        [
            r#"1 "('hello', 'world')" 1"#,
            r#"1 "('the', 'dog')" 1"#,
            r#"1 "('hello', 'world', 'the')" 1"#,
            r#"1 "('world', 'the', 'cat')" 1"#,
            r#"1 "('cat', 'the', 'dog')" 1"#,
        ]
    );
    assert_eq!(
        tokens(&texts(&[(1, Some("a b"))]), "algo: ngram, out: position", 9),
        ["1 1 a", "1 3 b", r#"1 1 "('a', 'b')""#]
    );
}

#[test]
fn positions_count_units_and_only_ascii_is_white_space() {
    let frame = texts(&[
        (2, Some("😀 x é y")),
        (3, Some("a b\u{3000}c")),
        (4, Some("\"q\" 'r'\t\n s")),
        (5, Some("yabab bab")),
    ]);
    assert_eq!(
        tokens(&frame, "algo: split, out: position", 9),
        [
            "2 1 😀",
            "2 4 x",
            "2 6 é",
            "2 8 y",
            "3 1 a",
            "3 3 b\u{3000}c",
            "4 1 \"q\"",
            "4 5 'r'",
            "4 11 s",
            "5 1 yabab",
            "5 7 bab",
        ]
    );
    let keys = r#"algo: split, algo_params: {regex: "[l,]+"}, out: position"#;
    assert_eq!(
        tokens(&texts(&[(1, Some("llhello world,"))]), keys, 9),
        ["1 3 he", "1 7 o wor", "1 13 d"]
    );
}

#[test]
fn ids_may_be_many_or_none() {
    let frame = texts(&[(7, Some("a b"))]);
    let both = "{algo: split, out: position, id_cols: [2, 1], tokenize_col: 2}";
    let both = tokenize(&frame, &Spec::parse(both).unwrap(), 1).unwrap();
    assert_eq!(lines(&both), ["a b 7 1 a"]);
    let none = "{algo: split, out: count, id_cols: [], tokenize_col: 1}";
    let none = tokenize(&frame, &Spec::parse(none).unwrap(), 1).unwrap();
    assert_eq!(lines(&none), ["7 1"]);
}

#[test]
fn errors_name_the_path() {
    for (keys, message) in [
        ("out: count", "$.algo: split or ngram, not null"),
        ("algo: split", "$.out: count, position or hash, not null"),
        (
            "algo: split, out: count, format_wide: true",
            "$.format_wide: counts of tokens have no wide format",
        ),
        (
            "algo: split, out: hash, out_params: {num_features: 0}",
            "$.out_params.num_features: a number of 1 or more, not 0",
        ),
        (
            "algo: ngram, algo_params: {min_gram: 3}, out: hash",
            "$.algo_params.min_gram: 3 is above max_gram, 2",
        ),
        (
            "algo: split, algo_params: {min_gram: 3}, out: hash",
            "$.algo_params.min_gram: there is no key 'min_gram' here",
        ),
        (
            "algo: split, out: hash, outparams: 1",
            "$.outparams: there is no key 'outparams' here",
        ),
    ] {
        let error = Spec::parse(&format!("{{{keys}, id_cols: [1], tokenize_col: 2}}")).unwrap_err();
        assert_eq!((error.kind(), error.message()), (ErrorKind::Data, message));
    }
    for (spec, message) in [
        (
            "id_cols: 1, tokenize_col: 2",
            "$.id_cols: a list of numbers of columns, not 1",
        ),
        (
            "id_cols: [a], tokenize_col: 2",
            "$.id_cols[0]: a number of 1 or more, not \"a\"",
        ),
        (
            "id_cols: [1]",
            "$.tokenize_col: a number of 1 or more, not null",
        ),
        (
            "id_cols: [1, 3], tokenize_col: 2",
            "$.id_cols[1]: the frame has 2 columns, not 3",
        ),
        (
            "id_cols: [1], tokenize_col: 9",
            "$.tokenize_col: the frame has 2 columns, not 9",
        ),
    ] {
        let spec = Spec::parse(&format!("{{algo: split, out: hash, {spec}}}"));
        let error = spec
            .and_then(|spec| tokenize(&said(), &spec, 1))
            .unwrap_err();
        assert_eq!((error.kind(), error.message()), (ErrorKind::Data, message));
    }
    let spec =
        r#"{algo: split, algo_params: {regex: "(?=a)"}, out: hash, id_cols: [1], tokenize_col: 2}"#;
    let error = tokenize(&said(), &Spec::parse(spec).unwrap(), 1).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.message().starts_with("$.algo_params.regex: "));
}

#[test]
fn columns_beyond_memory_are_refused() {
    let spec = "{algo: split, out: hash, format_wide: true, id_cols: [1], tokenize_col: 2}";
    let error = tokenize(&said(), &Spec::parse(spec).unwrap(), usize::MAX).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Memory);
}

proptest! {
    /// Positions say where tokens are, and all tokens are counted.
    #[test]
    fn tokens_are_where_they_are_said_to_be(rows in proptest::collection::vec("[ab é😀]{0,12}", 0..6)) {
        let cells: Vec<_> = (0_i64..).zip(&rows).map(|(id, row)| (id, Some(row.as_str()))).collect();
        let frame = texts(&cells);
        let spec = |out: &str| Spec::parse(&format!("{{algo: split, out: {out}, id_cols: [1], tokenize_col: 2}}")).unwrap();
        let found = tokenize(&frame, &spec("position"), usize::MAX).unwrap();
        let words: usize = rows.iter().map(|row| row.split_ascii_whitespace().count()).sum();
        prop_assert_eq!(found.rows(), words);
        for row in 0..found.rows() {
            let [id, at, word] = [0, 1, 2].map(|col| found.cell(row, col).unwrap().text().into_owned());
            let units: Vec<u16> = rows[id.parse::<usize>().unwrap()].encode_utf16().collect();
            let word: Vec<u16> = word.encode_utf16().collect();
            prop_assert_eq!(&units[at.parse::<usize>().unwrap() - 1..][..word.len()], &word[..]);
        }
        for (out, col) in [("count", 2), ("hash", 2)] {
            let found = tokenize(&frame, &spec(out), usize::MAX).unwrap();
            let counts = (0..found.rows()).map(|row| found.cell(row, col).unwrap().number().unwrap() as usize);
            prop_assert_eq!(counts.sum::<usize>(), words);
        }
    }
}
