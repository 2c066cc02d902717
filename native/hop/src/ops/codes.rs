//! Operators as text: SystemML's codes, both ways.
//!
//! A code is a fixed word (`ba(+*)`, [`FIXED`]), a family around an operator's own code (`u(exp)`), or a
//! prefix with a name or number (`TRead X`). Printing and parsing read the same tables.

use std::fmt;

use super::{
    AggregateOp, BinaryOp, CastOp, CumulativeOp, DataGenOp, Direction, HopOp, ParameterizedOp,
    ReadOptions, SizeOp, TernaryOp, UnaryOp, WriteOptions,
};
use crate::Literal;

/// Operators whose code is all there is to them.
static FIXED: [(HopOp, &str); 14] = [
    (HopOp::MatMult, "ba(+*)"),
    (HopOp::Transpose, "r(t)"),
    (HopOp::Diag, "r(diag)"),
    (HopOp::Rev, "r(rev)"),
    (HopOp::Reshape { by_row: true }, "r(rshape)"),
    (HopOp::Reshape { by_row: false }, "r(rshape-bycol)"),
    (HopOp::RightIndex, "rix"),
    (HopOp::LeftIndex, "lix"),
    (HopOp::CBind, "b(cbind)"),
    (HopOp::RBind, "b(rbind)"),
    (HopOp::Table, "t(ctable)"),
    (HopOp::Print, "u(print)"),
    (HopOp::Stop, "u(stop)"),
    (HopOp::Assert, "u(assert)"),
];

const READ: &str = "PRead";
const WRITE: &str = "PWrite";

/// Over what an aggregate runs, before its own code. The empty one stands last, as all codes begin with it.
const DIRECTIONS: [(Direction, &str); 3] = [
    (Direction::Row, "R"),
    (Direction::Col, "C"),
    (Direction::Full, ""),
];

impl HopOp {
    /// SystemML's code: `ba(+*)`, `b(*)`, `ua(R+)`, `TRead X`.
    pub fn code(&self) -> String {
        match self {
            HopOp::Literal(value) => format!("lit {value}"),
            HopOp::TransientRead(name) => format!("TRead {name}"),
            HopOp::TransientWrite(name) => format!("TWrite {name}"),
            HopOp::PersistentRead(_) => READ.into(),
            HopOp::PersistentWrite(_) => WRITE.into(),
            HopOp::Unary(op) => format!("u({})", op.code()),
            HopOp::Binary(op) => format!("b({})", op.code()),
            HopOp::Ternary(op) => format!("t({})", op.code()),
            HopOp::Aggregate(op, direction) => {
                let prefix = DIRECTIONS
                    .iter()
                    .find_map(|(known, prefix)| (known == direction).then_some(*prefix))
                    .unwrap_or_default();
                format!("ua({prefix}{})", op.code())
            }
            HopOp::DataGen(op) => format!("dg({})", op.code()),
            HopOp::Cumulative(op) => format!("u({})", op.code()),
            HopOp::Cast(op) => format!("u({})", op.code()),
            HopOp::Size(op) => format!("u({})", op.code()),
            HopOp::Parameterized(op, _) => format!("p({})", op.code()),
            HopOp::Fused(number) => format!("fused({number})"),
            HopOp::MatMult
            | HopOp::Transpose
            | HopOp::Diag
            | HopOp::Rev
            | HopOp::Reshape { .. }
            | HopOp::RightIndex
            | HopOp::LeftIndex
            | HopOp::CBind
            | HopOp::RBind
            | HopOp::Table
            | HopOp::Print
            | HopOp::Stop
            | HopOp::Assert => FIXED
                .iter()
                .find_map(|(op, code)| (op == self).then_some(*code))
                .unwrap_or_default()
                .into(),
        }
    }

    /// The operator with this code. What a code does not say is left at its default: options of reads and
    /// writes, the places of named inputs; a literal's type is read off its text (`lit 7` is an int).
    pub fn from_code(code: &str) -> Option<HopOp> {
        if let Some((op, _)) = FIXED.iter().find(|(_, fixed)| *fixed == code) {
            return Some(op.clone());
        }
        match code {
            READ => return Some(HopOp::PersistentRead(ReadOptions::default())),
            WRITE => return Some(HopOp::PersistentWrite(WriteOptions::default())),
            _ => {}
        }
        if let Some((prefix, rest)) = code.split_once(' ') {
            return match prefix {
                "lit" => Some(HopOp::Literal(Literal::from_text(rest))),
                "TRead" => Some(HopOp::TransientRead(rest.into())),
                "TWrite" => Some(HopOp::TransientWrite(rest.into())),
                _ => None,
            };
        }
        let (family, operator) = code.strip_suffix(')')?.split_once('(')?;
        in_family(family, operator)
    }
}

