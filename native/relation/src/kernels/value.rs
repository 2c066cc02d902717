//! Arguments of kernels.

use std::sync::Arc;

use arrow::{
    array::{
        Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, Datum, PrimitiveArray, Scalar,
        UInt32Array, new_null_array,
    },
    buffer::{BooleanBuffer, Buffer, NullBuffer},
    compute::take,
    datatypes::DataType,
    error::ArrowError,
};
use fulgurite_error::{Error, Result};
use fulgurite_matrix::{lanes::vectorized, memory};

use crate::literal::Options;

/// An array, or one value that stands for all rows.
#[derive(Debug, Clone)]
pub struct Value {
    /// Of length 1 where it is a single value.
    pub array: ArrayRef,
    pub is_single: bool,
}

/// A call of a function.
pub struct Invocation<'a> {
    pub args: &'a [Value],
    pub options: &'a Options,
    /// The type of the result.
    pub to: &'a DataType,
    /// The length of the result.
    pub rows: usize,
}

pub type Kernel = fn(&Invocation<'_>) -> Result<ArrayRef>;

impl Value {
    pub fn column(array: ArrayRef) -> Value {
        Value {
            array,
            is_single: false,
        }
    }

    pub fn single(array: ArrayRef) -> Value {
        Value {
            array,
            is_single: true,
        }
    }

    /// The value of each row.
    ///
    /// # Errors
    /// `memory`.
    pub fn spread(&self, rows: usize) -> Result<ArrayRef> {
        if !self.is_single || rows == 1 {
            return Ok(Arc::clone(&self.array));
        }
        if self.array.is_null(0) || self.array.data_type() == &DataType::Null {
            memory::admit(rows.saturating_mul(8))?;
            return Ok(new_null_array(self.array.data_type(), rows));
        }
        let places = UInt32Array::from(memory::filled(rows, 0u32)?);
        memory::admit(rows.saturating_mul(self.array.get_buffer_memory_size().min(64)))?;
        take(&self.array, &places, None).map_err(failed)
    }

    /// As Arrow's kernels take it.
    pub fn datum(&self) -> Box<dyn Datum> {
        match self.is_single {
            true => Box::new(Scalar::new(Arc::clone(&self.array))),
            false => Box::new(Arc::clone(&self.array)),
        }
    }

    pub fn primitive<T: ArrowPrimitiveType>(&self) -> &PrimitiveArray<T> {
        self.array.as_primitive::<T>()
    }

    pub fn data_type(&self) -> &DataType {
        self.array.data_type()
    }
}

impl Invocation<'_> {
    /// # Errors
    /// `internal` where the declaration promises more arguments than there are.
    pub fn arg(&self, at: usize) -> Result<&Value> {
        self.args
            .get(at)
            .ok_or_else(|| Error::internal("a kernel without its argument"))
    }

    /// # Errors
    /// `internal` for a type that the declaration does not let through.
    pub fn unexpected<T>(&self) -> Result<T> {
        let kinds: Vec<_> = self.args.iter().map(|arg| arg.data_type()).collect();
        Err(Error::internal(format!("no kernel takes {kinds:?}")))
    }
}

/// What Arrow refuses after types have been checked.
pub fn failed(error: ArrowError) -> Error {
    match error {
        ArrowError::OffsetOverflowError(bytes) => Error::unsupported(format!(
            "a column of {bytes} bytes of text: one array has room for 2 GiB"
        )),
        ArrowError::DictionaryKeyOverflowError => {
            Error::unsupported("a column of more distinct texts than 32-bit codes have room for")
        }
        error => Error::internal(error.to_string()),
    }
}

/// Value by value. Of null arguments the result is null.
pub fn binary<A: ArrowPrimitiveType, O: ArrowPrimitiveType>(
    left: &Value,
    right: &Value,
    rows: usize,
    f: impl Fn(A::Native, A::Native) -> O::Native,
) -> Result<PrimitiveArray<O>> {
    memory::admit(rows.saturating_mul(size_of::<O::Native>()))?;
    let (a, b) = (left.primitive::<A>(), right.primitive::<A>());
    Ok(match (left.is_single, right.is_single) {
        (false, true) if b.is_null(0) => PrimitiveArray::new_null(rows),
        (true, false) if a.is_null(0) => PrimitiveArray::new_null(rows),
        (false, true) => {
            let b = b.value(0);
            a.unary(|a| f(a, b))
        }
        (true, false) => {
            let a = a.value(0);
            b.unary(|b| f(a, b))
        }
        (true, true) | (false, false) => arrow::compute::binary(a, b, f).map_err(failed)?,
    })
}

