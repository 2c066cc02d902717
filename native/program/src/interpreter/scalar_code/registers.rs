//! Which registers are free: variables stand at the beginning, constants at the end, what a block computes between them.

use std::collections::HashMap;

use fulgurite_hop::Literal;

use super::instructions::{Kind, REGISTERS, Register};

#[derive(Debug)]
pub(super) struct Registers {
    /// Those before are variables.
    first_free: usize,
    next: usize,
    /// Beyond what any block has taken.
    highest: usize,
    /// By their bits.
    constants: HashMap<u64, Register>,
}

impl Registers {
    /// Nothing where there are not so many.
    pub(super) fn after(taken: usize) -> Option<Self> {
        (taken < REGISTERS).then(|| Registers {
            first_free: taken,
            next: taken,
            highest: taken,
            constants: HashMap::new(),
        })
    }

    /// A block begins: what others computed is gone.
    pub(super) fn release_all(&mut self) {
        self.next = self.first_free;
    }

    /// How far a block has come, for [`Registers::resume`].
    pub(super) fn taken(&self) -> usize {
        self.next
    }

    /// Goes on where a block had come to.
    pub(super) fn resume(&mut self, taken: usize) {
        self.next = taken;
    }

    /// A register that the block has not used; nothing where all are taken.
    pub(super) fn free(&mut self) -> Option<Register> {
        let register = self.next;
        if register + self.constants.len() >= REGISTERS {
            return None;
        }
        self.next += 1;
        self.highest = self.highest.max(self.next);
        Register::try_from(register).ok()
    }

    /// The register of a constant with these bits.
    pub(super) fn constant(&mut self, bits: u64) -> Option<Register> {
        if let Some(register) = self.constants.get(&bits) {
            return Some(*register);
        }
        let register = (REGISTERS - 1).checked_sub(self.constants.len())?;
        // Another block may have computed something there.
        if register < self.highest {
            return None;
        }
        let register = Register::try_from(register).ok()?;
        self.constants.insert(bits, register);
        Some(register)
    }

    /// The register of a literal; nothing for strings.
    pub(super) fn literal(&mut self, value: &Literal) -> Option<(Kind, Register)> {
        let (kind, bits) = bits(value)?;
        Some((kind, self.constant(bits)?))
    }

    /// The bits of a register that holds a constant.
    pub(super) fn value(&self, register: Register) -> Option<u64> {
        let mut constants = self.constants.iter();
        let found = constants.find(|(_, known)| **known == register);
        found.map(|(bits, _)| *bits)
    }

    pub(super) fn into_constants(self) -> Vec<(Register, u64)> {
        let constants = self.constants.into_iter();
        constants.map(|(bits, register)| (register, bits)).collect()
    }
}

/// A scalar as registers hold it; nothing for strings.
pub(super) fn bits(value: &Literal) -> Option<(Kind, u64)> {
    match value {
        Literal::Double(value) => Some((Kind::Double, value.to_bits())),
        Literal::Int(value) => Some((Kind::Int, value.cast_unsigned())),
        Literal::Boolean(value) => Some((Kind::Boolean, u64::from(*value))),
        Literal::String(_) => None,
    }
}

/// The scalar that a register holds; nothing where it holds none.
pub(super) fn scalar(kind: Kind, bits: u64) -> Option<Literal> {
    match kind {
        Kind::Double => Some(Literal::Double(f64::from_bits(bits))),
        Kind::Int => Some(Literal::Int(bits.cast_signed())),
        Kind::Boolean => Some(Literal::Boolean(bits != 0)),
        Kind::Undefined | Kind::Matrix(_) | Kind::Other => None,
    }
}
