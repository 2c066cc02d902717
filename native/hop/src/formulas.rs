//! DAGs that the engine computes something by, written like the formulas that they are.
//!
//! [`Formulas`] appends operators to the DAG of whatever implements it. Physical operators and tasks are built with it, so that a
//! file that needs a sum of rows does not depend on how operators are declared.

use crate::{
    AggregateOp, BinaryOp, CastOp, Dag, DataGenOp, Direction, Hop, HopId, HopOp, Literal,
    ParameterizedOp, SizeOp, TernaryOp, UnaryOp, ValueType,
};

/// Appends operators to a DAG. Sizes of results are unknown; rows and columns count from 1.
///
/// ```
/// use fulgurite_hop::{Dag, Formulas};
///
/// let mut dag = Dag::new();
/// let x = dag.read("X");
/// let means = dag.means_of_columns(x);
/// let deviations = dag.minus(x, means);
/// assert_eq!(dag.expression(deviations), "X - colMeans(X)");
/// ```
pub trait Formulas {
    /// The DAG to which operators are appended.
    fn dag(&mut self) -> &mut Dag;

    /// Any operator that gives a matrix.
    fn matrix(&mut self, op: HopOp, inputs: Vec<HopId>) -> HopId {
        self.dag().push(Hop::matrix(op, inputs))
    }

    /// A matrix variable.
    fn read(&mut self, name: impl Into<String>) -> HopId {
        self.matrix(HopOp::TransientRead(name.into()), Vec::new())
    }

    /// A scalar variable.
    fn read_scalar(&mut self, name: impl Into<String>, value_type: ValueType) -> HopId {
        let read = HopOp::TransientRead(name.into());
        self.dag().push(Hop::scalar(read, Vec::new(), value_type))
    }

    fn literal(&mut self, value: Literal) -> HopId {
        self.dag().push(Hop::literal(value))
    }

    fn number(&mut self, value: f64) -> HopId {
        self.literal(Literal::Double(value))
    }

    /// A count, which is never beyond what the language's integers can be.
    fn int(&mut self, value: u64) -> HopId {
        self.literal(Literal::Int(i64::try_from(value).unwrap_or(i64::MAX)))
    }

    fn text(&mut self, value: &str) -> HopId {
        self.literal(Literal::String(value.to_owned()))
    }

    fn boolean(&mut self, value: bool) -> HopId {
        self.literal(Literal::Boolean(value))
    }

    // Cell by cell.

    fn cells(&mut self, op: BinaryOp, left: HopId, right: HopId) -> HopId {
        self.matrix(HopOp::Binary(op), vec![left, right])
    }

    fn plus(&mut self, left: HopId, right: HopId) -> HopId {
        self.cells(BinaryOp::Plus, left, right)
    }

    fn minus(&mut self, left: HopId, right: HopId) -> HopId {
        self.cells(BinaryOp::Minus, left, right)
    }

    fn times(&mut self, left: HopId, right: HopId) -> HopId {
        self.cells(BinaryOp::Mult, left, right)
    }

    fn power(&mut self, base: HopId, exponent: HopId) -> HopId {
        self.cells(BinaryOp::Pow, base, exponent)
    }

    /// `left %/% right`
    fn quotient(&mut self, left: HopId, right: HopId) -> HopId {
        self.cells(BinaryOp::IntDiv, left, right)
    }

    fn smaller(&mut self, left: HopId, right: HopId) -> HopId {
        self.cells(BinaryOp::Min, left, right)
    }

    fn larger(&mut self, left: HopId, right: HopId) -> HopId {
        self.cells(BinaryOp::Max, left, right)
    }

    fn equal(&mut self, left: HopId, right: HopId) -> HopId {
        self.cells(BinaryOp::Equal, left, right)
    }

    fn not_equal(&mut self, left: HopId, right: HopId) -> HopId {
        self.cells(BinaryOp::NotEqual, left, right)
    }

    fn less(&mut self, left: HopId, right: HopId) -> HopId {
        self.cells(BinaryOp::Less, left, right)
    }

