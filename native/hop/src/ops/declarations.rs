//! From each kind of operator to its declaration.

use std::ops::RangeInclusive;

use super::{
    AggregateOp, BinaryOp, CastOp, CumulativeOp, DataGenOp, Direction, FrameOp, HopOp, ListOp,
    ParameterizedOp, ReadOptions, SizeOp, TernaryOp, UnaryOp, WriteOptions,
    aggregate::Aggregate,
    append::{CBind, RBind},
    effects::{Assert, Print, Stop},
    fused::Fused,
    index::{LeftIndex, RightIndex},
    operator::{Accepts, Facts, Gives, More, Operator, Purity},
    parameterized::Named,
    product::MatMult,
    reorganize::{Diag, Reshape, Rev, Transpose},
    table::Table,
    variables::{TransientRead, TransientWrite},
};
use crate::{DataType, Literal};

/// For each kind, what declares it, and its operators.
macro_rules! kinds {
    ($($kind:pat => $operator:expr, $all:expr;)+) => {
        impl HopOp {
            /// Asks the declaration of this operator.
            pub(crate) fn declaration<R>(&self, ask: impl FnOnce(&dyn Operator) -> R) -> R {
                match self { $($kind => ask($operator),)+ }
            }

            /// Every operator, with an example of what it carries.
            pub(crate) fn all() -> Vec<HopOp> {
                let mut all = Vec::new();
                $(all.extend($all);)+
                all
            }
        }
    };
}

kinds! {
    HopOp::Literal(value) => value, [HopOp::Literal(Literal::Int(7))];
    HopOp::TransientRead(name) => &TransientRead(name), [HopOp::TransientRead("X".into())];
    HopOp::TransientWrite(name) => &TransientWrite(name), [HopOp::TransientWrite("X".into())];
    HopOp::PersistentRead(options) => options, [HopOp::PersistentRead(ReadOptions::default())];
    HopOp::PersistentWrite(options) => options, [HopOp::PersistentWrite(WriteOptions::default())];
    HopOp::Unary(op) => op, UnaryOp::ALL.iter().copied().map(HopOp::Unary);
    HopOp::Binary(op) => op, BinaryOp::ALL.iter().copied().map(HopOp::Binary);
    HopOp::Ternary(op) => op, TernaryOp::ALL.iter().copied().map(HopOp::Ternary);
    HopOp::Aggregate(op, direction) => &Aggregate(*op, *direction), aggregates();
    HopOp::Cumulative(op) => op, CumulativeOp::ALL.iter().copied().map(HopOp::Cumulative);
    HopOp::MatMult => &MatMult, [HopOp::MatMult];
    HopOp::Transpose => &Transpose, [HopOp::Transpose];
    HopOp::Diag => &Diag, [HopOp::Diag];
    HopOp::Rev => &Rev, [HopOp::Rev];
    HopOp::Reshape { by_row } => &Reshape { by_row: *by_row },
        [true, false].map(|by_row| HopOp::Reshape { by_row });
    HopOp::RightIndex => &RightIndex, [HopOp::RightIndex];
    HopOp::LeftIndex => &LeftIndex, [HopOp::LeftIndex];
    HopOp::CBind => &CBind, [HopOp::CBind];
    HopOp::RBind => &RBind, [HopOp::RBind];
    HopOp::DataGen(op) => op, DataGenOp::ALL.iter().copied().map(HopOp::DataGen);
    HopOp::Table => &Table, [HopOp::Table];
    HopOp::Cast(op) => op, CastOp::ALL.iter().copied().map(HopOp::Cast);
    HopOp::Size(op) => op, SizeOp::ALL.iter().copied().map(HopOp::Size);
    HopOp::Parameterized(op, places) => &Named { op: *op, places }, named();
    HopOp::List(op) => op, ListOp::ALL.iter().copied().map(HopOp::List);
    HopOp::Frame(op) => op, FrameOp::ALL.iter().copied().map(HopOp::Frame);
    HopOp::Print => &Print, [HopOp::Print];
    HopOp::Stop => &Stop, [HopOp::Stop];
    HopOp::Assert => &Assert, [HopOp::Assert];
    HopOp::Fused(number) => &Fused(*number), [HopOp::Fused(3)];
}

fn aggregates() -> impl Iterator<Item = HopOp> {
    let ops = AggregateOp::ALL.iter();
    ops.flat_map(|op| Direction::ALL.map(|direction| HopOp::Aggregate(*op, direction)))
}

/// The operator as a code alone gives it: without places of inputs.
fn named() -> impl Iterator<Item = HopOp> {
    let ops = ParameterizedOp::ALL.iter();
    ops.map(|op| HopOp::Parameterized(*op, Default::default()))
}

impl HopOp {
    /// Asks for facts.
    pub(crate) fn facts<R>(&self, ask: impl FnOnce(Facts<'_>) -> R) -> R {
        self.declaration(|operator| ask(operator.facts()))
    }

    /// How many inputs it takes.
    pub fn arity(&self) -> RangeInclusive<usize> {
        self.facts(|facts| {
            let first = facts.inputs.first.len();
            match facts.inputs.more {
                More::Nothing => first..=first,
                More::Together(optional) => first..=first + optional.len(),
                More::Repeated(_) => first..=usize::MAX,
                More::Named { count, .. } => count..=count,
            }
        })
    }

    /// Whether it may have so many inputs.
    pub fn takes(&self, inputs: usize) -> bool {
        let arity = self.arity();
        self.facts(|facts| match facts.inputs.more {
            More::Nothing | More::Together(_) => [*arity.start(), *arity.end()].contains(&inputs),
            More::Repeated(_) | More::Named { .. } => arity.contains(&inputs),
        })
    }

    /// Which types the input at this place (from 0) may have.
    pub fn accepts(&self, place: usize) -> Accepts {
        self.facts(|facts| {
            let first = facts.inputs.first;
            let more = place.checked_sub(first.len());
            let input = match (more, &facts.inputs.more) {
                (None, _) => first.get(place),
                (Some(place), More::Together(optional)) => optional.get(place),
                (Some(_), More::Repeated(input)) => Some(input),
                (Some(_), More::Nothing | More::Named { .. }) => None,
            };
            input.map_or(Accepts::Any, |(_, accepts)| *accepts)
        })
    }

    /// The type it must give, where the operator alone decides it.
    pub fn gives(&self) -> Option<DataType> {
        self.facts(|facts| match facts.gives {
            Gives::Constant(_) | Gives::Count => Some(DataType::Scalar),
            Gives::Always(data_type) => Some(data_type),
            Gives::Usually(..) | Gives::Input | Gives::Cells(_) => None,
        })
    }

    /// Has an effect besides its value: must run, and in order.
    pub fn has_effect(&self) -> bool {
        self.facts(|facts| facts.purity == Purity::Effect)
    }

    /// Gives the same each time it runs: two of them may be one.
    pub fn is_deterministic(&self) -> bool {
        self.facts(|facts| facts.purity != Purity::Unique)
    }
}
