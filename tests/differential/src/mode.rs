//! The ways of running a script.

use fulgurite_config::Config;

/// One way of running.
#[derive(Clone, Copy, Debug)]
pub struct Mode {
    /// How operators are fused.
    pub policy: &'static str,
    /// Whether the main input comes as CSR, not dense.
    pub sparse: bool,
    pub threads: usize,
    /// As dataflow of the in-process backend, for everything that reads the main input.
    pub distributed: bool,
    /// Whether what loops read, and inputs that are read several times, become column groups.
    pub compressed: bool,
}

/// What all modes are compared with: unfused, dense, one thread, one machine.
pub const REFERENCE: Mode = Mode {
    policy: "none",
    sparse: false,
    threads: 1,
    distributed: false,
    compressed: false,
};

impl Mode {
    /// All modes: each policy, dense and CSR, on one thread, on two, compressed, and as dataflow.
    pub fn all() -> impl Iterator<Item = Mode> {
        let policies = ["cost", "fuse-all", "fuse-no-redundancy", "none"];
        let layouts = [false, true];
        let places = [
            (1, false, false),
            (2, false, false),
            (2, false, true),
            (2, true, false),
        ];
        policies.into_iter().flat_map(move |policy| {
            layouts.into_iter().flat_map(move |sparse| {
                places
                    .into_iter()
                    .map(move |(threads, distributed, compressed)| Mode {
                        policy,
                        sparse,
                        threads,
                        distributed,
                        compressed,
                    })
            })
        })
    }

    /// `memory`: the bytes that may be used in the driver, where the mode is distributed.
    pub(crate) fn config(self, memory: usize) -> Config {
        let mut settings = vec![
            ("fulgurite.fusion.policy", self.policy.to_owned()),
            ("fulgurite.threads", self.threads.to_string()),
            (
                "fulgurite.compression",
                if self.compressed { "on" } else { "off" }.to_owned(),
            ),
        ];
        if self.distributed {
            settings.push(("fulgurite.backend", "local".to_owned()));
            settings.push(("fulgurite.memory.local", memory.to_string()));
        }
        let mut config = Config::default();
        for (key, value) in settings {
            config.set(key, &value).expect("a known key");
        }
        config
    }
}
