//! Configuration: one table of keys with type, default and meaning, from which parsing, the command line's
//! `fulgurite config` and `docs/configuration.md` follow.
//!
//! Start with [`keys`]. A [`Config`] holds resolved values; [`Config::set`] is the one way in.

mod choices;
mod values;

use std::{borrow::Cow, collections::BTreeMap, fmt::Write, path::PathBuf, sync::LazyLock};

use fulgurite_error::{Code, Error, Result};
use fulgurite_fusion::{
    CostConstants, Policy,
    machine::{CONSTANTS, Constant, Declaration},
};
use fulgurite_hop::{Dialect, ParforMode};
use fulgurite_matrix::{io::Access, kernels::RandStream};

pub use choices::{BackendChoice, CompressionMode, ProductForm};

use super::{cost::CostSettings, memory};
use choices::{PARFOR_MODES, PRODUCT_FORMS, RAND_STREAMS};
use values::{Kind, parse_boolean, parse_integer, parse_size, parse_speed};

/// What may be sent to workers that are threads of this process.
const BROADCAST_WITHOUT_SPARK: u64 = 1 << 30;

/// Resolved configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    pub fusion_policy: Policy,
    /// Bytes that one operator may take, with inputs and output, to run in the driver's process.
    pub memory_local: u64,
    /// Bytes that a matrix may take to be sent to every worker.
    pub memory_broadcast: u64,
    /// Rows of a stripe cut from a local matrix.
    pub blocksize: u64,
    /// Threads of a local operator; 0 for all cores.
    pub threads: usize,
    pub plan_cache_size: usize,
    /// Whether loops and functions of scalars run as compiled code.
    pub scalar_code: bool,
    /// Whose meaning scripts have.
    pub dialect: Dialect,
    /// Folders and jars with scripts of functions that a script calls and does not define.
    pub builtins: Vec<PathBuf>,
    /// Rewrites that are not applied, by name.
    pub rewrites_off: Vec<String>,
    pub backend: BackendChoice,
    /// Whether operators that fit the driver run where their inputs are, to move less.
    pub pull: bool,
    /// Whether long products of matrices on the driver may run on the workers.
    pub spread: bool,
    /// How products of two large matrices run; by cost, where none is named.
    pub product: Option<ProductForm>,
    /// Where iterations of a `parfor` run whose script does not say.
    pub parfor_mode: Option<ParforMode>,
    /// Whether matrices in this process that loops read are compressed.
    pub compression: CompressionMode,
    /// How binary files on a local disk are read.
    pub reading: Access,
    /// Whose numbers `rand` gives for a seed.
    pub rand_stream: RandStream,
    /// Speeds that the cost model reckons with.
    pub cost: CostSettings,
}

/// One key: everything there is to know about it.
pub struct Key {
    pub name: &'static str,
    kind: Kind,
    default: &'static str,
    doc: Cow<'static, str>,
    set: Set,
}

enum Set {
    By(fn(&mut Config, &str) -> Result<()>),
    Constant(Constant),
}

