//! Which forms each operator has on the workers: the one place of this crate that lists all operators.
//!
//! A new operator does not compile until [`forms`] says how workers run it, or why they do not.

use fulgurite_dataflow::Combine;
use fulgurite_hop::{
    AggregateOp, CumulativeOp, DataGenOp, Direction, HopOp, Literal, ParameterizedOp,
};

use super::input::InputFacts;

/// The only fused operator of a task.
pub(crate) const ONLY_FUSED: HopOp = HopOp::Fused(0);

/// The forms in which workers can run an operator.
#[derive(Debug, Clone, PartialEq)]
pub enum Forms {
    /// Cut by rows where sizes and places allow it.
    Rows(Cut),
    Composed(Composition),
    /// Cut by rows where sizes and places allow it, else composed.
    Either(Cut, Composition),
    /// It runs in the driver alone, for this reason.
    Driver(&'static str),
}

/// How an operator is cut by rows.
#[derive(Debug, Clone, PartialEq)]
pub enum Cut {
    /// Each cell is computed from one cell of each operand.
    CellWise,
    /// Operands stand beside each other.
    SideBySide,
    /// Each row gives a cell.
    RowAggregate,
    /// Aggregates of stripes become one.
    Aggregate(StripeParts, Direction),
    Product,
    /// A range of columns of all rows.
    Columns,
    /// As its plan says.
    Fused,
    /// Of the named operands, one is cut, and one perhaps goes whole to all tasks.
    Named {
        rows: &'static str,
        whole: Option<&'static str>,
    },
}

/// How aggregates of stripes become one.
#[derive(Debug, Clone, PartialEq)]
pub enum StripeParts {
    /// Cell by cell.
    Combine(Combine),
    /// A mean: sums, divided by how many cells they are of.
    Mean,
    /// Variances from moments, or their roots.
    Moments { root: bool },
}

/// An operator that runs on the workers as a composition of primitives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Composition {
    RowRange,
    LeftIndex,
    RBind,
    Cumulative(CumulativeOp),
    RemoveEmpty,
    Rev,
    Order,
    Diag,
    Reshape {
        by_row: bool,
    },
    Trace,
    Triangle(ParameterizedOp),
    Statistic(Statistic),
    Table,
    Fill,
    /// The seed is the input at this place.
    Generate {
        seed: Option<usize>,
    },
}

/// A statistic of columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Statistic {
    CentralMoment,
    Covariance,
    Median,
    Quantile,
    InterQuartileMean,
    GroupedAggregate,
}

/// Reasons that several operators share.
const NO_VALUE: &str = "it reads or writes a value, and computes none";
const NO_MATRIX: &str = "an input that it needs as a matrix is a scalar";
const SCALARS: &str = "it is about a scalar";
const LISTS: &str = "lists are the driver's; what they hold may be on the workers";
const FRAMES: &str = "frames are the driver's";
const FACTORIZATION: &str = "factorizations are of matrices that fit the driver";
const LAYERS: &str = "layers run on batches that fit the driver";
const UNIMPLEMENTED: &str = "no stage has it";

