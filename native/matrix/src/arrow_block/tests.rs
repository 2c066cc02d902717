//! Round trips, sharing, and refusals.

use std::{
    ffi::c_void,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use arrow::{
    array::{ArrayRef, AsArray, Int8Array, Int64Array, RecordBatch},
    datatypes::Int64Type,
    ffi::{FFI_ArrowArray, FFI_ArrowSchema},
};
use fulgurite_error::{ErrorKind, Result};
use proptest::prelude::*;

use super::{Block, decode, encode, ffi, ipc, schema};
use crate::{CoordinateMatrix, CsrMatrix, DenseMatrix, MatrixBlock};

fn dense() -> Block {
    let matrix = DenseMatrix::from_fn(3, 4, |i, j| (i * 10 + j) as f64).unwrap();
    Block::new(7, 0, matrix.into())
}

fn csr() -> Block {
    let matrix = CsrMatrix::new(
        3,
        5,
        vec![0, 2, 2, 3],
        vec![1, 4, 0],
        vec![1.5, f64::NAN, -2.0],
    )
    .unwrap();
    Block::new(10, 2, matrix.into())
}

fn coordinates() -> Block {
    let matrix = CoordinateMatrix::new(
        9,
        5,
        vec![2i64, 2, 7],
        vec![1, 4, 0],
        vec![1.5, f64::NAN, -2.0],
    )
    .unwrap();
    Block::new(13, 2, matrix.into())
}

fn values(block: &Block) -> *const f64 {
    block.matrix.values().as_ptr()
}

/// Equal, taking NaN for equal to itself.
fn assert_same(left: &[Block], right: &[Block]) {
    assert_eq!(format!("{left:?}"), format!("{right:?}"));
}

#[test]
fn a_block_survives_without_a_copy_of_its_values() {
    for block in [dense(), csr(), coordinates()] {
        let batch = encode(std::slice::from_ref(&block)).unwrap();
        let decoded = decode(&batch).unwrap();
        assert_same(&decoded, std::slice::from_ref(&block));
        assert_eq!(values(&decoded[0]), values(&block));
    }
}

#[test]
fn several_blocks_and_sliced_batches_decode() {
    let blocks = [dense(), csr(), coordinates(), dense(), csr()];
    let batch = encode(&blocks).unwrap();
    assert_same(&decode(&batch).unwrap(), &blocks);
    let sliced = batch.slice(1, 3);
    assert_same(&decode(&sliced).unwrap(), &blocks[1..4]);
    assert!(decode(&encode(&[]).unwrap()).unwrap().is_empty());
}

#[test]
fn ipc_round_trips_and_refuses_what_was_cut_off() {
    let empty = Block::whole(MatrixBlock::filled(0, 3, 0.0).unwrap());
    let blocks = [dense(), csr(), coordinates(), empty];
    let bytes = ipc::to_ipc(&blocks).unwrap();
    assert_same(&ipc::from_ipc(&bytes).unwrap(), &blocks);
    for length in 0..bytes.len() {
        let error = ipc::from_ipc(&bytes[..length]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Data, "{length}: {error}");
    }
}

/// The batch of `block` with one column replaced.
fn with_column(block: Block, name: &str, column: ArrayRef) -> RecordBatch {
    let batch = encode(&[block]).unwrap();
    let index = batch.schema().index_of(name).unwrap();
    let mut columns = batch.columns().to_vec();
    columns[index] = column;
    RecordBatch::try_new(schema(), columns).unwrap()
}

fn refusal(result: Result<Vec<Block>>) -> String {
    let error = result.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Data, "{error}");
    error.message().to_owned()
}