/// Keys of their own; [those of the cost model](CONSTANTS) follow.
const KEYS: &[Key] = &[
    Key {
        name: "fulgurite.fusion.policy",
        kind: Kind::Choice(&["cost", "fuse-all", "fuse-no-redundancy", "none"]),
        default: "cost",
        doc: Cow::Borrowed(
            "How operators are fused: by estimated cost; all that can be; all that can be without computing \
              anything twice; not at all.",
        ),
        set: Set::By(|config, text| {
            config.fusion_policy = Policy::from_name(text)
                .ok_or_else(|| Error::argument(format!("'{text}' is none of the choices")))?;
            Ok(())
        }),
    },
    Key {
        name: "fulgurite.memory.local",
        kind: Kind::Size,
        default: "auto",
        doc: Cow::Borrowed(
            "What one operator may take, inputs and output together, to run in the driver's process; what needs \
              more becomes dataflow over the workers. Inputs of a script on Spark are brought to the driver as long as \
              they take no more, all together. `auto` is 70 % of the physical memory (of the container's, where it has a \
              limit); on Spark 70 % of what the driver's heap leaves of that if it gets as large as it may, but no less than \
              70 % of an eighth of the memory.",
        ),
        set: Set::By(|config, text| {
            config.memory_local = if text == "auto" {
                memory::automatic()
            } else {
                parse_size(text)?
            };
            Ok(())
        }),
    },
    Key {
        name: "fulgurite.memory.broadcast",
        kind: Kind::Size,
        default: "auto",
        doc: Cow::Borrowed(
            "What a matrix may take to be sent whole to every worker; larger ones are cut into stripes and \
              shuffled instead. `auto` is 30 % of what an executor's heap has for data, which is \
              spark.memory.fraction of spark.executor.memory (of the driver's heap in local mode) less 300 MB; \
              1g without Spark.",
        ),
        set: Set::By(|config, text| {
            config.memory_broadcast = match text {
                // Spark's side knows its executors, and sends their number in place of this.
                "auto" => BROADCAST_WITHOUT_SPARK,
                size => parse_size(size)?,
            };
            Ok(())
        }),
    },
    Key {
        name: "fulgurite.blocksize",
        kind: Kind::Integer(1, 1 << 24),
        default: "1000",
        doc: Cow::Borrowed(
            "Rows of the stripes that a local matrix is cut into when it becomes distributed.",
        ),
        set: Set::By(|config, text| {
            config.blocksize = parse_integer(text, 1, 1 << 24)?;
            Ok(())
        }),
    },
    Key {
        name: "fulgurite.threads",
        kind: Kind::Integer(0, 4096),
        default: "0",
        doc: Cow::Borrowed(
            "Threads of an operator that runs in the driver's process; 0 takes all cores. Tasks on workers have \
              one each.",
        ),
        set: Set::By(|config, text| {
            config.threads = parse_integer(text, 0, 4096)? as usize;
            Ok(())
        }),
    },
    Key {
        name: "fulgurite.codegen.planCacheSize",
        kind: Kind::Integer(1, 1 << 20),
        default: "1024",
        doc: Cow::Borrowed(
            "Compiled fused operators that a process keeps; beyond, the least recently used one goes.",
        ),
        set: Set::By(|config, text| {
            config.plan_cache_size = parse_integer(text, 1, 1 << 20)? as usize;
            Ok(())
        }),
    },
    Key {
        name: "fulgurite.codegen.scalars",
        kind: Kind::Boolean,
        default: "true",
        doc: Cow::Borrowed(
            "Whether loops, and functions that are called often, run as compiled code where all their values are scalars, \
              or cells of matrices in the driver's process. Results and errors are the same either way.",
        ),
        set: Set::By(|config, text| {
            config.scalar_code = parse_boolean(text)?;
            Ok(())
        }),
    },
    Key {
        name: "fulgurite.dialect",
        kind: Kind::Choice(&["systemml", "systemds"]),
        default: "systemml",
        doc: Cow::Borrowed(
            "Whose meaning a script has where the languages of SystemML 1.2 and SystemDS 3.4 differ: see \
              docs/language/README.md.",
        ),
        set: Set::By(|config, text| {
            config.dialect = choose(Dialect::NAMES, text)?;
            Ok(())
        }),
    },
    Key {
        name: "fulgurite.builtins",
        kind: Kind::Names,
        default: "",
        doc: Cow::Borrowed(
            "Folders and jars, with commas between them, in which a call of a function `f` that neither the script nor the \
              language has finds `f.dml`, as in the jar of SystemDS. `examples` stands for the scripts of examples/algorithms.",
        ),
        set: Set::By(|config, text| {
            config.builtins = names(text).map(PathBuf::from).collect();
            Ok(())
        }),
    },
    Key {
        name: "fulgurite.rewrites.off",
        kind: Kind::Names,
        default: "",
        doc: Cow::Borrowed("Names of rewrites that are not applied, with commas between them."),
        set: Set::By(|config, text| {
            config.rewrites_off = names(text).map(str::to_owned).collect();
            Ok(())
        }),
    },
    Key {
        name: "fulgurite.backend",
        kind: Kind::Choice(&["session", "local"]),
        default: "session",
        doc: Cow::Borrowed(
            "Where operators run that do not fit fulgurite.memory.local: in the Spark session that called (on the \
              command line there is none, so they are errors), or as dataflow inside this process, to try out \
              distributed plans without Spark.",
        ),
        set: Set::By(|config, text| {
            config.backend = choose(BackendChoice::NAMES, text)?;
            Ok(())
        }),
    },
    Key {
        name: "fulgurite.placement.pull",
        kind: Kind::Boolean,
        default: "true",
        doc: Cow::Borrowed(
            "Whether an operator that fits fulgurite.memory.local runs on the workers all the same where its input is \
              there, all that read this input can run there, and that moves fewer bytes between workers and driver.",
        ),
        set: Set::By(|config, text| {
            config.pull = parse_boolean(text)?;
            Ok(())
        }),
    },
    Key {
        name: "fulgurite.placement.spread",
        kind: Kind::Boolean,
        default: "true",
        doc: Cow::Borrowed(
            "Whether a product of matrices in the driver's process runs on the workers where they have more cores and it \
              takes less time there, with sending the matrices.",
        ),
        set: Set::By(|config, text| {
            config.spread = parse_boolean(text)?;
            Ok(())
        }),
    },
    Key {
        name: "fulgurite.placement.product",
        kind: Kind::Choice(&["auto", "pieces", "rmm", "cpmm"]),
        default: "auto",
        doc: Cow::Borrowed(
            "How the workers multiply two matrices of which neither may be sent whole: whatever takes less time; with pieces \
              of the right one's rows that go through the driver; with its stripes going to those of the left one (rmm); \
              with the columns of the left one shuffled to the rows of the right one, and parts of the result summed up \
              (cpmm), where these fit a task.",
        ),
        set: Set::By(|config, text| {
            config.product = choose(PRODUCT_FORMS, text)?;
            Ok(())
        }),
    },
    Key {
        name: "fulgurite.parfor.mode",
        kind: Kind::Choice(&["auto", "local", "remote"]),
        default: "auto",
        doc: Cow::Borrowed(
            "Where iterations of a parfor run whose header has no `mode=`: wherever they take less time; on threads of \
              the driver's process; on the workers, all of them as one job, where tasks can run them.",
        ),
        set: Set::By(|config, text| {
            config.parfor_mode = choose(PARFOR_MODES, text)?;
            Ok(())
        }),
    },
    Key {
        name: "fulgurite.compression",
        kind: Kind::Choice(&["auto", "on", "off"]),
        default: "auto",
        doc: Cow::Borrowed(
            "Whether matrices in the driver's process are compressed to column groups: those that a loop reads and does not \
              change, where that takes less time; these, and inputs that a script reads several times, wherever groups are \
              smaller; none. See docs/compression.md.",
        ),
        set: Set::By(|config, text| {
            config.compression = choose(CompressionMode::NAMES, text)?;
            Ok(())
        }),
    },
    Key {
        name: "fulgurite.read.map",
        kind: Kind::Boolean,
        default: "true",
        doc: Cow::Borrowed(
            "Whether matrices are left in binary files on local disks instead of being copied from them. A file must not \
              be written into then while a script uses it, and cutting it off is an error; that another file takes its name does no harm.",
        ),
        set: Set::By(|config, text| {
            config.reading = match parse_boolean(text)? {
                true => Access::Mapped,
                false => Access::Copied,
            };
            Ok(())
        }),
    },
    Key {
        name: "fulgurite.rand.stream",
        kind: Kind::Choice(&["systemml", "systemds"]),
        default: "systemml",
        doc: Cow::Borrowed(
            "Whose numbers rand gives for a seed: SystemML 1.2's, as the language is specified, or SystemDS 3.4's, \
              which draws the pattern of zeros independently of the values.",
        ),
        set: Set::By(|config, text| {
            config.rand_stream = choose(RAND_STREAMS, text)?;
            Ok(())
        }),
    },
    Key {
        name: "fulgurite.cost.calibrate",
        kind: Kind::Boolean,
        default: "true",
        doc: Cow::Borrowed(
            "Whether the cost model reckons with speeds measured on this machine. They are measured in about \
              a tenth of a second, when a plan is made for large matrices, and kept in the user's cache folder. \
              `fulgurite config` shows them.",
        ),
        set: Set::By(|config, text| {
            config.cost.calibrate = parse_boolean(text)?;
            Ok(())
        }),
    },
];

fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty())
}

/// All keys, in the order of the documentation.
pub fn keys() -> impl Iterator<Item = &'static Key> {
    static OF_CONSTANTS: LazyLock<Vec<Key>> =
        LazyLock::new(|| CONSTANTS.iter().map(Key::of_constant).collect());
    KEYS.iter().chain(OF_CONSTANTS.iter())
}

impl Key {
    fn of_constant(declaration: &'static Declaration) -> Self {
        let Declaration { unit, doc, .. } = declaration;
        let automatic = declaration.automatic();
        Key {
            name: declaration.key,
            kind: Kind::Speed,
            default: "auto",
            doc: Cow::Owned(format!("{unit} {doc}. `auto` is {automatic}.")),
            set: Set::Constant(declaration.constant),
        }
    }

    fn set(&self, config: &mut Config, text: &str) -> Result<()> {
        match self.set {
            Set::By(set) => set(config, text),
            Set::Constant(constant) => {
                match parse_speed(text)? {
                    Some(value) => config.cost.set.insert(constant, value),
                    None => config.cost.set.remove(&constant),
                };
                Ok(())
            }
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        let mut config = Config {
            fusion_policy: Policy::Cost,
            memory_local: 0,
            memory_broadcast: 0,
            blocksize: 0,
            threads: 0,
            plan_cache_size: 0,
            scalar_code: true,
            rewrites_off: Vec::new(),
            dialect: Dialect::default(),
            builtins: Vec::new(),
            backend: BackendChoice::Session,
            pull: true,
            spread: true,
            product: None,
            parfor_mode: None,
            compression: CompressionMode::Auto,
            reading: Access::default(),
            rand_stream: RandStream::default(),
            cost: CostSettings::default(),
        };
        for key in keys() {
            // A default that does not parse is caught by the test below.
            let parsed = key.set(&mut config, key.default);
            debug_assert!(parsed.is_ok(), "{}", key.name);
        }
        config
    }
}

impl Config {
    /// # Errors
    /// `argument`, for a key that does not exist (naming the nearest one) and for a value that is not of its type.
    pub fn set(&mut self, name: &str, value: &str) -> Result<()> {
        let Some(key) = keys().find(|key| key.name == name) else {
            let error = Error::argument(format!("there is no configuration key '{name}'"))
                .with_code(Code::Configuration);
            return Err(match nearest(name) {
                Some(near) => error.with_help(format!("did you mean '{near}'?")),
                None => error.with_help("`fulgurite config` lists all keys"),
            });
        };
        key.set(self, value.trim()).map_err(|error| {
            Error::argument(format!("{name}: {}", error.message()))
                .with_code(Code::Configuration)
                .with_help(format!("the value is {}", key.kind))
        })
    }

