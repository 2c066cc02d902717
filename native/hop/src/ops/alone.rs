//! The size of what an operator gives, from what is known of its inputs and nothing else.

use fulgurite_error::{Error, Result};

use super::{HopOp, call::Call};
use crate::{Literal, variable_info::VariableInfo};

impl HopOp {
    /// Type, rows, columns and non-zeros of what the operator gives for these inputs, as far as they follow from them alone.
    /// The constants of inputs are taken for certain.
    ///
    /// ```
    /// use fulgurite_hop::{Characteristics, HopOp, VariableInfo};
    /// let matrix = |rows, cols| VariableInfo::matrix(Characteristics::dims(rows, cols));
    /// let product = HopOp::MatMult.given(&[matrix(2, 3), matrix(3, 4)])?;
    /// assert_eq!(product.characteristics.rows, Some(2));
    /// assert!(HopOp::MatMult.given(&[matrix(2, 3), matrix(2, 3)]).is_err());
    /// # Ok::<(), fulgurite_error::Error>(())
    /// ```
    ///
    /// # Errors
    /// Dimension, where sizes can't fit; `internal`, for an operator without the inputs that it has.
    pub fn given(&self, inputs: &[VariableInfo]) -> Result<VariableInfo> {
        self.declaration(|operator| {
            let fewest = operator.facts().inputs.first.len();
            if inputs.len() < fewest {
                return Err(Error::internal(format!(
                    "{} has {fewest} inputs, not {}",
                    operator.code(),
                    inputs.len()
                )));
            }
            operator.size(&Alone { op: self, inputs })
        })
    }
}

struct Alone<'a> {
    op: &'a HopOp,
    inputs: &'a [VariableInfo],
}

impl Call for Alone<'_> {
    fn arity(&self) -> usize {
        self.inputs.len()
    }

    fn declared(&self) -> VariableInfo {
        VariableInfo::matrix(crate::Characteristics::UNKNOWN)
    }

    fn input(&self, place: usize) -> &VariableInfo {
        &self.inputs[place]
    }

    fn constant(&self, place: usize) -> Option<&Literal> {
        self.inputs[place].constant.as_ref()
    }

    fn fixed(&self, place: usize) -> Option<&Literal> {
        self.constant(place)
    }

    fn is_finite(&self, _: usize) -> bool {
        false
    }

    fn same(&self, _: usize, _: usize) -> bool {
        false
    }

    fn counts_rows(&self, _: usize) -> bool {
        false
    }

    fn located(&self, error: Error) -> Error {
        error.in_operator(self.op.code())
    }
}
