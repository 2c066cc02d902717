//! Functions of a whole frame. What they return is what SystemDS 3.4 wrote, for seasons of an odd number of rows and searches aside.

use fulgurite_error::ErrorKind;
use fulgurite_frame::{Cell, Column, ColumnType, Frame, map::Function};

fn column(cells: &[Option<&str>]) -> Frame {
    let cells = cells.iter().map(|text| text.map(Cell::Text));
    let column = Column::of_cells(ColumnType::String, "a", cells).unwrap();
    Frame::new(vec![column], None).unwrap()
}

fn numbers(numbers: &[f64]) -> Frame {
    let cells = numbers.iter().map(|number| Some(Cell::Fp64(*number)));
    let column = Column::of_cells(ColumnType::Fp64, "n", cells).unwrap();
    Frame::new(vec![column], None).unwrap()
}

/// The cells that are replaced, of a column of these words; `-` is a missing one.
fn replaced(words: &str, threshold: f64) -> Vec<String> {
    let words: Vec<_> = words.split('|').collect();
    let cells: Vec<_> = words
        .iter()
        .map(|word| Some(*word).filter(|word| *word != "-"))
        .collect();
    let function = format!("UtilFunctions.syntacticalPatternDiscovery({threshold},N, A)");
    let frame = Function::parse(&function)
        .unwrap()
        .apply(&column(&cells), 0)
        .unwrap();
    let found = words.iter().enumerate().filter(|(row, _)| {
        let found = frame.cell(*row, 0);
        let is_replaced = found == Some(Cell::Text("N, A"));
        assert!(is_replaced || found == cells[*row].map(Cell::Text));
        is_replaced
    });
    found.map(|(_, word)| (*word).to_owned()).collect()
}

#[test]
fn forms_become_coarser_until_one_is_dominant() {
    let nine = |word: &str, last: &str| format!("{}{last}", format!("{word}|").repeat(9));
    for (words, expected) in [
        // How many letters of which class.
        (nine("ab12", "cd34"), ""),
        (nine("ab12", "abc12"), "abc12"),
        (nine("Ab", "ab"), "ab"),
        (nine("é1", "e1"), ""),
        (nine("日1", "e1"), "e1"),
        (nine("a_", "a€"), ""),
        (nine("a b", "a\tb"), "a\tb"),
        (nine("+1", "-1"), "-1"),
        (nine("😀", "??"), ""),
        (nine("😀", "?"), "?"),
        // Which classes.
        ("a1|ab1|abc1|a12|ab12|abc123|a1|abcd1234|aaa1|A1".into(), "A1"),
        ("a b|aa bb|a b|abc d|a b|aa x|b b|c d|d g|a b c".into(), "a b c"),
        ("2019-01-02|2019-1-2|2019-01-02|2019-1-2|2019-01-02|2019-1-2|2019-01-02|2019-1-2|2020-10-10|20-1".into(), "20-1"),
        // Without the case.
        ("a1|Ab1|aBc1|A12|AB12|abC123|a1|abcd1234|aaa1|a1b".into(), "a1b"),
        ("a1|A1|ab1|AB1|a1|A1|b1|B1|C1|a1.5".into(), "a1.5"),
        ("ab1|AB1|ab1|AB1|ab1|AB1|b1|B1|C1|a b1".into(), "a b1"),
        // Without dots.
        ("1|1.5|22|33.25|4|5.5|60|7.75|-8|1.2.3".into(), "-8"),
        ("1|.5|2.|.5|1|.5|1|.5|3|x".into(), "x"),
        ("x1|x1.5|y2|y2.5|x1|x1.5|z1|z1.5|z2.5|x y1".into(), "x y1"),
        ("?.1|?1|?.1|?1|?.1|?1|?.1|?1|?.1|x".into(), "x"),
        ("?.?|??|?.?|??|?.?|??|?.?|??|?.?|x".into(), ""),
        // Without spaces.
        ("a b|aa bb|ab|abc|a b c|aa|b|c d|d|a1".into(), "a1"),
        ("1 ?|1?|1 ?|1?|1 ?|1?|1 ?|1?|1 ?|x".into(), "x"),
        ("a|a.b|a|a.b|a|a.b|a|a.b|a|1".into(), "1"),
        ("a|a.b|a|a.b|a|a.b|a|a.b|a|a b".into(), ""),
        ("12|1 2|12|1 2|12|1 2|1|1 2|1 2|x".into(), ""),
        // Nothing is dominant.
        ("a1|1a|a1a|12|ab|a1b2|A1|b2|3c|?".into(), ""),
        ("1|-1|2|-2|1|-1|2|-2|3|x".into(), ""),
    ] {
        assert_eq!(replaced(&words, 0.85).join("|"), expected, "{words}");
    }
}

