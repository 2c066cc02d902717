//! Frames in files of Arrow, Parquet and lines of JSON, and as record batches.

use std::{
    fs::File,
    io::{Cursor, Write},
    sync::Arc,
};

use ::parquet::{
    arrow::ArrowWriter,
    basic::{Compression, ZstdLevel},
    file::properties::WriterProperties,
};
use arrow::{
    array::{
        ArrayRef, BooleanArray, Date32Array, Decimal128Array, DictionaryArray, Int8Array,
        Int32Array, LargeStringArray, ListArray, NullArray, RecordBatch, StringArray,
        StringViewArray, TimestampMillisecondArray, UInt64Array,
    },
    datatypes::{Int8Type, Int32Type},
};
use arrow_ipc::{
    CompressionType,
    writer::{FileWriter, IpcWriteOptions, StreamWriter},
};
use bytes::Bytes;
use fulgurite_error::{ErrorKind, Result};
use fulgurite_frame::{
    Cell, Column, ColumnType, Frame,
    csv::{self, CsvFormat},
    ipc, json_lines, parquet,
    parquet::{ParquetFile, SharedFile},
};
use proptest::prelude::*;

const TYPES: [ColumnType; 6] = [
    ColumnType::String,
    ColumnType::Boolean,
    ColumnType::Int32,
    ColumnType::Int64,
    ColumnType::Fp32,
    ColumnType::Fp64,
];

fn mixed() -> Frame {
    let text = "name,flag,i,l,f,d\n\"a \"\"q\"\", b\",true,1,9007199254740993,1.5,NaN\n,,,,,\nGröße,false,-7,-1,-0.1,1e300\nx,true,0,0,Infinity,-0.0\n";
    let format = CsvFormat {
        header: true,
        ..CsvFormat::default()
    };
    csv::read(text.as_bytes(), &format, Some(&TYPES)).unwrap()
}

fn through_parquet(frame: &Frame) -> Result<Frame> {
    let mut file = tempfile::tempfile().unwrap();
    parquet::write(frame, &mut file)?;
    parquet::read(SharedFile::new(file).unwrap())
}

fn through_ipc(frame: &Frame) -> Result<Frame> {
    let mut file = Vec::new();
    ipc::write(frame, &mut file)?;
    ipc::read(Cursor::new(file))
}

fn through_json(frame: &Frame) -> Result<Frame> {
    let mut file = Vec::new();
    json_lines::write(frame, &mut file)?;
    json_lines::read(&*file, Some(&frame.schema()))
}

#[test]
fn names_types_and_missing_values_are_kept() {
    let frame = mixed();
    let empty = frame.slice(0..0, 0..6).unwrap();
    let many = frame
        .take(&(0..300_000).map(|row| row % 4).collect::<Vec<_>>())
        .unwrap();
    for frame in [
        &frame,
        &empty,
        &many,
        &frame.slice(1..2, 0..6).unwrap(),
        &frame.slice(1..4, 1..3).unwrap(),
    ] {
        assert_eq!(&through_parquet(frame).unwrap(), frame);
        assert_eq!(&through_ipc(frame).unwrap(), frame);
        let batch = frame.to_record_batch().unwrap();
        assert_eq!(&Frame::from_record_batches(&[batch]).unwrap(), frame);
        if frame.rows() > 0 {
            assert_eq!(&through_json(frame).unwrap(), frame);
        }
    }
    let twice = Frame::from_record_batches(&[
        frame.to_record_batch().unwrap(),
        frame.to_record_batch().unwrap(),
    ]);
    assert_eq!(twice.unwrap(), frame.rbind(&frame).unwrap());
    assert_eq!(Frame::from_record_batches(&[]).unwrap().cols(), 0);
}

