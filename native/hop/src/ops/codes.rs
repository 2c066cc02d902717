//! Operators as text: SystemML's codes, both ways.

use std::{collections::HashMap, fmt, sync::LazyLock};

use super::{
    HopOp,
    fused::Fused,
    literal,
    variables::{TransientRead, TransientWrite},
};
use crate::Literal;

/// All operators by their codes.
static BY_CODE: LazyLock<HashMap<String, HopOp>> =
    LazyLock::new(|| HopOp::all().into_iter().map(|op| (op.code(), op)).collect());

impl HopOp {
    /// SystemML's code: `ba(+*)`, `b(*)`, `ua(R+)`, `TRead X`.
    pub fn code(&self) -> String {
        self.declaration(|operator| operator.code().into_owned())
    }

    /// The operator with this code. What a code does not say is left at its default: options of reads and
    /// writes, the places of named inputs; a literal's type is read off its text (`lit 7` is an int).
    pub fn from_code(code: &str) -> Option<HopOp> {
        if let Some((word, rest)) = code.split_once(' ') {
            return match word {
                literal::WORD => Some(HopOp::Literal(Literal::from_text(rest))),
                TransientRead::WORD => Some(HopOp::TransientRead(rest.into())),
                TransientWrite::WORD => Some(HopOp::TransientWrite(rest.into())),
                _ => None,
            };
        }
        if let Some(op) = BY_CODE.get(code) {
            return Some(op.clone());
        }
        let (word, number) = code.strip_suffix(')')?.split_once('(')?;
        let number = number.parse().ok()?;
        (word == Fused::WORD).then_some(HopOp::Fused(number))
    }
}

impl fmt::Display for HopOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.declaration(|operator| f.write_str(&operator.code()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        AggregateOp, BinaryOp, CastOp, CumulativeOp, DataGenOp, ParameterizedOp, SizeOp, TernaryOp,
        UnaryOp,
    };

    /// One of each operator, and more of those that carry something.
    fn every_operator() -> Vec<HopOp> {
        let mut ops = HopOp::all();
        ops.extend([
            HopOp::TransientRead("a name".into()),
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

    /// Within a family a code stands without the class: `exp`, not `u(exp)`.
    #[test]
    fn codes_of_families_parse_back() {
        macro_rules! parse_back {
            ($($family:ident),+) => { $(
                for op in $family::ALL {
                    assert_eq!($family::from_code($family::code(*op)), Some(*op), "{op:?}");
                }
            )+ };
        }
        parse_back!(UnaryOp, BinaryOp, TernaryOp, AggregateOp, CumulativeOp);
        parse_back!(DataGenOp, CastOp, SizeOp, ParameterizedOp);
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