/// The forms that the operator has for inputs of these types.
pub fn forms(op: &HopOp, inputs: &[InputFacts]) -> Forms {
    let is_matrix = |place: usize| inputs.get(place).is_some_and(|input| !input.is_scalar());
    match op {
        HopOp::Unary(_) | HopOp::Binary(_) | HopOp::Ternary(_) => Forms::Rows(Cut::CellWise),
        HopOp::CBind => Forms::Rows(Cut::SideBySide),
        HopOp::RBind if (0..inputs.len()).all(is_matrix) => Forms::Composed(Composition::RBind),
        HopOp::RBind => Forms::Driver(NO_MATRIX),
        HopOp::Aggregate(op, direction) => aggregate(*op, *direction),
        HopOp::MatMult => Forms::Rows(Cut::Product),
        HopOp::RightIndex if is_matrix(0) => Forms::Either(Cut::Columns, Composition::RowRange),
        HopOp::RightIndex => Forms::Rows(Cut::Columns),
        HopOp::LeftIndex if is_matrix(0) => Forms::Composed(Composition::LeftIndex),
        HopOp::LeftIndex => Forms::Driver(NO_MATRIX),
        HopOp::Cumulative(op) => Forms::Composed(Composition::Cumulative(*op)),
        HopOp::Rev => Forms::Composed(Composition::Rev),
        HopOp::Diag => Forms::Composed(Composition::Diag),
        HopOp::Reshape { by_row } => Forms::Composed(Composition::Reshape { by_row: *by_row }),
        HopOp::Table if (0..3).any(is_matrix) => Forms::Composed(Composition::Table),
        HopOp::Table => Forms::Driver(NO_MATRIX),
        HopOp::DataGen(op) => generated(*op, inputs.first()),
        HopOp::Parameterized(op, _) => parameterized(*op),
        HopOp::Fused(_) => Forms::Rows(Cut::Fused),
        HopOp::Transpose => Forms::Driver("stripes are read as columns, or turned by their reader"),
        HopOp::Cast(_) | HopOp::Size(_) => Forms::Driver(SCALARS),
        HopOp::List(_) => Forms::Driver(LISTS),
        HopOp::Frame(_) => Forms::Driver(FRAMES),
        HopOp::Literal(_)
        | HopOp::TransientRead(_)
        | HopOp::TransientWrite(_)
        | HopOp::PersistentRead(_)
        | HopOp::PersistentWrite(_)
        | HopOp::Print
        | HopOp::Stop
        | HopOp::Assert => Forms::Driver(NO_VALUE),
    }
}

fn aggregate(op: AggregateOp, direction: Direction) -> Forms {
    let cut = match direction {
        Direction::Row => Ok(Cut::RowAggregate),
        Direction::Full | Direction::Col => {
            stripe_parts(op).map(|parts| Cut::Aggregate(parts, direction))
        }
    };
    let composition = (op == AggregateOp::Trace).then_some(Composition::Trace);
    match (cut, composition) {
        (Ok(cut), Some(composition)) => Forms::Either(cut, composition),
        (Ok(cut), None) => Forms::Rows(cut),
        (Err(_), Some(composition)) => Forms::Composed(composition),
        (Err(reason), None) => Forms::Driver(reason),
    }
}

/// How aggregates of stripes, over all their cells or their columns, become one.
///
/// # Errors
/// Why they do not.
pub(crate) fn stripe_parts(op: AggregateOp) -> Result<StripeParts, &'static str> {
    match op {
        AggregateOp::Sum | AggregateOp::SumSq => Ok(StripeParts::Combine(Combine::Sum)),
        AggregateOp::Min => Ok(StripeParts::Combine(Combine::Min)),
        AggregateOp::Max => Ok(StripeParts::Combine(Combine::Max)),
        AggregateOp::Prod => Ok(StripeParts::Combine(Combine::Product)),
        AggregateOp::Mean => Ok(StripeParts::Mean),
        AggregateOp::Var => Ok(StripeParts::Moments { root: false }),
        AggregateOp::Sd => Ok(StripeParts::Moments { root: true }),
        AggregateOp::Trace => Err("the diagonal of a stripe is not that of the matrix"),
        AggregateOp::IndexMax | AggregateOp::IndexMin => Err("it is of rows alone"),
    }
}

/// What tasks compute in place of a mean.
pub(crate) const SUM_OF_MEAN: AggregateOp = AggregateOp::Sum;

/// As [`SUM_OF_MEAN`], as an operator.
pub(crate) fn sum(direction: Direction) -> HopOp {
    HopOp::Aggregate(SUM_OF_MEAN, direction)
}

/// Whether each cell is computed from one cell of each operand.
pub(crate) fn is_cell_wise(op: &HopOp) -> bool {
    forms(op, &[]).cut() == Some(Cut::CellWise)
}

/// The place of the seed among the inputs of `rand`.
const RAND_SEED: usize = 5;

fn generated(op: DataGenOp, first: Option<&InputFacts>) -> Forms {
    match op {
        DataGenOp::Fill
            if first.is_some_and(|value| matches!(value.scalar, Some(Literal::String(_)))) =>
        {
            Forms::Driver("the cells are a text, which the driver has")
        }
        DataGenOp::Fill => Forms::Composed(Composition::Fill),
        DataGenOp::Seq => Forms::Composed(Composition::Generate { seed: None }),
        DataGenOp::Rand => Forms::Composed(Composition::Generate {
            seed: Some(RAND_SEED),
        }),
        DataGenOp::Sample => Forms::Driver("a sample without repetition is drawn as one"),
    }
}

