//! What files hold: round trips, tolerated oddities, and refusals.

use super::*;

#[test]
fn csv_cells_are_read_as_the_language_says() {
    let plain = |text: &str| parse(text, |_| {}).unwrap();
    assert_eq!(plain("1,2\n3,4\n"), [[1.0, 2.0], [3.0, 4.0]]);
    assert_eq!(plain("1, 2 \r\n\n3,-4e2"), [[1.0, 2.0], [3.0, -400.0]]);
    assert_eq!(plain("1,,3\n,,\n"), [[1.0, 0.0, 3.0], [0.0; 3]]);
    assert_eq!(
        plain("Infinity,-Infinity\n"),
        [[f64::INFINITY, f64::NEG_INFINITY]]
    );
    assert!(plain("NaN\n")[0][0].is_nan());
    for text in ["inf,-inf\n", "INF,-Inf\n", "+infinity,-INFINITY\n"] {
        assert_eq!(plain(text), [[f64::INFINITY, f64::NEG_INFINITY]]);
    }
    for text in ["nan", "NAN", "-nan", "+NaN"] {
        assert_eq!(plain(text)[0][0].to_bits(), f64::NAN.to_bits(), "{text}");
    }
    // Of one column a blank line is a row.
    assert_eq!(plain("1\n\n   \n2\n"), [[1.0], [0.0], [0.0], [2.0]]);
    assert_eq!(plain("1\r\n\r\n3\r\n"), [[1.0], [0.0], [3.0]]);
    assert_eq!(plain("\n1\n"), [[0.0], [1.0]]);
    assert_eq!(plain("\n\n"), Vec::<Vec<f64>>::new());
    let long = parse("1::2\n3::4", |options| options.separator = "::".into());
    assert_eq!(long.unwrap(), [[1.0, 2.0], [3.0, 4.0]]);
    let tabs = parse("1\t\t3", |options| {
        options.separator = "\t".into();
        options.default = 7.0;
    });
    assert_eq!(tabs.unwrap(), [[1.0, 7.0, 3.0]]);
    let missing = parse("1,NA\n", |options| options.na_strings = vec!["NA".into()]);
    assert!(missing.unwrap()[0][1].is_nan());
}

#[test]
fn csv_refusals_name_the_place() {
    let refusal = |text: &str, change: &dyn Fn(&mut CsvOptions)| {
        let error = parse(text, change).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Data, "{error}");
        error.message().to_owned()
    };
    let refusals = [
        refusal("1,2\n3,x\n", &|_| {}),
        refusal("1,2\n\"3\",4\n", &|_| {}),
        refusal("1,2\n\n3,4,5\n", &|_| {}),
        refusal("1,2\n3\n", &|_| {}),
        refusal("1,NA\n", &|_| {}),
        refusal("1,\n", &|options| options.fill = false),
        refusal("1;;2\n1;2\n", &|options| options.separator = ";;".into()),
        refusal("1,2\n", &|options| options.cols = Some(3)),
        refusal("1,\u{e4}\n", &|_| {}),
    ];
    insta::assert_snapshot!(refusals.join("\n"));
    assert_eq!(
        parse("1", |options| options.separator = String::new())
            .unwrap_err()
            .kind(),
        ErrorKind::Argument
    );
}

/// Long enough for several chunks, so that rows are counted across them.
#[test]
fn long_files_are_parsed_in_pieces() {
    let mut text = String::new();
    for row in 0..150_000 {
        text.push_str(&format!("{row},{}.5,0\n", row % 977));
    }
    let read = csv::parse_lines(text.as_bytes(), &CsvOptions::default(), 0).unwrap();
    let matrix = read.matrix;
    assert_eq!((matrix.rows(), matrix.cols()), (150_000, 3));
    assert_eq!(
        (matrix.get(149_999, 0), matrix.get(149_999, 1)),
        (149_999.0, 518.5)
    );
    text.push_str("1,2,oops\n");
    let error = csv::parse_lines(text.as_bytes(), &CsvOptions::default(), 10).unwrap_err();
    assert_eq!(
        error.message(),
        "row 150011, column 3: 'oops' is not a number"
    );
}

