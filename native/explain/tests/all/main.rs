//! What is explained of requests.

mod explain;