fn parameterized(op: ParameterizedOp) -> Forms {
    let statistic = |statistic| Forms::Composed(Composition::Statistic(statistic));
    match op {
        ParameterizedOp::Replace => Forms::Rows(Cut::Named {
            rows: "target",
            whole: None,
        }),
        ParameterizedOp::Outer => Forms::Rows(Cut::Named {
            rows: "left",
            whole: Some("right"),
        }),
        ParameterizedOp::RemoveEmpty => Forms::Composed(Composition::RemoveEmpty),
        ParameterizedOp::Order => Forms::Composed(Composition::Order),
        ParameterizedOp::LowerTri | ParameterizedOp::UpperTri => {
            Forms::Composed(Composition::Triangle(op))
        }
        ParameterizedOp::Moment => statistic(Statistic::CentralMoment),
        ParameterizedOp::Cov => statistic(Statistic::Covariance),
        ParameterizedOp::Median => statistic(Statistic::Median),
        ParameterizedOp::Quantile => statistic(Statistic::Quantile),
        ParameterizedOp::InterQuartileMean => statistic(Statistic::InterQuartileMean),
        ParameterizedOp::GroupedAggregate => statistic(Statistic::GroupedAggregate),
        ParameterizedOp::Solve
        | ParameterizedOp::Inverse
        | ParameterizedOp::Cholesky
        | ParameterizedOp::Eigen
        | ParameterizedOp::Lu
        | ParameterizedOp::Svd
        | ParameterizedOp::Qr
        | ParameterizedOp::Determinant
        | ParameterizedOp::SquareRoot => Forms::Driver(FACTORIZATION),
        ParameterizedOp::Fft
        | ParameterizedOp::InverseFft
        | ParameterizedOp::FftOfRows
        | ParameterizedOp::InverseFftOfRows => {
            Forms::Driver("transforms are of matrices that fit the driver")
        }
        ParameterizedOp::Unique | ParameterizedOp::CountDistinct => {
            Forms::Driver("cells are compared in one place")
        }
        ParameterizedOp::CumSumProd => Forms::Driver("each row needs the result of the one above"),
        ParameterizedOp::Roll => Forms::Driver("rows are moved in the driver"),
        ParameterizedOp::Time => Forms::Driver(SCALARS),
        ParameterizedOp::Conv2d
        | ParameterizedOp::Conv2dBackwardFilter
        | ParameterizedOp::Conv2dBackwardData
        | ParameterizedOp::MaxPool
        | ParameterizedOp::MaxPoolBackward
        | ParameterizedOp::AvgPool
        | ParameterizedOp::AvgPoolBackward
        | ParameterizedOp::Lstm
        | ParameterizedOp::LstmBackward => Forms::Driver(LAYERS),
        ParameterizedOp::ChannelRow => Forms::Driver("it is one row"),
        ParameterizedOp::Cdf | ParameterizedOp::InverseCdf => Forms::Driver(SCALARS),
        ParameterizedOp::ToString => Forms::Driver("a text is the driver's"),
        ParameterizedOp::List | ParameterizedOp::Transform => Forms::Driver(UNIMPLEMENTED),
        ParameterizedOp::BitwAnd
        | ParameterizedOp::BitwOr
        | ParameterizedOp::BitwXor
        | ParameterizedOp::BitwShiftL
        | ParameterizedOp::BitwShiftR => Forms::Driver("bits are those of the driver's cells"),
    }
}

impl Forms {
    /// How it is cut by rows.
    pub(crate) fn cut(self) -> Option<Cut> {
        match self {
            Forms::Rows(cut) | Forms::Either(cut, _) => Some(cut),
            Forms::Composed(_) | Forms::Driver(_) => None,
        }
    }

    pub(crate) fn composition(self) -> Option<Composition> {
        match self {
            Forms::Composed(composition) | Forms::Either(_, composition) => Some(composition),
            Forms::Rows(_) | Forms::Driver(_) => None,
        }
    }
}

