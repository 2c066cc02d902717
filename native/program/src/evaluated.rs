//! Programs of functions that a script calls by `eval`: compiled when the run first comes to a call of that function with
//! arguments of those types.

use std::sync::OnceLock;

use fulgurite_dml::CompiledCall;
use fulgurite_error::Result;

/// Programs that are added to while others hold references into it: interpreters run their blocks.
#[derive(Default)]
pub(crate) struct Evaluated(OnceLock<Box<Entry>>);

struct Entry {
    key: String,
    call: CompiledCall,
    next: Evaluated,
}

impl Evaluated {
    /// The program of a call that was made before, or what `compile` makes.
    ///
    /// # Errors
    /// Of compiling.
    pub(crate) fn get_or_compile(
        &self,
        key: &str,
        compile: impl FnOnce() -> Result<CompiledCall>,
    ) -> Result<&CompiledCall> {
        let mut slot = self;
        while let Some(entry) = slot.0.get() {
            if entry.key == key {
                return Ok(&entry.call);
            }
            slot = &entry.next;
        }
        let mut new = Box::new(Entry {
            key: key.to_owned(),
            call: compile()?,
            next: Evaluated::default(),
        });
        loop {
            // Another thread may have added one meanwhile.
            match slot.0.set(new) {
                Ok(()) => break,
                Err(back) => new = back,
            }
            if let Some(entry) = slot.0.get() {
                slot = &entry.next;
            }
        }
        let added = slot.0.get().map(|entry| &entry.call);
        added.ok_or_else(|| fulgurite_error::Error::internal("a compiled call vanished"))
    }
}
