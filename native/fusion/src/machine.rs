//! What the cost model knows of the machine (Section 4.3): one table of constants, from which configuration keys,
//! calibration and explanations follow.

use std::ops::{Index, IndexMut};

use fulgurite_matrix::{kernels::TASK_CELLS, memory::MAPPED_BYTES};
use serde::{Deserialize, Serialize};

/// Outputs of up to this many bytes get memory that was used before: allocators keep it (glibc up to 32 MB), where
/// larger ones get pages that the system has to clear.
pub const RECYCLED_BYTES: f64 = MAPPED_BYTES as f64;

/// Matrices of up to this many bytes are in a cache still when the next operator reads them, and one thread works on them
/// alone: a task is at least as large.
pub const CACHED_BYTES: f64 = (8 * TASK_CELLS) as f64;

/// What turns sizes into seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Constant {
    /// Reading inputs from this machine's memory.
    Read,
    /// Reading inputs of up to [`CACHED_BYTES`].
    CachedRead,
    /// Reading what the workers hold, on all of them together.
    DistributedRead,
    /// Writing outputs into memory that is new.
    Write,
    /// Writing outputs of up to [`RECYCLED_BYTES`].
    Rewrite,
    /// Writing outputs of up to [`CACHED_BYTES`].
    CachedWrite,
    /// Sending a local input to the workers of a distributed operator.
    Broadcast,
    /// All cores together, on generated code.
    Compute,
    /// The same of elementary functions, as their operations are counted.
    Functions,
    /// The same of products with wide matrices.
    Products,
    /// What an operator takes whatever its size: binding, allocation, and the control program.
    Operator,
    /// What a job on the workers takes whatever it does.
    Job,
}

/// Where the value of a constant comes from if none is configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Calibration measures it.
    Measured,
    /// It is what another one is.
    As(Constant),
    /// It is never measured.
    Fixed,
}

/// All there is to know about a constant.
#[derive(Debug)]
pub struct Declaration {
    pub constant: Constant,
    /// As `fulgurite config` lists it.
    pub name: &'static str,
    /// The configuration key that sets it.
    pub key: &'static str,
    pub unit: &'static str,
    /// Follows the unit: `GB/s at which ...`.
    pub doc: &'static str,
    pub origin: Origin,
    /// Where nothing was measured; of speeds of computing, for each core.
    default: f64,
    is_per_core: bool,
}

impl Declaration {
    pub fn default(&self) -> f64 {
        match self.is_per_core {
            true => self.default * fulgurite_matrix::cores() as f64,
            false => self.default,
        }
    }

    /// What `auto` means as the value of its key.
    pub fn automatic(&self) -> String {
        let default = match self.is_per_core {
            true => format!("{} for each core", self.default),
            false => self.default.to_string(),
        };
        match self.origin {
            Origin::Measured => format!("what was measured, else {default}"),
            Origin::As(other) => format!("what {} is; it is not measured", other.declaration().key),
            Origin::Fixed => format!("{default}; it is not measured"),
        }
    }
}

impl Constant {
    pub fn declaration(self) -> &'static Declaration {
        &CONSTANTS[self as usize]
    }
}

const BANDWIDTH: Declaration = Declaration {
    constant: Constant::Read,
    name: "",
    key: "",
    unit: "GB/s",
    doc: "",
    origin: Origin::Measured,
    default: 32.0,
    is_per_core: false,
};

const COMPUTE: Declaration = Declaration {
    unit: "GFLOP/s",
    default: 2.0,
    is_per_core: true,
    ..BANDWIDTH
};

