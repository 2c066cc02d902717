//! The extension `fulgurite._native`, which the Python sources beside this crate call.

#[global_allocator]
static ALLOCATOR: fulgurite_matrix::memory::ballast::Allocator =
    fulgurite_matrix::memory::ballast::Allocator;

#[pyo3::pymodule]
mod _native {
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}
