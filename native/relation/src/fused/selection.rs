//! Which rows a predicate selects, as far as kernels find it: comparisons and questions of columns as they are.
//!
//! Tasks of few rows go through the parts of a conjunction, while their columns are in the cache. Parts that look at texts come
//! last, and look at the rows that are left.

use std::ops::Range;

use arrow::{
    array::{AsArray, BooleanBufferBuilder, UInt32Array},
    buffer::BooleanBuffer,
    datatypes::DataType,
};
use fulgurite_error::Result;

use super::pipeline::Selection;
use crate::{
    engine,
    expression::{Function, Rule},
    parallel::{by_tasks, rows_of_a_task},
    resolve::TypedExpression,
    table::Table,
    types::is_text,
};

/// Rows whose columns stay in the cache from one part of a conjunction to the next.
const ROWS_IN_CACHE: usize = 1 << 15;
/// Coded columns of more texts are looked at by fewer tasks, each of which asks for all texts.
const FEW_TEXTS: usize = 1 << 8;
/// Texts of less than this share of rows are gathered before they are looked at.
const SHARE_GATHERED: usize = 4;

/// The parts of a conjunction that kernels answer, and the rest. Where one may fail, it does so for all rows, and none is answered
/// before.
pub(super) fn parted(
    predicate: &TypedExpression,
) -> (Vec<TypedExpression>, Option<TypedExpression>) {
    if predicate.may_fail() {
        return (Vec::new(), Some(predicate.clone()));
    }
    let mut parts = Vec::new();
    conjuncts(predicate, &mut parts);
    let (mut questions, rest): (Vec<_>, Vec<_>) = parts.into_iter().partition(is_question);
    questions.sort_by_key(reads_texts);
    (questions, rest.into_iter().reduce(TypedExpression::and))
}

fn conjuncts(predicate: &TypedExpression, parts: &mut Vec<TypedExpression>) {
    match predicate {
        TypedExpression::Call {
            function: Function::And,
            args,
            ..
        } => args.iter().for_each(|arg| conjuncts(arg, parts)),
        other => parts.push(other.clone()),
    }
}

/// Whether nothing within it computes numbers.
fn is_question(expression: &TypedExpression) -> bool {
    !expression.any(&mut |part| match part {
        TypedExpression::Column { .. }
        | TypedExpression::Literal { .. }
        | TypedExpression::Cast { .. } => false,
        TypedExpression::Array { .. } | TypedExpression::Aggregate { .. } => true,
        TypedExpression::Call { function, .. } => match function.declaration().rule {
            Rule::Arithmetic { .. }
            | Rule::Quotient
            | Rule::Power
            | Rule::Number { .. }
            | Rule::Real { .. }
            | Rule::Choice
            | Rule::Common
            | Rule::Nan
            | Rule::Clip => true,
            Rule::Comparison
            | Rule::Logic
            | Rule::Question
            | Rule::RealQuestion
            | Rule::Membership
            | Rule::Text
            | Rule::TextNumber
            | Rule::TextQuestion
            | Rule::Concat
            | Rule::Year
            | Rule::DatePart
            | Rule::TimePart => false,
        },
    })
}

/// Whether it only compares texts, which takes no longer than to code them.
fn is_comparison(expression: &TypedExpression) -> bool {
    match expression {
        TypedExpression::Call { function, args, .. } => {
            function.declaration().rule == Rule::Comparison
                && args.iter().all(|arg| arg.args().is_empty())
        }
        _ => false,
    }
}

/// The table with texts by codes, where they are known, or wanted and worth it.
///
/// # Errors
/// `memory`; `interrupted`.
pub(super) fn with_codes(table: &Table, wanted: bool) -> Result<Table> {
    let mut coded = table.clone();
    for (place, column) in table.columns().iter().enumerate() {
        let codes = match column.data_type() {
            DataType::Utf8 if wanted => table.coded(place)?,
            DataType::Utf8 => table.known_coded(place),
            _ => None,
        };
        if let Some(codes) = codes {
            coded = coded.with(place, codes);
        }
    }
    Ok(coded)
}