/// Lines that end with a carriage return alone are not counted at first, and rows without a line leave gaps between pieces.
#[test]
fn pieces_with_blank_lines_and_odd_line_ends_fit_together() {
    const ROWS: usize = 120_000;
    for end in ["\n", "\r\n", "\r", "\n\n", "\n \r\n\n"] {
        let text: String = (0..ROWS)
            .map(|row| format!("{row}.25,,{}{end}", row % 7))
            .collect();
        let read = csv::parse_lines(text.as_bytes(), &CsvOptions::default(), 0).unwrap();
        let dense = read.matrix.to_dense().unwrap();
        assert_eq!((dense.rows(), dense.cols()), (ROWS, 3), "{end:?}");
        for row in 0..ROWS {
            let expected = [row as f64 + 0.25, 0.0, (row % 7) as f64];
            assert_eq!(dense.row(row), expected, "{end:?}");
        }
        assert_eq!((read.nnz, read.empty_cells), (read.matrix.nnz(), ROWS));
        let error = csv::parse_lines(format!("{text}1,2").as_bytes(), &CsvOptions::default(), 0);
        let message = error.unwrap_err().message().to_owned();
        assert_eq!(message, format!("row {} has 2 cells, not 3", ROWS + 1));
    }
}

#[test]
fn metadata_are_read_leniently_and_completed() {
    let parsed = Metadata::parse(
        r#"{"data_type": "matrix", "rows": "12", "cols": 3, "nnz": -1, "format": "CSV",
            "header": "true", "sep": ";", "na.strings": ["NA", ""], "default": 1,
            "description": {"author": "x"}, "something": [1]}"#,
    )
    .unwrap();
    insta::assert_debug_snapshot!(parsed);
    for bad in [
        "[1]",
        "{",
        r#"{"rows": 1.5}"#,
        r#"{"rows": -2}"#,
        r#"{"format": "xml"}"#,
        r#"{"header": 3}"#,
    ] {
        assert_eq!(
            Metadata::parse(bad).unwrap_err().kind(),
            ErrorKind::Data,
            "{bad}"
        );
    }
    let call = Metadata {
        rows: Some(3),
        ..Metadata::default()
    };
    assert_eq!(
        call.or(parsed.clone()).unwrap_err().kind(),
        ErrorKind::Argument
    );
    assert_eq!(Metadata::parse(&parsed.to_json()).unwrap(), parsed);
}

