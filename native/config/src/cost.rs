//! The constants of the cost model as a configuration has them: set, measured, or defaults.

use std::collections::BTreeMap;

use fulgurite_fusion::{
    CostConstants,
    machine::{CONSTANTS, Constant, Origin},
};

/// Each constant that [is measured](Origin::Measured), in its unit.
pub type Measured = BTreeMap<Constant, f64>;

/// The constants that a configuration sets, and whether measured ones stand for the others.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CostSettings {
    pub calibrate: bool,
    pub set: BTreeMap<Constant, f64>,
}

impl CostSettings {
    /// Whether a measurement would change anything.
    pub(crate) fn wants_measurement(&self) -> bool {
        self.calibrate && measured_constants().any(|constant| !self.set.contains_key(&constant))
    }

    /// What the configuration sets, else what was measured, else the defaults.
    pub(crate) fn resolve(&self, measured: Option<&Measured>) -> CostConstants {
        let mut constants = CostConstants::default();
        if let Some(measured) = measured.filter(|_| self.calibrate) {
            constants =
                constants.with(measured.iter().map(|(constant, value)| (*constant, *value)));
        }
        constants = constants.with(self.set.iter().map(|(constant, value)| (*constant, *value)));
        for declaration in &CONSTANTS {
            let constant = declaration.constant;
            if let (Origin::As(other), false) =
                (declaration.origin, self.set.contains_key(&constant))
            {
                constants[constant] = constants[other];
            }
        }
        constants
    }
}

pub(super) fn measured_constants() -> impl Iterator<Item = Constant> {
    let measured = CONSTANTS
        .iter()
        .filter(|declaration| declaration.origin == Origin::Measured);
    measured.map(|declaration| declaration.constant)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> CostSettings {
        CostSettings {
            calibrate: true,
            set: [(Constant::Write, 3.0)].into(),
        }
    }

    fn measured() -> Measured {
        [
            (Constant::Read, 17.0),
            (Constant::CachedRead, 80.0),
            (Constant::Write, 1.5),
            (Constant::Rewrite, 4.5),
            (Constant::CachedWrite, 30.0),
            (Constant::Compute, 9.0),
            (Constant::Functions, 20.0),
            (Constant::Products, 70.0),
        ]
        .into()
    }

    #[test]
    fn what_is_configured_stands_above_what_is_measured_and_that_above_defaults() {
        let measured = measured();
        let constants = settings().resolve(Some(&measured));
        assert_eq!(constants[Constant::Read], 17.0);
        assert_eq!(constants[Constant::Write], 3.0);
        assert_eq!(constants[Constant::Compute], 9.0);
        assert_eq!(constants[Constant::DistributedRead], 17.0);
        let mut distributed = settings();
        distributed.set.insert(Constant::DistributedRead, 80.0);
        let constants = distributed.resolve(Some(&measured));
        assert_eq!(constants[Constant::Read], 17.0);
        assert_eq!(constants[Constant::DistributedRead], 80.0);
        let default = CostConstants::default();
        assert_eq!(constants[Constant::Broadcast], default[Constant::Broadcast]);
        let mut off = settings();
        off.calibrate = false;
        let constants = off.resolve(Some(&measured));
        assert_eq!(constants[Constant::Read], default[Constant::Read]);
        assert!(settings().wants_measurement() && !off.wants_measurement());
        let all = CostSettings {
            calibrate: true,
            set: measured,
        };
        assert!(!all.wants_measurement());
    }
}
