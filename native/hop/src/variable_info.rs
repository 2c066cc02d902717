//! What is known of a variable, or of what an operator gives.

use crate::{Characteristics, DataType, Literal, ValueType};

#[derive(Debug, Clone, PartialEq)]
pub struct VariableInfo {
    pub data_type: DataType,
    pub value_type: ValueType,
    pub characteristics: Characteristics,
    /// The value of a scalar.
    pub constant: Option<Literal>,
}

impl VariableInfo {
    pub fn matrix(characteristics: Characteristics) -> Self {
        VariableInfo {
            data_type: DataType::Matrix,
            value_type: ValueType::Double,
            characteristics,
            constant: None,
        }
    }

    pub fn scalar(value_type: ValueType) -> Self {
        VariableInfo {
            data_type: DataType::Scalar,
            value_type,
            characteristics: Characteristics::SCALAR,
            constant: None,
        }
    }

    /// Of text, which all types of columns can be.
    pub fn frame(characteristics: Characteristics) -> Self {
        VariableInfo {
            data_type: DataType::Frame,
            value_type: ValueType::String,
            ..VariableInfo::matrix(characteristics)
        }
    }

    pub fn list() -> Self {
        VariableInfo {
            data_type: DataType::List,
            ..VariableInfo::matrix(Characteristics::UNKNOWN)
        }
    }

    pub fn constant(value: Literal) -> Self {
        VariableInfo {
            constant: Some(value.clone()),
            ..VariableInfo::scalar(value.value_type())
        }
    }

    /// What is known of a variable that has one of two values; `None` where not even the data type is.
    pub fn merge(&self, other: &Self) -> Option<Self> {
        fn same<T: PartialEq + Clone>(left: &Option<T>, right: &Option<T>) -> Option<T> {
            left.clone().filter(|_| left == right)
        }
        if self.data_type != other.data_type {
            return None;
        }
        let (left, right) = (&self.characteristics, &other.characteristics);
        let value_type = match self.value_type == other.value_type {
            true => self.value_type,
            // Of several types, the one that takes all.
            false if [self.value_type, other.value_type].contains(&ValueType::String) => {
                ValueType::String
            }
            false => ValueType::Double,
        };
        Some(VariableInfo {
            data_type: self.data_type,
            value_type,
            characteristics: Characteristics {
                rows: same(&left.rows, &right.rows),
                cols: same(&left.cols, &right.cols),
                nnz: same(&left.nnz, &right.nnz),
            },
            constant: same(&self.constant, &other.constant),
        })
    }
}
