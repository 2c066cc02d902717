//! What is known of the variables at one place of a program, cheap to copy, to merge and to compare.
//!
//! A walk through loops holds many of these at a time, which differ in few variables: they share what they
//! know of the others.

use std::{collections::HashMap, rc::Rc};

use super::{Symbols, VariableInfo};

/// The places that the variables of a program have in a [`State`].
#[derive(Default)]
pub(super) struct Names(HashMap<String, usize>);

impl Names {
    pub fn place(&mut self, name: &str) -> usize {
        if let Some(place) = self.0.get(name) {
            return *place;
        }
        let place = self.0.len();
        self.0.insert(name.to_owned(), place);
        place
    }

    pub fn state(&mut self, symbols: Symbols) -> State {
        let mut state = State::default();
        for (name, info) in symbols {
            state.set(self.place(&name), Some(Rc::new(info)));
        }
        state
    }

    pub fn info<'a>(&self, state: &'a State, name: &str) -> Option<&'a VariableInfo> {
        state.get(*self.0.get(name)?).map(Rc::as_ref)
    }
}

/// A variable of which nothing is known has no entry, nor has one that is not set.
#[derive(Clone, Default)]
pub(super) struct State(Vec<Option<Rc<VariableInfo>>>);

impl State {
    pub fn get(&self, place: usize) -> Option<&Rc<VariableInfo>> {
        self.0.get(place)?.as_ref()
    }

    pub fn set(&mut self, place: usize, info: Option<Rc<VariableInfo>>) {
        if self.0.len() <= place {
            self.0.resize(place + 1, None);
        }
        self.0[place] = info;
    }

    /// Makes this what holds after either of two ways, and says whether it held more before. What only one
    /// way knows is not known.
    pub fn merge(&mut self, other: &State) -> bool {
        let mut forgot = false;
        for (place, slot) in self.0.iter_mut().enumerate() {
            let Some(info) = slot else { continue };
            let other = other.get(place);
            if other.is_some_and(|other| Rc::ptr_eq(info, other)) {
                continue;
            }
            match other.and_then(|other| info.merge(other)) {
                Some(merged) if merged == **info => {}
                merged => {
                    *slot = merged.map(Rc::new);
                    forgot = true;
                }
            }
        }
        forgot
    }

    /// Whether the other state holds here too.
    pub fn knows_no_more_than(&self, other: &State) -> bool {
        !self.clone().merge(other)
    }
}

/// Whether two places know the same of a variable.
pub(super) fn same(left: Option<&Rc<VariableInfo>>, right: Option<&Rc<VariableInfo>>) -> bool {
    match (left, right) {
        (Some(left), Some(right)) => Rc::ptr_eq(left, right) || left == right,
        (left, right) => left.is_none() && right.is_none(),
    }
}