fn in_family(family: &str, operator: &str) -> Option<HopOp> {
    match family {
        "u" => UnaryOp::from_code(operator)
            .map(HopOp::Unary)
            .or_else(|| CumulativeOp::from_code(operator).map(HopOp::Cumulative))
            .or_else(|| CastOp::from_code(operator).map(HopOp::Cast))
            .or_else(|| SizeOp::from_code(operator).map(HopOp::Size)),
        "b" => BinaryOp::from_code(operator).map(HopOp::Binary),
        "t" => TernaryOp::from_code(operator).map(HopOp::Ternary),
        "ua" => DIRECTIONS.iter().find_map(|(direction, prefix)| {
            let op = AggregateOp::from_code(operator.strip_prefix(prefix)?)?;
            Some(HopOp::Aggregate(op, *direction))
        }),
        "dg" => DataGenOp::from_code(operator).map(HopOp::DataGen),
        "p" => ParameterizedOp::from_code(operator)
            .map(|op| HopOp::Parameterized(op, Default::default())),
        "fused" => operator.parse().ok().map(HopOp::Fused),
        _ => None,
    }
}

impl fmt::Display for HopOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One of each operator, with what a code can carry.
    fn every_operator() -> Vec<HopOp> {
        let mut ops: Vec<HopOp> = FIXED.iter().map(|(op, _)| op.clone()).collect();
        ops.extend(UnaryOp::ALL.iter().map(|op| HopOp::Unary(*op)));
        ops.extend(BinaryOp::ALL.iter().map(|op| HopOp::Binary(*op)));
        ops.extend(TernaryOp::ALL.iter().map(|op| HopOp::Ternary(*op)));
        for (direction, _) in DIRECTIONS {
            let aggregates = AggregateOp::ALL.iter();
            ops.extend(aggregates.map(|op| HopOp::Aggregate(*op, direction)));
        }
        ops.extend(DataGenOp::ALL.iter().map(|op| HopOp::DataGen(*op)));
        ops.extend(CumulativeOp::ALL.iter().map(|op| HopOp::Cumulative(*op)));
        ops.extend(CastOp::ALL.iter().map(|op| HopOp::Cast(*op)));
        ops.extend(SizeOp::ALL.iter().map(|op| HopOp::Size(*op)));
        let parameterized = ParameterizedOp::ALL.iter();
        ops.extend(parameterized.map(|op| HopOp::Parameterized(*op, Default::default())));
        ops.extend([
            HopOp::PersistentRead(ReadOptions::default()),
            HopOp::PersistentWrite(WriteOptions::default()),
            HopOp::TransientRead("a name".into()),
            HopOp::TransientWrite("X".into()),
            HopOp::Fused(3),
            HopOp::Literal(Literal::Int(-7)),
            HopOp::Literal(Literal::Double(1e300)),
            HopOp::Literal(Literal::Double(f64::INFINITY)),
            HopOp::Literal(Literal::Boolean(true)),
            HopOp::Literal(Literal::String("some text".into())),
        ]);
        ops
    }

    #[test]
    fn every_code_parses_back() {
        for op in every_operator() {
            assert!(!op.code().is_empty(), "{op:?} has no code");
            assert_eq!(HopOp::from_code(&op.code()), Some(op.clone()), "{op:?}");
        }
    }

    #[test]
    fn no_two_operators_share_a_code() {
        let mut codes: Vec<String> = every_operator().iter().map(HopOp::code).collect();
        codes.sort();
        let all = codes.len();
        codes.dedup();
        assert_eq!(codes.len(), all);
    }

    #[test]
    fn other_texts_are_no_codes() {
        for text in [
            "",
            "u(",
            "u(nothing)",
            "ua(Z+)",
            "b",
            "tread X",
            "fused(-1)",
        ] {
            assert_eq!(HopOp::from_code(text), None, "{text}");
        }
    }
}
