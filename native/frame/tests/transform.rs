//! Categories as numbers and back.

use fulgurite_error::ErrorKind;
use fulgurite_frame::{
    Cell, Column, ColumnType, Frame,
    csv::{self, CsvFormat},
    transform::{self, Spec},
};
use fulgurite_matrix::{Layout, MatrixBlock};
use proptest::prelude::*;

const CITIES: &str = "city,age,income,flag\nGraz,10,1.5,true\nWien,20,2.5,false\nLinz,30,,true\nGraz,,3.5,true\nBonn,50,9.5,false\n";
const SPEC: &str =
    "{ids: true, recode: [1], bin: [{id: 2, method: equi-width, numbins: 2}], dummycode: [4]}";

fn cities() -> Frame {
    let format = CsvFormat {
        header: true,
        ..CsvFormat::default()
    };
    csv::read(CITIES.as_bytes(), &format, None).unwrap()
}

fn rows(matrix: &MatrixBlock) -> Vec<Vec<f64>> {
    let row = |row| (0..matrix.cols()).map(|col| matrix.get(row, col)).collect();
    (0..matrix.rows()).map(row).collect()
}

/// The figures of the recoded and dummy-coded columns are those of SystemDS 3.4, which counts a missing age as 0.
#[test]
fn columns_are_coded_in_the_order_of_appearance() {
    let spec = Spec::parse(SPEC).unwrap();
    let (matrix, meta) = transform::encode(&cities(), &spec).unwrap();
    assert_eq!(
        format!("{:?}", rows(&matrix)),
        "[[1.0, 1.0, 1.5, 1.0, 0.0], [2.0, 1.0, 2.5, 0.0, 1.0], [3.0, 1.0, NaN, 1.0, 0.0], [1.0, NaN, 3.5, 1.0, 0.0], [4.0, 2.0, 9.5, 0.0, 1.0]]"
    );
    assert_eq!(
        meta.to_text(9, 9, 3, " ", "\n").unwrap(),
        "# FRAME: nrow = 4, ncol = 4\n# city age income flag\n# STRING STRING STRING STRING\nGraz·1 10.0·30.0 null true·1\nWien·2 30.0·50.0 null false·2\nLinz·3 null null null\nBonn·4 null null null\n"
    );
    let again = transform::apply(&cities(), &spec, &meta).unwrap();
    assert_eq!(
        format!("{:?}", rows(&again)),
        format!("{:?}", rows(&matrix))
    );
    let map = transform::column_map(&meta, &spec).unwrap();
    assert_eq!(
        rows(&map),
        [
            [1.0, 1.0, 1.0],
            [2.0, 2.0, 2.0],
            [3.0, 3.0, 3.0],
            [4.0, 4.0, 5.0]
        ]
    );
    let decoded = transform::decode(&matrix, &spec, &meta).unwrap();
    assert_eq!(
        decoded.column(0).unwrap().cells().collect::<Vec<_>>(),
        cities().column(0).unwrap().cells().collect::<Vec<_>>()
    );
    assert_eq!(decoded.cell(4, 3), Some(Cell::Text("false")));
    assert_eq!(
        (decoded.cell(4, 1), decoded.cell(3, 0)),
        (Some(Cell::Fp64(40.0)), Some(Cell::Text("Graz")))
    );
}

/// Metadata that SystemDS wrote has its categories in no order.
#[test]
fn metadata_of_systemds_is_read() {
    let meta = "Wien·2,0.0·25.0,,true·1\nBonn·4,25.0·50.0,,false·2\nGraz·1,,,\nLinz·3,,,\n";
    let meta = csv::read(meta.as_bytes(), &CsvFormat::default(), None).unwrap();
    let spec = Spec::parse(SPEC).unwrap();
    let matrix = transform::apply(&cities(), &spec, &meta).unwrap();
    assert_eq!(rows(&matrix)[4], [4.0, 2.0, 9.5, 0.0, 1.0]);
    assert_eq!(rows(&matrix)[2][..2], [3.0, 2.0]);
}

#[test]
fn unknown_categories_are_missing() {
    let read = |text: &str| csv::read(text.as_bytes(), &CsvFormat::default(), None).unwrap();
    let spec = Spec::parse("{ids: true, recode: [1], dummycode: [2]}").unwrap();
    let (_, meta) = transform::encode(&read("a,x\nb,y\n"), &spec).unwrap();
    let matrix = transform::apply(&read("b,z\nc,y\n"), &spec, &meta).unwrap();
    assert_eq!(
        format!("{:?}", rows(&matrix)),
        "[[2.0, 0.0, 0.0], [NaN, 0.0, 1.0]]"
    );
}

#[test]
fn buckets_are_those_of_java() {
    let spec = Spec::parse("{ids: true, hash: [1], K: 3, recode: [4]}").unwrap();
    let (matrix, _) = transform::encode(&cities(), &spec).unwrap();
    assert_eq!(
        rows(&matrix).iter().map(|row| row[0]).collect::<Vec<_>>(),
        [3.0, 2.0, 3.0, 3.0, 2.0]
    );
}

