//! Arrays that are computed when somebody looks at them.
//!
//! An [`Expression`] is an operator of HOPs on other expressions, or a value. What is computed together is a [`Structure`],
//! which finds its program again in an [`Evaluator`].
//!
//! ```
//! use fulgurite_dataflow::Variable;
//! use fulgurite_lazy::{Evaluator, Expression, Kind, evaluate};
//! use fulgurite_matrix::{Interrupt, MatrixBlock};
//! use fulgurite_program::Session;
//!
//! let ones = Expression::value(Variable::matrix(MatrixBlock::filled(2, 3, 1.0)?));
//! let sum = Expression::of(&Kind::named("ua(+)", &[])?, vec![ones.into()])?;
//! let evaluator = Evaluator::new(Session::new(fulgurite_config::Config::default()));
//! evaluate(&[sum.clone()], &evaluator, &Interrupt::default())?;
//! assert_eq!(sum.number(), Some(6.0));
//! # Ok::<(), fulgurite_error::Error>(())
//! ```

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]
#![forbid(unsafe_code)]

mod evaluator;
mod expression;
mod kind;
mod structure;

pub use evaluator::{COUNTS, Counts, Evaluator, Variant, evaluate, forked, refuse_after_fork};
pub use expression::{Expression, Input, Place, Shape, State};
pub use kind::Kind;
pub use structure::{SOURCE, Structure};
