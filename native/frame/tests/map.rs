//! Functions of cells. What they return is what SystemDS 3.4 printed.

use fulgurite_error::ErrorKind;
use fulgurite_frame::{
    Cell, Column, ColumnType, Frame,
    csv::{self, CsvFormat},
    map::Function,
};
use proptest::prelude::*;

fn one(text: &str) -> Frame {
    Frame::of_cell(Cell::Text(text)).unwrap()
}

fn texts(rows: &[Option<&str>]) -> Frame {
    let cells = rows.iter().map(|text| text.map(Cell::Text));
    let column = Column::of_cells(ColumnType::String, "word", cells).unwrap();
    Frame::new(vec![column], None).unwrap()
}

fn lines(frame: &Frame) -> String {
    let row = |row: usize| {
        let cells = (0..frame.cols()).map(|col| {
            let text = frame.cell(row, col).map(|cell| cell.text().into_owned());
            text.unwrap_or_else(|| "-".into())
        });
        cells.collect::<Vec<_>>().join(" ")
    };
    (0..frame.rows()).map(row).collect::<Vec<_>>().join("|")
}

fn mapped(frame: &Frame, function: &str, margin: usize) -> String {
    let function = Function::parse(function).unwrap_or_else(|error| panic!("{function}: {error}"));
    lines(
        &function
            .apply(frame, margin)
            .unwrap_or_else(|error| panic!("{error}")),
    )
}

