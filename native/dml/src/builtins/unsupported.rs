//! Functions of the language that parse but cannot run yet.

use super::{Builtin, Rule, builtin};

pub(super) const BUILTINS: &[Builtin] = &[
    unsupported("transform", FRAMES),
    unsupported("transformencode", FRAMES),
    unsupported("transformapply", FRAMES),
    unsupported("transformdecode", FRAMES),
    unsupported("transformcolmap", FRAMES),
    unsupported("transformmeta", FRAMES),
    unsupported("conv2d", NEURAL),
    unsupported("conv2d_backward_filter", NEURAL),
    unsupported("conv2d_backward_data", NEURAL),
    unsupported("max_pool", NEURAL),
    unsupported("max_pool_backward", NEURAL),
    unsupported("avg_pool", NEURAL),
    unsupported("avg_pool_backward", NEURAL),
    unsupported("bias_add", NEURAL),
    unsupported("bias_multiply", NEURAL),
    unsupported("batch_norm2d", NEURAL),
    unsupported("batch_norm2d_backward", NEURAL),
    unsupported("lstm", NEURAL),
    unsupported("lstm_backward", NEURAL),
];

const FRAMES: &str = "encode the data as numbers before the script reads it";
const NEURAL: &str = "layers of neural networks have to be written with matrix operators for now";

const fn unsupported(name: &'static str, help: &'static str) -> Builtin {
    builtin(name, &[], Rule::Unsupported(help))
}