#[test]
fn streams_are_read() {
    let batch = mixed().to_record_batch().unwrap();
    let mut stream = Vec::new();
    let mut writer = StreamWriter::try_new(&mut stream, &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    drop(writer);
    assert_eq!(ipc::read(Cursor::new(stream)).unwrap(), mixed());
}

/// As pandas writes Feather files, and Polars.
#[test]
fn compressed_files_are_read() {
    let batch = mixed().to_record_batch().unwrap();
    for compression in [CompressionType::LZ4_FRAME, CompressionType::ZSTD] {
        let options = IpcWriteOptions::default()
            .try_with_compression(Some(compression))
            .unwrap();
        let mut file = Vec::new();
        let mut writer =
            FileWriter::try_new_with_options(&mut file, &batch.schema(), options).unwrap();
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
        drop(writer);
        assert_eq!(ipc::read(Cursor::new(file)).unwrap(), mixed());
    }
}

/// A Parquet file with so many rows in each row group.
fn in_groups(batch: &RecordBatch, rows: usize, compression: Compression) -> Vec<u8> {
    let properties = WriterProperties::builder()
        .set_compression(compression)
        .set_max_row_group_row_count(Some(rows))
        .build();
    let mut file = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut file, batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    file
}

#[test]
fn row_groups_are_read_in_order_and_chosen() {
    let places = (0..200_000).map(|row| row % 4).collect::<Vec<_>>();
    let frame = mixed().take(&places).unwrap();
    let batch = frame.to_record_batch().unwrap();
    let zstd = Compression::ZSTD(ZstdLevel::default());
    for compression in [zstd, Compression::SNAPPY, Compression::LZ4_RAW] {
        let file = in_groups(&batch, 70_000, compression);
        assert_eq!(parquet::read_bytes(file.clone()).unwrap(), frame);
        let file = ParquetFile::open(Bytes::from(file)).unwrap();
        assert_eq!(file.group_rows().values(), &[70_000, 70_000, 60_000]);
        let names = ["l".to_owned(), "name".to_owned()];
        let chosen = [false, true, true];
        let (schema, batches) = file.read(Some(&names), Some(&chosen)).unwrap();
        let names: Vec<_> = schema.fields().iter().map(|field| field.name()).collect();
        assert_eq!(names, ["name", "l"]);
        let rows: Vec<_> = batches.iter().map(RecordBatch::num_rows).collect();
        assert_eq!(rows, [65_536, 4_464, 60_000]);
        let read = Frame::from_record_batches(&batches).unwrap();
        assert_eq!(
            read.slice(0..130_000, 1..2).unwrap(),
            frame.slice(70_000..200_000, 3..4).unwrap()
        );
        let (_, counted) = file.read(Some(&[]), Some(&[true, false, false])).unwrap();
        assert_eq!(
            counted.iter().map(RecordBatch::num_rows).sum::<usize>(),
            70_000
        );
    }
}

#[test]
fn files_tell_bounds_of_row_groups() {
    let batch = RecordBatch::try_from_iter([
        (
            "i",
            Arc::new(Int32Array::from(vec![Some(3), None, Some(-1), Some(7)])) as ArrayRef,
        ),
        (
            "t",
            Arc::new(StringArray::from(vec!["b", "é", "a", "x"])) as ArrayRef,
        ),
    ])
    .unwrap();
    let file = in_groups(&batch, 2, Compression::UNCOMPRESSED);
    let file = ParquetFile::open(Bytes::from(file)).unwrap();
    let told = file.statistics(&["i", "none", "t"]).unwrap();
    assert_eq!(told.len(), 2);
    assert_eq!(told[0].least.as_ref(), &Int32Array::from(vec![3, -1]));
    assert_eq!(told[0].greatest.as_ref(), &Int32Array::from(vec![3, 7]));
    assert_eq!(told[0].nulls, UInt64Array::from(vec![1, 0]));
    assert_eq!(
        told[1].greatest.as_ref(),
        &StringArray::from(vec!["é", "x"])
    );
}

fn of(arrays: Vec<ArrayRef>) -> Result<Frame> {
    let names = (0..arrays.len()).map(|at| format!("a{at}"));
    Frame::from_record_batches(&[RecordBatch::try_from_iter(names.zip(arrays)).unwrap()])
}

#[test]
fn other_types_of_arrow_are_converted() {
    let coded: DictionaryArray<Int8Type> = [Some("u"), None, Some("u")].into_iter().collect();
    let frame = of(vec![
        Arc::new(LargeStringArray::from(vec![Some("a"), None, Some("b")])),
        Arc::new(StringViewArray::from(vec![
            Some("a"),
            None,
            Some("a long text that is not inline"),
        ])),
        Arc::new(coded),
        Arc::new(Int8Array::from(vec![Some(-1), None, Some(2)])),
        Arc::new(UInt64Array::from(vec![Some(1), None, Some(2)])),
        Arc::new(Date32Array::from(vec![Some(0), None, Some(18_000)])),
        Arc::new(TimestampMillisecondArray::from(vec![
            Some(1500),
            None,
            Some(0),
        ])),
        Arc::new(
            Decimal128Array::from(vec![Some(125), None, Some(-5)])
                .with_precision_and_scale(9, 2)
                .unwrap(),
        ),
        Arc::new(NullArray::new(3)),
    ])
    .unwrap();
    let row = |row: usize| {
        let cells = (0..frame.cols()).map(|col| {
            frame
                .cell(row, col)
                .map(|cell| cell.text().into_owned())
                .unwrap_or("-".into())
        });
        cells.collect::<Vec<_>>().join("|")
    };
    assert_eq!(
        row(0),
        "a|a|u|-1|1|1970-01-01|1970-01-01T00:00:01.500|1.25|-"
    );
    assert_eq!(row(1), "-|-|-|-|-|-|-|-|-");
    assert_eq!(
        row(2),
        "b|a long text that is not inline|u|2|2|2019-04-14|1970-01-01T00:00:00|-0.05|-"
    );
    assert_eq!(frame.schema()[3..5], [ColumnType::Int32, ColumnType::Int64]);
}

#[test]
fn timestamps_of_utc_are_text_and_those_of_other_zones_refused() {
    let times = |zone: &str| {
        let times = TimestampMillisecondArray::from(vec![Some(1500), None]);
        of(vec![Arc::new(times.with_timezone(zone))])
    };
    for zone in ["UTC", "Z", "+00:00"] {
        let frame = times(zone).unwrap();
        let text = frame.cell(0, 0).map(|cell| cell.text().into_owned());
        assert_eq!(text.as_deref(), Some("1970-01-01T00:00:01.500Z"), "{zone}");
        assert!(frame.cell(1, 0).is_none());
    }
    let error = times("Europe/Vienna").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    let message = error.to_string();
    assert!(
        message.contains("column 'a0', of type Timestamp(ms, \"Europe/Vienna\")"),
        "{message}"
    );
}

#[test]
fn what_has_no_type_of_frames_is_named() {
    let list = ListArray::from_iter_primitive::<Int32Type, _, _>([Some([Some(1)])]);
    let error = of(vec![
        Arc::new(BooleanArray::from(vec![true])),
        Arc::new(list),
    ])
    .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(
        error
            .message()
            .starts_with("column 'a1': frames have no columns of the Arrow type List"),
        "{error}"
    );
    let error = of(vec![Arc::new(UInt64Array::from(vec![u64::MAX]))]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Data);
    assert!(
        error.message().starts_with("column 'a0', of type UInt64"),
        "{error}"
    );
    // A code without a value is refused before it is followed.
    let keys = Int32Array::from(vec![0, 1]);
    let values: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), None]));
    let coded = DictionaryArray::<Int32Type>::try_new(keys, values).unwrap();
    let frame = of(vec![Arc::new(coded)]).unwrap();
    assert_eq!(
        (frame.cell(0, 0), frame.cell(1, 0)),
        (Some(Cell::Text("a")), None)
    );
}

