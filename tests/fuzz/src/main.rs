//! The fuzzer: `FULGURITE_FUZZ_TARGET` names the boundary, the rest is libFuzzer's command line. `ci/fuzz` builds and runs it.

#![no_main]

use std::{panic, sync::OnceLock};

use fulgurite_fuzz::Target;
use libfuzzer_sys::fuzz_target;

static TARGET: OnceLock<(Target, tempfile::TempDir)> = OnceLock::new();

fuzz_target!(
    init: {
        // libFuzzer's hook aborts at every panic, those included that are caught at a library's boundary.
        panic::set_hook(Box::new(|info| eprintln!("{info}")));
        let name = std::env::var("FULGURITE_FUZZ_TARGET").unwrap_or_default();
        let target = Target::of_name(&name).expect("FULGURITE_FUZZ_TARGET names a target");
        TARGET.get_or_init(|| (target, tempfile::tempdir().expect("a temporary folder")));
    },
    |bytes: &[u8]| {
        if let Some((target, folder)) = TARGET.get() {
            target.run(bytes, folder.path());
        }
    }
);
