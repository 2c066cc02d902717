//! How aggregates come from cells: what each aggregate function means to this crate, said once.

use fulgurite_hop::AggregateOp;

/// How a function comes to its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AggregateForm {
    /// Cell after cell: skeletons and generated loops can take cells in piece by piece.
    Incremental(Accumulation),
    /// From all cells of a row at once, by a primitive.
    OfRow(RowFunction),
    /// From cells of several rows, which no fused operator has.
    Unsupported,
}

/// How a cell is taken into a total.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Accumulation {
    Sum,
    SumOfSquares,
    Product,
    Minimum,
    Maximum,
}

/// A function of the cells of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowFunction {
    Variance,
    Deviation,
    LastMaximum,
    LastMinimum,
}

pub(crate) fn form(op: AggregateOp) -> AggregateForm {
    match op {
        AggregateOp::Sum | AggregateOp::Mean => AggregateForm::Incremental(Accumulation::Sum),
        AggregateOp::SumSq => AggregateForm::Incremental(Accumulation::SumOfSquares),
        AggregateOp::Prod => AggregateForm::Incremental(Accumulation::Product),
        AggregateOp::Min => AggregateForm::Incremental(Accumulation::Minimum),
        AggregateOp::Max => AggregateForm::Incremental(Accumulation::Maximum),
        AggregateOp::Var => AggregateForm::OfRow(RowFunction::Variance),
        AggregateOp::Sd => AggregateForm::OfRow(RowFunction::Deviation),
        AggregateOp::IndexMax => AggregateForm::OfRow(RowFunction::LastMaximum),
        AggregateOp::IndexMin => AggregateForm::OfRow(RowFunction::LastMinimum),
        AggregateOp::Trace => AggregateForm::Unsupported,
    }
}

/// How cells are taken in; nothing is taken into a total of functions that are not incremental.
pub(crate) fn accumulation(op: AggregateOp) -> Accumulation {
    match form(op) {
        AggregateForm::Incremental(accumulation) => accumulation,
        AggregateForm::OfRow(_) | AggregateForm::Unsupported => Accumulation::Sum,
    }
}

pub(crate) fn is_incremental(op: AggregateOp) -> bool {
    matches!(form(op), AggregateForm::Incremental(_))
}

/// It gives the place of a cell, which a row without cells does not have.
pub(crate) fn is_place(op: AggregateOp) -> bool {
    match form(op) {
        AggregateForm::OfRow(RowFunction::LastMaximum | RowFunction::LastMinimum) => true,
        AggregateForm::OfRow(RowFunction::Variance | RowFunction::Deviation)
        | AggregateForm::Incremental(_)
        | AggregateForm::Unsupported => false,
    }
}

/// The total is divided by how many cells there are.
pub(crate) fn is_mean(op: AggregateOp) -> bool {
    op == AggregateOp::Mean
}

/// The function whose totals are those of this one before they are finished.
pub(crate) fn unfinished(op: AggregateOp) -> AggregateOp {
    match is_mean(op) {
        true => AggregateOp::Sum,
        false => op,
    }
}

/// What a total begins with.
pub(crate) fn identity(op: AggregateOp) -> f64 {
    match accumulation(op) {
        Accumulation::Minimum => f64::INFINITY,
        Accumulation::Maximum => f64::NEG_INFINITY,
        Accumulation::Product => 1.0,
        Accumulation::Sum | Accumulation::SumOfSquares => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_of_unfinished_functions_are_the_same() {
        for op in AggregateOp::ALL {
            let unfinished = unfinished(*op);
            assert_eq!(form(unfinished), form(*op), "{op:?}");
            assert!(!is_mean(unfinished), "{op:?}");
            assert_eq!(identity(unfinished).to_bits(), identity(*op).to_bits());
        }
    }
}
