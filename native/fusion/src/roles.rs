//! What each operator is to fusion: the one place of this crate that lists all operators.
//!
//! Templates, costs and construction ask for the [`Role`] of a HOP, and for the [`Fold`] of an aggregate function. A new operator
//! does not compile until it has one, or the reason why no template has it.

use fulgurite_hop::{
    AggregateOp, BinaryOp, CastOp, CumulativeOp, Direction, HopOp, Literal, ParameterizedOp,
    TernaryOp, UnaryOp,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    CellWise(CellFunction),
    Aggregate(AggregateOp, Direction),
    /// `X %*% Y`
    Product,
    /// `t(X)`
    Transpose,
    /// `X[rows, cols]`
    Range,
    /// `cbind`
    Beside,
    /// `outer`: each cell of a column with each of a row.
    Combination,
    /// `aggregate`: something of the rows of each group.
    Grouped,
    /// Down each column.
    Cumulative(CumulativeOp),
    /// No template has it.
    Outside(Outside),
}

/// A function of cells at one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CellFunction {
    Unary(UnaryOp),
    Binary(BinaryOp),
    Ternary(TernaryOp),
}

/// Why no template has an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outside {
    /// It computes nothing: it reads or writes a value.
    Value,
    /// It has an effect, in the order of the script.
    Effect,
    /// Its cells come from other rows, or how many there are follows from data.
    Rearranges,
    /// It reads no matrix.
    Generates,
    /// It is about the matrix as a whole, not its cells.
    Whole,
    /// It is the result of fusion.
    Fused,
}

impl Role {
    pub fn of(op: &HopOp) -> Role {
        match op {
            HopOp::Unary(op) => Role::CellWise(CellFunction::Unary(*op)),
            HopOp::Binary(op) => Role::CellWise(CellFunction::Binary(*op)),
            HopOp::Ternary(op) => Role::CellWise(CellFunction::Ternary(*op)),
            HopOp::Aggregate(op, direction) => Role::Aggregate(*op, *direction),
            HopOp::MatMult => Role::Product,
            HopOp::Transpose => Role::Transpose,
            HopOp::RightIndex => Role::Range,
            HopOp::CBind => Role::Beside,
            HopOp::Parameterized(ParameterizedOp::Outer, _) => Role::Combination,
            HopOp::Parameterized(ParameterizedOp::GroupedAggregate, _) => Role::Grouped,
            HopOp::Cumulative(op) => Role::Cumulative(*op),
            HopOp::Literal(_)
            | HopOp::TransientRead(_)
            | HopOp::TransientWrite(_)
            | HopOp::PersistentRead(_)
            | HopOp::PersistentWrite(_) => Role::Outside(Outside::Value),
            HopOp::Print | HopOp::Stop | HopOp::Assert => Role::Outside(Outside::Effect),
            HopOp::Diag
            | HopOp::Rev
            | HopOp::Reshape { .. }
            | HopOp::LeftIndex
            | HopOp::RBind
            | HopOp::Table
            | HopOp::Parameterized(..) => Role::Outside(Outside::Rearranges),
            HopOp::DataGen(_) => Role::Outside(Outside::Generates),
            HopOp::Cast(_) | HopOp::Size(_) | HopOp::List(_) | HopOp::Frame(_) => {
                Role::Outside(Outside::Whole)
            }
            HopOp::Fused(_) => Role::Outside(Outside::Fused),
        }
    }

    /// Of the operator with this code.
    pub fn of_code(code: &str) -> Option<Role> {
        HopOp::from_code(code).map(|op| Role::of(&op))
    }
}

/// How an aggregate function comes to its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fold {
    /// Adds something of each cell, which is nothing for zeros.
    Sum,
    /// One of the cells.
    Extreme,
    /// A sum, and how many cells there are.
    Mean,
    Product,
    /// It needs the cells of a row at once.
    OfRow,
    /// It needs more than the cells.
    OfPlaces,
}

impl Fold {
    pub fn of(op: AggregateOp) -> Fold {
        match op {
            AggregateOp::Sum | AggregateOp::SumSq => Fold::Sum,
            AggregateOp::Min | AggregateOp::Max => Fold::Extreme,
            AggregateOp::Mean => Fold::Mean,
            AggregateOp::Prod => Fold::Product,
            AggregateOp::Var | AggregateOp::Sd | AggregateOp::IndexMax | AggregateOp::IndexMin => {
                Fold::OfRow
            }
            AggregateOp::Trace => Fold::OfPlaces,
        }
    }
}

impl CellFunction {
    /// Operations for each cell, where the value of the last operand may be known.
    pub fn flops(self, right: Option<f64>) -> f64 {
        match self {
            CellFunction::Unary(op) => op.flops(),
            CellFunction::Binary(op) => op.flops_with(right),
            CellFunction::Ternary(op) => op.flops(),
        }
    }

