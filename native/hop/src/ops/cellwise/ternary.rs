//! Functions of three cells.

use std::borrow::Cow;

use fulgurite_error::Result;
use fulgurite_matrix::vector_math::{self, Cells, TernaryForm};

use super::{CERTAIN, WITHOUT_TEXT, Written, Zero, broadcast, cell_operators, cells};
use crate::{
    Characteristics, ValueType,
    ops::{
        call::Call,
        estimates::{known_sparsity, product_is_zero, share},
        operator::{
            AtZeros, Cellwise, Facts, Finite, Form, Gives, Input, Inputs, Memory, Operator, Purity,
            Zeros,
        },
    },
    variable_info::VariableInfo,
};

struct TernaryFacts {
    code: &'static str,
    written: Written,
    flops: f64,
    zero: Zero,
    finite: Finite,
    kind: Kind,
    vectors: TernaryForm,
}

/// What decides types, sizes and zeros.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// One of the second and third operand, by the first.
    Branch,
    /// The first operand and a product of the others, added or subtracted.
    Sum,
}

cell_operators! {
    /// Functions of three cells.
    TernaryOp: TernaryFacts = fn(f64, f64, f64) -> f64, (x, y, z);
    /// y where x is not 0 (NaN counts as true), else z.
    IfElse {
        eval: |x, y, z| if x != 0.0 { y } else { z },
        code: "ifelse", written: Written::Function("ifelse"), flops: 2.0, zero: Zero::Kept,
        finite: Finite::Of(&[1, 2]), kind: Kind::Branch, vectors: vector_math::if_else,
    }
    /// x + y * z.
    PlusMult {
        eval: |x, y, z| x + y * z,
        code: "+*", written: Written::Internal("+*"), flops: 2.0, zero: Zero::Kept,
        finite: Finite::Unknown, kind: Kind::Sum, vectors: vector_math::plus_product,
    }
    /// x - y * z.
    MinusMult {
        eval: |x, y, z| x - y * z,
        code: "-*", written: Written::Internal("-*"), flops: 2.0, zero: Zero::Kept,
        finite: Finite::Unknown, kind: Kind::Sum, vectors: vector_math::minus_product,
    }
}

impl TernaryOp {
    /// f(0, 0, 0) = 0.
    pub fn zero_on_all_zero(self) -> bool {
        self.declared().zero == Zero::Kept
    }

    /// The function of each triple of cells, by its vector form; stretches are of one length.
    pub fn eval_cells(self, operands: [Cells; 3], out: &mut [f64]) {
        (self.declared().vectors)(operands, out);
    }

    fn of_scalars(self, call: &dyn Call) -> VariableInfo {
        match self.declared().kind {
            Kind::Branch => match call.input(1).merge(call.input(2)) {
                Some(either) => VariableInfo::scalar(either.value_type),
                None => VariableInfo::scalar(call.declared().value_type),
            },
            Kind::Sum => call.declared(),
        }
    }

    fn nnz(self, call: &dyn Call, cells: u64) -> Option<u64> {
        let sparsity = |place: usize| {
            if call.is_scalar(place) {
                let is_zero = call.fixed_number(place).map(|value| value == 0.0);
                Some(if is_zero == Some(true) { 0.0 } else { 1.0 })
            } else {
                known_sparsity(&call.size_of(place))
            }
        };
        let sparsity = match self.declared().kind {
            Kind::Branch => {
                let chosen = match (sparsity(0), sparsity(1)) {
                    (None, None) => return None,
                    (condition, value) => condition.unwrap_or(1.0).min(value.unwrap_or(1.0)),
                };
                chosen + sparsity(2)?
            }
            Kind::Sum => {
                let sparsity = sparsity(0)? + sparsity(1)? * sparsity(2)?;
                if sparsity == 0.0 && !product_is_zero(call, 1, 2) {
                    return Some(cells.min(1));
                }
                sparsity
            }
        };
        Some(share(sparsity.min(1.0), cells))
    }
}

const INPUTS: &[Input] = &[cells("x"), cells("y"), cells("z")];

impl Operator for TernaryOp {
    fn code(&self) -> Cow<'static, str> {
        format!("t({})", TernaryOp::code(*self)).into()
    }

    fn facts(&self) -> Facts<'_> {
        let declared = self.declared();
        Facts {
            doc: self.doc(),
            inputs: Inputs::of(INPUTS),
            gives: Gives::Cells(self),
            purity: Purity::Pure,
            finite: declared.finite,
            certain: CERTAIN,
            total: WITHOUT_TEXT,
            zeros: Zeros::Cells(self),
            memory: Memory::ROW_POINTERS,
            form: declared.written.form(Form::Function(declared.code)),
        }
    }

    fn size(&self, call: &dyn Call) -> Result<VariableInfo> {
        if (0..3).all(|place| call.is_scalar(place)) {
            return Ok(self.of_scalars(call));
        }
        let (rows, cols) = broadcast(call, &[0, 1, 2])?;
        let size = Characteristics::new(rows, cols, None);
        let nnz = size.cells().and_then(|cells| self.nnz(call, cells));
        Ok(VariableInfo::matrix(Characteristics { nnz, ..size }))
    }
}

impl Cellwise for TernaryOp {
    fn value_type(&self, _: &[ValueType]) -> Option<ValueType> {
        Some(ValueType::Double)
    }

    fn at_zeros(&self, operands: &[AtZeros]) -> Option<f64> {
        let [x, y, z] = operands else { return None };
        let (x, y, z) = (x.value(), y.value(), z.value());
        match (self.declared().kind, x) {
            (Kind::Branch, Some(0.0)) => z,
            (Kind::Branch, Some(_)) => y,
            (Kind::Branch, None) => y.filter(|y| Some(*y) == z),
            (Kind::Sum, _) => {
                let (y, z) = match (y, z) {
                    (Some(0.0), _) | (_, Some(0.0)) => (0.0, 0.0),
                    (y, z) => (y?, z?),
                };
                Some(self.eval(x?, y, z))
            }
        }
    }
}
