//! An operator as its size rule sees it.

use std::{cell::RefCell, collections::BTreeSet};

use fulgurite_error::Error;

use super::VariableInfo;
use crate::{Characteristics, Dag, DataType, Hop, HopId, HopOp, Literal, finite, scalar};

/// What propagation found out about one HOP.
#[derive(Debug, Clone)]
pub(crate) struct Fact {
    pub info: VariableInfo,
    /// The scalar variables on whose values `info.constant` rests.
    pub rests_on: BTreeSet<String>,
}

/// One operator with the facts about its inputs. Asking for a constant notes the variables it rests on.
pub(crate) struct Call<'a> {
    dag: &'a Dag,
    id: HopId,
    facts: &'a [Fact],
    used: &'a RefCell<BTreeSet<String>>,
}

impl<'a> Call<'a> {
    /// `facts` are those of all HOPs before this one.
    pub fn new(
        dag: &'a Dag,
        id: HopId,
        facts: &'a [Fact],
        used: &'a RefCell<BTreeSet<String>>,
    ) -> Self {
        Call {
            dag,
            id,
            facts,
            used,
        }
    }

    pub fn hop(&self) -> &'a Hop {
        self.dag.hop(self.id)
    }

    /// What the HOP says of itself.
    pub fn declared(&self) -> VariableInfo {
        let hop = self.hop();
        VariableInfo {
            data_type: hop.data_type,
            value_type: hop.value_type,
            characteristics: hop.characteristics,
            constant: None,
        }
    }

    pub fn arity(&self) -> usize {
        self.hop().inputs.len()
    }

    /// The fact about an input; its constant is for evaluation only, rules ask [`Call::constant`].
    pub fn fact(&self, place: usize) -> &'a Fact {
        &self.facts[self.hop().inputs[place].index()]
    }

    pub fn input(&self, place: usize) -> &'a VariableInfo {
        &self.fact(place).info
    }

    pub fn size_of(&self, place: usize) -> Characteristics {
        self.input(place).characteristics
    }

    pub fn is_matrix(&self, place: usize) -> bool {
        self.input(place).data_type == DataType::Matrix
    }

    pub fn is_scalar(&self, place: usize) -> bool {
        self.input(place).data_type == DataType::Scalar
    }

    /// Whether no cell of an input is NaN or infinite, for certain.
    pub fn is_finite(&self, place: usize) -> bool {
        let constant = self.fixed_number(place);
        constant.is_some_and(f64::is_finite)
            || finite::is_finite(self.dag, self.hop().inputs[place])
    }

    /// Whether two inputs are the same HOP.
    pub fn same(&self, left: usize, right: usize) -> bool {
        self.hop().inputs[left] == self.hop().inputs[right]
    }

    /// The HOP that gives an input.
    pub fn source(&self, place: usize) -> &'a Hop {
        self.dag.hop(self.hop().inputs[place])
    }

    /// The facts about the inputs of the HOP that gives an input.
    pub fn source_constant(&self, place: usize, of_source: usize) -> Option<&'a Literal> {
        let input = self.source(place).inputs.get(of_source)?;
        let fact = &self.facts[input.index()];
        fact.info
            .constant
            .as_ref()
            .filter(|_| fact.rests_on.is_empty())
    }

    /// The value of a scalar input, whatever it rests on.
    pub fn constant(&self, place: usize) -> Option<&'a Literal> {
        let fact = self.fact(place);
        if fact.info.constant.is_some() {
            self.used.borrow_mut().extend(fact.rests_on.iter().cloned());
        }
        fact.info.constant.as_ref()
    }

    /// The value of a scalar input, if it rests on no variable: safe to build errors and estimates on.
    pub fn fixed(&self, place: usize) -> Option<&'a Literal> {
        let fact = self.fact(place);
        fact.info
            .constant
            .as_ref()
            .filter(|_| fact.rests_on.is_empty())
    }

    pub fn number(&self, place: usize) -> Option<f64> {
        self.constant(place)?.as_f64()
    }

    pub fn fixed_number(&self, place: usize) -> Option<f64> {
        self.fixed(place)?.as_f64()
    }

    /// The value of an input that is a number of rows or columns.
    ///
    /// # Errors
    /// Dimension, where a fixed value is negative.
    pub fn size(&self, place: usize) -> fulgurite_error::Result<Option<u64>> {
        if let Some(value) = self.fixed_number(place)
            && scalar::double_to_int(value) < 0
        {
            return Err(self.mismatch(format!("{value} is no number of rows or columns")));
        }
        let size = self.number(place).map(scalar::double_to_int);
        Ok(size.and_then(|size| u64::try_from(size).ok()))
    }

    /// The place of a named input.
    pub fn named(&self, name: &str) -> Option<usize> {
        match &self.hop().op {
            HopOp::Parameterized(_, places) => places
                .get(name)
                .copied()
                .filter(|place| *place < self.arity()),
            _ => None,
        }
    }

    /// For messages: `3 x ?`.
    pub fn shape(&self, place: usize) -> String {
        let number = |n: Option<u64>| n.map_or_else(|| "?".to_owned(), |n| n.to_string());
        let size = self.size_of(place);
        format!("{} x {}", number(size.rows), number(size.cols))
    }

    /// An error of this operator at its place.
    pub fn mismatch(&self, message: impl Into<String>) -> Error {
        Error::dimension(message)
            .in_operator(self.hop().op.code())
            .at_option(self.hop().position.as_ref())
    }
}
