//! What is known of an input, before it is decided where and how an operator runs.

use fulgurite_hop::{Characteristics, Literal};

/// What is known of an input.
#[derive(Debug, Clone, Copy)]
pub struct InputFacts<'a> {
    pub characteristics: Characteristics,
    /// The scalar that it is.
    pub scalar: Option<&'a Literal>,
    pub place: InputPlace,
}

/// Where an input is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputPlace {
    Local,
    Stripes,
    /// In stripes of its transpose.
    TransposedStripes,
}

impl InputFacts<'_> {
    pub(super) fn is_scalar(&self) -> bool {
        self.scalar.is_some()
    }

    /// The same input, with a transpose in stripes of its own.
    pub fn in_stripes(&self) -> Self {
        let place = match self.place {
            InputPlace::TransposedStripes => InputPlace::Stripes,
            place => place,
        };
        InputFacts { place, ..*self }
    }
}
