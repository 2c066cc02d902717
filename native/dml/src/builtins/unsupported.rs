//! Functions of SystemDS that the language knows and cannot run.

use super::{Builtin, Kind, Rule, builtin};

pub(super) const BUILTINS: &[Builtin] = &[
    unsupported("federated", "read() reads files of a cluster's file system"),
    unsupported(
        "paramserv",
        "a loop over batches of rows trains in one process",
    ),
    unsupported("lineage", "fulgurite explain shows what is executed"),
];

const fn unsupported(name: &'static str, help: &'static str) -> Builtin {
    Builtin {
        rest: Some(Kind::Any),
        ..builtin(name, &[], Rule::Unsupported(help))
    }
}