#[test]
fn expressions_are_those_of_java() {
    for (cell, function, expected) in [
        ("abc", "x -> 3/2 + x.length()/2.0", "2.5"),
        ("abc", "x -> x.charAt(1)+1", "99"),
        ("abc", r#"x -> "" + x.charAt(1)+1"#, "b1"),
        (
            "abc",
            r#"x -> x.substring(1,2).toUpperCase()+x.indexOf("c")+x.indexOf('z')+x.lastIndexOf('a')"#,
            "B2-10",
        ),
        ("abc", "x -> (int) 3.7 + x", "3abc"),
        (
            "abc",
            r#"x -> x.isEmpty() || x.contains("b") && !x.startsWith("b")"#,
            "true",
        ),
        ("abc", "x -> 7 % 3 + -7 / 2 + (1 << 3) + x", "6abc"),
        ("abc", "x -> 2147483647 + 1", "-2147483648"),
        ("abc", r#"x -> String.join("-", x.split(""))"#, "a-b-c"),
        ("a,b,,", r#"x -> x.split(",").length"#, "2"),
        ("a,b,,", r#"x -> x.split(",", -1).length"#, "4"),
        ("a,b,,", r#"x -> Arrays.toString(x.split(","))"#, "[a, b]"),
        (
            "abc",
            "x -> Math.sqrt(2)+Math.pow(2,0.5)+Math.floor(1.5)+Math.round(2.5)",
            "6.82842712474619",
        ),
        (
            "abc",
            r#"x -> Double.valueOf("1e10") + 0.1"#,
            "1.00000000001E10",
        ),
        (
            "abc",
            r#"x -> x.equals("abc") & true | false ^ true"#,
            "true",
        ),
        ("abc", r#"x -> x.compareTo("abd") + x.compareTo("ab")"#, "0"),
        (
            "abc",
            r#"x -> x.replaceFirst("[a-b]+", "<$0>").matches("<ab>.")"#,
            "true",
        ),
        (
            "abc",
            r#"x -> Integer.toString(5) + Integer.compare(1,2) + Boolean.parseBoolean("TRUE") + Character.isDigit('1') + Character.toUpperCase('a')"#,
            "5-1truetrueA",
        ),
        (
            "a+b",
            r#"x -> x.replace('+', '-').replace("a", "$1")"#,
            "$1-b",
        ),
        ("1.5", "x -> x.hashCode()", "48568"),
        ("12", "x -> x + 1", "121"),
        ("12", "x -> Integer.parseInt(x) + 1", "13"),
        ("4", "x -> Double.parseDouble(x) / 3", "1.3333333333333333"),
        ("4", r#"x -> x == null ? "none" : x"#, "4"),
        (
            "x",
            r#"x -> UtilFunctions.getAsciiAtIdx("a.b.c", 3) + UtilFunctions.getAsciiAtIdx("a", 0)"#,
            "98",
        ),
        (
            "x",
            r#"x -> UtilFunctions.getWordErrorRate("the cat sat on", "the bat sat on mat")"#,
            "0.4",
        ),
        (
            "x",
            r#"x -> UtilFunctions.getWordErrorRate("a  b", "a b")"#,
            "0.3333333333333333",
        ),
        (
            "x",
            r#"x -> UtilFunctions.getWordErrorRate("", "the bat")"#,
            "1.0",
        ),
        (
            "x",
            r#"x -> UtilFunctions.isIntegerNumber("12") + " " + UtilFunctions.isIntegerNumber("1.0")"#,
            "true false",
        ),
        ("x", r#"x -> UtilFunctions.parseToInt("12.5")"#, "12"),
        ("running", "x -> PorterStemmer.stem(x)", "run"),
        (
            "Hello, World! 12",
            r#"x -> x.toLowerCase().replaceAll("[^\\p{Alnum}]+", " ").replaceAll("[\\s]+", " ")"#,
            "hello world 12",
        ),
        (
            "a.b.c d-e",
            r#"s -> s.replaceAll("[.]", "").replaceAll("[^a-zA-Z\\s]", " ")"#,
            "abc d e",
        ),
        (
            "a·b·13",
            "s -> Integer.valueOf(UtilFunctions.splitRecodeEntry(s)[1]) + UtilFunctions.splitRecodeEntry(s)[0]",
            "13a·b",
        ),
        ("lr,mnb", r#"x->x.split(",")[0].equals("lr")"#, "true"),
        (
            "Größe😀x",
            r#"x -> x.length() + " " + x.substring(7) + x.indexOf("x") + x.substring(2, 4)"#,
            "8 x7öß",
        ),
    ] {
        assert_eq!(mapped(&one(cell), function, 0), expected, "{function}");
    }
}

#[test]
fn missing_cells_stay_missing_and_each_distinct_text_is_mapped_once() {
    let many: Vec<_> = (0..1000)
        .map(|row| [Some("Abc"), None, Some("de f")][row % 3])
        .collect();
    let result = Function::parse("x -> x.length()")
        .unwrap()
        .apply(&texts(&many), 0)
        .unwrap();
    let first: Vec<_> = (0..3).map(|row| result.cell(row, 0)).collect();
    assert_eq!(first, [Some(Cell::Text("3")), None, Some(Cell::Text("4"))]);
    assert_eq!((result.rows(), &*result.names()[0]), (1000, "C1"));
    let none = texts(&[]);
    assert_eq!(
        lines(&Function::parse("x -> x").unwrap().apply(&none, 0).unwrap()),
        ""
    );
    let typed = csv::read(
        "1,true,2.50\n,false,\n".as_bytes(),
        &CsvFormat::default(),
        Some(&[ColumnType::Int32, ColumnType::Boolean, ColumnType::Fp64]),
    );
    assert_eq!(
        mapped(&typed.unwrap(), "x -> x.concat(\"!\")", 0),
        "1! true! 2.5!|- false! -"
    );
}

#[test]
fn rows_and_columns_are_arrays() {
    let frame = "Abc,12,1.5\nde f,3,x\n";
    let frame = csv::read(frame.as_bytes(), &CsvFormat::default(), None).unwrap();
    let function = "x -> new String[]{x[0]+x[1], x[1], String.valueOf(x.length)}";
    assert_eq!(mapped(&frame, function, 1), "Abc12 12 3|de f3 3 3");
    let function = "x -> new String[]{x[0], String.valueOf(x.length)}";
    assert_eq!(mapped(&frame, function, 2), "Abc 12 1.5|2 2 2");
    assert_eq!(mapped(&frame, "x -> x", 1), lines(&frame));
    let fails = |function: &str, margin| {
        let error = Function::parse(function)
            .unwrap()
            .apply(&frame, margin)
            .unwrap_err();
        (error.kind(), error.message().to_owned())
    };
    assert_eq!(
        fails("x -> new String[]{x[0]}", 1),
        (
            ErrorKind::Data,
            "row 1: the function returns 1 values, not 3".into()
        )
    );
    assert_eq!(
        fails("x -> x[0]", 2),
        (
            ErrorKind::Data,
            "column 'C1': the function returns a String, not an array".into()
        )
    );
    assert_eq!(
        fails("x -> x", 3),
        (ErrorKind::Argument, "the margin is 0, 1 or 2, not 3".into())
    );
    let words = "the cat,the bat\na b,a b\n";
    let words = csv::read(words.as_bytes(), &CsvFormat::default(), None).unwrap();
    let function =
        r#"x -> new String[]{String.valueOf(UtilFunctions.getWordErrorRate(x[0], x[1])),""}"#;
    assert_eq!(mapped(&words, function, 1), "0.5 |0.0 ");
}

#[test]
fn pairs_are_above_the_diagonal() {
    let frame = texts(&[
        Some("abcd"),
        Some("abce"),
        Some("hello hello"),
        Some("hell o x"),
        Some("a"),
        None,
    ]);
    let expected = "0.0 0.6000000000000001 0.0 0.0 0.25 0.0|0.0 0.0 0.125 0.1111111111111111 0.25 0.0|0.0 0.0 0.0 0.8333333333333333 0.0 0.0|0.0 0.0 0.0 0.0 0.0 0.0|0.0 0.0 0.0 0.0 0.0 0.0|0.0 0.0 0.0 0.0 0.0 0.0";
    assert_eq!(
        mapped(&frame, "(x, y) -> UtilFunctions.jaccardSim(x, y)", 0),
        expected
    );
}

#[test]
fn exceptions_of_java_are_errors_with_their_place() {
    for (function, message) in [
        (
            "x -> 1/0",
            "row 1, column 'C1': character 7: a whole number is divided by zero",
        ),
        (
            "x -> Integer.parseInt(x)",
            "row 1, column 'C1': character 6: 'abc' is no int",
        ),
        (
            "x -> x.substring(5)",
            "row 1, column 'C1': character 8: characters 5 to 3 are not within the 3 of 'abc'",
        ),
        (
            "x -> x.charAt(3)",
            "row 1, column 'C1': character 8: character 3 is not within the 3 of 'abc'",
        ),
        (
            "x -> x.split(\"b\")[2]",
            "row 1, column 'C1': character 18: an array of 2 has no element 2",
        ),
        (
            "x -> x ? 1 : 2",
            "row 1, column 'C1': character 6: a condition is a String, not a boolean",
        ),
        (
            "x -> x.length().length()",
            "row 1, column 'C1': character 17: an int has no method 'length'",
        ),
        (
            "x -> x - 1",
            "row 1, column 'C1': character 8: Subtract of a String and an int: Java has no such operator",
        ),
    ] {
        let error = Function::parse(function)
            .unwrap()
            .apply(&one("abc"), 0)
            .unwrap_err();
        assert_eq!(
            (error.kind(), error.message()),
            (ErrorKind::Data, message),
            "{function}"
        );
    }
}

#[test]
fn what_is_not_known_is_refused_with_its_place() {
    for (function, kind, message) in [
        (
            "x -> x.foo()",
            ErrorKind::Unsupported,
            "character 8: the method 'foo'",
        ),
        (
            "x -> x.trim(1)",
            ErrorKind::Unsupported,
            "character 8: 'trim' with 1 arguments",
        ),
        (
            "x -> UtilFunctions.foo(x)",
            ErrorKind::Unsupported,
            "character 6: 'UtilFunctions.foo'",
        ),
        (
            "x -> y",
            ErrorKind::Unsupported,
            "character 6: the name 'y'",
        ),
        (
            "x -> x.size",
            ErrorKind::Unsupported,
            "character 8: the field 'size'",
        ),
        (
            "x -> new Foo()",
            ErrorKind::Unsupported,
            "character 6: a new Foo",
        ),
        (
            "x -> { return x; }",
            ErrorKind::Syntax,
            "character 6: a value is expected",
        ),
        (
            "x -> x + ",
            ErrorKind::Syntax,
            "character 10: a value is expected",
        ),
        (
            "x -> x y",
            ErrorKind::Syntax,
            "character 8: an operator or the end is expected",
        ),
        ("x -> (x", ErrorKind::Syntax, "character 8: ')' is expected"),
        (
            "x -> \"a",
            ErrorKind::Syntax,
            "character 6: a quote that does not close",
        ),
        (
            "x -> 99999999999",
            ErrorKind::Syntax,
            "character 6: no number that Java has",
        ),
        (
            "x -> 'ab'",
            ErrorKind::Syntax,
            "character 6: a char is one letter between quotes",
        ),
        (
            "x -> #",
            ErrorKind::Syntax,
            "character 6: '#' means nothing here",
        ),
        (
            "(a, b, c) -> a",
            ErrorKind::Syntax,
            "'(a, b, c)' are no parameters of a function of one or two",
        ),
        (
            "UtilFunctions.frobnicate(0.8,NA)",
            ErrorKind::Unsupported,
            "map with 'UtilFunctions.frobnicate', which is no function of a cell",
        ),
    ] {
        let error = Function::parse(function).unwrap_err();
        assert_eq!(
            (error.kind(), error.message()),
            (kind, message),
            "{function}"
        );
    }
    let pattern = Function::parse(r#"x -> x.replaceAll("(?=a)", "")"#).unwrap();
    assert_eq!(
        pattern.apply(&one("a"), 0).unwrap_err().kind(),
        ErrorKind::Unsupported
    );
    let same = Function::parse(r#"x -> x == "abc""#).unwrap();
    assert_eq!(
        same.apply(&one("a"), 0).unwrap_err().kind(),
        ErrorKind::Unsupported
    );
    let deep = format!("x -> {}x{}", "(".repeat(1000), ")".repeat(1000));
    assert_eq!(
        Function::parse(&deep).unwrap_err().kind(),
        ErrorKind::Unsupported
    );
    let long = format!("x -> x{}", " + 1".repeat(5000));
    assert_eq!(
        Function::parse(&long).unwrap_err().kind(),
        ErrorKind::Unsupported
    );
}

proptest! {
    /// No text makes the parser or a function panic.
    #[test]
    fn any_text_is_a_function_or_an_error(text in "x ->[ -~éß😀]{0,20}", cell in "[ -~é😀]{0,5}") {
        if let Ok(function) = Function::parse(&text) {
            let _ = function.apply(&one(&cell), 0);
        }
    }

    #[test]
    fn methods_take_any_text(cell in "[ab.é😀\u{2082}]{0,6}", other in "[ab.é😀$\\\\()\\[]{0,3}", at in -2..8) {
        let literal = other.replace('\\', "\\\\");
        for function in [
            format!("x -> x.substring({at})"),
            format!("x -> x.charAt({at})"),
            format!("x -> x.indexOf(\"{literal}\", {at})"),
            format!("x -> x.replaceAll(\"{literal}\", \"{literal}\")"),
            format!("x -> Arrays.toString(x.split(\"{literal}\", {at}))"),
            format!("x -> x.startsWith(\"{literal}\", {at})"),
            "x -> PorterStemmer.stem(x + \"ing\") + PorterStemmer.stem(x + \"ed\")".to_owned(),
        ] {
            let _ = Function::parse(&function).unwrap().apply(&one(&cell), 0);
        }
    }
}
