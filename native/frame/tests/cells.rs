//! Cells compared, replaced, ordered and counted.

use fulgurite_error::ErrorKind;
use fulgurite_frame::{
    Cell, Column, ColumnType, Comparison, Frame,
    csv::{self, CsvFormat},
};
use fulgurite_matrix::MatrixBlock;
use proptest::prelude::*;

const ALL: [&str; 6] = ["==", "!=", "<", "<=", ">", ">="];

fn typed(text: &str, schema: &[ColumnType]) -> Frame {
    csv::read(text.as_bytes(), &CsvFormat::default(), Some(schema)).unwrap()
}

fn texts(text: &str) -> Frame {
    csv::read(text.as_bytes(), &CsvFormat::default(), None).unwrap()
}

fn digits(matrix: &MatrixBlock) -> String {
    let row = |row: usize| (0..matrix.cols()).map(move |col| matrix.get(row, col).to_string());
    let rows: Vec<_> = (0..matrix.rows())
        .map(|at| row(at).collect::<String>())
        .collect();
    rows.join(" ")
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

const MIXED: [ColumnType; 5] = [
    ColumnType::String,
    ColumnType::Int32,
    ColumnType::Fp64,
    ColumnType::Boolean,
    ColumnType::String,
];

/// The answers of SystemDS 3.4, which has 1 for two missing cells whatever is asked.
#[test]
fn frames_are_compared_as_systemds_compares_them() {
    let left = typed(
        "x,1,1.5,true,10\n\"y\",2,NaN,false,9\n,3,0,true,\n,4,0,false,b\n",
        &MIXED,
    );
    let right = typed(
        "x,1,1.50,true,9\nz,10,NaN,true,9.0\n,3,-0.0,false,\nw,4,0,false,\n",
        &MIXED,
    );
    let expected = [
        "11110 00000 11101 01110",
        "00001 11111 10011 00000",
        "00001 11011 10001 00000",
        "11111 11011 11101 01110",
        "00000 00000 10011 00000",
        "11110 00000 11111 01110",
    ];
    for (op, expected) in ALL.into_iter().zip(expected) {
        let op = Comparison::parse(op).unwrap();
        assert_eq!(
            digits(&left.compare(op, &right).unwrap()),
            expected,
            "{op:?}"
        );
    }
    let truth = Frame::of_truth(&left.compare(Comparison::Equal, &right).unwrap()).unwrap();
    assert_eq!(truth.schema(), [ColumnType::Boolean; 5]);
    let error = left
        .compare(Comparison::Equal, &left.slice(0..1, 0..5).unwrap())
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Dimension);
    assert_eq!(
        error.message(),
        "a 4 x 5 frame is compared with a 1 x 5 frame"
    );
}

#[test]
fn numbers_are_compared_exactly_and_as_text_beside_text() {
    let schema = [ColumnType::String, ColumnType::Int64, ColumnType::Fp64];
    let frame = typed("2,9007199254740993,2\n10,9007199254740992,10\n", &schema);
    let column = |col: usize| frame.slice(0..2, col..col + 1).unwrap();
    let below = |op: &str, left: usize, right: &Frame| {
        let op = Comparison::parse(op).unwrap();
        digits(&column(left).compare(op, right).unwrap())
    };
    let swapped = column(1).take(&[1, 0]).unwrap();
    assert_eq!(below(">", 1, &swapped), "1 0");
    assert_eq!(below("==", 0, &column(2)), "0 0");
    assert_eq!(below("<", 0, &column(2)), "1 1");
    assert_eq!(below("<", 2, &column(1)), "1 1");
}

#[test]
fn a_cell_is_compared_with_all() {
    let frame = typed("x,1,1.5,true,10\nx,2,NaN,false,9\n,3,0,true,\n", &MIXED);
    let ask = |op: &str, cell| {
        digits(
            &frame
                .compare_cell(Comparison::parse(op).unwrap(), cell)
                .unwrap(),
        )
    };
    assert_eq!(ask("==", Cell::Text("x")), "10000 10000 00000");
    assert_eq!(ask("!=", Cell::Text("x")), "01111 01111 01110");
    assert_eq!(ask("<", Cell::Int(2)), "01111 00010 00110");
    assert_eq!(ask(">=", Cell::Fp64(1.5)), "10101 11001 01000");
    assert_eq!(digits(&frame.is_missing().unwrap()), "00000 00100 10001");
}