    fn less_equal(&mut self, left: HopId, right: HopId) -> HopId {
        self.cells(BinaryOp::LessEqual, left, right)
    }

    fn greater(&mut self, left: HopId, right: HopId) -> HopId {
        self.cells(BinaryOp::Greater, left, right)
    }

    fn greater_equal(&mut self, left: HopId, right: HopId) -> HopId {
        self.cells(BinaryOp::GreaterEqual, left, right)
    }

    /// Only NaN differs from itself.
    fn is_nan(&mut self, matrix: HopId) -> HopId {
        self.not_equal(matrix, matrix)
    }

    fn floor(&mut self, matrix: HopId) -> HopId {
        self.matrix(HopOp::Unary(UnaryOp::Floor), vec![matrix])
    }

    fn if_else(&mut self, condition: HopId, then: HopId, otherwise: HopId) -> HopId {
        let if_else = HopOp::Ternary(TernaryOp::IfElse);
        self.matrix(if_else, vec![condition, then, otherwise])
    }

    /// `replace(target, pattern, replacement)`
    fn replaced(&mut self, target: HopId, pattern: HopId, replacement: HopId) -> HopId {
        let inputs = [
            ("target", target),
            ("pattern", pattern),
            ("replacement", replacement),
        ];
        self.parameterized(ParameterizedOp::Replace, &inputs)
    }

    // Ints.

    fn int_plus(&mut self, left: HopId, right: HopId) -> HopId {
        self.int_of(BinaryOp::Plus, left, right)
    }

    fn int_minus(&mut self, left: HopId, right: HopId) -> HopId {
        self.int_of(BinaryOp::Minus, left, right)
    }

    fn int_times(&mut self, left: HopId, right: HopId) -> HopId {
        self.int_of(BinaryOp::Mult, left, right)
    }

    fn int_quotient(&mut self, left: HopId, right: HopId) -> HopId {
        self.int_of(BinaryOp::IntDiv, left, right)
    }

    fn int_of(&mut self, op: BinaryOp, left: HopId, right: HopId) -> HopId {
        let hop = Hop::scalar(HopOp::Binary(op), vec![left, right], ValueType::Int);
        self.dag().push(hop)
    }

    fn rows_in(&mut self, matrix: HopId) -> HopId {
        let rows = Hop::scalar(HopOp::Size(SizeOp::NRow), vec![matrix], ValueType::Int);
        self.dag().push(rows)
    }

    fn columns_in(&mut self, matrix: HopId) -> HopId {
        let columns = Hop::scalar(HopOp::Size(SizeOp::NCol), vec![matrix], ValueType::Int);
        self.dag().push(columns)
    }

    // Aggregates.

    /// A row: the aggregate of each column.
    fn of_columns(&mut self, op: AggregateOp, matrix: HopId) -> HopId {
        self.matrix(HopOp::Aggregate(op, Direction::Col), vec![matrix])
    }

    /// A column: the aggregate of each row.
    fn of_rows(&mut self, op: AggregateOp, matrix: HopId) -> HopId {
        self.matrix(HopOp::Aggregate(op, Direction::Row), vec![matrix])
    }

    fn sums_of_columns(&mut self, matrix: HopId) -> HopId {
        self.of_columns(AggregateOp::Sum, matrix)
    }

    fn squares_of_columns(&mut self, matrix: HopId) -> HopId {
        self.of_columns(AggregateOp::SumSq, matrix)
    }

    fn products_of_columns(&mut self, matrix: HopId) -> HopId {
        self.of_columns(AggregateOp::Prod, matrix)
    }

    fn means_of_columns(&mut self, matrix: HopId) -> HopId {
        self.of_columns(AggregateOp::Mean, matrix)
    }

    fn minima_of_columns(&mut self, matrix: HopId) -> HopId {
        self.of_columns(AggregateOp::Min, matrix)
    }

    fn maxima_of_columns(&mut self, matrix: HopId) -> HopId {
        self.of_columns(AggregateOp::Max, matrix)
    }