    /// This configuration with entries set over it.
    ///
    /// # Errors
    /// As [`Config::set`].
    pub fn with(&self, entries: &BTreeMap<String, String>) -> Result<Self> {
        let mut config = self.clone();
        for (name, value) in entries {
            config.set(name, value)?;
        }
        Ok(config)
    }

    /// What iterations of a loop need on a worker to be planned as here, where plans are made with these speeds.
    pub fn of_iterations(&self, cost: &CostConstants) -> BTreeMap<String, String> {
        let rand_stream = RAND_STREAMS
            .iter()
            .find(|(_, stream)| *stream == self.rand_stream)
            .map_or("", |(name, _)| *name);
        let own = [
            ("fulgurite.fusion.policy", self.fusion_policy.name().into()),
            ("fulgurite.memory.local", self.memory_local.to_string()),
            (
                "fulgurite.memory.broadcast",
                self.memory_broadcast.to_string(),
            ),
            ("fulgurite.blocksize", self.blocksize.to_string()),
            ("fulgurite.codegen.scalars", self.scalar_code.to_string()),
            ("fulgurite.dialect", self.dialect.name().into()),
            ("fulgurite.rewrites.off", self.rewrites_off.join(",")),
            (
                "fulgurite.read.map",
                (self.reading == Access::Mapped).to_string(),
            ),
            ("fulgurite.rand.stream", rand_stream.into()),
            ("fulgurite.cost.calibrate", "false".into()),
        ];
        let constants = CONSTANTS
            .iter()
            .map(|declaration| (declaration.key, cost[declaration.constant].to_string()));
        own.into_iter()
            .chain(constants)
            .map(|(key, value)| (key.to_owned(), value))
            .collect()
    }

    /// Threads of a local operator.
    pub fn effective_threads(&self) -> usize {
        match self.threads {
            0 => fulgurite_matrix::cores(),
            threads => threads,
        }
    }
}

/// The key that is fewest edits away, if it is near.
fn nearest(name: &str) -> Option<&'static str> {
    let (distance, near) = keys()
        .map(|key| (values::edit_distance(name, key.name), key.name))
        .min()?;
    let with_prefix = format!("fulgurite.{name}");
    let own = keys().find(|key| key.name == with_prefix);
    own.map(|key| key.name)
        .or((distance <= 1 + name.len() / 6).then_some(near))
}

fn choose<T: Copy>(names: &[(&str, T)], text: &str) -> Result<T> {
    names
        .iter()
        .find(|(name, _)| *name == text)
        .map(|(_, value)| *value)
        .ok_or_else(|| Error::argument(format!("'{text}' is none of the choices")))
}

/// `docs/configuration.md`.
pub fn to_markdown() -> String {
    let mut text = String::from(
        "# Configuration\n\nOn the command line `--config key=value`, in Spark `spark.` before the key, in \
         `MLContext` `setConfigProperty(key, value)`.\nSizes are bytes, or have a unit: `64k`, `512m`, `4g`. This \
         page is generated from the tables in `native/config/src/table/mod.rs` and `native/fusion/src/machine.rs`.\n\n| key | value | default | \
         meaning |\n|---|---|---|---|\n",
    );
    for key in keys() {
        let default = if key.default.is_empty() {
            "(none)".to_owned()
        } else {
            format!("`{}`", key.default)
        };
        let _ = writeln!(
            text,
            "| `{}` | {} | {default} | {} |",
            key.name, key.kind, key.doc
        );
    }
    text
}

