//! What is known of each variable at a point of the script.

use std::{cmp::Ordering, collections::BTreeMap, sync::Arc};

use fulgurite_error::Error;
use fulgurite_hop::{Characteristics, DataType, Literal, ValueType};

/// What is known of an element of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ElementType {
    pub name: Option<String>,
    pub data_type: DataType,
    pub value_type: ValueType,
}

/// What is known of a variable's value.
#[derive(Debug, Clone)]
pub(crate) struct Variable {
    pub data_type: DataType,
    /// The best static knowledge: where paths differ, `double`, or `string` if it is one on any path.
    pub value_type: ValueType,
    /// The value itself, if every path to here gives the same.
    pub constant: Option<Literal>,
    /// The types of a list's elements, where all are known.
    pub elements: Option<Arc<[ElementType]>>,
    /// Known of inputs from outside, as long as nothing is assigned to them.
    pub characteristics: Characteristics,
    /// Assigned on every path to here. If not, reading it is legal, but may fail at run time.
    pub definite: bool,
    /// The other data type it has on some path: it cannot be read.
    pub conflict: Option<DataType>,
}

impl Variable {
    pub fn new(data_type: DataType, value_type: ValueType) -> Self {
        Variable {
            data_type,
            value_type,
            constant: None,
            elements: None,
            characteristics: match data_type {
                DataType::Scalar => Characteristics::SCALAR,
                _ => Characteristics::UNKNOWN,
            },
            definite: true,
            conflict: None,
        }
    }

    fn merge(&self, other: &Self) -> Self {
        let constant = match (&self.constant, &other.constant) {
            (Some(left), Some(right)) if left.is(right) => Some(left.clone()),
            _ => None,
        };
        let value_type = match (self.value_type, other.value_type) {
            (left, right) if left == right => left,
            (ValueType::String, _) | (_, ValueType::String) => ValueType::String,
            _ => ValueType::Double,
        };
        let differing = (self.data_type != other.data_type).then_some(other.data_type);
        Variable {
            data_type: self.data_type,
            value_type,
            constant: constant.filter(|_| self.definite && other.definite),
            elements: self
                .elements
                .clone()
                .filter(|elements| other.elements.as_ref() == Some(elements)),
            characteristics: if self.characteristics == other.characteristics {
                self.characteristics
            } else {
                Characteristics::UNKNOWN
            },
            definite: self.definite && other.definite,
            conflict: self.conflict.or(other.conflict).or(differing),
        }
    }

    fn maybe(&self) -> Self {
        Variable {
            definite: false,
            constant: None,
            ..self.clone()
        }
    }
}

impl PartialEq for Variable {
    fn eq(&self, other: &Self) -> bool {
        let constants_agree = match (&self.constant, &other.constant) {
            (Some(left), Some(right)) => left.is(right),
            (None, None) => true,
            _ => false,
        };
        constants_agree
            && self.data_type == other.data_type
            && self.value_type == other.value_type
            && self.elements == other.elements
            && self.characteristics == other.characteristics
            && self.definite == other.definite
            && self.conflict == other.conflict
    }
}

/// All variables at a point of the script. Paths share what they do not change.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scope {
    variables: BTreeMap<Arc<str>, Arc<Variable>>,
    /// Those of which nothing is known after an error.
    doubtful: BTreeMap<String, Error>,
}

impl Scope {
    pub fn get(&self, name: &str) -> Option<&Variable> {
        self.variables.get(name).map(Arc::as_ref)
    }

    pub fn set(&mut self, name: impl AsRef<str>, variable: Variable) {
        let name = name.as_ref();
        self.doubtful.remove(name);
        match self.variables.get_mut(name) {
            Some(known) => *known = Arc::new(variable),
            None => {
                self.variables.insert(name.into(), Arc::new(variable));
            }
        }
    }

    /// Notes the error for which nothing is known of a variable.
    pub fn doubt(&mut self, name: &str, error: &Error) {
        let doubts = self.doubtful.entry(name.to_owned());
        doubts.or_insert_with(|| error.clone());
    }

    /// The error for which nothing is known of a variable.
    pub fn doubts(&self, name: &str) -> Option<&Error> {
        self.doubtful.get(name)
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.variables.keys().map(AsRef::as_ref)
    }

    /// What holds where two paths meet.
    pub fn merge(&self, other: &Scope) -> Scope {
        let maybe = |variable: &Arc<Variable>| match variable.definite {
            true => Arc::new(variable.maybe()),
            false => Arc::clone(variable),
        };
        let (mut left, mut right) = (
            self.variables.iter().peekable(),
            other.variables.iter().peekable(),
        );
        // Both are in order.
        let variables = std::iter::from_fn(|| {
            let order = match (left.peek(), right.peek()) {
                (Some((left, _)), Some((right, _))) => left.cmp(right),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => return None,
            };
            Some(match order {
                Ordering::Less => {
                    let (name, variable) = left.next()?;
                    (Arc::clone(name), maybe(variable))
                }
                Ordering::Greater => {
                    let (name, variable) = right.next()?;
                    (Arc::clone(name), maybe(variable))
                }
                Ordering::Equal => {
                    let ((name, variable), (_, other)) = (left.next()?, right.next()?);
                    let merged = match Arc::ptr_eq(variable, other) {
                        true => Arc::clone(variable),
                        false => Arc::new(variable.merge(other)),
                    };
                    (Arc::clone(name), merged)
                }
            })
        });
        let variables = variables.collect();
        let doubtful = other.doubtful.iter().chain(&self.doubtful);
        Scope {
            variables,
            doubtful: doubtful
                .map(|(name, error)| (name.clone(), error.clone()))
                .collect(),
        }
    }

    /// Adds the variables that only a dropped branch assigns: legal to read, but not there at run time.
    pub fn add_phantoms(&mut self, other: Scope) {
        for (name, variable) in other.variables {
            self.variables
                .entry(name)
                .or_insert_with(|| Arc::new(variable.maybe()));
        }
    }

    /// Forgets the values, but not the types, of variables that a loop assigns.
    pub fn forget_values<'n>(&mut self, names: impl IntoIterator<Item = &'n String>) {
        for name in names {
            if let Some(variable) = self.variables.get_mut(name.as_str()) {
                let variable = Arc::make_mut(variable);
                variable.constant = None;
                if variable.data_type != DataType::Scalar {
                    variable.characteristics = Characteristics::UNKNOWN;
                }
            }
        }
    }
}
