//! Memory of NumPy and SciPy as blocks, and blocks as arrays: without a copy, both ways.
//!
//! Unsafe code is here alone. Python may write into memory that it lent: callers see to it that this gives no result that is
//! half old and half new (`_convert.py`).

use std::{panic::AssertUnwindSafe, ptr::NonNull, sync::Arc};

use arrow::buffer::{Buffer, ScalarBuffer};
use fulgurite_error::{Error, Result};
use fulgurite_matrix::{CsrMatrix, DenseMatrix, MatrixBlock, memory};
use numpy::{PyArray1, PyArrayDyn, PyArrayMethods, PyUntypedArrayMethods, ndarray::ArrayView1};
use pyo3::prelude::*;

/// Keeps an array alive whose memory a block reads.
struct Lent {
    #[expect(dead_code, reason = "held, not read")]
    array: AssertUnwindSafe<Py<PyAny>>,
}

/// An array's memory as a buffer.
///
/// # Errors
/// `data`, for one that is not aligned or not in one piece.
pub fn buffer<T: numpy::Element + arrow::datatypes::ArrowNativeType>(
    array: &Bound<'_, PyArrayDyn<T>>,
) -> Result<ScalarBuffer<T>> {
    let cells = array.len();
    let data = array.data();
    if cells == 0 {
        return Ok(ScalarBuffer::from(Vec::new()));
    }
    if !data.is_aligned() || !(array.is_c_contiguous() || array.is_fortran_contiguous()) {
        return Err(Error::data(
            "the memory of an array is not aligned or not in one piece",
        ));
    }
    let bytes = NonNull::new(data.cast::<u8>())
        .ok_or_else(|| Error::internal("an array with cells and without memory"))?;
    let owner = Arc::new(Lent {
        // Nobody reads through it.
        array: AssertUnwindSafe(array.clone().into_any().unbind()),
    });
    // SAFETY: NumPy says that the array is in one piece of `cells` cells at `data`, which is not null and aligned. It lives
    // as long as `owner`, which the buffer keeps; NumPy refuses to resize an array that is referred to. Blocks only read.
    let buffer = unsafe { Buffer::from_custom_allocation(bytes, cells * size_of::<T>(), owner) };
    Ok(ScalarBuffer::new(buffer, 0, cells))
}

/// A block of a NumPy array's cells, row after row. It shares the memory, unless it is to be `copied`.
///
/// # Errors
/// `data`, for memory that is not aligned or not in one piece; `memory`, when there is none for a copy.
pub fn dense_block(
    array: &Bound<'_, PyArrayDyn<f64>>,
    rows: usize,
    cols: usize,
    copied: bool,
) -> Result<MatrixBlock> {
    let cells = buffer(array)?;
    let cells = match copied {
        true => memory::copied(&cells)?.into(),
        false => cells,
    };
    Ok(DenseMatrix::new(rows, cols, cells)?.into())
}

/// A block of the parts of a SciPy matrix in CSR, whose indices are sorted and distinct.
///
/// # Errors
/// `data`, for parts that do not belong together; `memory`, when there is none for a copy.
pub fn csr_block(
    shape: (usize, usize),
    pointers: &Bound<'_, PyArrayDyn<i64>>,
    indices: &Bound<'_, PyArrayDyn<i32>>,
    values: &Bound<'_, PyArrayDyn<f64>>,
    copied: bool,
) -> Result<MatrixBlock> {
    fn own<T: arrow::datatypes::ArrowNativeType>(
        buffer: ScalarBuffer<T>,
        copied: bool,
    ) -> Result<ScalarBuffer<T>> {
        match copied {
            true => Ok(memory::copied(&buffer)?.into()),
            false => Ok(buffer),
        }
    }
    let pointers = buffer(pointers)?;
    let indices = own(buffer(indices)?, copied)?;
    let values = own(buffer(values)?, copied)?;
    // Pointers are always the block's own: what was checked stays true.
    let pointers: ScalarBuffer<i64> = memory::copied(&pointers)?.into();
    Ok(CsrMatrix::new(shape.0, shape.1, pointers, indices, values)?.into())
}

/// Owns the memory of arrays that are views of a block.
#[pyclass(frozen, module = "fulgurite._native")]
struct Cells {
    #[expect(dead_code, reason = "held, not read")]
    block: MatrixBlock,
}

/// A block's cells as a read-only array of one dimension, which keeps the block.
fn view<'py, T: numpy::Element>(
    py: Python<'py>,
    cells: &[T],
    block: &MatrixBlock,
) -> PyResult<Bound<'py, PyArray1<T>>> {
    let owner = Bound::new(
        py,
        Cells {
            block: block.clone(),
        },
    )?;
    let cells = ArrayView1::from(cells);
    // SAFETY: the cells are in a buffer that the block keeps, and the array keeps the block. Nobody writes: blocks are
    // immutable, and the array is made read-only before anybody else has it.
    let array = unsafe { PyArray1::borrow_from_array(&cells, owner.into_any()) };
    array.call_method1("setflags", (false,))?;
    Ok(array)
}

/// The cells of a block, row after row.
///
/// # Errors
/// When there is no memory for the cells of a sparse block.
pub fn dense_cells<'py>(
    py: Python<'py>,
    block: &MatrixBlock,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    match block {
        MatrixBlock::Dense(dense) => view(py, dense.values(), block),
        sparse => {
            let dense: MatrixBlock = py
                .detach(|| sparse.to_dense())
                .map_err(|error| crate::failure::raised(py, &error, None))?
                .into();
            view(py, dense.values(), &dense)
        }
    }
}

/// Pointers, indices and values.
pub type CsrParts<'py> = (
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<i32>>,
    Bound<'py, PyArray1<f64>>,
);

/// The parts of a block in CSR.
///
/// # Errors
/// When there is no memory for them.
pub fn csr_parts<'py>(py: Python<'py>, block: &MatrixBlock) -> PyResult<CsrParts<'py>> {
    let csr = py
        .detach(|| block.to_csr())
        .map_err(|error| crate::failure::raised(py, &error, None))?;
    let block = MatrixBlock::Csr(csr.clone());
    Ok((
        view(py, csr.pointers(), &block)?,
        view(py, csr.indices(), &block)?,
        view(py, csr.values(), &block)?,
    ))
}
