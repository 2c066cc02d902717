//! Lists of values of any type, each with or without a name.

use std::sync::Arc;

use fulgurite_error::{Code, Error, Result};
use fulgurite_hop::{Literal, scalar};

use super::Variable;

/// A list. Cheap to clone; changed lists are lists of their own.
#[derive(Debug, Clone, Default)]
pub struct List(Arc<Vec<Element>>);

/// An element of a list.
#[derive(Debug, Clone)]
pub struct Element {
    pub name: Option<String>,
    pub value: Variable,
}

impl List {
    pub fn new(elements: Vec<Element>) -> Self {
        List(Arc::new(elements))
    }

    /// Whether it is the very same list.
    pub fn is(&self, other: &List) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    pub fn elements(&self) -> &[Element] {
        &self.0
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Bytes of its matrices and frames in this process. What stands in it twice counts twice.
    pub fn bytes(&self) -> u64 {
        let of = |element: &Element| match &element.value {
            Variable::Matrix(matrix) => matrix.block().memory_bytes() as u64,
            Variable::List(list) => list.bytes(),
            Variable::Frame(frame) => frame.memory_bytes() as u64,
            _ => 0,
        };
        self.0.iter().map(of).fold(0, u64::saturating_add)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The only element.
    pub fn only(&self) -> Option<&Element> {
        match self.elements() {
            [only] => Some(only),
            _ => None,
        }
    }

    /// The place (from 0) that an index means: a number from 1, or a name.
    ///
    /// # Errors
    /// Dimension, for a number or a name that the list does not have.
    pub fn place(&self, index: &Literal) -> Result<usize> {
        if let Literal::String(name) = index {
            let named = |element: &Element| element.name.as_deref() == Some(name);
            return self.0.iter().position(named).ok_or_else(|| {
                let error = Error::dimension(format!("the list has no element '{name}'"))
                    .with_code(Code::NoSuchElement);
                match self.names() {
                    names if names.is_empty() => error.with_help("its elements have no names"),
                    names => error.with_help(format!("its elements are {}", names.join(", "))),
                }
            });
        }
        let number = scalar::double_to_int(scalar::number(index)?);
        let place = usize::try_from(number)
            .ok()
            .and_then(|number| number.checked_sub(1))
            .filter(|place| *place < self.len());
        place.ok_or_else(|| {
            Error::dimension(format!(
                "index {number} is out of range: the list has {} elements",
                self.len()
            ))
            .with_code(Code::NoSuchElement)
            .with_help("elements count from 1; length() tells how many there are")
        })
    }

    /// The places from one index to another, which is among them.
    ///
    /// # Errors
    /// Dimension, for indexes that the list does not have, or a range that counts down.
    pub fn range(&self, first: &Literal, last: &Literal) -> Result<std::ops::Range<usize>> {
        let (first, last) = (self.place(first)?, self.place(last)?);
        match first <= last {
            true => Ok(first..last + 1),
            false => Err(Error::dimension(format!(
                "the range {}:{} of a list is empty",
                first + 1,
                last + 1
            ))
            .with_help("ranges in an index count upwards")),
        }
    }

    fn names(&self) -> Vec<&str> {
        let names = self.0.iter().filter_map(|element| element.name.as_deref());
        names.collect()
    }

    /// The elements in this range.
    pub fn part(&self, range: std::ops::Range<usize>) -> List {
        List::new(self.0.get(range).unwrap_or_default().to_vec())
    }

    /// The list without the elements in this range.
    pub fn without(&self, range: std::ops::Range<usize>) -> List {
        let elements = self.0.iter().enumerate();
        let kept = elements.filter(|(place, _)| !range.contains(place));
        List::new(kept.map(|(_, element)| element.clone()).collect())
    }

    /// The list with these values in a range: those of a list, which has as many, or any other value in each place. Names stay,
    /// unless the values have names of their own.
    ///
    /// # Errors
    /// Dimension, for a list of another length.
    pub fn with(mut self, range: std::ops::Range<usize>, value: &Variable) -> Result<List> {
        if let Variable::List(values) = value
            && values.len() != range.len()
        {
            return Err(Error::dimension(format!(
                "{} elements cannot take the place of {}",
                values.len(),
                range.len()
            ))
            .with_help("list(x) makes a list of one element, which may be a list itself"));
        }
        let elements = Arc::make_mut(&mut self.0);
        for (place, element) in elements
            .get_mut(range)
            .unwrap_or_default()
            .iter_mut()
            .enumerate()
        {
            match value {
                Variable::List(values) => {
                    if let Some(new) = values.0.get(place) {
                        element.value = new.value.clone();
                        element.name = new.name.clone().or(element.name.take());
                    }
                }
                other => element.value = other.clone(),
            }
        }
        Ok(self)
    }

    /// The list with one more value; of a list of one element that element, with its name, as in SystemDS.
    pub fn append(mut self, value: Variable) -> List {
        let new = match &value {
            Variable::List(list) => list.only().cloned(),
            _ => None,
        };
        let new = new.unwrap_or(Element { name: None, value });
        Arc::make_mut(&mut self.0).push(new);
        self
    }
}