    fn sums_of_rows(&mut self, matrix: HopId) -> HopId {
        self.of_rows(AggregateOp::Sum, matrix)
    }

    /// The column of each row's maximum.
    fn places_of_maxima(&mut self, matrix: HopId) -> HopId {
        self.of_rows(AggregateOp::IndexMax, matrix)
    }

    /// `aggregate(target, groups, fn, ngroups, weights)`
    fn by_group(
        &mut self,
        (target, groups): (HopId, HopId),
        weights: Option<HopId>,
        function: &str,
        count: u64,
    ) -> HopId {
        let function = self.text(function);
        let count = self.int(count);
        let mut inputs = vec![
            ("target", target),
            ("groups", groups),
            ("fn", function),
            ("ngroups", count),
        ];
        inputs.extend(weights.map(|weights| ("weights", weights)));
        self.parameterized(ParameterizedOp::GroupedAggregate, &inputs)
    }

    /// `quantile(target, probabilities)`
    fn quantiles(&mut self, target: HopId, probabilities: HopId) -> HopId {
        let inputs = [("target", target), ("probabilities", probabilities)];
        self.parameterized(ParameterizedOp::Quantile, &inputs)
    }

    // Products.

    /// `left %*% right`
    fn product(&mut self, left: HopId, right: HopId) -> HopId {
        self.matrix(HopOp::MatMult, vec![left, right])
    }

    /// `outer(column, row, op)`, `op` as DML writes it.
    fn outer(&mut self, column: HopId, row: HopId, op: &str) -> HopId {
        let op = self.text(op);
        let inputs = [("left", column), ("right", row), ("op", op)];
        self.parameterized(ParameterizedOp::Outer, &inputs)
    }

    /// Of rows, columns and weights; the size of the result may follow.
    fn table(&mut self, inputs: Vec<HopId>) -> HopId {
        self.matrix(HopOp::Table, inputs)
    }

    // Other shapes and places.

    fn transposed(&mut self, matrix: HopId) -> HopId {
        self.matrix(HopOp::Transpose, vec![matrix])
    }

    fn diagonal(&mut self, matrix: HopId) -> HopId {
        self.matrix(HopOp::Diag, vec![matrix])
    }

    /// With its rows in the opposite order.
    fn reversed(&mut self, matrix: HopId) -> HopId {
        self.matrix(HopOp::Rev, vec![matrix])
    }

    /// Read and written row by row.
    fn reshaped(&mut self, matrix: HopId, rows: HopId, columns: HopId) -> HopId {
        let by_row = HopOp::Reshape { by_row: true };
        self.matrix(by_row, vec![matrix, rows, columns])
    }

    /// The columns `first..=last` of all rows.
    fn columns(&mut self, matrix: HopId, first: HopId, last: HopId) -> HopId {
        let (top, bottom) = (self.int(1), self.rows_in(matrix));
        self.matrix(HopOp::RightIndex, vec![matrix, top, bottom, first, last])
    }

    /// The matrix with other cells in the columns `first..=last`.
    fn with_columns(&mut self, matrix: HopId, value: HopId, first: u64, last: u64) -> HopId {
        let (top, bottom) = (self.int(1), self.rows_in(matrix));
        let (first, last) = (self.int(first), self.int(last));
        let inputs = vec![matrix, value, top, bottom, first, last];
        self.matrix(HopOp::LeftIndex, inputs)
    }

    /// Matrices beside each other; a single one as it is.
    fn side_by_side(&mut self, matrices: Vec<HopId>) -> HopId {
        match matrices[..] {
            [only] => only,
            _ => self.matrix(HopOp::CBind, matrices),
        }
    }

    /// Matrices one below the other; a single one as it is.
    fn stacked(&mut self, matrices: Vec<HopId>) -> HopId {
        match matrices[..] {
            [only] => only,
            _ => self.matrix(HopOp::RBind, matrices),
        }
    }

