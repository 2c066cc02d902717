//! Finished machine code: who owns its memory, and the one place that calls it.

use std::sync::Mutex;

use cranelift_jit::JITModule;
use cranelift_module::FuncId;

type Entry = unsafe extern "C" fn(*const u64);

/// A compiled function and the memory it lies in.
pub(crate) struct Code {
    /// `None` once freed. A mutex because modules may move between threads but not be shared by them; only
    /// `drop` opens it.
    module: Mutex<Option<JITModule>>,
    entry: Entry,
}

impl Code {
    pub(super) fn new(module: JITModule, function: FuncId) -> Self {
        let address = module.get_finalized_function(function);
        // SAFETY: the function was declared with one pointer-sized parameter, no result, and the calling
        // convention of the target, which is that of `extern "C"`.
        let entry = unsafe { std::mem::transmute::<*const u8, Entry>(address) };
        Code {
            module: Mutex::new(Some(module)),
            entry,
        }
    }

    /// Frees a module whose code never ran.
    pub(super) fn discard(module: JITModule) {
        // SAFETY: no function of the module is finalized, so none can be running or run later.
        unsafe { module.free_memory() };
    }

    /// Runs the code over the block that the slots describe.
    ///
    /// # Safety
    /// The slots are those of a [`crate::frame::Frame`] that has checked the block: the code reads and writes what they point
    /// to, within rows x width of each.
    pub unsafe fn run(&self, slots: &[u64]) {
        // SAFETY: the caller's promise.
        unsafe { (self.entry)(slots.as_ptr()) };
    }
}

impl Drop for Code {
    fn drop(&mut self) {
        let module = match self.module.get_mut() {
            Ok(module) => module.take(),
            Err(poisoned) => poisoned.into_inner().take(),
        };
        if let Some(module) = module {
            // SAFETY: `run` borrows `self`, so the code is not running, and `entry` is gone with `self`.
            unsafe { module.free_memory() };
        }
    }
}

impl std::fmt::Debug for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Code")
    }
}
