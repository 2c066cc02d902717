//! Runs of selections and projections over one table, as columns that wait.

use std::sync::Arc;

use arrow::{
    array::{Array, ArrayRef, AsArray, BooleanArray, UInt32Array},
    buffer::BooleanBuffer,
    datatypes::DataType,
};
use fulgurite_error::Result;

use crate::{
    engine,
    kept::KeyGroups,
    literal::Literal,
    resolve::{TypedExpression, TypedNamed, TypedNode, TypedRelation},
    table::{Columns, Table},
};

/// Parts of expressions from which on a projection is computed before the next one reads it: what is substituted grows with each.
const LARGEST: usize = 400;

/// Selected rows of a table.
#[derive(Debug, Clone)]
pub(super) struct Selection {
    pub flags: BooleanBuffer,
    pub count: usize,
}

impl Selection {
    pub fn new(flags: BooleanBuffer) -> Self {
        let count = flags.count_set_bits();
        Selection { flags, count }
    }
}

/// Where a step's input has these columns of its result, as far as they are the input's as they stand.
pub(super) fn places_below(step: &TypedRelation, columns: &[usize]) -> Vec<usize> {
    let below = |at: &usize| match &step.node {
        TypedNode::Filter { .. } => Some(*at),
        TypedNode::Select { exprs, .. } => exprs.get(*at)?.expr.as_column(),
        TypedNode::WithColumns { input, exprs } => {
            let (name, _) = step.schema.get(*at)?;
            match exprs.iter().find(|named| named.name == *name) {
                Some(named) => named.expr.as_column(),
                None => input.schema.iter().position(|(known, _)| known == name),
            }
        }
        _ => None,
    };
    columns.iter().filter_map(below).collect()
}

/// Columns as expressions over those of a table, and which rows are selected.
#[derive(Debug, Clone)]
pub(super) struct Pipeline {
    pub base: Table,
    pub columns: Vec<TypedNamed>,
    pub predicate: Option<TypedExpression>,
}

impl Pipeline {
    /// The table as it is.
    pub fn of_table(base: Table) -> Self {
        let schema = base.schema();
        Pipeline::of_typed(base, schema)
    }

    /// The same where its columns are of these types: texts that come by codes are texts.
    pub fn of_typed(base: Table, schema: Columns) -> Self {
        let columns = schema.into_iter().enumerate();
        let columns = columns.map(|(index, (name, data_type))| TypedNamed {
            expr: TypedExpression::Column {
                name: Arc::clone(&name),
                index,
                data_type,
            },
            name,
        });
        Pipeline {
            columns: columns.collect(),
            predicate: None,
            base,
        }
    }

    /// An expression over its columns as one over those of the table.
    pub fn substituted(&self, expression: &TypedExpression) -> TypedExpression {
        if let TypedExpression::Column { index, .. } = expression {
            let column = self.columns.get(*index);
            return column.map_or_else(|| expression.clone(), |column| column.expr.clone());
        }
        let mut changed = expression.clone();
        for part in changed.args_mut() {
            *part = self.substituted(part);
        }
        changed
    }

    /// The step above it, if it is one of a run: none where it has to be computed first.
    pub fn then(&self, step: &TypedNode) -> Option<Pipeline> {
        // Aggregates, arrays and what may fail are over the rows that are selected.
        let is_of_selected = |expression: &TypedExpression| {
            self.predicate.is_some() && (expression.reads_arrays() || expression.may_fail())
        };
        let goes_on = |expression: &TypedExpression| {
            !expression.has_aggregate() && !is_of_selected(expression)
        };
        let all_go_on = |exprs: &[TypedNamed]| exprs.iter().all(|named| goes_on(&named.expr));
        let mut next = self.clone();
        match step {
            TypedNode::Filter { predicate, .. } if goes_on(predicate) => {
                let predicate = self.substituted(predicate);
                next.predicate = Some(match next.predicate.take() {
                    Some(before) => before.and(predicate),
                    None => predicate,
                });
            }
            TypedNode::Select { exprs, .. } if all_go_on(exprs) => {
                next.columns = self.projected(exprs);
            }
            TypedNode::WithColumns { exprs, .. } if all_go_on(exprs) => {
                for column in self.projected(exprs) {
                    let mut known = next.columns.iter_mut();
                    match known.find(|known| known.name == column.name) {
                        Some(known) => *known = column,
                        None => next.columns.push(column),
                    }
                }
            }
            _ => return None,
        }
        (next.size() <= LARGEST).then_some(next)
    }

    /// The same where the values of a column are known: it is one of the table.
    pub fn with_known(mut self, place: usize, values: ArrayRef) -> Self {
        let column = &mut self.columns[place];
        column.expr = TypedExpression::Column {
            name: Arc::clone(&column.name),
            index: self.base.columns().len(),
            data_type: column.expr.data_type().clone(),
        };
        self.base = self.base.with_column(Arc::clone(&column.name), values);
        self
    }