#[test]
fn formats_are_resolved() {
    let folder = Folder::new();
    let nameless = folder.put("a", "1,2\n3,4\n");
    assert_eq!(
        read(&nameless, &Metadata::default()).unwrap_err().kind(),
        ErrorKind::Argument
    );
    let csv = folder.put("a.csv", "1,2\n3,4\n");
    for call in [Metadata::default(), of_format(FileFormat::Csv)] {
        assert_eq!(rows(&read_matrix(&csv, &call)), [[1.0, 2.0], [3.0, 4.0]]);
    }
    folder.put("a.csv.mtd", r#"{"format": "csv", "rows": 3, "cols": 2}"#);
    let shorter = read(&csv, &Metadata::default()).unwrap_err();
    assert_eq!(shorter.kind(), ErrorKind::Data);
    assert!(
        shorter
            .message()
            .ends_with("the file has 2 rows, its metadata promise 3"),
        "{shorter}"
    );
    let resolved = resolve(&format!("file:{csv}"), &Metadata::default()).unwrap();
    assert_eq!(
        (resolved.rows, resolved.format),
        (Some(3), Some(FileFormat::Csv))
    );
    folder.put("a.csv.mtd", r#"{"format": "csv", "rows": 1, "cols": 2}"#);
    assert_eq!(
        read(&csv, &Metadata::default()).unwrap_err().kind(),
        ErrorKind::Data
    );
    let missing = read(&folder.path("none"), &of_format(FileFormat::Csv)).unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::Io);
    assert!(missing.message().contains("none"), "{missing}");
    let text = folder.put("b", "1 1 5\n");
    assert_eq!(
        resolve(&text, &of_format(FileFormat::Text))
            .unwrap_err()
            .kind(),
        ErrorKind::Argument
    );
    let bad = folder.put("bad.csv", "1,2\n1,b\n");
    let error = read(&bad, &of_format(FileFormat::Csv)).unwrap_err();
    assert!(
        error
            .message()
            .ends_with("bad.csv: row 2, column 2: 'b' is not a number"),
        "{error}"
    );
}

#[test]
fn matrix_market_files() {
    let folder = Folder::new();
    let read_text = |text: &str| read(&folder.put("m.mtx", text), &Metadata::default());
    let cells = |text: &str| match read_text(text).unwrap() {
        Contents::Matrix(matrix) => rows(&matrix),
        other => panic!("no matrix: {other:?}"),
    };
    let of = |kind: &str, body: &str| format!("%%MatrixMarket matrix {kind}\n{body}");
    assert_eq!(
        cells(&of(
            "coordinate real general",
            "% note\n  % indented\n\n2 3 2\n\t% here too\n2 3 1.5\n1 1 -2\n"
        )),
        [[-2.0, 0.0, 0.0], [0.0, 0.0, 1.5]]
    );
    assert_eq!(
        cells(&of("coordinate pattern symmetric", "2 2 2\n1 1\n2 1\n")),
        [[1.0, 1.0], [1.0, 0.0]]
    );
    assert_eq!(
        cells(&of("coordinate integer skew-symmetric", "2 2 1\n2 1 3\n")),
        [[0.0, -3.0], [3.0, 0.0]]
    );
    assert_eq!(
        cells(&of("array real general", "2 3\n1\n2\n3\n4\n5\n6\n")),
        [[1.0, 3.0, 5.0], [2.0, 4.0, 6.0]]
    );
    assert_eq!(
        cells(&of("array real symmetric", "3 3\n1\n2\n3\n4\n5\n6\n")),
        [[1.0, 2.0, 3.0], [2.0, 4.0, 5.0], [3.0, 5.0, 6.0]]
    );
    assert_eq!(
        cells(&of("array real skew-symmetric", "3 3\n1\n2\n3\n")),
        [[0.0, -1.0, -2.0], [1.0, 0.0, -3.0], [2.0, 3.0, 0.0]]
    );
    let refusal = |kind: &str, body: &str| {
        let error = read_text(&of(kind, body)).unwrap_err();
        let message = error.message().rsplit_once("m.mtx: ").unwrap().1;
        format!("{}: {message}", error.kind())
    };
    let refusals = [
        refusal("coordinate real general", ""),
        refusal("coordinate real general", "2 2\n"),
        refusal("coordinate real general", "2 2 1\n3 1 1\n"),
        refusal("coordinate real general", "2 2 1\n0 1 1\n"),
        refusal("coordinate real general", "2 2 2\n1 1 1\n"),
        refusal("coordinate real general", "2 2 1\n1 1 x\n"),
        refusal(
            "coordinate real general",
            "% a\n2 2 3\n1 1 1\n2 2 1\n1 1 4\n",
        ),
        refusal("coordinate real symmetric", "2 2 2\n2 1 1\n1 2 1\n"),
        refusal("coordinate real symmetric", "2 3 1\n2 1 1\n"),
        refusal("coordinate real skew-symmetric", "2 2 1\n2 2 1\n"),
        refusal("coordinate complex general", "1 1 1\n1 1 1 1\n"),
        refusal("coordinate real hermitian", "1 1 1\n1 1 1\n"),
        refusal("array pattern general", "1 1\n"),
        refusal("array real general", "1 1 1\n1\n"),
        refusal("array real general", "2 1\n1\n"),
        refusal("array real general", "2 1\n1\nx\n"),
        refusal("vector real general", "1 1\n"),
        refusal(
            "coordinate real general",
            "2 2 18446744073709551615\n1 1 1\n",
        ),
        refusal(
            "coordinate real general",
            "9223372036854775808 1 1\n1 1 1\n",
        ),
        refusal(
            "array real general",
            "9223372036854775807 9223372036854775807\n1\n",
        ),
        refusal("coordinate real general", "2 2 1\n1 1 \u{1b}[2J\n"),
    ];
    insta::assert_snapshot!(refusals.join("\n"));
}

#[test]
fn a_cell_that_stands_twice_is_an_error_that_names_both_lines() {
    let folder = Folder::new();
    let call = Metadata {
        rows: Some(3),
        cols: Some(3),
        ..of_format(FileFormat::Text)
    };
    let error = read(&folder.put("x", "1 1 5\n\n2 3 1\n3 3 1\n2 3 0\n"), &call).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Data);
    assert!(
        error
            .message()
            .ends_with("x: line 5: cell (2, 3) stands in line 3, too"),
        "{error}"
    );
}

