//! Lists: parts, elements, and what is known of their types.

use std::sync::Arc;

use fulgurite_error::{Code, Error, Position, Result};
use fulgurite_hop::{DataType, Hop, HopId, HopOp, ListOp, Literal, ParameterizedOp};

use super::{Lowering, describe, scope::ElementType};
use crate::{
    builtins,
    syntax::ast::{Expression, ExpressionKind, Range, Subscripts},
};

impl Lowering<'_> {
    /// `l[i]` and `l[a:b]`, which are lists, and `l[[i]]`, which is an element.
    pub(super) fn part_of_list(&mut self, list: HopId, subscripts: &Subscripts) -> Result<HopId> {
        let (first, last) = self.places(subscripts)?;
        let position = &subscripts.position;
        if !subscripts.is_element {
            return Ok(self.list_operator(ListOp::Part, vec![list, first, last], position));
        }
        self.check_place(list, first, position)?;
        let Some(element) = self.element_type(list, first) else {
            return Err(Error::validation("what type this element has is not known here").with_code(Code::ElementType)
                .at(position)
                .with_help(
                    "say it: as.matrix(l[[i]]), as.scalar(l[[i]]), as.frame(l[[i]]) or as.list(l[[i]])",
                ));
        };
        let inputs = vec![list, first];
        Ok(self.block.push(Hop {
            data_type: element.data_type,
            value_type: element.value_type,
            ..Hop::matrix(HopOp::List(ListOp::Element), inputs).at(position)
        }))
    }

    /// `as.matrix(l[[i]])`: the cast says what the element is.
    pub(super) fn cast_argument(&mut self, argument: &Expression) -> Result<HopId> {
        let ExpressionKind::Index {
            variable,
            subscripts,
        } = &argument.kind
        else {
            return self.expression(argument);
        };
        let list = self.read_variable(variable, &argument.position)?;
        if !subscripts.is_element || self.block.hop(list).data_type != DataType::List {
            return self.expression(argument);
        }
        let part = Subscripts {
            is_element: false,
            ..subscripts.clone()
        };
        self.part_of_list(list, &part)
    }

    /// The list after `l[i] = value`.
    pub(super) fn list_with(
        &mut self,
        list: HopId,
        subscripts: &Subscripts,
        value: HopId,
    ) -> Result<HopId> {
        let (first, last) = self.places(subscripts)?;
        let mut value = value;
        if subscripts.is_element && self.block.hop(value).data_type == DataType::List {
            // The list itself, not its elements.
            value = self.list_of(vec![value], &subscripts.position);
        }
        let inputs = vec![list, value, first, last];
        Ok(self.list_operator(ListOp::With, inputs, &subscripts.position))
    }

    fn list_of(&mut self, elements: Vec<HopId>, position: &Position) -> HopId {
        let names = (1..=elements.len()).map(|number| number.to_string());
        let (op, inputs) =
            builtins::with_names(ParameterizedOp::List, names.zip(elements).collect());
        self.block.list(op, inputs, position)
    }

    fn list_operator(&mut self, op: ListOp, inputs: Vec<HopId>, position: &Position) -> HopId {
        self.block.list(HopOp::List(op), inputs, position)
    }

    /// The first and the last place of an index into a list.
    fn places(&mut self, subscripts: &Subscripts) -> Result<(HopId, HopId)> {
        let two = |position: &Position| {
            Error::validation("a list has one index, not rows and columns")
                .with_code(Code::IndexType)
                .at(position)
                .with_help("write l[i], l[a:b] or l[\"name\"]")
        };
        // A list is a column of values: `l[i, 1]`.
        match &subscripts.cols {
            Range::All => {}
            Range::Single(column) => {
                let column = self.expression(column)?;
                if self.block.constant(column) != Some(&Literal::Int(1)) {
                    return Err(two(&subscripts.position));
                }
            }
            Range::Between(..) => return Err(two(&subscripts.position)),
        }
        match &subscripts.rows {
            Range::All => Err(two(&subscripts.position)),
            Range::Single(place) => {
                let place = self.place(place)?;
                Ok((place, place))
            }
            Range::Between(first, last) => Ok((self.place(first)?, self.place(last)?)),
        }
    }

    fn place(&mut self, place: &Expression) -> Result<HopId> {
        let id = self.expression(place)?;
        let hop = self.block.hop(id);
        if !hop.is_scalar() {
            return Err(Error::validation(format!(
                "an index of a list is a number or a name, not {}",
                describe(hop)
            ))
            .with_code(Code::IndexType)
            .at(&place.position)
            .with_help("as.scalar() makes a scalar of a 1 x 1 matrix"));
        }
        Ok(id)
    }

    /// That a list whose elements are known has one at a place that is known.
    fn check_place(&self, list: HopId, place: HopId, position: &Position) -> Result<()> {
        match (self.element_types(list), self.block.constant(place)) {
            (Some(types), Some(_)) if self.element_type(list, place).is_none() => {
                Err(Error::dimension(format!(
                    "the list has no such element: it has {}",
                    types.len()
                ))
                .with_code(Code::NoSuchElement)
                .at(position)
                .with_help("elements count from 1; length() tells how many there are"))
            }
            _ => Ok(()),
        }
    }

    /// The types of a list's elements, where all are known.
    pub(super) fn element_types(&self, list: HopId) -> Option<Arc<[ElementType]>> {
        let hop = self.block.hop(list);
        if hop.data_type != DataType::List {
            return None;
        }
        if let Some(name) = hop.op.variable_read() {
            return self.scope.get(name)?.elements.clone();
        }
        let (op, places) = hop.op.with_named_inputs()?;
        if op != ParameterizedOp::List {
            return None;
        }
        let elements = hop.inputs.iter().enumerate().map(|(place, input)| {
            let element = self.block.hop(*input);
            let name = places.iter().find(|(_, at)| **at == place);
            ElementType {
                name: name.map(|(name, _)| name.clone()),
                data_type: element.data_type,
                value_type: element.value_type,
            }
        });
        Some(elements.collect())
    }

    /// The type of the element at a place, if all have one type, or the place is known.
    pub(super) fn element_type(&self, list: HopId, place: HopId) -> Option<ElementType> {
        let types = self.element_types(list)?;
        let found = match self.block.constant(place) {
            Some(Literal::String(name)) => types.iter().find(|t| t.name.as_ref() == Some(name)),
            Some(number) => {
                let number = fulgurite_hop::scalar::double_to_int(number.as_f64()?);
                types.get(usize::try_from(number).ok()?.checked_sub(1)?)
            }
            None => {
                let first = types.first()?;
                let same = |other: &ElementType| {
                    (other.data_type, other.value_type) == (first.data_type, first.value_type)
                };
                types.iter().all(same).then_some(first)
            }
        };
        found.cloned()
    }

    /// The type of the only element of `l[i]`.
    pub(super) fn only_element_type(&self, part: HopId) -> Option<ElementType> {
        let hop = self.block.hop(part);
        match (&hop.op, &hop.inputs[..]) {
            (HopOp::List(ListOp::Part), [list, first, last]) if first == last => {
                self.element_type(*list, *first)
            }
            _ => {
                let types = self.element_types(part)?;
                match &types[..] {
                    [only] => Some(only.clone()),
                    _ => None,
                }
            }
        }
    }
}