/// The table as plain text, for the command line.
pub fn to_text() -> String {
    let mut text = String::new();
    for key in keys() {
        let _ = writeln!(text, "{} = {}", key.name, key.default);
        let _ = writeln!(text, "    {}; {}", key.kind, key.doc);
    }
    text
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn every_default_parses_and_no_key_appears_twice() {
        for (index, key) in keys().enumerate() {
            let set = Config::default().set(key.name, key.default);
            assert_eq!(set, Ok(()), "{}", key.name);
            assert!(keys().take(index).all(|other| other.name != key.name));
        }
    }

    #[test]
    fn what_may_be_sent_without_spark_is_one_gigabyte() {
        let mut config = Config::default();
        assert_eq!(config.memory_broadcast, 1 << 30);
        assert_eq!(
            config.set("fulgurite.memory.broadcast", "137105408"),
            Ok(())
        );
        assert_eq!(config.memory_broadcast, 137_105_408);
        assert_eq!(config.set("fulgurite.memory.broadcast", "auto"), Ok(()));
        assert_eq!(config.memory_broadcast, 1 << 30);
    }

    #[test]
    fn iterations_on_a_worker_are_configured_as_here() {
        let mut config = Config::default();
        for (key, value) in [
            ("fulgurite.fusion.policy", "fuse-all"),
            ("fulgurite.memory.local", "7m"),
            ("fulgurite.rewrites.off", "a, b"),
            ("fulgurite.rand.stream", "systemds"),
            ("fulgurite.cost.compute", "0.1"),
        ] {
            assert_eq!(config.set(key, value), Ok(()));
        }
        let mut cost = config.cost.resolve(None);
        cost[Constant::Read] = 1.0 / 3.0;
        let there = Config::default().with(&config.of_iterations(&cost));
        let there = there.expect("values of this configuration");
        assert_eq!(there.cost.resolve(None), cost);
        let cost = there.cost.clone();
        assert_eq!(there, Config { cost, ..config });
    }

    #[test]
    fn unknown_keys_name_the_nearest_one() {
        let error = Config::default()
            .set("fulgurite.memory.locale", "1g")
            .expect_err("no such key");
        insta::assert_snapshot!(error, @r"
        argument error[E0502]: there is no configuration key 'fulgurite.memory.locale'
           = help: did you mean 'fulgurite.memory.local'?
        ");
        let error = Config::default()
            .set("color", "red")
            .expect_err("no such key");
        assert_eq!(error.help(), Some("`fulgurite config` lists all keys"));
    }

    #[test]
    fn values_of_the_wrong_type_say_what_is_expected() {
        let mut config = Config::default();
        let errors: Vec<_> = [
            ("fulgurite.memory.local", "much"),
            ("fulgurite.threads", "-1"),
            ("fulgurite.fusion.policy", "costs"),
            ("fulgurite.cost.calibrate", "perhaps"),
            ("fulgurite.cost.compute", "-3"),
        ]
        .map(|(key, value)| config.set(key, value).expect_err("a bad value").to_string())
        .into();
        insta::assert_snapshot!(errors.join("\n"), @r"
        argument error[E0502]: fulgurite.memory.local: 'much' is not a size
           = help: the value is a size: bytes, or a number with k, m, g or t
        argument error[E0502]: fulgurite.threads: '-1' is not a whole number from 0 to 4096
           = help: the value is a whole number from 0 to 4096
        argument error[E0502]: fulgurite.fusion.policy: 'costs' is none of the choices
           = help: the value is one of cost, fuse-all, fuse-no-redundancy, none
        argument error[E0502]: fulgurite.cost.calibrate: 'perhaps' is neither true nor false
           = help: the value is true or false
        argument error[E0502]: fulgurite.cost.compute: '-3' is not a speed
           = help: the value is auto, or a number above 0
        ");
    }

    /// The committed page is the table's. `FULGURITE_BLESS=1 cargo test` writes it.
    #[test]
    fn the_documentation_page_is_current() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/configuration.md");
        if std::env::var_os("FULGURITE_BLESS").is_some() {
            std::fs::write(&path, to_markdown()).expect("docs/ is writable");
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(
            committed,
            to_markdown(),
            "run with FULGURITE_BLESS=1 to write it"
        );
    }
}
