//! The basic operators on matrix blocks: unfused, on all of rayon's threads.
//!
//! Every function takes dense and CSR blocks alike and gives the layout that it can tell cheaply is the
//! better one; vectors are dense. Shapes are checked: a `dimension` error says which did not fit.
//!
//! [`elementwise`] and [`aggregate`] are generic over the scalar function and the accumulator, [`matmult`]
//! has the products ([`dense_product`] those of dense cells, `sparse_product` those of sparse ones), [`reorganize`], [`index`], [`parts`] and [`select`] move cells about, [`generate`] and [`table`]
//! make matrices from scalars and categories, [`table_product()`] multiplies by a table that is not made, [`statistics`] has moments and order statistics, [`groups`] aggregates of groups, [`factorize`]
//! linear systems and factorisations, [`householder`] `qr`, [`fourier`] transforms, [`distinct`] values that differ. Sorts by one column and order statistics are in `radix`.

pub mod aggregate;
pub mod dense_product;
pub mod distinct;
pub mod elementwise;
pub mod factorize;
pub mod fourier;
pub mod generate;
pub mod groups;
pub mod householder;
pub mod index;
pub mod layers;
mod leave;
mod left_index;
mod linear;
pub mod matmult;
pub mod merge;
pub mod parts;
mod radix;
pub mod random;
pub mod reorganize;
mod results;
pub mod select;
mod sparse_product;
mod sparse_union;
pub mod statistics;
pub mod table;
mod table_product;

mod broadcast;
#[cfg(test)]
mod chance;
mod cumulative;
mod dense_range;
#[cfg(test)]
mod tests;

pub use crate::parallel::TASK_CELLS;
pub use aggregate::Accumulator;
pub use cumulative::{cumsumprod, cumulative};
pub use dense_range::DenseRange;
pub use elementwise::{
    Operand, binary, binary_by, binary_over_slices, outer, outer_over_slices, ternary, ternary_by,
    unary, unary_over_slices,
};
pub use generate::{fill, parse_cells, seq, seq_rows};
pub use index::{IndexRange, cbind, dense_range, part_of_range, rbind, right_index};
pub use left_index::left_index;
pub use matmult::{matmult, transposed_matmult, tsmm};
pub use merge::{changed_part, merge_changes};
pub use parts::{PlacedPart, put_parts};
pub use random::{Distribution, RandStream, fresh_seed, rand, rand_rows, sample};
pub use reorganize::{diag, reshape, rev, roll, take_rows, transpose, triangle};
pub use select::{Margin, order, order_permutation, remove_empty, replace};
pub use table::table;
pub use table_product::{TableFactor, table_product};