#[test]
fn missing_cells_have_the_form_of_null() {
    assert_eq!(replaced("ABCDE|ABCDE|ABCDE|ABCDE|-", 0.7), ["-"]);
    assert!(replaced("ABCD|ABCD|ABCD|ABCD|-", 0.7).is_empty());
    assert_eq!(replaced("-|-|-|-|ab", 0.7), ["ab"]);
    assert_eq!(replaced("ab||ab|ab", 0.7), [""]);
}

#[test]
fn a_dominant_form_has_more_than_the_threshold() {
    let words = "ab12|ab12|ab12|ab12|zz";
    assert!(replaced(words, 0.8).is_empty());
    assert_eq!(replaced(words, 0.79), ["zz"]);
    assert!(replaced("a", 1.0).is_empty());
}

const SERIES: [f64; 17] = [
    1.0, 2.0, 3.0, 4.0, 7.0, 5.0, 3.0, 2.0, 8.0, 9.0, 5.0, 4.0, 6.0, 7.0, 2.0, 3.0, 8.0,
];

fn smooth(series: &[f64], arguments: &str) -> Vec<f64> {
    let function = format!("UtilFunctions.exponentialMovingAverageImputation({arguments})");
    let frame = Function::parse(&function)
        .unwrap()
        .apply(&numbers(series), 0)
        .unwrap();
    assert_eq!(frame.schema(), [ColumnType::Fp64]);
    (0..frame.rows())
        .map(|row| {
            frame
                .cell(row, 0)
                .map_or(f64::NAN, |cell| cell.number().unwrap())
        })
        .collect()
}

fn assert_near(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (row, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!(
            (found - expected).abs() < 1e-9,
            "row {row}: {found} {expected}"
        );
    }
}

#[test]
fn gaps_are_what_was_forecast() {
    let series = [1.0, 2.0, f64::NAN, 4.0, 7.0, f64::NAN, f64::NAN, 3.0];
    assert_near(
        &smooth(&series, "1;single;4;0.4;0.3;0.2"),
        &[1.0, 1.4, 1.4, 2.44, 4.264, 4.264, 4.264, 3.7584],
    );
    assert_near(
        &smooth(&series, "5;double;4;0.4;0.3;0.2"),
        &[1.0, 3.0, 4.0, 5.0, 7.04, 8.28, 9.52, 7.3696],
    );
    let mut series = SERIES;
    for row in [10, 11, 16] {
        series[row] = f64::NAN;
    }
    assert_near(
        &smooth(&series, "1;triple;4;0.4;0.3;0.2"),
        &[
            1.0,
            2.0,
            3.0,
            4.0,
            5.31875,
            4.8555,
            4.79489,
            4.3681372,
            6.379659056,
            5.41985308288,
            6.6252703290624,
            7.187565944397,
            11.249018601011,
            7.576380924594,
            5.990521460964,
            3.778697973524,
            5.627434933396,
        ],
    );
    assert_near(
        &smooth(&SERIES[..12], "1;triple;2;0.4;0.3;0.2"),
        &[
            1.0,
            2.0,
            2.0,
            3.52,
            5.0096,
            7.159808,
            7.75440384,
            5.8789599232,
            4.438539841536,
            5.956394822369,
            8.970459031169,
            7.302181276024,
        ],
    );
}

