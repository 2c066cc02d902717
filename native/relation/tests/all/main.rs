//! Plans over small tables, with the results of Polars 2.1.

mod errors;
mod expressions;
mod groups;
mod optimizer;
mod plans;
mod reads;
mod tables;