fn reads_texts(expression: &TypedExpression) -> bool {
    expression.any(
        &mut |part| matches!(part, TypedExpression::Column { data_type, .. } if is_text(data_type)),
    )
}

/// The rows for which all of these hold.
///
/// # Errors
/// Those of kernels.
pub(super) fn of(table: &Table, questions: &[TypedExpression]) -> Result<Selection> {
    let (columns, questions) = over_columns_alone(table, questions);
    let flags = table.flags(columns.columns(), &format!("{questions:?}"), || {
        found(&columns, &questions)
    })?;
    Ok(Selection::new(flags))
}

fn found(table: &Table, questions: &[TypedExpression]) -> Result<BooleanBuffer> {
    let rows = table.rows();
    // Texts that all rows are asked for.
    let wants_codes = questions.iter().all(reads_texts);
    let questions = questions.iter();
    let questions = questions.map(|question| Question::of(table, question, wants_codes));
    let questions = questions.collect::<Result<Vec<_>>>()?;
    let has_many_texts = |question: &Question| {
        question.table.columns().iter().any(|column| {
            matches!(column.data_type(), DataType::Dictionary(..))
                && column.as_any_dictionary().values().len() > FEW_TEXTS
        })
    };
    let of_a_task = match questions.iter().any(has_many_texts) {
        true => rows_of_a_task(rows).next_multiple_of(64),
        false => ROWS_IN_CACHE,
    };
    let tasks = by_tasks(rows, of_a_task, |rows| {
        let mut flags = BooleanBuffer::new_set(rows.len());
        for question in &questions {
            let left = flags.count_set_bits();
            if left == 0 {
                break;
            }
            flags = question.among(rows.clone(), &flags, left)?;
        }
        Ok(flags)
    })?;
    let mut flags = BooleanBufferBuilder::new(rows);
    for of_task in tasks {
        flags.append_buffer(&of_task);
    }
    Ok(flags.finish())
}

/// The columns that the questions read, and the questions over them.
fn over_columns_alone(
    table: &Table,
    questions: &[TypedExpression],
) -> (Table, Vec<TypedExpression>) {
    let mut read = Vec::new();
    for question in questions {
        question.add_columns(&mut read);
    }
    let questions = questions.iter().map(|question| question.over(&read));
    (table.select(&read), questions.collect())
}

/// A part of a conjunction over the columns that it reads.
struct Question {
    table: Table,
    expression: TypedExpression,
    is_of_texts: bool,
}

impl Question {
    fn of(table: &Table, expression: &TypedExpression, wants_codes: bool) -> Result<Self> {
        let mut read = Vec::new();
        expression.add_columns(&mut read);
        let table = table.select(&read);
        let wants_codes = wants_codes && !is_comparison(expression);
        Ok(Question {
            table: with_codes(&table, wants_codes)?,
            expression: expression.over(&read),
            is_of_texts: reads_texts(expression),
        })
    }

    /// Those of the rows that are flagged, `left` in number, for which it holds.
    fn among(
        &self,
        rows: Range<usize>,
        flags: &BooleanBuffer,
        left: usize,
    ) -> Result<BooleanBuffer> {
        if self.is_of_texts && left < rows.len() / SHARE_GATHERED {
            let first = rows.start as u32;
            let places: Vec<u32> = flags.set_indices_u32().map(|at| first + at).collect();
            let places = UInt32Array::from(places);
            let gathered = engine::rows::take(&self.table, &places)?;
            let holds = self.asked(&gathered)?;
            let mut found = BooleanBufferBuilder::new(rows.len());
            found.append_n(rows.len(), false);
            for (place, holds) in places.values().iter().zip(holds.iter()) {
                found.set_bit((place - first) as usize, holds);
            }
            return Ok(found.finish());
        }
        let holds = self.asked(&self.table.slice(rows)?)?;
        Ok(flags & &holds)
    }

    fn asked(&self, table: &Table) -> Result<BooleanBuffer> {
        let holds = engine::column(&self.expression, table, &[])?;
        Ok(match holds.data_type() {
            DataType::Boolean => engine::rows::true_where(holds.as_boolean()),
            _ => BooleanBuffer::new_unset(table.rows()),
        })
    }
}