/// A truth for each row. Of null arguments the result is null.
///
/// # Errors
/// `memory`.
pub fn truths<A: ArrowPrimitiveType>(
    left: &Value,
    right: &Value,
    rows: usize,
    f: impl Fn(A::Native, A::Native) -> bool,
) -> Result<BooleanArray> {
    let (a, b) = (left.primitive::<A>(), right.primitive::<A>());
    let nulls = nulls_of(&[left, right], rows);
    let (x, y) = (a.values().as_ref(), b.values().as_ref());
    let mut words = memory::filled(rows.div_ceil(64), 0u64)?;
    match (left.is_single, right.is_single) {
        (false, true) => {
            let y = y[0];
            vectorized(|| pack(x.iter(), &mut words, |x| f(*x, y)));
        }
        (true, false) => {
            let x = x[0];
            vectorized(|| pack(y.iter(), &mut words, |y| f(x, *y)));
        }
        (true, true) | (false, false) => {
            vectorized(|| pack(x.iter().zip(y), &mut words, |(x, y)| f(*x, *y)));
        }
    }
    let bits = BooleanBuffer::new(Buffer::from_vec(words), 0, rows);
    Ok(BooleanArray::new(bits, nulls))
}

/// Bits of rows, 64 to a word. Each becomes a byte first: such loops become vector instructions.
#[inline(always)]
fn pack<V>(mut rows: impl Iterator<Item = V>, words: &mut [u64], test: impl Fn(V) -> bool) {
    /// Moves the lowest bit of the byte k to the bit 56 + k.
    const GATHER: u64 = 0x0102_0408_1020_4080;
    for word in words {
        let mut flags = [0; 64];
        for (flag, row) in flags.iter_mut().zip(rows.by_ref()) {
            *flag = u8::from(test(row));
        }
        let (bytes, _) = flags.as_chunks::<8>();
        let bits = bytes
            .iter()
            .map(|bytes| u64::from_le_bytes(*bytes).wrapping_mul(GATHER) >> 56);
        *word = bits.rev().fold(0, |word, bits| word << 8 | bits).to_le();
    }
}

/// Where one of the arguments is null.
pub fn nulls_of(args: &[&Value], rows: usize) -> Option<NullBuffer> {
    let mut nulls = None;
    for arg in args {
        let of_arg = arg.array.logical_nulls();
        let of_arg = match arg.is_single && rows != 1 {
            false => of_arg,
            true if of_arg.is_some_and(|nulls| nulls.is_null(0)) => {
                Some(NullBuffer::new_null(rows))
            }
            true => None,
        };
        nulls = NullBuffer::union(nulls.as_ref(), of_arg.as_ref());
    }
    nulls
}

/// Runs code with `$T` as the Arrow type of a type of numbers, dates or moments.
macro_rules! with_type {
    ($kind:expr, $T:ident => $body:expr, else $other:expr) => {{
        use ::arrow::datatypes as types;
        match $kind {
            types::DataType::Int8 => {
                type $T = types::Int8Type;
                $body
            }
            types::DataType::Int16 => {
                type $T = types::Int16Type;
                $body
            }
            types::DataType::Int32 => {
                type $T = types::Int32Type;
                $body
            }
            types::DataType::Int64 => {
                type $T = types::Int64Type;
                $body
            }
            types::DataType::UInt8 => {
                type $T = types::UInt8Type;
                $body
            }
            types::DataType::UInt16 => {
                type $T = types::UInt16Type;
                $body
            }
            types::DataType::UInt32 => {
                type $T = types::UInt32Type;
                $body
            }
            types::DataType::UInt64 => {
                type $T = types::UInt64Type;
                $body
            }
            types::DataType::Float32 => {
                type $T = types::Float32Type;
                $body
            }
            types::DataType::Float64 => {
                type $T = types::Float64Type;
                $body
            }
            types::DataType::Date32 => {
                type $T = types::Date32Type;
                $body
            }
            types::DataType::Timestamp(..) => {
                type $T = types::TimestampMicrosecondType;
                $body
            }
            _ => $other,
        }
    }};
}
pub(crate) use with_type;

/// Numbers as functions of Polars see them.
pub trait Number: Copy {
    fn floor_divided(self, by: Self) -> Self;
    fn modulo(self, by: Self) -> Self;
    /// With the sign of the dividend.
    fn remainder(self, by: Self) -> Self;
    fn power(self, exponent: u32) -> Self;
    fn absolute(self) -> Self;
    fn negated(self) -> Self;
    fn sign(self) -> Self;
    fn is_nothing(self) -> bool;
    /// NaN is equal to NaN.
    fn equals(self, other: Self) -> bool;
    /// NaN is greater than all numbers.
    fn less(self, other: Self) -> bool;
    fn is_nan(self) -> bool;
    /// Equal for equal values.
    fn key(self) -> u64;
    fn as_f64(self) -> f64;
}

