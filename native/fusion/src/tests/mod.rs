//! `plans`: the plans of the paper's expressions; `correctness`: every plan gives the unfused result;
//! `optimality`: the search finds what exhaustive enumeration finds; `effort`: how much it costs to find it.

mod correctness;
mod effort;
mod optimality;
mod plans;
mod random;
mod support;
