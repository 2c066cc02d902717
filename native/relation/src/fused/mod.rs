//! Plans of tables as HOPs on columns: selections, projections and aggregates together, in one scan where fusion finds it.
//!
//! - `algebra`: operators on columns.
//! - `lower`: expressions as operators, exactly.
//! - `columns`: results as columns of tables.
//! - `pipeline`: selections and projections that wait.
//! - `selection`: which rows a predicate selects, as far as kernels find it.
//! - `narrow`: whether the selected rows are put together, or stay among the others.
//! - `expressions`: expressions over a table, by operators or by kernels.
//! - `aggregates`: sums and their kin, over all rows or by groups.
//! - here: plans in stages. Joins, sorts and texts are the kernels' ([`crate::engine`]).

mod aggregates;
mod algebra;
mod columns;
mod expressions;
mod lower;
mod narrow;
mod pipeline;
mod selection;

use std::sync::Arc;

use arrow::{
    array::{Array, ArrayRef, BooleanArray},
    buffer::BooleanBuffer,
    datatypes::DataType,
};
use fulgurite_error::{Error, Result};
use fulgurite_lazy::{Evaluator, Expression, Input, evaluate};
use fulgurite_matrix::{Interrupt, memory};

use self::{
    expressions::is_exact,
    lower::Number,
    narrow::Rows,
    pipeline::{Pipeline, Selection, places_below},
};
use crate::{
    deep::on_deep_stack,
    engine::{self, Joined},
    plan::{Keep, Relation},
    resolve::{TypedExpression, TypedNamed, TypedNode, TypedRelation, resolve},
    table::{Columns, Table},
    types,
};

/// Rows from which on a column is worth a plan: below, kernels are through before it is found.
pub const WORTH_A_PLAN: usize = 4096;

/// A column beside the tables.
#[derive(Debug, Clone)]
pub enum BesideColumn {
    /// Doubles that may have to be computed yet.
    Waits(Arc<Expression>),
    Known(ArrayRef),
}

impl BesideColumn {
    fn data_type(&self) -> DataType {
        match self {
            BesideColumn::Waits(_) => DataType::Float64,
            BesideColumn::Known(array) => array.data_type().clone(),
        }
    }

    fn rows(&self) -> u64 {
        match self {
            BesideColumn::Waits(expression) => expression.shape.rows,
            BesideColumn::Known(array) => array.len() as u64,
        }
    }
}

/// Columns beside each other, as a matrix that waits.
#[derive(Debug)]
pub struct PlannedMatrix {
    pub rows: usize,
    pub matrix: Arc<Expression>,
    /// Whether values may be missing, which are NaN.
    pub may_lack: bool,
    /// Whether all values are whole numbers or truths, which doubles have exactly.
    pub is_whole: bool,
}

/// Where plans of tables are computed.
pub struct Fusion<'a> {
    pub tables: &'a [Table],
    pub arrays: &'a [BesideColumn],
    pub evaluator: &'a Evaluator,
    pub interrupt: &'a Interrupt,
    /// Tables of fewer rows are left to kernels: [`WORTH_A_PLAN`].
    pub least_rows: usize,
    /// Who wants to know what is done.
    pub observer: Option<&'a dyn Observer>,
}

/// Is told what a plan does while it runs.
pub trait Observer: Sync {
    /// A step that kernels take, or what was decided.
    fn notes(&self, what: &str);
    /// Expressions that are computed next, together.
    fn computes(&self, expressions: &[Arc<Expression>]);
}

