//! Texts that threads make in any order, written to a file in theirs.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use fulgurite_error::Result;

use super::pending::PendingFile;

/// A file for numbered texts, of which each number from 0 comes once. No thread waits for another: the one that writes also writes
/// what the others leave meanwhile.
pub(super) struct InOrder<'a>(Mutex<Turns<'a>>);

struct Turns<'a> {
    /// None while a thread writes, and once that has failed.
    file: Option<&'a mut PendingFile>,
    /// The first text that is not written.
    next: usize,
    waiting: BTreeMap<usize, Vec<u8>>,
    /// Memory of texts that were written.
    spare: Vec<Vec<u8>>,
}

impl<'a> InOrder<'a> {
    pub(super) fn new(file: &'a mut PendingFile) -> Self {
        InOrder(Mutex::new(Turns {
            file: Some(file),
            next: 0,
            waiting: BTreeMap::new(),
            spare: Vec::new(),
        }))
    }

    fn turns(&self) -> MutexGuard<'_, Turns<'a>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An empty text, with room that a written one had.
    pub(super) fn text(&self) -> Vec<u8> {
        self.turns().spare.pop().unwrap_or_default()
    }

    /// Takes a text, and writes those whose turn it is.
    ///
    /// # Errors
    /// `io`; then no later text is written.
    pub(super) fn put(&self, number: usize, text: Vec<u8>) -> Result<()> {
        let mut turns = self.turns();
        turns.waiting.insert(number, text);
        let Some(file) = turns.file.take() else {
            return Ok(());
        };
        loop {
            let next = turns.next;
            let Some(mut text) = turns.waiting.remove(&next) else {
                turns.file = Some(file);
                return Ok(());
            };
            turns.next += 1;
            drop(turns);
            file.write(&text)?;
            text.clear();
            turns = self.turns();
            turns.spare.push(text);
        }
    }
}

#[cfg(test)]
mod tests {
    use rayon::prelude::*;

    use super::*;

    #[test]
    fn texts_are_written_in_the_order_of_their_numbers() {
        const TEXTS: usize = 1000;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("X");
        let mut file = PendingFile::create(&path).unwrap();
        let in_order = InOrder::new(&mut file);
        // Those of the second half come first.
        for numbers in [TEXTS / 2..TEXTS, 0..TEXTS / 2] {
            let put = |number: usize| {
                let mut text = in_order.text();
                assert!(text.is_empty());
                text.extend_from_slice(format!("{number}\n").as_bytes());
                in_order.put(number, text)
            };
            numbers.into_par_iter().try_for_each(put).unwrap();
        }
        drop(in_order);
        file.finish().unwrap();
        let expected: String = (0..TEXTS).map(|number| format!("{number}\n")).collect();
        assert_eq!(std::fs::read_to_string(path).unwrap(), expected);
    }
}