#[test]
fn seasons_repeat() {
    // A line and a season of three rows, exactly: the forecasts are the numbers.
    let series: Vec<f64> = (0..12)
        .map(|row| f64::from(row) / 2.0 + [1.0, -3.0, 2.0][row as usize % 3])
        .collect();
    let mut gaps = series.clone();
    (gaps[7], gaps[11]) = (f64::NAN, f64::NAN);
    let found = smooth(&gaps, "1;triple;3;0.5;0.5;0.5");
    assert_eq!(found[..3], series[..3]);
    assert!(found.iter().all(|number| number.is_finite()));
}

#[test]
fn a_weight_that_is_nan_is_searched() {
    let series: Vec<f64> = (0..30).map(|row| f64::from(row % 7)).collect();
    let missed = |iterations: usize| {
        let found = smooth(&series, &format!("{iterations};triple;7;NaN;NaN;NaN"));
        let squares = found[7..].iter().zip(&series[7..]);
        squares
            .map(|(found, number)| (found - number).powi(2))
            .sum::<f64>()
    };
    assert!(missed(50) <= missed(1));
    assert_eq!(
        smooth(&series, "20;single;4;NaN;0;0"),
        smooth(&series, "20;single;4;NaN;0;0")
    );
}

#[test]
fn small_and_missing() {
    assert!(smooth(&[], "1;double;4;0.4;0.3;0.2").is_empty());
    assert_eq!(smooth(&[5.0], "1;double;4;0.4;0.3;0.2"), [5.0]);
    assert!(
        smooth(&[f64::NAN, 2.0, 3.0], "1;single;4;0.4;0.3;0.2")
            .iter()
            .all(|number| number.is_nan())
    );
    let empty = Function::parse("UtilFunctions.syntacticalPatternDiscovery(0.8,NA)").unwrap();
    let empty = empty.apply(&column(&[]), 0).unwrap();
    assert_eq!((empty.rows(), empty.cols()), (0, 1));
}

#[test]
fn errors() {
    let smoothing = "UtilFunctions.exponentialMovingAverageImputation";
    for (text, kind) in [
        (
            format!("{smoothing}(1;single;4;0.4;0.3)"),
            ErrorKind::Syntax,
        ),
        (
            format!("{smoothing}(1;fourfold;4;0.4;0.3;0.2)"),
            ErrorKind::Argument,
        ),
        (
            format!("{smoothing}(1;triple;1;0.4;0.3;0.2)"),
            ErrorKind::Argument,
        ),
        (
            format!("{smoothing}(x;triple;4;0.4;0.3;0.2)"),
            ErrorKind::Argument,
        ),
        (
            format!("{smoothing}(1;single;4;;0.3;0.2)"),
            ErrorKind::Argument,
        ),
        (
            "UtilFunctions.syntacticalPatternDiscovery(0.8)".into(),
            ErrorKind::Syntax,
        ),
        (
            "UtilFunctions.syntacticalPatternDiscovery(much,NA)".into(),
            ErrorKind::Argument,
        ),
    ] {
        assert_eq!(Function::parse(&text).unwrap_err().kind(), kind, "{text}");
    }
    let triple = Function::parse(&format!("{smoothing}(1;triple;4;0.4;0.3;0.2)")).unwrap();
    let error = triple.apply(&numbers(&SERIES[..7]), 0).unwrap_err();
    assert_eq!(
        (error.kind(), error.message()),
        (
            ErrorKind::Data,
            "column 'C1': 7 rows are less than two seasons of 4"
        )
    );
    assert_eq!(
        triple.apply(&column(&[Some("one")]), 0).unwrap_err().kind(),
        ErrorKind::Data
    );
    assert_eq!(
        triple.apply(&numbers(&SERIES), 1).unwrap_err().kind(),
        ErrorKind::Argument
    );
    let none = Function::parse(&format!("{smoothing}(0;single;4;NaN;0.3;0.2)")).unwrap();
    assert_eq!(
        none.apply(&numbers(&SERIES), 0).unwrap_err().kind(),
        ErrorKind::Argument
    );
}
