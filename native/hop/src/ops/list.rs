//! Operators on lists. What a list holds is not tracked: an element has the type that its HOP says.

use std::borrow::Cow;

use fulgurite_error::Result;

use super::{
    call::Call,
    declare::operators,
    operator::{Accepts, Facts, Gives, Input, Inputs, More, Operator},
};
use crate::{DataType, ValueType, variable_info::VariableInfo};

struct ListFacts {
    code: &'static str,
    first: &'static [Input],
    repeats: bool,
    /// Nothing where its HOP says it.
    gives: Option<DataType>,
}

const LIST: Input = ("list", Accepts::List);
const VALUE: Input = ("value", Accepts::Any);
/// Places count from 1; a string is the name of an element.
const FIRST: Input = ("first", Accepts::Scalar);
const LAST: Input = ("last", Accepts::Scalar);
const A_LIST: Option<DataType> = Some(DataType::List);
const A_MATRIX: Option<DataType> = Some(DataType::Matrix);

operators! {
    /// Operators on lists.
    ListOp: ListFacts;
    /// One element, which has the type that it is said to have.
    Element { code: "element", first: &[LIST, FIRST], repeats: false, gives: None }
    /// The elements from a place to another, with their names.
    Part { code: "part", first: &[LIST, FIRST, LAST], repeats: false, gives: A_LIST }
    /// The list with other elements at some places: those of a list, or one of another type.
    With { code: "with", first: &[LIST, VALUE, FIRST, LAST], repeats: false, gives: A_LIST }
    /// The list without the elements from a place to another.
    Without { code: "without", first: &[LIST, FIRST, LAST], repeats: false, gives: A_LIST }
    /// The list with one more element for each value; a list of one element stands for that element.
    Append { code: "append", first: &[LIST, VALUE], repeats: true, gives: A_LIST }
    /// The list that is the only element of a list, or the list itself; a list of any other value.
    AsList { code: "as.list", first: &[VALUE], repeats: false, gives: A_LIST }
    /// The matrices of a list, one below the other.
    Rows { code: "rows", first: &[LIST], repeats: false, gives: A_MATRIX }
    /// The matrices of a list, side by side.
    Columns { code: "columns", first: &[LIST], repeats: false, gives: A_MATRIX }
}

impl Operator for ListOp {
    fn code(&self) -> Cow<'static, str> {
        format!("list({})", ListOp::code(*self)).into()
    }

    fn facts(&self) -> Facts<'_> {
        let declared = self.declared();
        let inputs = Inputs {
            first: declared.first,
            more: match declared.repeats {
                true => More::Repeated(VALUE),
                false => More::Nothing,
            },
        };
        let gives = match declared.gives {
            Some(data_type) => Gives::Always(data_type),
            None => Gives::Usually(DataType::Matrix, ValueType::Double),
        };
        Facts::without_cells(self.doc(), inputs, gives)
    }

    fn size(&self, call: &dyn Call) -> Result<VariableInfo> {
        Ok(call.declared())
    }
}
