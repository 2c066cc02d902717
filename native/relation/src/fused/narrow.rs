//! Which rows of a pipeline go on: the selected ones alone (compaction), or all of them beside a mask (predication).

use std::{fmt, sync::Arc};

use arrow::{
    array::{Array, ArrayRef, AsArray},
    datatypes::DataType,
};
use fulgurite_error::{Error, Result};
use fulgurite_lazy::Input;
use fulgurite_matrix::DenseMatrix;

use super::{
    Fusion, PlannedMatrix, algebra, columns,
    pipeline::{Pipeline, Selection},
    selection,
};
use crate::{engine, numbers, resolve::TypedNamed, types::is_text};

/// Which rows of a table go on.
#[derive(Clone, Copy)]
pub(super) enum Rows {
    Selected,
    /// All of them beside a mask, unless the selected ones are few.
    AsItIsCheaper,
    /// The same for what looks at keys first, and at other columns of few rows.
    OfJoins,
}

/// Bytes that are read and written to select rows in either way, until all columns have been read as doubles once.
struct Moves {
    /// Selected cells are written beside each other first.
    compaction: u64,
    /// All cells are read, beside a column of 1 for the selected ones.
    predication: u64,
    /// That column.
    mask: u64,
}

/// Bytes that are read together.
const CACHE_LINE: u64 = 64;
/// What it takes to find the group of a text, in bytes that move in the meantime.
const BYTES_OF_A_TEXT: u64 = 64;

impl Moves {
    fn of(pipeline: &Pipeline, selected: usize) -> Self {
        let (rows, selected) = (pipeline.base.rows() as u64, selected as u64);
        const DOUBLE: u64 = 8;
        let mask = 2 * DOUBLE * rows;
        let mut moves = Moves {
            compaction: 0,
            predication: mask,
            mask,
        };
        for place in pipeline.read() {
            let column = &pipeline.base.columns()[place];
            let width = width_of(column);
            // A cell as a double, or the group of a text.
            let read = match column.data_type() {
                DataType::Float64 => DOUBLE,
                kind if is_text(kind) => width + BYTES_OF_A_TEXT,
                _ => width + 2 * DOUBLE,
            };
            // Of few rows only the lines that they are in are read.
            let touched = (width * rows).min(CACHE_LINE * selected);
            moves.compaction += touched + (width + read) * selected;
            moves.predication += read * rows;
        }
        moves
    }
}

/// Bytes of a cell.
fn width_of(column: &ArrayRef) -> u64 {
    let width = match column.data_type() {
        DataType::Boolean | DataType::Null => 1,
        DataType::Utf8 => {
            let texts = column.as_string::<i32>();
            let offsets = texts.value_offsets();
            let bytes = offsets.last().zip(offsets.first());
            let bytes = bytes.map_or(0, |(last, first)| last - first) as usize;
            4 + bytes / column.len().max(1)
        }
        kind => kind.primitive_width().unwrap_or(4),
    };
    width as u64
}

impl fmt::Display for Moves {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let megabytes = |bytes: u64| bytes as f64 / 1e6;
        let (compaction, predication) = (megabytes(self.compaction), megabytes(self.predication));
        write!(
            f,
            "compaction moves {compaction:.1} MB, predication {predication:.1} MB"
        )
    }
}