#[test]
fn objects_become_rows() {
    let text = "{\"b\": 1, \"a\": true}\n\n  {\"a\": null, \"c\": [1, {\"x\": 2}], \"b\": 2}\n{\"d\": \"NaN\", \"e\": 1.0, \"c\": \"é\\n\"}\n{\"d\": 2, \"e\":9007199254740993}";
    let frame = json_lines::read(text.as_bytes(), None).unwrap();
    let names: Vec<_> = frame.names().iter().map(|name| &**name).collect();
    assert_eq!(names, ["b", "a", "c", "d", "e"]);
    assert_eq!(
        frame.schema(),
        [
            ColumnType::Int64,
            ColumnType::Boolean,
            ColumnType::String,
            ColumnType::Fp64,
            ColumnType::Fp64
        ]
    );
    assert_eq!(frame.cell(1, 2), Some(Cell::Text("[1,{\"x\":2}]")));
    assert_eq!((frame.cell(0, 2), frame.cell(2, 0)), (None, None));
    assert_eq!(json_lines::read("".as_bytes(), None).unwrap().cols(), 0);
    for (text, message) in [
        (
            "{\"a\": 1}\n[1]",
            "line 2: invalid type: sequence, expected an object",
        ),
        ("{\"a\": 1, \"a\": 2}", "row 1: the key 'a' is there twice"),
        ("{\"a\": }", "line 1: expected value at character 7"),
        ("{} {}", "line 1: trailing characters at character 4"),
    ] {
        let error = json_lines::read(text.as_bytes(), None).unwrap_err();
        assert_eq!((error.kind(), error.message()), (ErrorKind::Data, message));
    }
}