#[test]
fn bad_sizes_are_refused_by_field() {
    let int64 = |value: i64| Arc::new(Int64Array::from(vec![value])) as ArrayRef;
    let refused = |block: Block, name: &str, column: ArrayRef| {
        refusal(decode(&with_column(block, name, column)))
    };
    let mut refusals = vec![
        refused(dense(), "rows", int64(-3)),
        refused(dense(), "rows", int64(4)),
        refused(dense(), "rows", int64(i64::MAX)),
        refused(dense(), "cols", int64(3)),
        refused(dense(), "row_offset", int64(-1)),
        refused(dense(), "nnz", int64(13)),
        refused(dense(), "layout", Arc::new(Int8Array::from(vec![7]))),
        refused(dense(), "layout", Arc::new(Int8Array::from(vec![1]))),
        refused(csr(), "rows", int64(2)),
        refused(csr(), "cols", int64(4)),
        refused(coordinates(), "rows", int64(7)),
        refused(coordinates(), "cols", int64(4)),
        refused(coordinates(), "layout", Arc::new(Int8Array::from(vec![1]))),
        refused(csr(), "layout", Arc::new(Int8Array::from(vec![2]))),
    ];
    let csr_batch = encode(&[csr()]).unwrap();
    for (name, bad) in [
        ("pointers", vec![0i64, 2, 1, 3]),
        ("pointers", vec![1, 2, 2, 3]),
        ("pointers", vec![0, 2, 2, 4]),
        ("pointers", vec![-1, 2, 2, 3]),
    ] {
        let list = csr_batch.column_by_name(name).unwrap().as_list::<i64>();
        let (field, offsets, _, _) = list.clone().into_parts();
        let bad = arrow::array::LargeListArray::new(
            field,
            offsets,
            Arc::new(Int64Array::from(bad)),
            None,
        );
        refusals.push(refused(csr(), name, Arc::new(bad)));
    }
    for bad in [vec![1, 4, -1], vec![1, 5, 0], vec![4, 1, 0], vec![1, 1, 0]] {
        let list = csr_batch
            .column_by_name("indices")
            .unwrap()
            .as_list::<i64>();
        let (field, offsets, _, _) = list.clone().into_parts();
        let bad = arrow::array::LargeListArray::new(
            field,
            offsets,
            Arc::new(arrow::array::Int32Array::from(bad)),
            None,
        );
        refusals.push(refused(csr(), "indices", Arc::new(bad)));
    }
    insta::assert_snapshot!(refusals.join("\n"));
}