    /// Several cells at a time go through a function, rather than a few instructions.
    pub fn has_vector_form(self) -> bool {
        match self {
            CellFunction::Unary(op) => op.vector_form().is_some(),
            CellFunction::Binary(op) => op.vector_form().is_some(),
            CellFunction::Ternary(_) => false,
        }
    }

    /// It bounds its cells by the other operand.
    pub fn is_bound(self) -> bool {
        matches!(self, CellFunction::Binary(BinaryOp::Min | BinaryOp::Max))
    }
}

/// What a group is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GroupFunction {
    /// How many rows are in it: their weights together.
    Count,
    Aggregate(AggregateOp),
}

impl GroupFunction {
    /// The function of this name, if groups can be asked for it while their rows pass by once.
    pub fn of_name(name: &str) -> Option<GroupFunction> {
        Some(match name {
            "count" => GroupFunction::Count,
            "sum" => GroupFunction::Aggregate(AggregateOp::Sum),
            "mean" => GroupFunction::Aggregate(AggregateOp::Mean),
            "min" => GroupFunction::Aggregate(AggregateOp::Min),
            "max" => GroupFunction::Aggregate(AggregateOp::Max),
            _ => return None,
        })
    }

    /// The aggregate of the group's cells, of ones where it counts.
    pub fn aggregate(self) -> AggregateOp {
        match self {
            GroupFunction::Count => AggregateOp::Sum,
            GroupFunction::Aggregate(op) => op,
        }
    }

    /// Weighted by something else than a factor of each cell.
    pub fn divides_by_weights(self) -> bool {
        as_mean(self.aggregate()).is_some()
    }
}

/// What a product sums, and how: the dot product of two columns.
pub(crate) const DOT_PRODUCT: (BinaryOp, AggregateOp) = (BinaryOp::Mult, AggregateOp::Sum);

/// An aggregate that gives the only cell of a row of one.
pub(crate) const OF_ONE_CELL: AggregateOp = AggregateOp::Max;

/// The function of one cell that this one is for a right operand of this value.
pub(crate) fn of_one_operand(op: BinaryOp, right: Option<f64>) -> Option<UnaryOp> {
    (op == BinaryOp::Pow && right == Some(2.0)).then_some(UnaryOp::Pow2)
}

/// The aggregate and the function of one cell that together are this aggregate.
pub(crate) fn of_function(op: AggregateOp) -> Option<(AggregateOp, UnaryOp)> {
    (op == AggregateOp::SumSq).then_some((AggregateOp::Sum, UnaryOp::Pow2))
}

/// The sum that this mean is, but for the number of cells.
pub(crate) fn as_mean(op: AggregateOp) -> Option<AggregateOp> {
    matches!(Fold::of(op), Fold::Mean).then_some(AggregateOp::Sum)
}

// What replacement puts into a DAG.

pub(crate) const QUOTIENT: HopOp = HopOp::Binary(BinaryOp::Div);

pub(crate) const TRANSPOSE: HopOp = HopOp::Transpose;

pub(crate) const RANGE: HopOp = HopOp::RightIndex;

pub(crate) const ONLY_CELL: HopOp = HopOp::Cast(CastOp::AsScalar);

pub(crate) fn fused(number: usize) -> HopOp {
    HopOp::Fused(number)
}

/// The operator without the value of a literal and the name of a variable: they do not matter to plans.
pub(crate) fn nameless(op: &HopOp) -> HopOp {
    if op.constant().is_some() {
        HopOp::Literal(Literal::Int(0))
    } else if op.variable_read().is_some() {
        HopOp::TransientRead(String::new())
    } else {
        op.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_with_plans_have_roles() {
        for code in [
            "u(exp)", "b(+)", "t(+*)", "ua(R+)", "ba(+*)", "r(t)", "b(cbind)",
        ] {
            let role = Role::of_code(code).unwrap_or_else(|| panic!("no operator {code}"));
            assert!(!matches!(role, Role::Outside(_)), "{code}: {role:?}");
        }
        assert_eq!(
            Role::of(&fused(0)),
            Role::Outside(Outside::Fused),
            "what is fused already"
        );
    }

    #[test]
    fn sums_of_squares_are_sums() {
        for op in AggregateOp::ALL {
            if let Some((sum, function)) = of_function(*op) {
                assert_eq!((Fold::of(*op), Fold::of(sum)), (Fold::Sum, Fold::Sum));
                assert_eq!(function.eval(-3.0), 9.0);
            }
        }
        assert_eq!(of_one_operand(BinaryOp::Pow, Some(3.0)), None);
    }
}