#[test]
fn frames_without_rows_are_compared_and_ordered() {
    let none = typed("x,1,1.5,true,10\n", &MIXED)
        .slice(0..0, 0..5)
        .unwrap();
    let equal = none.compare(Comparison::Equal, &none).unwrap();
    assert_eq!((equal.rows(), equal.cols()), (0, 5));
    assert_eq!(none.order(&[0, 2], true).unwrap(), none);
    assert_eq!(none.unique_rows().unwrap(), none);
    assert_eq!(none.count_distinct().unwrap(), 0.0);
    assert_eq!(none.remove_empty(true, None).unwrap(), none);
    assert_eq!(none.remove_empty(false, None).unwrap().cols(), 0);
    assert_eq!(none.replace("", "x").unwrap(), none);
    assert!(!none.contains(Cell::Text("x")));
}

/// The answers of SystemDS 3.4, but for the empty pattern, which it has no answer to.
#[test]
fn patterns_are_replaced() {
    let schema = [
        ColumnType::String,
        ColumnType::Int32,
        ColumnType::Boolean,
        ColumnType::Fp64,
    ];
    let frame = typed("2,2,true,2.0\ntrue,1,TRUE,NaN\n,,false,2.5\n", &schema);
    let replaced = |pattern, by| lines(&frame.replace(pattern, by).unwrap());
    assert_eq!(
        replaced("2", "77"),
        "77 77 true 2.0|true 1 true NaN|- - false 2.5"
    );
    assert_eq!(
        replaced("2.0", "7.5"),
        "2 2 true 7.5|true 1 true NaN|- - false 2.5"
    );
    assert_eq!(
        replaced("TRUE", "false"),
        "2 2 false 2.0|false 1 false NaN|- - false 2.5"
    );
    assert_eq!(replaced("NA", "x"), lines(&frame));
    assert_eq!(
        replaced("", "NaN"),
        "2 2 true 2.0|true 1 true NaN|NaN - false 2.5"
    );
    let filled = frame.replace("NaN", "0").unwrap();
    assert_eq!(filled.cell(1, 3), Some(Cell::Fp64(0.0)));
    let error = frame.replace("1", "one").unwrap_err();
    assert_eq!(
        error.message(),
        "row 2, column 'C2': the replacement 'one' is no INT32"
    );
}

/// Empty is as in SystemDS 3.4.
#[test]
fn empty_rows_and_columns_are_left_out() {
    let frame = typed(
        ",0,0,false,0\n,0,0,false,NaN\nk,0,0,true,\n,0,NaN,false,\n,0,0,false,\n",
        &MIXED,
    );
    let removed = frame.remove_empty(true, None).unwrap();
    assert_eq!(
        lines(&removed),
        "- 0 0.0 false NaN|k 0 0.0 true -|- 0 NaN false -"
    );
    assert_eq!(removed.schema(), MIXED);
    let removed = frame.remove_empty(false, None).unwrap();
    let names: Vec<_> = removed.names().iter().map(|name| &**name).collect();
    assert_eq!(names, ["C1", "C3", "C4", "C5"]);
    let select = MatrixBlock::dense(5, 1, vec![1.0, 0.0, 1.0, 0.0, 0.0]).unwrap();
    assert_eq!(
        lines(&frame.remove_empty(true, Some(&select)).unwrap()),
        "- 0 0.0 false 0|k 0 0.0 true -"
    );
    let error = frame.remove_empty(false, Some(&select)).unwrap_err();
    assert_eq!(error.message(), "select is 5 x 1, not 1 x 5");
    let none = MatrixBlock::filled(5, 1, 0.0).unwrap();
    let none = frame.remove_empty(true, Some(&none)).unwrap();
    assert_eq!((none.rows(), none.cols()), (0, 5));
    assert_eq!(lines(&none.one_empty_row().unwrap()), "- 0 0.0 false -");
    assert_eq!(lines(&frame.one_empty_column().unwrap()), "-|-|-|-|-");
}