macro_rules! integers {
    ($($kind:ty, $as:ty, $signed:literal;)*) => {$(
        impl Number for $kind {
            #[inline]
            fn floor_divided(self, by: Self) -> Self {
                match by == 0 {
                    true => 0,
                    false if !$signed => self.wrapping_div(by),
                    false => {
                        let (quotient, rest) = (self.wrapping_div(by), self.wrapping_rem(by));
                        match rest != 0 && ((rest as i128) < 0) != ((by as i128) < 0) {
                            true => quotient.wrapping_sub(1),
                            false => quotient,
                        }
                    }
                }
            }
            #[inline]
            fn remainder(self, by: Self) -> Self {
                match by == 0 {
                    true => 0,
                    false => self.wrapping_rem(by),
                }
            }
            #[inline]
            fn modulo(self, by: Self) -> Self {
                match by == 0 {
                    true => 0,
                    false => {
                        let rest = self.wrapping_rem(by);
                        match rest != 0 && ((rest as i128) < 0) != ((by as i128) < 0) {
                            true => rest.wrapping_add(by),
                            false => rest,
                        }
                    }
                }
            }
            #[inline]
            fn power(self, exponent: u32) -> Self {
                self.wrapping_pow(exponent)
            }
            #[inline]
            fn absolute(self) -> Self {
                match (self as i128) < 0 {
                    true => self.negated(),
                    false => self,
                }
            }
            #[inline]
            fn negated(self) -> Self {
                (0 as $kind).wrapping_sub(self)
            }
            #[inline]
            fn sign(self) -> Self {
                match (self as i128).signum() {
                    -1 => (0 as $kind).wrapping_sub(1),
                    sign => sign as $kind,
                }
            }
            #[inline]
            fn is_nothing(self) -> bool {
                self == 0
            }
            #[inline]
            fn equals(self, other: Self) -> bool {
                self == other
            }
            #[inline]
            fn less(self, other: Self) -> bool {
                self < other
            }
            #[inline]
            fn is_nan(self) -> bool {
                false
            }
            #[inline]
            fn key(self) -> u64 {
                self as $as as u64
            }
            #[inline]
            fn as_f64(self) -> f64 {
                self as f64
            }
        }
    )*};
}

integers! {
    i8, i64, true;
    i16, i64, true;
    i32, i64, true;
    i64, i64, true;
    u8, u64, false;
    u16, u64, false;
    u32, u64, false;
    u64, u64, false;
}

macro_rules! floats {
    ($($kind:ty),*) => {$(
        impl Number for $kind {
            #[inline]
            fn floor_divided(self, by: Self) -> Self {
                (self / by).floor()
            }
            #[inline]
            fn remainder(self, by: Self) -> Self {
                self % by
            }
            #[inline]
            fn modulo(self, by: Self) -> Self {
                self - (self / by).floor() * by
            }
            #[inline]
            fn power(self, exponent: u32) -> Self {
                self.powf(exponent as $kind)
            }
            #[inline]
            fn absolute(self) -> Self {
                self.abs()
            }
            #[inline]
            fn negated(self) -> Self {
                -self
            }
            #[inline]
            fn sign(self) -> Self {
                match self == 0.0 || self.is_nan() {
                    true => self,
                    false => self.signum(),
                }
            }
            #[inline]
            fn is_nothing(self) -> bool {
                false
            }
            #[inline]
            fn equals(self, other: Self) -> bool {
                (self == other) | (self.is_nan() & other.is_nan())
            }
            #[inline]
            fn less(self, other: Self) -> bool {
                (self < other) | (other.is_nan() & !self.is_nan())
            }
            #[inline]
            fn is_nan(self) -> bool {
                self.is_nan()
            }
            #[inline]
            fn key(self) -> u64 {
                match self.is_nan() {
                    true => f64::NAN.to_bits(),
                    // One zero.
                    false => f64::from(self + 0.0).to_bits(),
                }
            }
            #[inline]
            fn as_f64(self) -> f64 {
                f64::from(self)
            }
        }
    )*};
}

floats!(f32, f64);

#[cfg(test)]
mod tests {
    use arrow::{array::Int32Array, datatypes::Int32Type};

    use super::*;

    #[test]
    fn truths_are_those_of_their_rows_whatever_the_number_of_rows() {
        for rows in [0, 1, 7, 8, 63, 64, 65, 127, 128, 200] {
            let cells: Vec<i32> = (0..rows as i32).map(|row| row * row % 11).collect();
            let turned: Vec<i32> = cells.iter().rev().copied().collect();
            let column = |cells: &[i32]| Value::column(Arc::new(Int32Array::from(cells.to_vec())));
            let five = Value::single(Arc::new(Int32Array::from(vec![5])));
            let (left, right) = (column(&cells), column(&turned));
            let check = |one: &Value, other: &Value, expected: &dyn Fn(usize) -> bool| {
                let found = truths::<Int32Type>(one, other, rows, |x, y| x < y).unwrap();
                let expected: Vec<bool> = (0..rows).map(expected).collect();
                assert_eq!(found, BooleanArray::from(expected), "{rows} rows");
            };
            check(&left, &five, &|row| cells[row] < 5);
            check(&five, &left, &|row| 5 < cells[row]);
            check(&left, &right, &|row| cells[row] < turned[row]);
        }
    }
}
