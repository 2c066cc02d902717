//! The inputs of an operator by their names.

use std::{collections::BTreeMap, ops::Deref};

use crate::{Characteristics, ops::call::Call};

/// An operator with named inputs, as its size rule sees it. Its main input is there.
pub(super) struct Arguments<'a> {
    pub call: &'a (dyn Call + 'a),
    pub places: &'a BTreeMap<String, usize>,
    /// The place of the main input.
    pub main: usize,
}

impl<'a> Deref for Arguments<'a> {
    type Target = dyn Call + 'a;

    fn deref(&self) -> &Self::Target {
        self.call
    }
}

impl Arguments<'_> {
    /// The place of an input.
    pub fn named(&self, name: &str) -> Option<usize> {
        let place = self.places.get(name).copied()?;
        (place < self.call.arity()).then_some(place)
    }

    /// The size of the main input.
    pub fn main_size(&self) -> Characteristics {
        self.call.size_of(self.main)
    }
}
