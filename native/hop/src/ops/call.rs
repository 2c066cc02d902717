//! An operator as its size rule sees it.

use fulgurite_error::{Error, Result};

use crate::{
    Characteristics, DataType, Literal, ValueType, numbers::double_to_int,
    variable_info::VariableInfo,
};

/// One operator with what is known of its inputs. Places count from 0.
///
/// A rule that asks for a [`constant`](Call::constant) is noted to rest on it.
pub(crate) trait Call {
    fn arity(&self) -> usize;

    /// What the HOP says of itself.
    fn declared(&self) -> VariableInfo;

    /// Its constant is for evaluation only: rules ask [`Call::constant`].
    fn input(&self, place: usize) -> &VariableInfo;

    /// The value of a scalar input, whatever it rests on.
    fn constant(&self, place: usize) -> Option<&Literal>;

    /// The value of a scalar input, if it rests on no variable: safe to build errors and estimates on.
    fn fixed(&self, place: usize) -> Option<&Literal>;

    /// Whether no cell of an input is NaN or infinite, for certain.
    fn is_finite(&self, place: usize) -> bool;

    /// Whether two inputs are the same HOP.
    fn same(&self, left: usize, right: usize) -> bool;

    /// Whether an input counts its rows from 1, as `seq(1, n)` does.
    fn counts_rows(&self, place: usize) -> bool;

    /// The error at the place of this operator.
    fn located(&self, error: Error) -> Error;
}

/// What follows from the above.
impl dyn Call + '_ {
    pub fn size_of(&self, place: usize) -> Characteristics {
        self.input(place).characteristics
    }

    pub fn is_matrix(&self, place: usize) -> bool {
        self.input(place).data_type == DataType::Matrix
    }

    pub fn is_scalar(&self, place: usize) -> bool {
        self.input(place).data_type == DataType::Scalar
    }

    pub fn number(&self, place: usize) -> Option<f64> {
        self.constant(place)?.as_f64()
    }

    pub fn fixed_number(&self, place: usize) -> Option<f64> {
        self.fixed(place)?.as_f64()
    }

    /// The value of an input that is a number of rows or columns.
    ///
    /// # Errors
    /// Dimension, where a fixed value is negative.
    pub fn size(&self, place: usize) -> Result<Option<u64>> {
        if let Some(value) = self.fixed_number(place)
            && double_to_int(value) < 0
        {
            return Err(self.mismatch(format!("{value} is no number of rows or columns")));
        }
        let size = self.number(place).map(double_to_int);
        Ok(size.and_then(|size| u64::try_from(size).ok()))
    }

    /// For messages: `3 x ?`.
    pub fn shape(&self, place: usize) -> String {
        let number = |n: Option<u64>| n.map_or_else(|| "?".to_owned(), |n| n.to_string());
        let size = self.size_of(place);
        format!("{} x {}", number(size.rows), number(size.cols))
    }

    /// An error of this operator at its place.
    pub fn mismatch(&self, message: impl Into<String>) -> Error {
        self.located(Error::dimension(message))
    }
}

/// What a HOP alone says of a value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Known<'a> {
    pub data_type: DataType,
    pub value_type: ValueType,
    pub size: Characteristics,
    pub literal: Option<&'a Literal>,
}

impl Known<'_> {
    pub fn is_matrix(&self) -> bool {
        self.data_type == DataType::Matrix
    }

    pub fn is_text(&self) -> bool {
        self.value_type == ValueType::String
    }
}