#[test]
fn labels_of_libsvm_files_are_the_last_column() {
    let folder = Folder::new();
    let parse = |text: &str, cols: Option<u64>| {
        let call = Metadata {
            cols,
            ..of_format(FileFormat::Libsvm)
        };
        read(&folder.put("x.svm", text), &call)
    };
    let cells = |text: &str, cols| match parse(text, cols).unwrap() {
        Contents::Matrix(matrix) => rows(&matrix),
        other => panic!("no matrix: {other:?}"),
    };
    let text = "# a comment\n-1 1:0.5 3:2 # another\n\n+1\n0 2:1e1 4:0\r\n";
    let expected = [
        [0.5, 0.0, 2.0, 0.0, -1.0],
        [0.0, 0.0, 0.0, 0.0, 1.0],
        [0.0, 10.0, 0.0, 0.0, 0.0],
    ];
    assert_eq!(cells(text, None), expected);
    assert_eq!(cells(text, Some(5)), expected);
    assert_eq!(cells("1 1:2\n", Some(4)), [[2.0, 0.0, 0.0, 1.0]]);
    // A blank may follow a colon; rankings name the query of a row.
    let text = "1 qid:3 1: 2 3:4\n2 qid: 4 2:\t1\n";
    assert_eq!(
        cells(text, None),
        [[2.0, 0.0, 4.0, 1.0], [0.0, 1.0, 0.0, 2.0]]
    );
    let refusal = |text: &str, cols| {
        let error = parse(text, cols).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Data, "{error}");
        error.message().rsplit_once("x.svm: ").unwrap().1.to_owned()
    };
    let refusals = [
        refusal("1 1:2\nx 1:2\n", None),
        refusal("1 1:2\n1 quid:3 1:2\n", None),
        refusal("1 1:\n", None),
        refusal("1 1\n", None),
        refusal("1 0:1\n", None),
        refusal("1 2:1 1:1\n", None),
        refusal("1 1:1 1:1\n", None),
        refusal("1 1:1 4:0\n", Some(4)),
        refusal("1\n", Some(0)),
    ];
    insta::assert_snapshot!(refusals.join("\n"));
}

/// Long enough for several chunks.
#[test]
fn lines_are_counted_across_chunks() {
    let folder = Folder::new();
    let mut text: String = (0..200_000)
        .map(|row| format!("{} {}:1.5\n", row % 3, row % 7 + 1))
        .collect();
    let matrix = read_matrix(&folder.put("x", &text), &of_format(FileFormat::Libsvm));
    assert_eq!((matrix.rows(), matrix.cols()), (200_000, 8));
    assert_eq!((matrix.get(199_999, 2), matrix.get(199_999, 7)), (1.5, 1.0));
    text.push_str("1 1:oops\n");
    let error = read(&folder.put("x", &text), &of_format(FileFormat::Libsvm)).unwrap_err();
    assert!(
        error
            .message()
            .ends_with("line 200001: '1:oops' is not 'index:value'"),
        "{error}"
    );
}

