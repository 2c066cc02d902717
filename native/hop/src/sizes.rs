//! Sizes and types of what operators of a DAG give. The rules are those that operators declare.

use std::{cell::RefCell, collections::BTreeSet};

use fulgurite_error::{Error, Result};

use crate::{
    Dag, DataGenOp, DataType, Hop, HopId, HopOp, Literal, finite, ops::Call,
    variable_info::VariableInfo,
};

/// What propagation found out about one HOP.
#[derive(Debug, Clone)]
pub(crate) struct Fact {
    pub info: VariableInfo,
    /// The scalar variables on whose values `info.constant` rests.
    pub rests_on: BTreeSet<String>,
}

impl Fact {
    /// The value of a scalar that rests on no variable.
    fn fixed(&self) -> Option<&Literal> {
        self.info
            .constant
            .as_ref()
            .filter(|_| self.rests_on.is_empty())
    }
}

/// One operator with the facts about its inputs. Asking for a constant notes the variables it rests on.
pub(crate) struct HopCall<'a> {
    dag: &'a Dag,
    id: HopId,
    facts: &'a [Fact],
    used: &'a RefCell<BTreeSet<String>>,
}

impl<'a> HopCall<'a> {
    /// `facts` are those of all HOPs before this one.
    pub fn new(
        dag: &'a Dag,
        id: HopId,
        facts: &'a [Fact],
        used: &'a RefCell<BTreeSet<String>>,
    ) -> Self {
        HopCall {
            dag,
            id,
            facts,
            used,
        }
    }

    pub fn hop(&self) -> &'a Hop {
        self.dag.hop(self.id)
    }

    pub fn fact(&self, place: usize) -> &'a Fact {
        &self.facts[self.hop().inputs[place].index()]
    }

    /// Type and size of what the operator gives, without its value.
    ///
    /// # Errors
    /// Dimension, where the sizes that are known can't fit.
    pub fn infer(&self) -> Result<VariableInfo> {
        let mut info = (self.hop().op).declaration(|operator| operator.size(self))?;
        // Estimates and what the rules let stand where sizes were unknown never exceed the cells.
        let size = &mut info.characteristics;
        size.nnz = match (size.nnz, size.cells()) {
            (Some(nnz), Some(cells)) if info.data_type == DataType::Matrix => Some(nnz.min(cells)),
            (nnz, _) => nnz,
        };
        Ok(info)
    }
}

impl Call for HopCall<'_> {
    fn arity(&self) -> usize {
        self.hop().inputs.len()
    }

    fn declared(&self) -> VariableInfo {
        let hop = self.hop();
        VariableInfo {
            data_type: hop.data_type,
            value_type: hop.value_type,
            characteristics: hop.characteristics,
            constant: None,
        }
    }

    fn input(&self, place: usize) -> &VariableInfo {
        &self.fact(place).info
    }

    fn constant(&self, place: usize) -> Option<&Literal> {
        let fact = self.fact(place);
        if fact.info.constant.is_some() {
            self.used.borrow_mut().extend(fact.rests_on.iter().cloned());
        }
        fact.info.constant.as_ref()
    }

    fn fixed(&self, place: usize) -> Option<&Literal> {
        self.fact(place).fixed()
    }

    fn is_finite(&self, place: usize) -> bool {
        let constant = self.fixed(place).and_then(Literal::as_f64);
        constant.is_some_and(f64::is_finite)
            || finite::is_finite(self.dag, self.hop().inputs[place])
    }

    fn same(&self, left: usize, right: usize) -> bool {
        self.hop().inputs[left] == self.hop().inputs[right]
    }

    fn counts_rows(&self, place: usize) -> bool {
        let source = self.dag.hop(self.hop().inputs[place]);
        let number = |place: usize| {
            let input = source.inputs.get(place)?;
            self.facts[input.index()].fixed()?.as_f64()
        };
        let ascending = |increment: f64| increment == 1.0 || increment.is_nan();
        source.op == HopOp::DataGen(DataGenOp::Seq)
            && number(0) == Some(1.0)
            && number(2).is_some_and(ascending)
    }

    fn located(&self, error: Error) -> Error {
        error
            .in_operator(self.hop().op.code())
            .at_option(self.hop().position.as_ref())
    }
}