#[test]
fn rows_are_ordered() {
    let schema = [ColumnType::String, ColumnType::Fp64, ColumnType::Int64];
    let frame = typed(
        "b,10,1\na,9,2\nb,-1,3\n,NaN,4\na,,5\nB,-0.0,6\nb,10,7\n",
        &schema,
    );
    let order = |by: &[usize], decreasing| digits(&frame.order_index(by, decreasing).unwrap());
    assert_eq!(order(&[0], false), "6 2 5 1 3 7 4");
    assert_eq!(order(&[0], true), "1 3 7 2 5 6 4");
    assert_eq!(order(&[1], false), "3 6 2 1 7 4 5");
    assert_eq!(order(&[0, 1], false), "6 2 5 3 1 7 4");
    assert_eq!(order(&[0, 2], true), "7 3 1 5 2 6 4");
    assert_eq!(order(&[], false), "1 2 3 4 5 6 7");
    assert_eq!(
        frame.order(&[2], true).unwrap().cell(0, 2),
        Some(Cell::Int(7))
    );
    let error = frame.order(&[0, 3], true).unwrap_err();
    assert_eq!(error.message(), "column 4 is not within the 3 of the frame");
    let texts = texts("\u{ffff}\n\u{1f600}\nz\n10\n9\n");
    assert_eq!(
        digits(&texts.order_index(&[0], false).unwrap()),
        "4 5 3 2 1"
    );
    let unique = texts.take(&[0, 1, 2, 3, 4, 0]).unwrap();
    assert_eq!(unique.unique_rows().unwrap(), texts);
}

#[test]
fn values_are_counted_once() {
    let frame = typed(
        "1,1,1\n1,1,1.0\n,2,NaN\n,2,NaN\nx,1,-0.0\nx,1,0.0\n",
        &[ColumnType::String, ColumnType::Int32, ColumnType::Fp64],
    );
    assert_eq!(
        lines(&frame.unique_rows().unwrap()),
        "1 1 1.0|- 2 NaN|x 1 -0.0"
    );
    // 1, x, 2, 1.0, NaN and a zero
    assert_eq!(frame.count_distinct().unwrap(), 6.0);
    assert!(frame.contains(Cell::Fp64(f64::NAN)) && frame.contains(Cell::Text("x")));
    assert!(frame.contains(Cell::Int(2)) && !frame.contains(Cell::Int(3)));
}

#[test]
fn cells_are_put_where_they_fit() {
    let schema = [
        ColumnType::Int32,
        ColumnType::String,
        ColumnType::Boolean,
        ColumnType::Fp64,
    ];
    let frame = texts(
        "111,alpha,true,2.5\nbeta,222,false,1.5\nqq,true,777,3.5\n,dd,false,zz\n44,hello,5.5,true\n",
    );
    let swapped = frame.value_swap(&schema).unwrap();
    assert_eq!(
        lines(&swapped),
        "111 alpha true 2.5|222 beta false 1.5|777 qq true 3.5|- dd false zz|44 hello true 5.5"
    );
    assert_eq!(
        frame.value_swap(&schema[1..]).unwrap_err().kind(),
        ErrorKind::Dimension
    );
}

proptest! {
    /// However text is stored, it is in one order; and that is the order of UTF-16.
    #[test]
    fn text_is_ordered_as_java_orders_it(words in prop::collection::vec("[a-b\u{e000}\u{ffff}\u{10000}é]{0,3}", 1..40)) {
        let cells = words.iter().map(|word| Some(Cell::Text(word)));
        let column = Column::of_cells(ColumnType::String, "", cells).unwrap();
        let frame = Frame::new(vec![column], None).unwrap();
        let mut expected: Vec<_> = (0..words.len()).collect();
        expected.sort_by_key(|at| words[*at].encode_utf16().collect::<Vec<_>>());
        prop_assert_eq!(frame.order(&[0], false).unwrap(), frame.take(&expected).unwrap());
    }
}

#[test]
fn many_rows_are_ordered_in_pieces() {
    let rows = 200_000;
    let values: Vec<f64> = (0..rows).map(|row| f64::from(row * 7919 % 1009)).collect();
    let frame =
        Frame::from_matrix(&MatrixBlock::dense(rows as usize, 1, values.clone()).unwrap()).unwrap();
    let mut expected: Vec<_> = (0..values.len()).collect();
    expected.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let order = frame.order_index(&[0], false).unwrap();
    assert!(
        expected
            .iter()
            .enumerate()
            .all(|(at, row)| order.get(at, 0) == (row + 1) as f64)
    );
    assert_eq!(frame.unique_rows().unwrap().rows(), 1009);
}
