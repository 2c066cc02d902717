//! What is explained of requests.

mod explain;
mod pictures;