    /// The same for who reads columns only in these expressions.
    pub fn read_by<'e>(mut self, exprs: impl IntoIterator<Item = &'e TypedNamed>) -> Self {
        let mut read = Vec::new();
        for named in exprs {
            named.expr.add_columns(&mut read);
        }
        for (place, column) in self.columns.iter_mut().enumerate() {
            if !read.contains(&place) {
                column.expr = TypedExpression::Literal {
                    value: Literal::Null,
                    data_type: column.expr.data_type().clone(),
                };
            }
        }
        self
    }

    pub fn reads_arrays(&self) -> bool {
        let columns = self.columns.iter().map(|column| &column.expr);
        columns
            .chain(&self.predicate)
            .any(TypedExpression::reads_arrays)
    }

    /// The same over a table with selected rows of the columns that are read. Texts at the places `by_codes`, of which equal ones are
    /// wanted, come by codes.
    ///
    /// # Errors
    /// `memory`; `interrupted`.
    pub fn compacted(&self, selection: &Selection, by_codes: &[usize]) -> Result<Pipeline> {
        let read = self.read();
        let mut alone = self.over_columns_alone();
        for (at, place) in read.iter().enumerate() {
            if by_codes.contains(place)
                && let Some(codes) = alone.base.known_coded(at)
            {
                alone.base = alone.base.with(at, codes);
            }
        }
        let is_coded = |at: &usize| {
            let column = &alone.base.columns()[*at];
            by_codes.contains(&read[*at])
                && *column.data_type() == DataType::Utf8
                && column.null_count() == 0
        };
        let (coded, plain): (Vec<usize>, Vec<usize>) = (0..read.len()).partition(is_coded);
        let flags = BooleanArray::new(selection.flags.clone(), None);
        let kept = engine::rows::filter(&alone.base.select(&plain), &flags)?;
        let mut columns: Vec<_> = alone.base.columns().to_vec();
        for (at, column) in plain.iter().zip(kept.columns()) {
            columns[*at] = Arc::clone(column);
        }
        let mut groups = Vec::new();
        for at in coded {
            let texts = alone.base.columns()[at].as_string::<i32>();
            let coded = engine::rows::coded_where(texts, &selection.flags)?;
            columns[at] = Arc::clone(&coded.texts);
            groups.push(coded);
        }
        alone.base = Table::trusted(selection.count, alone.base.names().to_vec(), columns)?;
        for of_texts in groups {
            let known = KeyGroups::new(of_texts.codes, of_texts.first_rows);
            alone.base.keep_groups(&of_texts.texts, known);
        }
        Ok(alone)
    }

    /// Where the table has these columns, as far as they are the table's as they stand.
    pub fn places_of(&self, columns: &[usize]) -> Vec<usize> {
        let places = columns.iter();
        let places = places.filter_map(|at| self.columns.get(*at)?.expr.as_column());
        places.collect()
    }

    /// The same over a table with these rows of the columns that are read, which are selected.
    ///
    /// # Errors
    /// As [`Pipeline::compacted`].
    pub fn taken(&self, rows: &UInt32Array) -> Result<Pipeline> {
        let mut alone = self.over_columns_alone();
        alone.base = engine::rows::take(&alone.base, rows)?;
        alone.predicate = None;
        Ok(alone)
    }

    /// The places of the columns that it reads.
    pub fn read(&self) -> Vec<usize> {
        let mut read = Vec::new();
        let columns = self.columns.iter().map(|column| &column.expr);
        for expression in columns.chain(&self.predicate) {
            expression.add_columns(&mut read);
        }
        read
    }

    /// The same over a table of the columns that are read.
    fn over_columns_alone(&self) -> Pipeline {
        let read = self.read();
        let columns = self.columns.iter().map(|column| TypedNamed {
            name: Arc::clone(&column.name),
            expr: column.expr.over(&read),
        });
        Pipeline {
            columns: columns.collect(),
            base: self.base.select(&read),
            predicate: self
                .predicate
                .as_ref()
                .map(|predicate| predicate.over(&read)),
        }
    }

    fn projected(&self, exprs: &[TypedNamed]) -> Vec<TypedNamed> {
        let exprs = exprs.iter().map(|named| TypedNamed {
            name: Arc::clone(&named.name),
            expr: self.substituted(&named.expr),
        });
        exprs.collect()
    }

    fn size(&self) -> usize {
        let mut size = 0;
        let expressions = self.columns.iter().map(|column| &column.expr);
        for expression in expressions.chain(&self.predicate) {
            expression.any(&mut |_| {
                size += 1;
                false
            });
        }
        size
    }
}
