//! An operator that the workers run.

use fulgurite_dataflow::Variable;
use fulgurite_error::{Error, Result};
use fulgurite_fusion::cplan::CPlan;
use fulgurite_hop::{Hop, Literal};
use fulgurite_matrix::MatrixBlock;

/// An operator to run on the workers.
pub struct Operator<'a> {
    pub hop: &'a Hop,
    pub plan: Option<&'a CPlan>,
    pub label: &'a str,
    /// A product's left operand is given as its transpose.
    pub left_transposed: bool,
}

/// The value of an aggregate: a matrix or the number in its only cell.
pub(super) fn aggregate_value(hop: &Hop, result: MatrixBlock) -> Result<Variable> {
    if !hop.is_scalar() {
        return Ok(Variable::matrix(result));
    }
    if (result.rows(), result.cols()) != (1, 1) {
        let error = Error::internal("a full aggregate gave more than one cell");
        return Err(error.at_option(hop.position.as_ref()));
    }
    Ok(Variable::Scalar(Literal::Double(result.get(0, 0))))
}
