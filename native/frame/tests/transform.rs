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
            "{ids: true, udf: [1]}",
            ErrorKind::Unsupported,
            "$.udf: 'udf' of a specification",
        ),
        (
            "{ids: true, recode: [1], impute: [{id: 1, method: global_mean}]}",
            ErrorKind::Data,
            "$.impute[0].method: the categories of column 'city' have no mean",
        ),
        (
            "{ids: true, recode: [1], impute: [{id: 1, method: constant}]}",
            ErrorKind::Data,
            "$.impute[0].value: a text or number, not null",
        ),
        (
            "{ids: true, scale: [{id: 2, method: half}]}",
            ErrorKind::Data,
            "$.scale[0].method: mean-subtraction or z-score, not half",
        ),
        (
            "{ids: true, word_embedding: [1]}",
            ErrorKind::Unsupported,
            "word_embedding without an embedding",
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

fn gaps() -> Frame {
    let text = "city,age,income,flag\nGraz,10,1.5,true\nWien,20,2.5,false\nNA,30,,true\nGraz,,3.5,true\nNA,50,NA,\n";
    let format = CsvFormat {
        header: true,
        missing: vec!["NA".into()],
        ..CsvFormat::default()
    };
    csv::read(text.as_bytes(), &format, None).unwrap()
}

/// The figures and the lines of metadata are those of SystemDS 3.4, but for its order of categories.
#[test]
fn missing_values_are_imputed_and_metadata_says_by_what() {
    let spec = "{ids: true, recode: [1], dummycode: [4], impute: [{id: 1, method: global_mode}, {id: 2, method: global_mean}, {id: 3, method: constant, value: 7}, {id: 4, method: constant, value: maybe}]}";
    let spec = Spec::parse(spec).unwrap();
    let (matrix, meta) = transform::encode(&gaps(), &spec).unwrap();
    let expected = [
        [1.0, 10.0, 1.5, 1.0, 0.0, 0.0],
        [2.0, 20.0, 2.5, 0.0, 1.0, 0.0],
        [1.0, 30.0, 7.0, 1.0, 0.0, 0.0],
        [1.0, 27.5, 3.5, 1.0, 0.0, 0.0],
        [1.0, 50.0, 7.0, 0.0, 0.0, 1.0],
    ];
    assert_eq!(rows(&matrix), expected);
    let mut file = Vec::new();
    csv::write(&meta, &mut file, &CsvFormat::default()).unwrap();
    assert_eq!(
        String::from_utf8(file.clone()).unwrap(),
        "#Meta·MV,Graz,27.5,7,maybe\n#Meta·ND,2,-1,-1,3\nGraz·1,,,true·1\nWien·2,,,false·2\n,,,maybe·3\n"
    );
    let read = csv::read(&*file, &CsvFormat::default(), None).unwrap();
    assert_eq!(read.column_meta(), meta.column_meta());
    let again = transform::apply(&gaps(), &spec, &read).unwrap();
    assert_eq!(rows(&again), expected);
    let bare = Frame::new(meta.columns().to_vec(), None).unwrap();
    assert_eq!(
        transform::apply(&gaps(), &spec, &bare)
            .unwrap_err()
            .message(),
        "column 'city' is imputed, and the metadata does not say by what"
    );
}

#[test]
fn files_of_metadata_of_systemds_are_read() {
    let text = "city,age\n#Meta·MV,null,27.5\n#Meta·ND,2,-1\nWien·2,\nGraz·1,\n";
    let format = CsvFormat {
        header: true,
        ..CsvFormat::default()
    };
    let meta = csv::read(text.as_bytes(), &format, None).unwrap();
    assert_eq!((meta.rows(), &*meta.names()[1]), (2, "age"));
    assert_eq!(meta.column_meta()[0].distinct, Some(2));
    let spec = "{ids: true, recode: [1], impute: [{id: 2, method: global_mean}]}";
    let frame = gaps().slice(0..5, 0..2).unwrap();
    let matrix = transform::apply(&frame, &Spec::parse(spec).unwrap(), &meta).unwrap();
    assert_eq!(
        format!("{:?}", rows(&matrix)),
        "[[1.0, 10.0], [2.0, 20.0], [NaN, 30.0], [1.0, 27.5], [NaN, 50.0]]"
    );
    let alone = "#Meta·MV;22.0;NaN\n#Meta·ND;-1;-1\n";
    let format = CsvFormat {
        separator: b';',
        ..CsvFormat::default()
    };
    let meta = csv::read(alone.as_bytes(), &format, None).unwrap();
    assert_eq!((meta.rows(), meta.cols()), (0, 2));
}

#[test]
fn rows_that_miss_a_value_are_left_out() {
    let spec = Spec::parse("{ids: true, omit: [1], recode: [1, 4]}").unwrap();
    let (matrix, meta) = transform::encode(&gaps(), &spec).unwrap();
    let expected = "[[1.0, 10.0, 1.5, 1.0], [2.0, 20.0, 2.5, 2.0], [1.0, NaN, 3.5, 1.0]]";
    assert_eq!(format!("{:?}", rows(&matrix)), expected);
    let again = transform::apply(&gaps(), &spec, &meta).unwrap();
    assert_eq!(format!("{:?}", rows(&again)), expected);
}

#[test]
fn words_become_rows_of_an_embedding() {
    let read = |text: &str| csv::read(text.as_bytes(), &CsvFormat::default(), None).unwrap();
    let recode = Spec::parse("{ids: true, recode: [1], dummycode: [2]}").unwrap();
    let (_, meta) = transform::encode(&read("Graz,x\nWien,y\n"), &recode).unwrap();
    let embedding = MatrixBlock::dense(2, 3, vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
    let spec = Spec::parse("{ids: true, word_embedding: [1], dummycode: [2]}").unwrap();
    let words = read("Wien,x\nLinz,z\nGraz,y\n");
    let matrix = transform::apply_embedding(&words, &spec, &meta, &embedding).unwrap();
    assert_eq!(
        rows(&matrix),
        [
            [4.0, 5.0, 6.0, 1.0, 0.0],
            [0.0; 5],
            [1.0, 2.0, 3.0, 0.0, 1.0]
        ]
    );
    let short = MatrixBlock::filled(1, 3, 1.0).unwrap();
    assert_eq!(
        transform::apply_embedding(&words, &spec, &meta, &short)
            .unwrap_err()
            .message(),
        "an embedding of 1 rows for 2 words"
    );
    assert_eq!(
        transform::apply(&words, &spec, &meta).unwrap_err().kind(),
        ErrorKind::Unsupported
    );
}

/// In the specification of SystemML 1.2.
#[test]
fn numbers_are_scaled() {
    let frame = csv::read(
        "a,b\n1,5\n2,5\n3,5\n".as_bytes(),
        &CsvFormat {
            header: true,
            ..CsvFormat::default()
        },
        None,
    )
    .unwrap();
    let spec = r#"{"scale": [{"name": "a", "method": "z-score"}, {"name": "b", "method": "mean-subtraction"}]}"#;
    let spec = Spec::parse(spec).unwrap();
    let (matrix, meta) = transform::encode(&frame, &spec).unwrap();
    assert_eq!(rows(&matrix), [[-1.0, 0.0], [0.0, 0.0], [1.0, 0.0]]);
    assert_eq!(transform::apply(&frame, &spec, &meta).unwrap(), matrix);
    let decoded = transform::decode(&matrix, &spec, &meta).unwrap();
    assert_eq!(decoded.to_matrix().unwrap(), frame.to_matrix().unwrap());
}

proptest! {
    /// Many blocks of rows give what one row after the other does.
    #[test]
    fn blocks_are_put_together(seed in 0_usize..1000, gaps: bool) {
        let rows = 20_000;
        let texts: Vec<_> = (0..rows).map(|row| format!("v{}", (row * 7 + seed) % 50)).collect();
        let cells = texts.iter().enumerate().map(|(row, text)| {
            let present = !gaps || row % 11 != 0;
            present.then_some(Cell::Text(text))
        });
        let column = Column::of_cells(ColumnType::String, "C1", cells).unwrap();
        let number = Column::of_cells(ColumnType::Fp64, "C2", (0..rows).map(|row| Some(Cell::Fp64((row % 3) as f64)))).unwrap();
        let frame = Frame::new(vec![column, number], None).unwrap();
        let (dummy, _) = transform::encode(&frame, &Spec::parse("{ids: true, dummycode: [1]}").unwrap()).unwrap();
        let (codes, _) = transform::encode(&frame, &Spec::parse("{ids: true, recode: [1]}").unwrap()).unwrap();
        for row in (0..rows).step_by(37) {
            let code = codes.get(row, 0);
            let sum: f64 = (0..50).map(|col| dummy.get(row, col)).sum();
            prop_assert_eq!(sum, if code.is_nan() { 0.0 } else { 1.0 });
            prop_assert!(code.is_nan() || dummy.get(row, code as usize - 1) == 1.0);
            prop_assert_eq!(dummy.get(row, 50), (row % 3) as f64);
        }
    }
}