impl Composition {
    /// What it does, in a few words.
    pub fn form(self) -> &'static str {
        match self {
            Composition::RowRange | Composition::LeftIndex | Composition::RBind => {
                "stripes put together anew"
            }
            Composition::Cumulative(_) => "in two passes",
            Composition::RemoveEmpty => "kept rows put together anew",
            Composition::Rev | Composition::Order => "with a shuffle of rows",
            Composition::Diag | Composition::Trace | Composition::Triangle(_) => "stripe by stripe",
            Composition::Reshape { .. } => "where cells are, with heads of stripes or cells moved",
            Composition::Statistic(_) => "in passes over columns",
            Composition::Table => "as sums of stripes",
            Composition::Fill | Composition::Generate { .. } => "generated by tasks",
        }
    }

    /// Whether it goes over its inputs in several jobs, for which they have to be kept.
    pub fn reads_more_than_once(self) -> bool {
        match self {
            Composition::Cumulative(_)
            | Composition::RemoveEmpty
            | Composition::Order
            | Composition::Reshape { .. }
            | Composition::Statistic(_)
            | Composition::Table => true,
            Composition::RowRange
            | Composition::LeftIndex
            | Composition::RBind
            | Composition::Rev
            | Composition::Diag
            | Composition::Trace
            | Composition::Triangle(_)
            | Composition::Fill
            | Composition::Generate { .. } => false,
        }
    }
}

/// The composition of an operator that can't be cut by rows; `None` where there is none.
pub fn composition(op: &HopOp, inputs: &[InputFacts]) -> Option<Composition> {
    let forms = forms(op, inputs);
    if let Forms::Driver(reason) = forms {
        tracing::debug!(operator = %op.code(), reason, "no form on the workers");
    }
    forms.composition()
}

#[cfg(test)]
mod tests {
    use fulgurite_hop::{BinaryOp, Characteristics, CumulativeOp, UnaryOp};

    use super::*;
    use crate::input::InputPlace;

    fn matrix() -> InputFacts<'static> {
        InputFacts {
            characteristics: Characteristics::dims(1000, 10),
            scalar: None,
            place: InputPlace::Stripes,
        }
    }

    fn scalar(value: &Literal) -> InputFacts<'_> {
        InputFacts {
            characteristics: Characteristics::SCALAR,
            scalar: Some(value),
            place: InputPlace::Local,
        }
    }

    #[test]
    fn what_cannot_be_cut_is_composed_or_refused() {
        let one = Literal::Int(1);
        let (matrix, one) = (matrix(), scalar(&one));
        let shown = [
            (HopOp::Unary(UnaryOp::Exp), vec![matrix]),
            (HopOp::Binary(BinaryOp::Plus), vec![matrix, one]),
            (HopOp::CBind, vec![matrix, matrix]),
            (HopOp::RBind, vec![matrix, one]),
            (HopOp::RightIndex, vec![matrix, one, one, one, one]),
            (HopOp::Table, vec![one, one, one]),
            (HopOp::Cumulative(CumulativeOp::Sum), vec![matrix]),
            (HopOp::Transpose, vec![matrix]),
        ]
        .map(|(op, inputs)| format!("{}: {:?}", op.code(), forms(&op, &inputs)));
        insta::assert_snapshot!(shown.join("\n"));
    }

    #[test]
    fn aggregates_of_rows_are_cut_whatever_they_are() {
        for op in AggregateOp::ALL {
            let row = aggregate(*op, Direction::Row);
            assert_eq!(row.cut(), Some(Cut::RowAggregate), "{op:?}");
            let is_cut = aggregate(*op, Direction::Full).cut().is_some();
            assert_eq!(is_cut, stripe_parts(*op).is_ok(), "{op:?}");
        }
    }

    #[test]
    fn a_text_of_cells_stays_in_the_driver() {
        let (text, number) = (Literal::String("1 2".into()), Literal::Double(1.0));
        let fill = |value: &Literal| generated(DataGenOp::Fill, Some(&scalar(value)));
        assert!(matches!(fill(&text), Forms::Driver(_)));
        assert_eq!(fill(&number), Forms::Composed(Composition::Fill));
    }
}
