//! Functions of the language that parse but cannot run yet.

use super::{Builtin, Rule, builtin};

pub(super) const BUILTINS: &[Builtin] = &[
    unsupported("transform", FRAMES),
    unsupported("transformencode", FRAMES),
    unsupported("transformapply", FRAMES),
    unsupported("transformdecode", FRAMES),
    unsupported("transformcolmap", FRAMES),
    unsupported("transformmeta", FRAMES),
];

const FRAMES: &str = "encode the data as numbers before the script reads it";

const fn unsupported(name: &'static str, help: &'static str) -> Builtin {
    builtin(name, &[], Rule::Unsupported(help))
}
