//! `plans`: what holds for all plans; `correctness`: every plan gives the unfused result;
//! `optimality`: the search finds what exhaustive enumeration finds; `effort`: how much it costs to find it;
//! `explained`: what is kept of plans that were not chosen; `text`: plans as text parse back.

mod correctness;
mod effort;
mod explained;
mod optimality;
mod plans;
mod random;
mod support;
mod text;
