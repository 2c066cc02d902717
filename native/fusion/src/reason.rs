//! Why an operator was not fused, as data.

use std::fmt;

use fulgurite_hop::Seconds;
use serde::Serialize;

use crate::memo::TemplateType;

/// What stopped a template at an operator, or a plan in selection.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(
    tag = "reason",
    rename_all = "kebab-case",
    rename_all_fields = "camelCase"
)]
pub enum Reason {
    /// The size of the result or of an operand is not known when planning.
    UnknownSize,
    /// The template has no such operator.
    UnsupportedOperator,
    /// The template has no such aggregation function in that direction.
    UnsupportedAggregate,
    /// A 1 x 1 result leaves nothing to iterate over.
    SingleCell,
    /// No operand has the result's shape: an outer combination of two vectors.
    OuterCombination,
    /// Operands don't have the rows that the template iterates over, or the input is a right operand
    /// that must be there whole.
    NotAligned,
    /// The Row template needs an input of more than one row and more than one column.
    NoWideInput,
    /// The Row template keeps its result per row in cache only up to so many columns.
    NotSkinny { cols: u64, limit: u64 },
    /// A block of the product's rows leaves the cache.
    WideProduct { cols: u64, limit: u64 },
    /// An Outer plan's values are multiplied with matrices that are narrower than what is summed over.
    WideFactor { width: u64, limit: u64 },
    /// The Outer template starts at `U %*% t(V)` with fewer columns in U and V than rows in each.
    NotOuterProduct,
    /// Holding an outer product of so few cells costs nothing.
    SmallOuterProduct { cells: u64, limit: u64 },
    /// A covered transpose is never carried out; only products and `t(cumsum(t(X)))` make up for it.
    Turned,
    /// A cumulative operator fuses only along rows, as `t(cumsum(t(X)))`.
    NotAlongRows,
    /// The product reads what its table is made of, and the table is not made.
    TableNotMade,
    /// Only sums by groups are added up from parts that workers have.
    GroupsInParts,
    /// A transpose fuses only as the left operand of a matrix product.
    TransposeOutsideProduct,
    /// A range of rows, or a column range whose bounds are not known when planning.
    NotAColumnRange,
    /// Its inputs have no open plan of this template and nothing goes on from it: alone it would be the
    /// basic operator again.
    NothingToFuseWith,
    /// Inputs' plans are closed (a full or column aggregate ended them).
    InputsClosed,
    /// Side inputs that every worker must have whole exceed the broadcast budget.
    BroadcastTooLarge { bytes: u64, limit: u64 },
    /// The partition's cheapest plan leaves it out: seconds of that plan and of the one that fuses all.
    LostOnCost { chosen: f64, fuse_all: f64 },
    /// The operators around it were fused in another way that shuts it out.
    Conflict,
    /// The policy materialises it.
    Policy,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::UnknownSize => f.write_str("sizes are not known when planning"),
            Reason::UnsupportedOperator => f.write_str("the template has no such operator"),
            Reason::UnsupportedAggregate => f.write_str("the template has no such aggregate"),
            Reason::SingleCell => f.write_str("the result is a single cell"),
            Reason::OuterCombination => f.write_str("no operand has the shape of the result"),
            Reason::NotAligned => f.write_str("operands are not aligned with the iteration"),
            Reason::NoWideInput => f.write_str("no input has several rows and columns"),
            Reason::NotSkinny { cols, limit } => {
                write!(
                    f,
                    "{cols} columns, Row takes less than {limit} and less than the rows"
                )
            }
            Reason::WideProduct { cols, limit } => {
                write!(f, "a product of {cols} columns, Row takes up to {limit}")
            }
            Reason::WideFactor { width, limit } => {
                write!(
                    f,
                    "the other factor has {width} columns, Outer takes less than {limit}"
                )
            }
            Reason::NotOuterProduct => f.write_str("not an outer product of narrow factors"),
            Reason::SmallOuterProduct { cells, limit } => {
                write!(
                    f,
                    "an outer product of {cells} cells, Outer starts at {limit}"
                )
            }
            Reason::Turned => f.write_str("the input's plan leaves it transposed"),
            Reason::TableNotMade => {
                f.write_str("the product alone reads what its table is made of, and needs no table")
            }
            Reason::GroupsInParts => {
                f.write_str("of aggregates by groups, workers give parts of sums only")
            }
            Reason::NotAlongRows => {
                f.write_str("a cumulative operator fuses only along rows, as t(cumsum(t(X)))")
            }
            Reason::TransposeOutsideProduct => {
                f.write_str("a transpose fuses only as left operand of a matrix product")
            }
            Reason::NotAColumnRange => f.write_str("not a column range with known bounds"),
            Reason::NothingToFuseWith => f.write_str("no neighbour to fuse with"),
            Reason::InputsClosed => f.write_str("the plans of its inputs are closed"),
            Reason::BroadcastTooLarge { bytes, limit } => {
                write!(f, "{bytes} bytes to broadcast, the budget is {limit}")
            }
            Reason::LostOnCost { chosen, fuse_all } => {
                write!(
                    f,
                    "cost: {} without it, {} fusing all",
                    Seconds(*chosen),
                    Seconds(*fuse_all)
                )
            }
            Reason::Conflict => f.write_str("its neighbours are fused without it"),
            Reason::Policy => f.write_str("the policy materialises it"),
        }
    }
}

/// A template (or none: selection as a whole) and its reason.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TemplateReason {
    pub template: Option<TemplateType>,
    #[serde(flatten)]
    pub reason: Reason,
}

impl fmt::Display for TemplateReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.template {
            Some(template) => write!(f, "{template}: {}", self.reason),
            None => self.reason.fmt(f),
        }
    }
}