#[cfg(unix)]
#[cfg(target_os = "linux")]
#[test]
fn parquet_files_are_for_spark() {
    let folder = Folder::new();
    let file = folder.put("x", "PAR1");
    let resolved = resolve(&file, &Metadata::default()).unwrap();
    assert_eq!(resolved.format, Some(FileFormat::Parquet));
    let error = read(&file, &Metadata::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    let matrix = MatrixBlock::filled(1, 1, 1.0).unwrap();
    let options = WriteOptions::new(FileFormat::Parquet);
    let error = write(&matrix, &folder.path("y"), &options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert_eq!(folder.names(), ["x"]);
}

/// The same as a reader that looks at one line and one word after the other: rows, or what is wrong with the first bad one.
fn read_by_words(text: &str, separator: &str) -> Result<Vec<Vec<u64>>, String> {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let lines = text.split('\n').map(|line| line.split(separator).collect());
    let is_blank = |cells: &Vec<&str>| cells.len() == 1 && cells[0].trim_ascii().is_empty();
    let lines: Vec<Vec<&str>> = lines.filter(|cells| !is_blank(cells)).collect();
    let cols = lines.first().map_or(0, Vec::len);
    let mut rows = Vec::new();
    for (at, cells) in (1..).zip(lines) {
        if cells.len() != cols {
            return Err(format!("row {at} has {} cells, not {cols}", cells.len()));
        }
        let cell = |(col, text): (usize, &str)| match text.trim_ascii() {
            "" => Ok(7f64.to_bits()),
            "NA" => Ok(f64::NAN.to_bits()),
            text => text
                .parse()
                .map(f64::to_bits)
                .map_err(|_| format!("row {at}, column {col}: '{text}' is not a number")),
        };
        rows.push((1..).zip(cells).map(cell).collect::<Result<_, _>>()?);
    }
    Ok(rows)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn csv_rows_are_what_lines_and_words_say(
        lines in prop::collection::vec((prop::collection::vec(csv_cell(), 2..=3), csv_end()), 0..12),
        separator in prop_oneof![Just(","), Just("\t"), Just(";"), Just("::"), Just("e"), Just(" ")],
    ) {
        let width = lines.first().map_or(0, |(cells, _)| cells.len());
        let mut text = String::new();
        for (at, (cells, end)) in lines.iter().enumerate() {
            // Most texts have rows of one length.
            let cells: Vec<&str> = cells.iter().map(String::as_str).cycle().take(match at % 8 {
                7 => cells.len(),
                _ => width,
            }).collect();
            text += &(cells.join(separator) + end);
        }
        let found = parse(&text, |options| {
            options.separator = separator.into();
            options.default = 7.0;
            options.na_strings = vec!["NA".into()];
        });
        let found = found.map_err(|error| error.message().to_owned());
        let found = found.map(|rows| {
            let bits = |row: Vec<f64>| row.into_iter().map(f64::to_bits).collect::<Vec<_>>();
            rows.into_iter().map(bits).collect::<Vec<_>>()
        });
        prop_assert_eq!(found, read_by_words(&text, separator), "{:?}", text);
    }
}

fn csv_cell() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => any::<f64>().prop_filter("NaN has one form", |value| !value.is_nan()).prop_map(|value| value.to_string()),
        8 => (-1000i32..1000).prop_map(|value| value.to_string()),
        2 => Just(String::new()),
        2 => Just(" 12.5 ".to_owned()),
        1 => Just("NA".to_owned()),
        1 => Just("+.5".to_owned()),
        1 => Just("1e".to_owned()),
    ]
}

fn csv_end() -> impl Strategy<Value = &'static str> {
    prop_oneof![8 => Just("\n"), 2 => Just("\r\n"), 1 => Just("\r"), 1 => Just("\n\n"), 1 => Just("\n \n")]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn every_format_round_trips(rows in 1usize..30, cols in 1usize..30, seed: u64, zeros in 0u64..=10) {
        let folder = Folder::new();
        let mut state = seed;
        let matrix: MatrixBlock = DenseMatrix::from_fn(rows, cols, |_, _| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            if (state >> 33) % 10 < zeros {
                0.0
            } else {
                let value = f64::from_bits(state);
                if value.is_finite() { value } else { f64::INFINITY }
            }
        }).unwrap().into();
        for format in [FileFormat::Csv, FileFormat::Text, FileFormat::MatrixMarket, FileFormat::Libsvm, FileFormat::Binary] {
            for matrix in [matrix.clone(), matrix.to_csr().unwrap().into()] {
                let path = folder.path(format.code());
                write(&matrix, &path, &WriteOptions::new(format)).unwrap();
                let back = read_matrix(&path, &Metadata::default());
                prop_assert_eq!(back.to_dense().unwrap(), matrix.to_dense().unwrap());
            }
        }
    }
}
