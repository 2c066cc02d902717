//! Frames from csv, their parts, types and texts.

use fulgurite_error::ErrorKind;
use fulgurite_frame::{
    Cell, ColumnType, Frame,
    csv::{self, CsvFormat},
};
use fulgurite_matrix::MatrixBlock;
use proptest::prelude::*;

fn with_header() -> CsvFormat {
    CsvFormat {
        header: true,
        ..CsvFormat::default()
    }
}

fn read(text: &str) -> Frame {
    csv::read(text.as_bytes(), &with_header(), None).unwrap()
}

const CITIES: &str =
    "city,age,income,flag\nGraz,10,1.5,true\nWien,20,2.5,false\nLinz,30,,true\nGraz,,3.5,true\n";

#[test]
fn types_are_detected_as_systemds_detects_them() {
    let schema = read(CITIES).detect_schema().unwrap();
    let expected = "# FRAME: nrow = 1, ncol = 4\n# C1 C2 C3 C4\n# STRING STRING STRING STRING\nSTRING INT32·n FP32·n BOOLEAN\n";
    assert_eq!(schema.to_text(10, 10, 3, " ", "\n").unwrap(), expected);
    let types = Frame::read_schema(&schema).unwrap();
    let typed = read(CITIES).apply_schema(&types).unwrap();
    assert_eq!(typed.schema(), types);
    assert_eq!(typed.cell(1, 1), Some(Cell::Int(20)));
    assert_eq!(typed.cell(3, 1), None);
}

#[test]
fn quotes_separators_and_other_letters_are_read() {
    let frame = read("a,b\n\"x,\"\"y\"\"\",  Größe \n,é\n");
    assert_eq!(frame.cell(0, 0), Some(Cell::Text("x,\"y\"")));
    assert_eq!(frame.cell(0, 1), Some(Cell::Text("Größe")));
    assert_eq!(frame.cell(1, 0), None);
}

#[test]
fn numbers_come_out_and_bad_ones_are_named() {
    let frame = read("a,b\n1,true\n2.5,\n");
    let matrix = frame.to_matrix().unwrap();
    assert_eq!((matrix.get(1, 0), matrix.get(0, 1)), (2.5, 1.0));
    assert!(matrix.get(1, 1).is_nan());
    let error = read(CITIES).to_matrix().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Data);
    assert_eq!(error.message(), "row 1, column 'city': 'Graz' is no FP64");
    assert_eq!(
        read(CITIES).find("citi").unwrap_err().help(),
        Some("did you mean 'city'?")
    );
}

#[test]
fn parts_are_taken_and_put_together() {
    let frame = read(CITIES);
    let top = frame.slice(0..2, 0..4).unwrap();
    let bottom = frame.slice(2..4, 0..4).unwrap();
    assert_eq!(top.rbind(&bottom).unwrap(), frame);
    let (left, right) = (
        frame.slice(0..4, 0..1).unwrap(),
        frame.slice(0..4, 1..4).unwrap(),
    );
    assert_eq!(left.cbind(&right).unwrap(), frame);
    assert_eq!(frame.select(&["age"]).unwrap().names()[0].as_ref(), "age");
    let changed = frame.assign(1..3, 0..4, &top).unwrap();
    assert_eq!(changed.cell(2, 0), Some(Cell::Text("Wien")));
    assert_eq!(
        frame.assign(0..1, 0..4, &top).unwrap_err().kind(),
        ErrorKind::Dimension
    );
    assert_eq!(
        frame.slice(0..5, 0..1).unwrap_err().kind(),
        ErrorKind::Dimension
    );
    assert_eq!(left.rbind(&frame).unwrap_err().kind(), ErrorKind::Dimension);
}

#[test]
fn cells_that_do_not_fit_are_dropped() {
    let frame = read("a,b\n1,long text\nx,short\n");
    let schema = [ColumnType::Int32, ColumnType::String];
    let dropped = frame.drop_invalid_type(&schema).unwrap();
    assert_eq!(
        (dropped.cell(0, 0), dropped.cell(1, 0)),
        (Some(Cell::Text("1")), None)
    );
    let dropped = frame.drop_invalid_length(&[-1.0, 5.0]).unwrap();
    assert_eq!(
        (dropped.cell(0, 1), dropped.cell(1, 1)),
        (None, Some(Cell::Text("short")))
    );
}

#[test]
fn short_lines_are_errors_unless_filled() {
    let fill = CsvFormat {
        fill: true,
        ..with_header()
    };
    let text = "a,b\n1\n".as_bytes();
    assert_eq!(csv::read(text, &fill, None).unwrap().cell(0, 1), None);
    assert_eq!(
        csv::read(text, &with_header(), None).unwrap_err().kind(),
        ErrorKind::Data
    );
}