#[test]
fn damaged_files_are_errors() {
    let mut arrow = Vec::new();
    ipc::write(&mixed(), &mut arrow).unwrap();
    let mut file = tempfile::NamedTempFile::new().unwrap();
    parquet::write(&mixed(), &mut file).unwrap();
    let stored = std::fs::read(file.path()).unwrap();
    for at in (0..arrow.len()).step_by(7) {
        assert!(ipc::read(Cursor::new(&arrow[..at])).is_err(), "{at}");
        let mut changed = arrow.clone();
        changed[at] ^= 0x55;
        let _ = ipc::read(Cursor::new(changed));
    }
    for at in (0..stored.len()).step_by(7) {
        let mut changed = stored.clone();
        changed[at] ^= 0x55;
        for bytes in [&stored[..at], &changed] {
            let mut damaged = tempfile::tempfile().unwrap();
            damaged.write_all(bytes).unwrap();
            let damaged = SharedFile::new(damaged).unwrap();
            let tell = ParquetFile::open(damaged.clone());
            let _ = tell.map(|file| file.statistics(&["i", "name", "d"]));
            let read = parquet::read(damaged);
            assert!(bytes.len() == stored.len() || read.is_err());
        }
    }
    let empty = SharedFile::new(File::open("/dev/null").unwrap()).unwrap();
    assert!(parquet::read(empty).is_err());
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        texts in prop::collection::vec(prop::option::of("[ -~é\n]{0,5}"), 1..30),
        numbers in prop::collection::vec(prop::option::of(any::<f64>()), 30),
    ) {
        let cells = texts.iter().map(|text| text.as_deref().map(Cell::Text));
        let text = Column::of_cells(ColumnType::String, "", cells).unwrap();
        let cells = numbers[..texts.len()].iter().map(|number| number.map(Cell::Fp64));
        let number = Column::of_cells(ColumnType::Fp64, "", cells).unwrap();
        let frame = Frame::new(vec![text, number], None).unwrap();
        prop_assert_eq!(&through_ipc(&frame).unwrap(), &frame);
        prop_assert_eq!(&through_parquet(&frame).unwrap(), &frame);
        prop_assert_eq!(&through_json(&frame).unwrap(), &frame);
    }
}
