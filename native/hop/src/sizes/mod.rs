//! The size rule of each kind of operator: type, rows, columns and non-zeros of what it gives.
//!
//! Non-zeros are worst cases where a zero pattern decides them and estimates under independence where
//! patterns meet (products, matrix products, index ranges). A rule reports only mismatches that are
//! certain whatever is unknown; the rest is checked at run time. A rule sees its operator through
//! [`Call`], which also notes whose constant values it asked for. Start with [`infer`]; each file has
//! the rules of one family.

mod aggregates;
mod call;
mod cells;
mod datagen;
mod index;
mod matmult;
mod parameterized;
mod reorganize;
mod table;

use fulgurite_error::Result;

pub(crate) use call::{Call, Fact};
pub use datagen::seq_length;

use crate::{CastOp, Characteristics, DataType, HopOp, Literal, ValueType};

/// What is known of a variable, or of what an operator gives.
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

/// Type and size of what the operator gives, without its value.
///
/// # Errors
/// Dimension, where the sizes that are known can't fit.
pub(crate) fn infer(call: &Call) -> Result<VariableInfo> {
    let mut info = apply_rule(call)?;
    // Estimates and what the rules let stand where sizes were unknown never exceed the cells.
    let size = &mut info.characteristics;
    size.nnz = match (size.nnz, size.cells()) {
        (Some(nnz), Some(cells)) if info.data_type == DataType::Matrix => Some(nnz.min(cells)),
        (nnz, _) => nnz,
    };
    Ok(info)
}

fn apply_rule(call: &Call) -> Result<VariableInfo> {
    match &call.hop().op {
        HopOp::Literal(value) => Ok(VariableInfo::scalar(value.value_type())),
        HopOp::TransientWrite(_) | HopOp::PersistentWrite(_) => Ok(VariableInfo {
            constant: None,
            ..call.input(0).clone()
        }),
        HopOp::PersistentRead(options) => Ok(persistent_read(call, options)),
        HopOp::Unary(op) => Ok(cells::unary(call, *op)),
        HopOp::Binary(op) => cells::binary(call, *op),
        HopOp::Ternary(op) => cells::ternary(call, *op),
        HopOp::Aggregate(op, direction) => aggregates::aggregate(call, *op, *direction),
        HopOp::Cumulative(_) => Ok(aggregates::cumulative(call)),
        HopOp::MatMult => matmult::matmult(call),
        HopOp::Transpose => Ok(reorganize::transpose(call)),
        HopOp::Diag => reorganize::diag(call),
        HopOp::Rev => Ok(VariableInfo::matrix(call.size_of(0))),
        HopOp::Reshape { .. } => reorganize::reshape(call),
        HopOp::CBind => reorganize::cbind(call),
        HopOp::RBind => reorganize::rbind(call),
        HopOp::RightIndex => index::right(call),
        HopOp::LeftIndex => index::left(call),
        HopOp::DataGen(op) => datagen::datagen(call, *op),
        HopOp::Table => table::table(call),
        HopOp::Cast(op) => cast(call, *op),
        HopOp::Size(_) => Ok(VariableInfo::scalar(ValueType::Int)),
        HopOp::Parameterized(op, _) => parameterized::parameterized(call, *op),
        // These know their own result better than a rule could.
        HopOp::TransientRead(_) | HopOp::Print | HopOp::Stop | HopOp::Assert | HopOp::Fused(_) => {
            Ok(call.declared())
        }
    }
}

fn persistent_read(call: &Call, options: &crate::ReadOptions) -> VariableInfo {
    let declared = call.declared();
    let data_type = options.data_type.unwrap_or(declared.data_type);
    let known = declared.characteristics;
    VariableInfo {
        data_type,
        value_type: options.value_type.unwrap_or(declared.value_type),
        characteristics: match data_type {
            DataType::Scalar => Characteristics::SCALAR,
            _ => Characteristics {
                rows: options.rows.or(known.rows),
                cols: options.cols.or(known.cols),
                nnz: options.nnz.or(known.nnz),
            },
        },
        constant: None,
    }
}

fn cast(call: &Call, op: CastOp) -> Result<VariableInfo> {
    let input = call.input(0);
    let size = input.characteristics;
    let one_by_one = || match (size.rows, size.cols) {
        (Some(1) | None, Some(1) | None) => Ok(()),
        _ => Err(call
            .mismatch(format!("as.scalar of a matrix that is {}", call.shape(0)))
            .with_help("only a 1 x 1 matrix has a scalar; index one cell first")),
    };
    Ok(match op {
        CastOp::AsScalar => {
            if input.data_type == DataType::Matrix {
                one_by_one()?;
                VariableInfo::scalar(ValueType::Double)
            } else {
                VariableInfo::scalar(call.declared().value_type)
            }
        }
        CastOp::AsMatrix => VariableInfo::matrix(match input.data_type {
            DataType::Scalar => Characteristics::dims(1, 1),
            DataType::Matrix => size,
            DataType::Frame => Characteristics::new(size.rows, size.cols, None),
            DataType::List => Characteristics::new(None, Some(1), None),
        }),
        CastOp::AsFrame => VariableInfo {
            data_type: DataType::Frame,
            value_type: call.declared().value_type,
            characteristics: match input.data_type {
                DataType::Scalar => Characteristics::dims(1, 1),
                _ => size,
            },
            constant: None,
        },
        CastOp::AsDouble => VariableInfo::scalar(ValueType::Double),
        CastOp::AsInteger => VariableInfo::scalar(ValueType::Int),
        CastOp::AsLogical => VariableInfo::scalar(ValueType::Boolean),
    })
}

/// Share of non-zeros, where it is known.
fn known_sparsity(size: &Characteristics) -> Option<f64> {
    size.nnz.and(size.cells()).map(|_| size.sparsity_or_zero())
}

/// So many of the cells, rounded up.
fn share(sparsity: f64, cells: u64) -> u64 {
    ((sparsity * cells as f64).ceil() as u64).min(cells)
}

impl Characteristics {
    /// As [`Characteristics::sparsity`], but 0 for a matrix without cells.
    fn sparsity_or_zero(&self) -> f64 {
        match self.cells() {
            Some(0) => 0.0,
            _ => self.sparsity(),
        }
    }
}