    /// The rows where `select` is not zero, or those that are not zero themselves. Where none is left, a row of zeros, unless there
    /// `may_be_none`.
    fn kept_rows(&mut self, target: HopId, select: Option<HopId>, may_be_none: bool) -> HopId {
        let margin = self.text("rows");
        let empty_return = may_be_none.then(|| self.boolean(false));
        let mut inputs = vec![("target", target), ("margin", margin)];
        inputs.extend(select.map(|select| ("select", select)));
        inputs.extend(empty_return.map(|no| ("empty.return", no)));
        self.parameterized(ParameterizedOp::RemoveEmpty, &inputs)
    }

    /// The columns where `select` is not zero.
    fn kept_columns(&mut self, target: HopId, select: HopId) -> HopId {
        let margin = self.text("cols");
        let inputs = [("target", target), ("margin", margin), ("select", select)];
        self.parameterized(ParameterizedOp::RemoveEmpty, &inputs)
    }

    /// The rows in the order of these columns, from the smallest to the largest.
    fn in_order(&mut self, target: HopId, by: HopId) -> HopId {
        let inputs = [("target", target), ("by", by)];
        self.parameterized(ParameterizedOp::Order, &inputs)
    }

    /// As [`Formulas::in_order`], or from the largest to the smallest.
    fn in_given_order(&mut self, target: HopId, by: HopId, decreasing: bool) -> HopId {
        let decreasing = self.boolean(decreasing);
        let inputs = [("target", target), ("by", by), ("decreasing", decreasing)];
        self.parameterized(ParameterizedOp::Order, &inputs)
    }

    // Matrices from scalars, and scalars from matrices.

    /// A matrix of one value.
    fn filled(&mut self, value: HopId, rows: HopId, columns: HopId) -> HopId {
        let fill = HopOp::DataGen(DataGenOp::Fill);
        self.matrix(fill, vec![value, rows, columns])
    }

    /// A column of the numbers `from`, `from + step`, up to `to`.
    fn sequence(&mut self, from: HopId, to: HopId, step: HopId) -> HopId {
        let seq = HopOp::DataGen(DataGenOp::Seq);
        self.matrix(seq, vec![from, to, step])
    }

    /// The only cell of a matrix.
    fn only_cell(&mut self, matrix: HopId) -> HopId {
        let cast = HopOp::Cast(CastOp::AsScalar);
        let cell = Hop::scalar(cast, vec![matrix], ValueType::Double);
        self.dag().push(cell)
    }

    /// A scalar as a matrix of one cell.
    fn one_cell(&mut self, scalar: HopId) -> HopId {
        self.matrix(HopOp::Cast(CastOp::AsMatrix), vec![scalar])
    }

    /// An operator with named inputs.
    fn parameterized(&mut self, op: ParameterizedOp, inputs: &[(&str, HopId)]) -> HopId {
        let (names, inputs): (Vec<&str>, Vec<HopId>) = inputs.iter().copied().unzip();
        self.matrix(HopOp::named(op, &names), inputs)
    }
}

impl Formulas for Dag {
    fn dag(&mut self) -> &mut Dag {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_are_valid_and_read_as_in_dml() {
        let mut dag = Dag::new();
        let x = dag.read("X");
        let shown = [
            {
                let (one, two) = (dag.int(1), dag.int(2));
                dag.columns(x, one, two)
            },
            {
                let counts = dag.is_nan(x);
                dag.sums_of_rows(counts)
            },
            {
                let transposed = dag.transposed(x);
                let product = dag.product(transposed, x);
                dag.diagonal(product)
            },
            {
                let (rows, columns, half) = (dag.rows_in(x), dag.columns_in(x), dag.number(0.5));
                let filled = dag.filled(half, rows, columns);
                let above = dag.greater(x, filled);
                dag.if_else(above, filled, x)
            },
            dag.stacked(vec![x]),
            dag.side_by_side(vec![x, x]),
            {
                let row = dag.means_of_columns(x);
                dag.outer(x, row, "<=")
            },
            dag.kept_rows(x, None, true),
        ];
        let shown = shown.map(|id| dag.whole_expression(id));
        insta::assert_snapshot!(shown.join("\n"));
        assert!(crate::verify(&dag).is_ok());
    }
}
