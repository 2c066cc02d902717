//! Functions of the language that parse but cannot run yet.

use super::{Builtin, Rule, builtin};

pub(super) const BUILTINS: &[Builtin] = &[
    unsupported("transform", FRAMES),
    unsupported(
        "transformmeta",
        "read the metadata as a frame: read(file, data_type=\"frame\")",
    ),
];

const FRAMES: &str = "transformencode() and transformapply() encode frames";

const fn unsupported(name: &'static str, help: &'static str) -> Builtin {
    builtin(name, &[], Rule::Unsupported(help))
}
