//! Names and types: from plans and expressions to typed ones, or to an error.
//!
//! Nothing runs here, and everything that can be wrong with names and types is found here.

mod expression;
mod parts;
mod plan;

pub use expression::{Scope, TypedExpression, TypedNamed, resolve_expression};
pub use plan::{JoinColumn, Side, TypedNode, TypedRelation, TypedSortKey, resolve};