/// In the order of [`Constant`].
pub static CONSTANTS: [Declaration; 12] = [
    Declaration {
        constant: Constant::Read,
        name: "read",
        key: "fulgurite.cost.readBandwidth",
        doc: "at which operators read matrices",
        ..BANDWIDTH
    },
    Declaration {
        constant: Constant::CachedRead,
        name: "cached read",
        key: "fulgurite.cost.cachedReadBandwidth",
        doc: "at which one thread reads a matrix of up to 512 KB, which its cache holds",
        ..BANDWIDTH
    },
    Declaration {
        constant: Constant::DistributedRead,
        name: "distributed",
        key: "fulgurite.cost.distributedBandwidth",
        doc: "at which all workers together read the matrices that they hold",
        origin: Origin::As(Constant::Read),
        ..BANDWIDTH
    },
    Declaration {
        constant: Constant::Write,
        name: "write",
        key: "fulgurite.cost.writeBandwidth",
        doc: "at which operators write outputs of more than 32 MB, which get new memory",
        default: 2.0,
        ..BANDWIDTH
    },
    Declaration {
        constant: Constant::Rewrite,
        name: "rewrite",
        key: "fulgurite.cost.rewriteBandwidth",
        doc: "at which operators write outputs of up to 32 MB, which get memory that was used before",
        default: 2.0,
        ..BANDWIDTH
    },
    Declaration {
        constant: Constant::CachedWrite,
        name: "cached write",
        key: "fulgurite.cost.cachedWriteBandwidth",
        doc: "at which one thread writes an output of up to 512 KB, which its cache holds",
        default: 2.0,
        ..BANDWIDTH
    },
    Declaration {
        constant: Constant::Broadcast,
        name: "broadcast",
        key: "fulgurite.cost.broadcastBandwidth",
        doc: "at which a matrix is sent to the workers",
        default: 0.128,
        origin: Origin::Fixed,
        ..BANDWIDTH
    },
    Declaration {
        constant: Constant::Compute,
        name: "compute",
        key: "fulgurite.cost.compute",
        doc: "that fused operators reach on all threads together",
        ..COMPUTE
    },
    Declaration {
        constant: Constant::Functions,
        name: "functions",
        key: "fulgurite.cost.functions",
        doc: "of elementary functions on all threads together, exp counting 18 operations",
        ..COMPUTE
    },
    Declaration {
        constant: Constant::Products,
        name: "products",
        key: "fulgurite.cost.products",
        doc: "of products with dense matrices of 16 columns and more on all threads together",
        ..COMPUTE
    },
    Declaration {
        constant: Constant::Operator,
        name: "operator",
        key: "fulgurite.cost.operator",
        doc: "that an operator takes whatever its size",
        unit: "us",
        default: 3.0,
        origin: Origin::Fixed,
        ..BANDWIDTH
    },
    Declaration {
        constant: Constant::Job,
        name: "job",
        key: "fulgurite.cost.job",
        doc: "that a job on the workers takes whatever it does",
        unit: "ms",
        default: 40.0,
        origin: Origin::Fixed,
        ..BANDWIDTH
    },
];

/// A value for each constant, in its unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CostConstants([f64; CONSTANTS.len()]);

impl Default for CostConstants {
    fn default() -> Self {
        CostConstants(CONSTANTS.each_ref().map(Declaration::default))
    }
}

impl Index<Constant> for CostConstants {
    type Output = f64;

    fn index(&self, constant: Constant) -> &f64 {
        &self.0[constant as usize]
    }
}

impl IndexMut<Constant> for CostConstants {
    fn index_mut(&mut self, constant: Constant) -> &mut f64 {
        &mut self.0[constant as usize]
    }
}

impl CostConstants {
    /// These, with other values of some.
    pub fn with(mut self, values: impl IntoIterator<Item = (Constant, f64)>) -> Self {
        for (constant, value) in values {
            self[constant] = value;
        }
        self
    }

    /// These, with the same GFLOP/s for all that is computed.
    pub fn computing_at(self, gflop_per_s: f64) -> Self {
        let all = [Constant::Compute, Constant::Functions, Constant::Products];
        self.with(all.map(|constant| (constant, gflop_per_s)))
    }

    /// Seconds to move this many bytes.
    pub(crate) fn moving(&self, bandwidth: Constant, bytes: f64) -> f64 {
        bytes / (self[bandwidth] * 1e9)
    }

    /// Seconds of this many floating-point operations.
    pub(crate) fn computing(&self, speed: Constant, operations: f64) -> f64 {
        operations / (self[speed] * 1e9)
    }

    /// Seconds of an operator, whatever its size.
    pub(crate) fn operator(&self) -> f64 {
        self[Constant::Operator] * 1e-6
    }

    /// Seconds of a job on the workers, whatever it does.
    pub(crate) fn job(&self) -> f64 {
        self[Constant::Job] * 1e-3
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_constant_has_the_place_that_indexes_it() {
        for (index, declaration) in CONSTANTS.iter().enumerate() {
            assert_eq!(declaration.constant as usize, index);
        }
    }
}
