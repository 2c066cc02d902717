//! The choices that configuration values name.

use fulgurite_hop::ParforMode;
use fulgurite_matrix::kernels::RandStream;

/// Where operators run that do not fit the local budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BackendChoice {
    /// Spark where a Spark session calls; nowhere on the command line.
    Session,
    /// Dataflow in this process.
    Local,
}

impl BackendChoice {
    pub(super) const NAMES: &'static [(&'static str, BackendChoice)] = &[
        ("session", BackendChoice::Session),
        ("local", BackendChoice::Local),
    ];
}

/// Whether matrices that loops read are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CompressionMode {
    /// Where it takes less time.
    Auto,
    On,
    Off,
}

impl CompressionMode {
    pub(super) const NAMES: &'static [(&'static str, CompressionMode)] = &[
        ("auto", CompressionMode::Auto),
        ("on", CompressionMode::On),
        ("off", CompressionMode::Off),
    ];
}

/// How workers multiply two matrices of which neither may be sent whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProductForm {
    /// Pieces of the right one's rows go through the driver.
    Pieces,
    /// Stripes of the right one go to those of the left one.
    Rmm,
    /// Columns of the left one go to rows of the right one, and parts of the result are summed up.
    Cpmm,
}

/// `auto` is what takes less time.
pub(super) const PRODUCT_FORMS: &[(&str, Option<ProductForm>)] = &[
    ("auto", None),
    ("pieces", Some(ProductForm::Pieces)),
    ("rmm", Some(ProductForm::Rmm)),
    ("cpmm", Some(ProductForm::Cpmm)),
];

/// `auto` is what the cost of a job says.
pub(super) const PARFOR_MODES: &[(&str, Option<ParforMode>)] = &[
    ("auto", None),
    ("local", Some(ParforMode::Local)),
    ("remote", Some(ParforMode::Remote)),
];

pub(super) const RAND_STREAMS: &[(&str, RandStream)] = &[
    ("systemml", RandStream::SystemMl),
    ("systemds", RandStream::SystemDs),
];
