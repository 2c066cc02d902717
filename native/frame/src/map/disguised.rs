//! Missing values in disguise: cells whose form is not that of most cells of their column (`unknown` among years).
//!
//! The form of a text is made of classes of letters. Forms become coarser step by step, until one is dominant. As in SystemDS, a missing
//! cell has the form of the text `NULL`.

use fulgurite_error::Result;
use fulgurite_matrix::{Interrupt, memory};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::{
    Cell, Column, Frame, TextBuilder,
    column::{ROWS_AT_ONCE, push},
};

#[derive(Debug, Clone)]
pub(super) struct Disguised {
    /// A form is dominant when more than this part of the cells has it.
    pub(super) threshold: f64,
    pub(super) replacement: String,
}

/// Letters of one class and how many there are, in units of UTF-16 as Java counts.
type Form = Vec<(Class, usize)>;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Class {
    Digit,
    Lower,
    Upper,
    /// Lower or upper.
    Letter,
    Space,
    Dot,
    Minus,
    Other,
}

/// What makes forms coarser, one after the other.
const STEPS: [fn(&mut Form); 4] = [
    // The same classes, however often.
    |form| form.iter_mut().for_each(|run| run.1 = 1),
    |form| {
        for (class, _) in form.iter_mut() {
            if matches!(class, Class::Lower | Class::Upper) {
                *class = Class::Letter;
            }
        }
        join(form, Class::Letter);
    },
    |form| {
        form.retain(|(class, _)| *class != Class::Dot);
        join(form, Class::Digit);
    },
    |form| {
        form.retain(|(class, _)| *class != Class::Space);
        join(form, Class::Letter);
    },
];

/// Runs of this class one behind the other as one.
fn join(form: &mut Form, class: Class) {
    form.dedup_by(|next, run| next.0 == class && run.0 == class);
}

impl Disguised {
    pub(super) fn columns(&self, frame: &Frame) -> Result<Vec<Column>> {
        let interrupt = Interrupt::current();
        let columns = frame.columns().par_iter();
        let columns = columns.map(|column| interrupt.within(|| self.of(column)));
        columns.collect()
    }

    fn of(&self, column: &Column) -> Result<Column> {
        let interrupt = Interrupt::current();
        // The distinct forms, and which each row has.
        let mut forms: Vec<(Form, usize)> = Vec::new();
        let mut known: FxHashMap<Form, usize> = FxHashMap::default();
        let mut form_of = memory::room(column.len())?;
        for (row, cell) in column.cells().enumerate() {
            if row % ROWS_AT_ONCE == 0 {
                interrupt.check()?;
            }
            let form = match cell {
                None => form_of_text("NULL")?,
                Some(cell) => form_of_text(&cell.text())?,
            };
            let place = match known.get(&form) {
                Some(place) => *place,
                None => {
                    // Once in the list and once in the map.
                    memory::admit(form.len().saturating_mul(2 * size_of::<(Class, usize)>()))?;
                    push(&mut forms, (form.clone(), 0))?;
                    known.insert(form, forms.len() - 1);
                    forms.len() - 1
                }
            };
            forms[place].1 += 1;
            form_of.push(place);
        }
        drop(known);
        let mut dominant = self.dominant(&forms, column.len());
        for step in STEPS {
            if dominant.is_some() {
                break;
            }
            interrupt.check()?;
            forms.iter_mut().for_each(|(form, _)| step(form));
            dominant = self.dominant(&forms, column.len());
        }
        let mut builder = TextBuilder::default();
        for (cell, form) in column.cells().zip(form_of) {
            match &dominant {
                Some(dominant) if forms[form].0 != *dominant => {
                    builder.push(Some(&self.replacement))?;
                }
                _ => builder.push(cell.map(Cell::text).as_deref())?,
            }
        }
        builder.finish()
    }

    /// The form that more cells have than the threshold asks for; of several, the most frequent, and of those the first.
    fn dominant(&self, forms: &[(Form, usize)], rows: usize) -> Option<Form> {
        let mut counts: FxHashMap<&Form, usize> = FxHashMap::default();
        for (form, count) in forms {
            *counts.entry(form).or_default() += count;
        }
        let mut best: Option<(&Form, usize)> = None;
        for (form, _) in forms {
            let count = counts[form];
            if count as f64 / rows as f64 > self.threshold
                && best.is_none_or(|(_, most)| count > most)
            {
                best = Some((form, count));
            }
        }
        best.map(|(form, _)| form.clone())
    }
}

fn form_of_text(text: &str) -> Result<Form> {
    let mut form = Form::new();
    for letter in text.chars() {
        let class = match letter {
            ' ' => Class::Space,
            '.' => Class::Dot,
            '-' => Class::Minus,
            // Those that 'Character.isDigit' knows here; Java knows more.
            _ if letter.is_ascii_digit() => Class::Digit,
            _ if letter.is_lowercase() => Class::Lower,
            _ if letter.is_uppercase() => Class::Upper,
            _ => Class::Other,
        };
        match form.last_mut() {
            Some((last, run)) if *last == class => *run += letter.len_utf16(),
            _ => push(&mut form, (class, letter.len_utf16()))?,
        }
    }
    Ok(form)
}
