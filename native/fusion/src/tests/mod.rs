//! `plans`: the plans of the paper's expressions; `correctness`: every plan gives the unfused result;
//! `optimality`: the search finds what exhaustive enumeration finds.

mod correctness;
mod optimality;
mod plans;
mod random;
mod support;