/// The first two hash to the smallest number. The codes are those of SystemDS 3.4.
#[test]
fn hashes_below_zero_have_buckets() {
    let text = "polygenelubricants\nGydZG_\nzzzzzzz\nGraz\nb\n";
    let frame = csv::read(text.as_bytes(), &CsvFormat::default(), None).unwrap();
    let spec = Spec::parse("{ids: true, hash: [1], K: 5}").unwrap();
    let (matrix, _) = transform::encode(&frame, &spec).unwrap();
    assert_eq!(rows(&matrix).concat(), [4.0, 4.0, 4.0, 5.0, 4.0]);
}

/// The bins of SystemDS 3.4, and rows beyond them in the outer ones.
#[test]
fn bins_are_those_of_systemds() {
    let read = |text: &str| csv::read(text.as_bytes(), &CsvFormat::default(), None).unwrap();
    let frame = read("1.0\n2.0\n3.5\n4.0\n10.0\n7.0\n");
    for (method, codes, bins) in [
        (
            "equi-height",
            [1.0, 1.0, 2.0, 2.0, 3.0, 3.0],
            ["1.0·2.0", "2.0·4.0", "4.0·10.0"],
        ),
        (
            "equi-width",
            [1.0, 1.0, 1.0, 1.0, 3.0, 2.0],
            ["1.0·4.0", "4.0·7.0", "7.0·10.0"],
        ),
    ] {
        let spec = format!("{{ids: true, bin: [{{id: 1, method: {method}, numbins: 3}}]}}");
        let spec = Spec::parse(&spec).unwrap();
        let (matrix, meta) = transform::encode(&frame, &spec).unwrap();
        assert_eq!(rows(&matrix).concat(), codes);
        let cells: Vec<_> = meta.columns()[0].cells().flatten().collect();
        assert_eq!(cells, bins.map(Cell::Text));
        let beyond = transform::apply(&read("100\n-5\n"), &spec, &meta).unwrap();
        assert_eq!(rows(&beyond).concat(), [3.0, 1.0]);
    }
}

#[test]
fn bad_specifications_name_their_place() {
    let message = |spec: &str| {
        let error = Spec::parse(spec)
            .and_then(|spec| transform::encode(&cities(), &spec).map(|_| ()))
            .unwrap_err();
        (error.kind(), error.message().to_owned())
    };
    for (spec, kind, expected) in [
        (
            "{recode: [citi]}",
            ErrorKind::Data,
            "$.recode[0]: the frame has no column 'citi'",
        ),
        (
            "{ids: true, recode: [1, 9]}",
            ErrorKind::Data,
            "$.recode[1]: the frame has 4 columns, not 9",
        ),
        (
            "{ids: true, recode: [1], hash: [1], K: 2}",
            ErrorKind::Data,
            "$.hash[0]: column 'city' is coded twice",
        ),
        (
            "{ids: true, bin: [{id: 2, method: equi-width}]}",
            ErrorKind::Data,
            "$.bin[0].numbins: a number of 1 or more, not null",
        ),
        (
            "{ids: true, rekode: [1]}",
            ErrorKind::Data,
            "$.rekode: a specification has no key 'rekode'",
        ),
        (
            "{ids: true, omit: [1]}",
            ErrorKind::Unsupported,
            "$.omit: 'omit' of a specification",
        ),
        (
            "{ids: true}",
            ErrorKind::Data,
            "row 1, column 'city': 'Graz' is no FP64",
        ),
    ] {
        assert_eq!(message(spec), (kind, expected.to_owned()), "{spec}");
    }
    assert_eq!(message("{ids: true").0, ErrorKind::Syntax);
}

#[test]
fn dummy_coded_columns_are_sparse() {
    let texts: Vec<_> = (0..1000)
        .map(|row| format!("value {}", row * 7 % 100))
        .collect();
    let cells = texts.iter().map(|text| Some(Cell::Text(text)));
    let column = Column::of_cells(ColumnType::String, "C1", cells).unwrap();
    let frame = Frame::new(vec![column], None).unwrap();
    let (matrix, _) =
        transform::encode(&frame, &Spec::parse("{dummycode: ['C1']}").unwrap()).unwrap();
    assert_eq!(
        (matrix.layout(), matrix.cols(), matrix.nnz()),
        (Layout::Csr, 100, 1000)
    );
}

proptest! {
    #[test]
    fn what_is_encoded_is_decoded(texts in prop::collection::vec(prop::option::of("[a-c·é]{1,3}"), 1..40), dummy: bool) {
        let cells = texts.iter().map(|text| text.as_deref().map(Cell::Text));
        let column = Column::of_cells(ColumnType::String, "C1", cells).unwrap();
        let frame = Frame::new(vec![column], None).unwrap();
        let spec = Spec::parse(if dummy { "{dummycode: [C1]}" } else { "{recode: [C1]}" }).unwrap();
        let (matrix, meta) = transform::encode(&frame, &spec).unwrap();
        prop_assert_eq!(transform::decode(&matrix, &spec, &meta).unwrap(), frame);
    }
}