impl Fusion<'_> {
    /// The pipeline over the rows that kernels select: those alone where they are wanted or few, and else which of the rows it is.
    /// Texts of the table's columns at `by_codes` may come by codes.
    pub(super) fn narrowed(
        &self,
        pipeline: &Pipeline,
        wanted: Rows,
        by_codes: &[usize],
    ) -> Result<(Pipeline, Option<Selection>)> {
        let Some(predicate) = &pipeline.predicate else {
            return Ok((pipeline.clone(), None));
        };
        let (questions, rest) = selection::parted(predicate);
        let mut narrowed = pipeline.clone();
        narrowed.predicate = rest;
        if questions.is_empty() {
            return Ok((narrowed, None));
        }
        let base = &pipeline.base;
        let selection = selection::of(base, &questions)?;
        if selection.count == base.rows() {
            return Ok((narrowed, None));
        }
        let moves = Moves::of(&narrowed, selection.count);
        let is_cheaper = match wanted {
            Rows::Selected => true,
            Rows::AsItIsCheaper => moves.compaction < moves.predication,
            Rows::OfJoins => moves.compaction < moves.mask,
        };
        // Arrays stand beside all rows.
        let is_compacted = is_cheaper && !narrowed.reads_arrays();
        self.note(|| {
            let share = 100.0 * selection.count as f64 / base.rows() as f64;
            let how = match (is_compacted, wanted) {
                (true, Rows::Selected) => "compaction, as the rows are wanted alone".to_owned(),
                (true, _) => format!("compaction: {moves}"),
                (false, Rows::OfJoins) => "the join, which looks at their keys alone".to_owned(),
                (false, _) => format!("predication: {moves}"),
            };
            format!(
                "select {} of {} rows ({share:.1} %) by {how}",
                selection.count,
                base.rows()
            )
        });
        match is_compacted {
            true => Ok((narrowed.compacted(&selection, by_codes)?, None)),
            false => Ok((narrowed, Some(selection))),
        }
    }

    /// The selected rows as a matrix, if all that a pipeline does is to select them of columns of numbers.
    pub(super) fn selected_numbers(&self, pipeline: &Pipeline) -> Result<Option<PlannedMatrix>> {
        let base = &pipeline.base;
        let column = |named: &TypedNamed| {
            let column = base.columns().get(named.expr.as_column()?)?;
            let kind = column.data_type();
            let is_number = kind.is_integer()
                || matches!(
                    kind,
                    DataType::Float32 | DataType::Float64 | DataType::Date32
                );
            (is_number && column.null_count() == 0).then_some(column)
        };
        let columns: Option<Vec<&ArrayRef>> = pipeline.columns.iter().map(column).collect();
        let (Some(columns), Some(predicate)) = (columns, &pipeline.predicate) else {
            return Ok(None);
        };
        let (questions, None) = selection::parted(predicate) else {
            return Ok(None);
        };
        let selection = selection::of(base, &questions)?;
        if columns.is_empty() || selection.count == base.rows() {
            return Ok(None);
        }
        let (rows, cols) = (selection.count, columns.len());
        let (cells, are_exact) = engine::rows::beside_where(&columns, &selection.flags)?;
        self.note(|| {
            let share = 100.0 * rows as f64 / base.rows() as f64;
            let of = base.rows();
            format!("select {rows} of {of} rows ({share:.1} %) into a matrix")
        });
        let are_whole = columns
            .iter()
            .all(|column| !column.data_type().is_floating());
        Ok(Some(PlannedMatrix {
            rows,
            matrix: numbers::leaf(DenseMatrix::new(rows, cols, cells)?),
            may_lack: false,
            is_whole: are_whole && are_exact,
        }))
    }

    /// What is left to select of a narrowed pipeline.
    pub(super) fn left_to_select(
        &self,
        pipeline: &Pipeline,
        selection: Option<Selection>,
    ) -> Result<Option<Selection>> {
        let Some(mask) = self.mask(pipeline)? else {
            return Ok(selection);
        };
        let expression = algebra::column(&mask, pipeline.base.rows())?;
        self.compute(&[Arc::clone(&expression)])?;
        let flags = columns::flags(&columns::cells(&expression)?);
        Ok(Some(Selection::new(match selection {
            Some(selection) => &flags & &selection.flags,
            None => flags,
        })))
    }

    /// The same as a column of 1 for selected rows.
    pub(super) fn predication(
        &self,
        pipeline: &Pipeline,
        selection: Option<&Selection>,
    ) -> Result<Option<Input>> {
        let mask = self.mask(pipeline)?;
        let Some(selection) = selection else {
            return Ok(mask);
        };
        let selected = numbers::truths(&selection.flags)?.into();
        match mask {
            Some(mask) => algebra::binary("&", &mask, &selected).map(Some),
            None => Ok(Some(selected)),
        }
    }

    /// 1 for the selected rows of the table, where not all are.
    pub(super) fn mask(&self, pipeline: &Pipeline) -> Result<Option<Input>> {
        let Some(predicate) = &pipeline.predicate else {
            return Ok(None);
        };
        let base = &pipeline.base;
        let number = self.number(predicate, base)?;
        let number = number.ok_or_else(|| Error::internal("a predicate that is no number"))?;
        let truth = match &number.valid {
            None => number.values,
            Some(valid) => algebra::binary("&", &number.values, valid)?,
        };
        Ok(Some(algebra::column(&truth, base.rows())?.into()))
    }
}