#[test]
fn other_schemas_versions_and_nulls_are_refused() {
    let batch = encode(&[dense()]).unwrap();
    let projected = batch.project(&[0, 1, 2, 3, 4, 5, 7, 8]).unwrap();
    let other_version = RecordBatch::try_new(
        Arc::new(
            schema()
                .as_ref()
                .clone()
                .with_metadata([("fulgurite.blocks".to_owned(), "2".to_owned())]),
        ),
        batch.columns().to_vec(),
    )
    .unwrap();
    let nullable = {
        let mut fields: Vec<_> = schema()
            .fields()
            .iter()
            .map(|f| f.as_ref().clone())
            .collect();
        fields[2] = fields[2].clone().with_nullable(true);
        let mut columns = batch.columns().to_vec();
        columns[2] = Arc::new(arrow::array::PrimitiveArray::<Int64Type>::from(vec![None]));
        RecordBatch::try_new(Arc::new(arrow::datatypes::Schema::new(fields)), columns).unwrap()
    };
    let refusals = [projected, nullable, other_version].map(|batch| refusal(decode(&batch)));
    insta::assert_snapshot!(refusals.join("\n"), @r"
    field 6 of a batch of blocks must be 'values: LargeList(non-null Float64)', not 'pointers: LargeList(non-null Int64)'
    field 'rows' of a batch of blocks holds 1 nulls
    the blocks' schema has version '2', this build reads version 1
    ");
}

/// An exported struct whose release callback counts, as a foreign producer's would.
struct Counted {
    array: FFI_ArrowArray,
    schema: FFI_ArrowSchema,
    releases: Arc<AtomicUsize>,
}

type Release = unsafe extern "C" fn(*mut FFI_ArrowArray);

struct Wrapped {
    release: Release,
    private: *mut c_void,
    releases: Arc<AtomicUsize>,
}

unsafe extern "C" fn count_release(array: *mut FFI_ArrowArray) {
    // SAFETY: `counted` put a boxed `Wrapped` there; callbacks run once.
    unsafe {
        let array = &mut *array;
        let wrapped = Box::from_raw(array.private_data().cast::<Wrapped>());
        wrapped.releases.fetch_add(1, Ordering::SeqCst);
        array.set_private_data(wrapped.private);
        array.set_release(Some(wrapped.release));
        (wrapped.release)(array);
    }
}

fn counted(block: &Block) -> Counted {
    let batch = encode(std::slice::from_ref(block)).unwrap();
    let (mut array, mut schema) = (FFI_ArrowArray::empty(), FFI_ArrowSchema::empty());
    let releases = Arc::new(AtomicUsize::new(0));
    // SAFETY: both are memory for the structs; the wrapper keeps callback and data for `count_release`.
    unsafe {
        ffi::export(&batch, &raw mut array, &raw mut schema).unwrap();
        let wrapped = Wrapped {
            release: array.release().unwrap(),
            private: array.private_data(),
            releases: Arc::clone(&releases),
        };
        array.set_private_data(Box::into_raw(Box::new(wrapped)).cast());
        array.set_release(Some(count_release));
    }
    Counted {
        array,
        schema,
        releases,
    }
}

fn import(counted: &mut Counted) -> Result<RecordBatch> {
    // SAFETY: both structs are initialised and nobody else's.
    unsafe { ffi::import(&raw mut counted.array, &raw mut counted.schema) }
}

#[test]
fn the_c_interface_copies_nothing_and_releases_once() {
    for block in [dense(), csr(), coordinates()] {
        let mut handed = counted(&block);
        let batch = import(&mut handed).unwrap();
        assert!(handed.array.is_released());
        let decoded = decode(&batch).unwrap();
        drop(batch);
        assert_same(&decoded, std::slice::from_ref(&block));
        assert_eq!(values(&decoded[0]), values(&block));
        assert_eq!(handed.releases.load(Ordering::SeqCst), 0);
        drop(decoded);
        assert_eq!(handed.releases.load(Ordering::SeqCst), 1);
        drop(handed.array);
        assert_eq!(handed.releases.load(Ordering::SeqCst), 1);
    }
}

/// Overwrites a 64-bit field of the C struct.
fn corrupt(array: *mut FFI_ArrowArray, field: usize, value: i64) {
    // SAFETY: the struct begins with five 64-bit fields.
    unsafe { array.cast::<i64>().add(field).write(value) }
}

fn child(array: *mut FFI_ArrowArray, index: usize) -> *mut FFI_ArrowArray {
    // SAFETY: the array has that child.
    unsafe { std::ptr::from_ref((*array).child(index)).cast_mut() }
}

#[test]
fn inconsistent_structs_are_refused_and_released() {
    type Corruption = (&'static str, fn(*mut FFI_ArrowArray));
    let corruptions: [Corruption; 9] = [
        ("negative length", |a| corrupt(a, 0, -1)),
        ("batch longer than its children", |a| corrupt(a, 0, 2)),
        ("offset past the children", |a| corrupt(a, 2, 1)),
        ("enormous child", |a| corrupt(child(a, 0), 0, i64::MAX)),
        ("missing child", |a| corrupt(a, 4, 8)),
        ("wrong number of buffers", |a| corrupt(child(a, 6), 3, 1)),
        ("null rows", |a| corrupt(child(a, 2), 1, 1)),
        ("values shorter than the offsets say", |a| {
            corrupt(child(child(a, 6), 0), 0, 11);
        }),
        ("values list is empty", |a| corrupt(child(a, 6), 0, 0)),
    ];
    for (name, corruption) in corruptions {
        let mut handed = counted(&dense());
        corruption(&raw mut handed.array);
        let result = import(&mut handed).and_then(|batch| decode(&batch));
        let error = result.expect_err(name);
        assert_eq!(error.kind(), ErrorKind::Data, "{name}: {error}");
        assert_eq!(handed.releases.load(Ordering::SeqCst), 1, "{name}");
    }
    let mut released = counted(&dense());
    import(&mut released).unwrap();
    assert_eq!(import(&mut released).unwrap_err().kind(), ErrorKind::Data);
    // SAFETY: null is allowed.
    let error = unsafe { ffi::import(std::ptr::null_mut(), std::ptr::null_mut()) }.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Data);
}

/// A foreign buffer aligned to 8 bytes and no more, as the JVM gives.
#[test]
fn eight_byte_alignment_is_enough() {
    let cells: Vec<f64> = (0..13).map(f64::from).collect();
    let buffer = crate::ScalarBuffer::<f64>::from(cells).slice(1, 12);
    let block = Block::whole(DenseMatrix::new(3, 4, buffer).unwrap().into());
    let mut handed = counted(&block);
    let decoded = decode(&import(&mut handed).unwrap()).unwrap();
    assert_eq!(values(&decoded[0]), values(&block));
    assert_same(&decoded, &[block]);
}

proptest! {
    #[test]
    fn any_matrix_round_trips(rows in 0usize..9, cols in 0usize..9, seed in any::<u64>(), offset in 0u64..1 << 40) {
        let mut state = seed;
        let matrix = MatrixBlock::from(DenseMatrix::from_fn(rows, cols, |_, _| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            if state >> 63 == 0 { 0.0 } else { (state >> 33) as f64 }
        }).unwrap());
        let sparse = MatrixBlock::from(matrix.to_csr().unwrap());
        let blocks = [Block::new(offset, 0, matrix), Block::new(offset, 3, sparse)];
        let batch = encode(&blocks).unwrap();
        prop_assert_eq!(&decode(&batch).unwrap()[..], &blocks[..]);
        prop_assert_eq!(&ipc::from_ipc(&ipc::to_ipc(&blocks).unwrap()).unwrap()[..], &blocks[..]);
    }
}
