//! Expressions of pipelines over their tables: as operators on columns of doubles where these have them exactly, and else by kernels.

use std::sync::Arc;

use arrow::{
    array::{ArrayRef, Float64Array},
    datatypes::DataType,
};
use fulgurite_error::{Error, Result};
use fulgurite_lazy::Input;

use super::{
    BesideColumn, Fusion, columns,
    lower::{self, Number},
    selection,
};
use crate::{
    engine,
    expression::Function,
    kept::KeyGroups,
    literal::Literal,
    numbers::{EXACT, NumericColumn, Span, bounds},
    resolve::TypedExpression,
    table::Table,
};

impl Fusion<'_> {
    /// An expression by kernels.
    pub(super) fn kernels(&self, typed: &TypedExpression, base: &Table) -> Result<ArrayRef> {
        let arrays = match typed.reads_arrays() {
            true => self.computed_arrays()?,
            false => Vec::new(),
        };
        engine::column_by_tasks(typed, base, &arrays)
    }

    /// An expression whose equal values are wanted: texts may come by codes.
    pub(super) fn key(&self, typed: &TypedExpression, base: &Table) -> Result<ArrayRef> {
        if typed.reads_arrays() {
            return self.kernels(typed, base);
        }
        let mut read = Vec::new();
        typed.add_columns(&mut read);
        let is_column = matches!(typed, TypedExpression::Column { .. });
        let alone = selection::with_codes(&base.select(&read), !is_column)?;
        engine::column_by_tasks(&typed.over(&read), &alone, &[])
    }

    /// Keys, and the groups of rows by them.
    pub(super) fn groups(
        &self,
        keys: &[&TypedExpression],
        base: &Table,
    ) -> Result<(Vec<ArrayRef>, Arc<KeyGroups>)> {
        let is_column = |key: &&TypedExpression| matches!(key, TypedExpression::Column { .. });
        let are_columns = keys.iter().all(is_column);
        let keys = keys.iter().map(|key| self.key(key, base));
        let keys = keys.collect::<Result<Vec<_>>>()?;
        let groups = base.groups(&keys, are_columns)?;
        self.note(|| {
            let count = groups.first_rows.len();
            format!("number {count} groups of {} rows", base.rows())
        });
        Ok((keys, groups))
    }

    /// An expression as a column of doubles, by operators as far as they have it exactly, and else by kernels; none for texts.
    pub(super) fn number(&self, typed: &TypedExpression, base: &Table) -> Result<Option<Number>> {
        if let Some(number) = self.lowered(typed, base)? {
            return Ok(Some(number));
        }
        let array = self.kernels(typed, base)?;
        Ok(NumericColumn::of(&array)?.map(Number::of_column))
    }

    /// The same by operators alone.
    pub(super) fn lowered(&self, typed: &TypedExpression, base: &Table) -> Result<Option<Number>> {
        match typed {
            TypedExpression::Column {
                index, data_type, ..
            } => match is_exact(data_type) {
                true => Ok(base.numbers(*index)?.map(Number::of_column)),
                false => Ok(None),
            },
            TypedExpression::Literal { value, .. } => Ok(literal(value)),
            TypedExpression::Array { index, data_type } => match is_exact(data_type) {
                true => self.array(*index, base),
                false => Ok(None),
            },
            TypedExpression::Cast { arg, data_type } => {
                let Some(number) = self.numeric(arg, base)? else {
                    return Ok(None);
                };
                let from = arg.data_type();
                let is_same = match data_type {
                    DataType::Float64 => {
                        *from == DataType::Boolean || (from.is_integer() && number.span.is_exact())
                    }
                    to => {
                        let fits = bounds(to).is_some_and(|(least, most)| {
                            least <= number.span.least && number.span.most <= most
                        });
                        fits && (from.is_integer() || *from == DataType::Boolean)
                    }
                };
                if !is_same {
                    return Ok(None);
                }
                // Products of whole numbers have no sign where they are 0; those of doubles do.
                let may_be_negative_zero = *data_type == DataType::Float64
                    && matches!(**arg, TypedExpression::Call { .. })
                    && number.span.least <= 0.0
                    && number.span.most >= 0.0;
                match may_be_negative_zero {
                    true => lower::without_negative_zero(&number).map(Some),
                    false => Ok(Some(number)),
                }
            }
            TypedExpression::Call {
                function,
                args,
                data_type,
                ..
            } => self.call(*function, args, data_type, base),
            TypedExpression::Aggregate { .. } => Ok(None),
        }
    }

    pub(super) fn call(
        &self,
        function: Function,
        args: &[TypedExpression],
        given: &DataType,
        base: &Table,
    ) -> Result<Option<Number>> {
        if !is_exact(given) || !args.iter().all(|arg| is_exact(arg.data_type())) {
            return Ok(None);
        }
        let mut numbers = Vec::new();
        for arg in args {
            match self.numeric(arg, base)? {
                Some(number) => numbers.push(number),
                None => return Ok(None),
            }
        }
        let are_whole = args.iter().any(|arg| arg.data_type().is_integer());
        let number = lower::call(function.name(), &numbers, are_whole)?;
        // Whole numbers wrap beyond their type.
        Ok(number.filter(|number| match bounds(given) {
            Some((least, most)) => {
                number.span.is_exact() && least <= number.span.least && number.span.most <= most
            }
            None => true,
        }))
    }

    /// An argument, if doubles are exact: kernels compute what operators do not have.
    pub(super) fn numeric(&self, typed: &TypedExpression, base: &Table) -> Result<Option<Number>> {
        if !is_exact(typed.data_type()) {
            return Ok(None);
        }
        let number = self.number(typed, base)?;
        let is_float = *typed.data_type() == DataType::Float64;
        Ok(number.filter(|number| is_float || number.span.is_exact()))
    }

    pub(super) fn array(&self, place: usize, base: &Table) -> Result<Option<Number>> {
        let array = self.arrays.get(place);
        let array = array.ok_or_else(|| Error::internal(format!("there is no array {place}")))?;
        if array.rows() != base.rows() as u64 {
            return Err(Error::dimension(format!(
                "an array of {} rows stands beside a table of {}",
                array.rows(),
                base.rows()
            )));
        }
        match array {
            BesideColumn::Waits(expression) => Ok(Some(Number {
                values: Arc::clone(expression).into(),
                valid: None,
                span: Span::ANY,
            })),
            BesideColumn::Known(array) => Ok(NumericColumn::of(array)?.map(Number::of_column)),
        }
    }

    /// The arrays beside the tables, computed.
    pub(super) fn computed_arrays(&self) -> Result<Vec<ArrayRef>> {
        let waiting = self.arrays.iter().filter_map(|array| match array {
            BesideColumn::Waits(expression) => Some(Arc::clone(expression)),
            BesideColumn::Known(_) => None,
        });
        self.compute(&waiting.collect::<Vec<_>>())?;
        let arrays = self.arrays.iter().map(|array| match array {
            BesideColumn::Known(array) => Ok(Arc::clone(array)),
            BesideColumn::Waits(expression) => {
                let cells = columns::cells(expression)?;
                Ok(Arc::new(Float64Array::new(cells, None)) as ArrayRef)
            }
        });
        arrays.collect()
    }
}

/// Types whose values are doubles, as far as bounds allow.
pub(super) fn is_exact(data_type: &DataType) -> bool {
    match data_type {
        DataType::Float64 | DataType::Boolean | DataType::Date32 | DataType::Null => true,
        DataType::Timestamp(..) => true,
        other => other.is_integer(),
    }
}

fn literal(value: &Literal) -> Option<Number> {
    let number = match value {
        Literal::Null => {
            return Some(Number {
                values: Input::from(0.0),
                valid: Some(Input::from(0.0)),
                span: Span::of(0.0),
            });
        }
        Literal::Boolean(truth) => f64::from(u8::from(*truth)),
        Literal::Integer(number) if number.unsigned_abs() <= EXACT as u128 => *number as f64,
        Literal::Float(number) => *number,
        Literal::Date(days) => f64::from(*days),
        Literal::Datetime(time) if time.unsigned_abs() <= EXACT as u64 => *time as f64,
        Literal::Integer(_) | Literal::Datetime(_) | Literal::String(_) => return None,
    };
    Some(Number::of_value(number))
}