#[test]
fn files_are_read_in_pieces_as_a_whole() {
    let rows = 300_000;
    let mut text = String::from("\u{feff}id,name,\"the \"\"number\"\"\",place\r\n");
    for row in 0..rows {
        let name = match row % 5 {
            0 => format!("\"row {row},\nand more\""),
            1 => "NA".to_owned(),
            _ => format!("name {}", row % 100),
        };
        text += &format!("{row},{name},{}.25,place {}\r\n", row % 1000, row % 7);
    }
    let format = CsvFormat {
        missing: vec!["NA".into()],
        ..with_header()
    };
    let schema = [
        ColumnType::Int64,
        ColumnType::String,
        ColumnType::Fp64,
        ColumnType::String,
    ];
    let typed = csv::read(text.as_bytes(), &format, Some(&schema)).unwrap();
    assert_eq!((typed.rows(), typed.schema()), (rows, schema.to_vec()));
    assert_eq!(
        (&*typed.names()[0], &*typed.names()[2]),
        ("id", "the \"number\"")
    );
    let untyped = csv::read(text.as_bytes(), &format, None).unwrap();
    assert_eq!(untyped.apply_schema(&schema).unwrap(), typed);
    for row in (0..rows).step_by(997) {
        assert_eq!(typed.cell(row, 0), Some(Cell::Int(row as i64)));
        assert_eq!(
            typed.cell(row, 2),
            Some(Cell::Fp64((row % 1000) as f64 + 0.25))
        );
        let (name, place) = (format!("name {}", row % 100), format!("place {}", row % 7));
        let many = format!("row {row},\nand more");
        let name = [Some(&*many), None, Some(&*name)][(row % 5).min(2)];
        assert_eq!(typed.cell(row, 1), name.map(Cell::Text));
        assert_eq!(typed.cell(row, 3), Some(Cell::Text(&place)));
    }
    let place = text.find("\n250000,").unwrap();
    for (wrong, message) in [
        ("x,NA,1,2\n", "row 250001, column 'id': 'x' is no INT64"),
        ("1,NA,1\n", "row 250001 has 3 fields, not 4"),
        ("1,\u{1},1,2\n", "row 250001 of the csv is not UTF-8"),
    ] {
        let mut changed = text.clone().into_bytes();
        let wrong = wrong
            .bytes()
            .map(|byte| if byte == 1 { 0xFF } else { byte });
        changed.splice(place + 1..place + 1, wrong);
        let error = csv::read(&*changed, &format, Some(&schema)).unwrap_err();
        assert_eq!((error.kind(), error.message()), (ErrorKind::Data, message));
    }
}

#[test]
fn many_distinct_texts_are_kept_as_they_are() {
    let mut text = String::from("a,b\n");
    for row in 0..60_000 {
        let a = if row < 30_000 { row } else { row % 3 };
        text += &format!(
            "{a},{}\n",
            if row % 10 == 0 {
                String::new()
            } else {
                row.to_string()
            }
        );
    }
    let frame = read(&text);
    assert_eq!(frame.cell(29_999, 0), Some(Cell::Text("29999")));
    assert_eq!(frame.cell(59_999, 0), Some(Cell::Text("2")));
    assert_eq!(
        (frame.cell(50, 1), frame.cell(59_999, 1)),
        (None, Some(Cell::Text("59999")))
    );
    assert_eq!(frame.to_matrix().unwrap().get(59_998, 1), 59_998.0);
}

#[test]
fn matrices_become_frames_and_come_back() {
    let matrix = MatrixBlock::dense(2, 2, vec![1.0, 0.0, -2.5, f64::INFINITY]).unwrap();
    let frame = Frame::from_matrix(&matrix).unwrap();
    assert_eq!(frame.schema(), [ColumnType::Fp64; 2]);
    assert_eq!(frame.to_matrix().unwrap(), matrix);
}

proptest! {
    #[test]
    fn what_is_written_is_read(texts in prop::collection::vec(prop::collection::vec("[ -~äß·\n]{0,6}", 3), 0..20)) {
        let cell = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        let column = |col: usize| {
            let texts: Vec<_> = texts.iter().map(|row| cell(&row[col])).collect();
            let cells = texts.iter().map(|text| text.as_deref().map(Cell::Text));
            fulgurite_frame::Column::of_cells(ColumnType::String, "", cells).unwrap()
        };
        let frame = Frame::new((0..3).map(column).collect(), None).unwrap();
        let mut file = Vec::new();
        csv::write(&frame, &mut file, &with_header()).unwrap();
        prop_assert_eq!(csv::read(&*file, &with_header(), None).unwrap(), frame);
    }
}