impl Fusion<'_> {
    /// The table that a plan gives.
    ///
    /// # Errors
    /// Those of [`Relation::schema`]; `data`, for a strict cast that fails; `dimension`, for arrays of other lengths; `memory`.
    pub fn collect(&self, plan: &Relation) -> Result<Table> {
        let plan = self.resolved(plan)?;
        self.bounded(|| self.table(&plan))
    }

    /// Runs within the memory that the session has, until somebody interrupts it.
    fn bounded<T>(&self, run: impl FnOnce() -> Result<T>) -> Result<T> {
        let budget = self.evaluator.session()?.budget();
        let result = self.interrupt.within(|| memory::within(budget, run));
        // What an interrupted kernel gave is no result.
        self.interrupt.check().and(result)
    }

    /// Columns of a plan beside each other. A missing value is NaN.
    ///
    /// # Errors
    /// As [`Fusion::collect`]; Validation, for a column that is no number.
    pub fn matrix(&self, plan: &Relation, names: &[Arc<str>]) -> Result<PlannedMatrix> {
        let exprs = names.iter().map(|name| crate::plan::Named {
            name: Arc::clone(name),
            expr: crate::expression::Expression::Column {
                name: Arc::clone(name),
            },
        });
        let plan = self.resolved(&Relation::Select {
            input: Box::new(plan.clone()),
            exprs: exprs.collect(),
        })?;
        for (name, data_type) in &plan.schema {
            if types::is_text(data_type) {
                return Err(Error::validation(format!(
                    "column '{name}' is of type {}, and a matrix has numbers",
                    types::name(data_type)
                ))
                .with_help("cast() it, or leave it out"));
            }
        }
        self.bounded(|| {
            let pipeline = self.pipeline(&plan, &[])?;
            self.matrix_of(&pipeline)
        })
    }

    fn resolved(&self, plan: &Relation) -> Result<TypedRelation> {
        let sources: Vec<Columns> = self.tables.iter().map(Table::schema).collect();
        let kinds: Vec<DataType> = self.arrays.iter().map(BesideColumn::data_type).collect();
        on_deep_stack(|| resolve(&plan.optimized(&sources)?, &sources, Some(&kinds)))
    }

    fn matrix_of(&self, pipeline: &Pipeline) -> Result<PlannedMatrix> {
        if let Some(matrix) = self.selected_numbers(pipeline)? {
            return Ok(matrix);
        }
        let (pipeline, selection) = self.narrowed(pipeline, Rows::Selected, &[])?;
        let base = &pipeline.base;
        let mut columns = Vec::new();
        let (mut may_lack, mut is_whole) = (false, true);
        for column in &pipeline.columns {
            let number = self.number(&column.expr, base)?;
            let number = number.ok_or_else(|| {
                Error::validation(format!("column '{}' has no numbers", column.name))
            })?;
            may_lack |= number.valid.is_some();
            is_whole &= number.span.is_exact() && *column.expr.data_type() != DataType::Float64;
            let values = match &number.valid {
                None => number.values,
                Some(valid) => algebra::if_else(valid, &number.values, &Input::from(f64::NAN))?,
            };
            columns.push(algebra::column(&values, base.rows())?.into());
        }
        let width = columns.len();
        let beside = algebra::beside(columns)?
            .ok_or_else(|| Error::validation("a matrix has one column at least"))?;
        let (rows, matrix) = match self.predication(&pipeline, selection.as_ref())? {
            None => (base.rows(), beside),
            Some(mask) => {
                let count = algebra::total("+", &mask)?;
                let count = self.value(&count)? as usize;
                (count, algebra::selected(&beside, &mask, count, width)?)
            }
        };
        Ok(PlannedMatrix {
            rows,
            matrix: algebra::column(&matrix, rows)?,
            may_lack,
            is_whole,
        })
    }

    fn table(&self, plan: &TypedRelation) -> Result<Table> {
        match &plan.node {
            TypedNode::GroupBy {
                input,
                keys,
                aggs,
                maintain_order,
            } => {
                let by_codes = keys.iter().filter_map(|key| key.expr.as_column());
                let by_codes: Vec<usize> = by_codes.collect();
                let pipeline = self.below(input, keys.iter().chain(aggs), &by_codes)?;
                // Groups are in the order of all rows, not of the selected ones.
                let wanted = match maintain_order {
                    true => Rows::Selected,
                    false => Rows::AsItIsCheaper,
                };
                let by_codes = pipeline.places_of(&by_codes);
                let (pipeline, selection) = self.narrowed(&pipeline, wanted, &by_codes)?;
                let has_order = pipeline.predicate.is_none() && selection.is_none();
                let found = match has_order || !maintain_order {
                    true => aggregates::grouped(self, &pipeline, selection.as_ref(), keys, aggs)?,
                    false => None,
                };
                match found {
                    Some(table) => Ok(table),
                    None => self.step(plan, vec![self.materialized_of(pipeline, selection, &[])?]),
                }
            }
            TypedNode::Select { input, exprs }
                if !exprs.is_empty()
                    && exprs.iter().all(|named| aggregates::is_total(&named.expr)) =>
            {
                let pipeline = self.below(input, exprs, &[])?;
                let (pipeline, selection) = self.narrowed(&pipeline, Rows::AsItIsCheaper, &[])?;
                match aggregates::totals(self, &pipeline, selection.as_ref(), exprs)? {
                    Some(table) => Ok(table),
                    None => self.step(plan, vec![self.materialized_of(pipeline, selection, &[])?]),
                }
            }
            TypedNode::Scan { table, columns } => match self.tables.get(*table) {
                Some(table) => Ok(table.select(columns)),
                None => Err(Error::plan(format!("a scan of table {table}"))),
            },
            TypedNode::Filter { .. } | TypedNode::Select { .. } | TypedNode::WithColumns { .. } => {
                let pipeline = self.pipeline(plan, &[])?;
                self.materialized(&pipeline, &[])
            }
            TypedNode::Join {
                left,
                right,
                left_on,
                right_on,
                ..
            } => {
                let (left, of_left) = self.side_of_join(left, left_on)?;
                let (right, of_right) = self.side_of_join(right, right_on)?;
                let left = Joined::some(&left, of_left.as_ref());
                let right = Joined::some(&right, of_right.as_ref());
                let joined = engine::join(plan, left, right, &self.arrays_of(&plan.node)?)?;
                self.note(|| format!("join to {} rows", joined.rows()));
                Ok(joined)
            }
            TypedNode::Unique {
                input,
                subset,
                keep: Keep::First | Keep::Any,
            } if !subset.is_empty() => {
                let pipeline = self.pipeline(input, &[])?;
                if pipeline.reads_arrays() || pipeline.base.rows() < self.least_rows {
                    return self.step(plan, vec![self.materialized(&pipeline, &[])?]);
                }
                let by_codes = pipeline.places_of(subset);
                let (pipeline, selection) =
                    self.narrowed(&pipeline, Rows::AsItIsCheaper, &by_codes)?;
                let selection = self.left_to_select(&pipeline, selection)?;
                let keys = subset.iter().filter_map(|at| pipeline.columns.get(*at));
                let keys: Vec<&TypedExpression> = keys.map(|column| &column.expr).collect();
                let (_, groups) = self.groups(&keys, &pipeline.base)?;
                let rows = match selection {
                    None => groups.first_rows.clone(),
                    Some(selection) => groups.first_rows_where(&selection.flags)?,
                };
                self.note(|| format!("take {} rows that differ", rows.len()));
                self.materialized(&pipeline.taken(&rows)?, &[])
            }
            TypedNode::Sort { .. }
            | TypedNode::Unique { .. }
            | TypedNode::Slice { .. }
            | TypedNode::Concat { .. } => {
                let inputs = plan.inputs().into_iter().map(|input| self.table(input));
                self.step(plan, inputs.collect::<Result<_>>()?)
            }
        }
    }

    /// The run of steps below aggregates, over all rows and which are selected: not where expressions may fail for the others.
    fn below<'e>(
        &self,
        input: &TypedRelation,
        exprs: impl IntoIterator<Item = &'e TypedNamed> + Clone,
        by_codes: &[usize],
    ) -> Result<Pipeline> {
        let pipeline = self.pipeline(input, by_codes)?;
        let pipeline = pipeline.read_by(exprs.clone());
        let may_fail = exprs.into_iter().any(|named| named.expr.may_fail());
        match may_fail && pipeline.predicate.is_some() {
            true => self.materialized(&pipeline, &[]).map(Pipeline::of_table),
            false => Ok(pipeline),
        }
    }

    /// A table that is joined by these keys, and which of its rows take part: where columns are as they were, the join picks the rows
    /// that have partners from the whole table, and the selected ones are never put together.
    fn side_of_join(
        &self,
        input: &TypedRelation,
        keys: &[TypedExpression],
    ) -> Result<(Table, Option<BooleanBuffer>)> {
        let pipeline = self.pipeline(input, &[])?;
        let (pipeline, selection) = self.narrowed(&pipeline, Rows::OfJoins, &[])?;
        let columns = pipeline.columns.iter();
        let places = columns.map(|column| column.expr.as_column());
        let is_column = |key: &TypedExpression| key.as_column().is_some();
        match places.collect::<Option<Vec<_>>>() {
            Some(places) if keys.iter().all(is_column) => {
                let selection = self.left_to_select(&pipeline, selection)?;
                let names = pipeline
                    .columns
                    .iter()
                    .map(|column| Arc::clone(&column.name));
                let flags = selection.map(|selection| selection.flags);
                Ok((pipeline.base.select(&places).renamed(names), flags))
            }
            _ => Ok((self.materialized_of(pipeline, selection, &[])?, None)),
        }
    }

    /// The arrays beside the tables, computed if the step reads some.
    fn arrays_of(&self, step: &TypedNode) -> Result<Vec<ArrayRef>> {
        match step.reads_arrays() {
            true => self.computed_arrays(),
            false => Ok(Vec::new()),
        }
    }

    /// One step by kernels, on what it reads.
    fn step(&self, plan: &TypedRelation, inputs: Vec<Table>) -> Result<Table> {
        let mut step = plan.clone();
        for (place, (input, table)) in step.inputs_mut().into_iter().zip(&inputs).enumerate() {
            *input = TypedRelation {
                schema: table.schema(),
                node: TypedNode::Scan {
                    table: place,
                    columns: (0..table.columns().len()).collect(),
                },
            };
        }
        let made = engine::run(&step, &inputs, &self.arrays_of(&plan.node)?)?;
        self.note(|| format!("{}: {} rows by kernels", plan.node.name(), made.rows()));
        Ok(made)
    }

    /// The run of steps that a plan ends in. Texts at the places `by_codes` of its result may come by codes.
    fn pipeline(&self, plan: &TypedRelation, by_codes: &[usize]) -> Result<Pipeline> {
        let input = match &plan.node {
            TypedNode::Filter { input, .. }
            | TypedNode::Select { input, .. }
            | TypedNode::WithColumns { input, .. } => input,
            TypedNode::Scan { .. }
            | TypedNode::GroupBy { .. }
            | TypedNode::Join { .. }
            | TypedNode::Sort { .. }
            | TypedNode::Unique { .. }
            | TypedNode::Slice { .. }
            | TypedNode::Concat { .. } => return Ok(Pipeline::of_table(self.table(plan)?)),
        };
        if let TypedNode::Select { exprs, .. } = &plan.node
            && !exprs.is_empty()
            && exprs.iter().all(|named| aggregates::is_total(&named.expr))
        {
            return Ok(Pipeline::of_table(self.table(plan)?));
        }
        let by_codes = places_below(plan, by_codes);
        let below = self.pipeline(input, &by_codes)?;
        let below = match &plan.node {
            TypedNode::Filter { predicate, .. } => self.with_texts_of(below, predicate)?,
            _ => below,
        };
        if let TypedNode::Select { exprs, .. } = &plan.node
            && exprs.iter().all(|named| named.expr.is_single())
        {
            // Not as many rows as there are below.
            let table = self.materialized(&below, &[])?;
            return Ok(Pipeline::of_table(self.step(plan, vec![table])?));
        }
        if let Some(pipeline) = below.then(&plan.node) {
            return Ok(pipeline);
        }
        let table = self.materialized(&below, &by_codes)?;
        let whole = Pipeline::of_typed(table, input.schema.clone());
        if let Some(pipeline) = whole.then(&plan.node) {
            return Ok(pipeline);
        }
        let table = self.materialized(&whole, &[])?;
        Ok(Pipeline::of_table(self.step(plan, vec![table])?))
    }

    /// The same with texts that a selection looks at as columns of the table: whoever reads the selected ones would compute them again.
    fn with_texts_of(
        &self,
        mut pipeline: Pipeline,
        predicate: &TypedExpression,
    ) -> Result<Pipeline> {
        if pipeline.predicate.is_some() {
            return Ok(pipeline);
        }
        let mut read = Vec::new();
        predicate.add_columns(&mut read);
        for place in read {
            let Some(column) = pipeline.columns.get(place) else {
                continue;
            };
            let is_computed = matches!(column.expr, TypedExpression::Call { .. })
                && column.expr.is_by_rows()
                && !column.expr.reads_arrays()
                && types::is_text(column.expr.data_type());
            if is_computed {
                let texts = self.key(&column.expr, &pipeline.base)?;
                pipeline = pipeline.with_known(place, texts);
            }
        }
        Ok(pipeline)
    }

    /// The rows and columns of a pipeline. Texts of its columns at `by_codes` may come by codes.
    fn materialized(&self, pipeline: &Pipeline, by_codes: &[usize]) -> Result<Table> {
        let places = pipeline.places_of(by_codes);
        let (narrowed, selection) = self.narrowed(pipeline, Rows::Selected, &places)?;
        self.materialized_of(narrowed, selection, by_codes)
    }

    /// The same of a pipeline that has been narrowed.
    fn materialized_of(
        &self,
        narrowed: Pipeline,
        selection: Option<Selection>,
        by_codes: &[usize],
    ) -> Result<Table> {
        let pipeline = match self.left_to_select(&narrowed, selection)? {
            None => narrowed,
            Some(selection) if narrowed.reads_arrays() => {
                let all = Pipeline {
                    predicate: None,
                    ..narrowed
                };
                let whole = self.materialized(&all, &[])?;
                let flags = BooleanArray::new(selection.flags, None);
                return engine::rows::filter(&whole, &flags);
            }
            Some(selection) => narrowed.compacted(&selection, &[])?,
        };
        let base = &pipeline.base;
        let made = pipeline
            .columns
            .iter()
            .map(|column| self.made(&column.expr, base));
        let made: Vec<Made> = made.collect::<Result<_>>()?;
        self.evaluate(made.iter().filter_map(|made| match made {
            Made::Waits(number, _) => Some(number),
            Made::Known(_) => None,
        }))?;
        let columns = pipeline.columns.iter().zip(made).enumerate();
        let columns = columns.map(|(place, (column, made))| {
            let array = match made {
                Made::Known(array) if by_codes.contains(&place) => array,
                Made::Known(array) => columns::with_type(&array, column.expr.data_type())?,
                Made::Waits(number, data_type) => columns::array(&number, &data_type, base.rows())?,
            };
            Ok((Arc::clone(&column.name), array))
        });
        Table::with_rows(base.rows(), columns.collect::<Result<_>>()?)
    }

    /// A column by operators where that is worth a plan, and else by kernels.
    fn made(&self, typed: &TypedExpression, base: &Table) -> Result<Made> {
        let is_computed = matches!(
            typed,
            TypedExpression::Call { .. } | TypedExpression::Array { .. }
        );
        if is_computed
            && base.rows() >= self.least_rows
            && is_exact(typed.data_type())
            && let Some(number) = self.lowered(typed, base)?
        {
            return Ok(Made::Waits(number, typed.data_type().clone()));
        }
        self.kernels(typed, base).map(Made::Known)
    }

    /// Computes what numbers wait for, together.
    fn evaluate<'n>(&self, numbers: impl Iterator<Item = &'n Number>) -> Result<()> {
        let inputs = numbers.flat_map(|number| [Some(&number.values), number.valid.as_ref()]);
        let waiting = inputs.flatten().filter_map(|input| match input {
            Input::Expression(expression) => Some(Arc::clone(expression)),
            Input::Literal(_) => None,
        });
        self.compute(&waiting.collect::<Vec<_>>())
    }

    fn compute(&self, expressions: &[Arc<Expression>]) -> Result<()> {
        if let Some(observer) = self.observer {
            let waiting = expressions
                .iter()
                .filter(|expression| !expression.is_value());
            let waiting: Vec<_> = waiting.cloned().collect();
            if !waiting.is_empty() {
                observer.computes(&waiting);
            }
        }
        evaluate(expressions, self.evaluator, self.interrupt)
    }

    fn note(&self, what: impl FnOnce() -> String) {
        if let Some(observer) = self.observer {
            observer.notes(&what());
        }
    }

    /// A number that waits.
    fn value(&self, input: &Input) -> Result<f64> {
        match input {
            Input::Literal(value) => Ok(value.as_f64().unwrap_or(f64::NAN)),
            Input::Expression(expression) => {
                self.compute(&[Arc::clone(expression)])?;
                let number = expression.number();
                number.ok_or_else(|| Error::internal("a number without a value"))
            }
        }
    }
}

/// A column of a result.
enum Made {
    Known(ArrayRef),
    Waits(Number, DataType),
}
