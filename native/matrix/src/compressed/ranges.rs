//! Ranges of rows and columns, and columns side by side.

use std::{ops::Range, sync::Arc};

use fulgurite_error::{Error, Result};

use super::{ColumnGroup, CompressedMatrix, GroupCodes, GroupEncoding};
use crate::{MatrixBlock, kernels, kernels::IndexRange, memory};

impl CompressedMatrix {
    /// Rows `range` (from 0). Codes of whole bytes and dictionaries are shared.
    ///
    /// # Errors
    /// `dimension` when the rows are not there; `memory`.
    pub fn slice_rows(&self, range: Range<usize>) -> Result<Self> {
        within(&range, self.rows, "rows")?;
        let groups = self.groups.iter().map(|group| rows_of(group, &range));
        CompressedMatrix::new(range.len(), self.cols, groups.collect::<Result<_>>()?)
    }

    /// Columns `range` (from 0). Codes are shared, and dictionaries where they stay whole.
    ///
    /// # Errors
    /// `dimension` when the columns are not there; `memory`.
    pub fn slice_cols(&self, range: Range<usize>) -> Result<Self> {
        within(&range, self.cols, "columns")?;
        let mut groups = Vec::new();
        for group in self.groups.iter() {
            let columns = group.columns();
            let from = columns.partition_point(|column| (*column as usize) < range.start);
            let to = columns.partition_point(|column| (*column as usize) < range.end);
            if from < to {
                let part = columns_of(group, from..to)?;
                let moved = columns[from..to].iter();
                groups.push(part.at_columns(moved.map(|at| at - range.start as i32).collect()));
            }
        }
        CompressedMatrix::new(self.rows, range.len(), groups)
    }

    /// Matrices of as many rows side by side. Nothing is copied but column numbers.
    ///
    /// # Errors
    /// `dimension` unless all have as many rows; `unsupported` where there are more columns than numbers for them.
    pub fn cbind(matrices: &[&CompressedMatrix]) -> Result<Self> {
        let rows = matrices.first().map_or(0, |first| first.rows);
        let (mut groups, mut cols) = (Vec::new(), 0usize);
        for matrix in matrices {
            if matrix.rows != rows {
                return Err(Error::dimension(format!(
                    "compressed matrices of {rows} and {} rows do not stand side by side",
                    matrix.rows
                )));
            }
            if i32::try_from(cols + matrix.cols).is_err() {
                return Err(Error::unsupported(format!(
                    "compressed matrices have at most {} columns",
                    i32::MAX
                )));
            }
            for group in matrix.groups.iter() {
                let columns = group.columns().iter().map(|at| at + cols as i32);
                groups.push(group.at_columns(memory::collected(columns)?));
            }
            cols += matrix.cols;
        }
        CompressedMatrix::new(rows, cols, groups)
    }

    /// As [`CompressedMatrix::plain`], but columns of one value, such as intercepts, are constants.
    ///
    /// # Errors
    /// As [`CompressedMatrix::plain`].
    pub fn beside(block: MatrixBlock) -> Result<Self> {
        let extent = block.extent();
        let is_same = extent.least == extent.greatest && !extent.has_nan && extent.least != 0.0;
        match (is_same, i32::try_from(block.cols())) {
            (true, Ok(cols)) => {
                let tuple = memory::filled(block.cols(), extent.least)?;
                let columns: Vec<i32> = memory::collected(0..cols)?;
                let group = ColumnGroup::constant(block.rows(), columns, tuple)?;
                CompressedMatrix::new(block.rows(), block.cols(), vec![group])
            }
            _ => CompressedMatrix::plain(block),
        }
    }

    /// A matrix of one group that is not compressed, to stand beside compressed ones.
    ///
    /// # Errors
    /// `unsupported` where there are more columns than numbers for them.
    pub fn plain(block: MatrixBlock) -> Result<Self> {
        let (rows, cols) = (block.rows(), block.cols());
        let last = i32::try_from(cols).map_err(|_| {
            Error::unsupported(format!(
                "compressed matrices have at most {} columns",
                i32::MAX
            ))
        })?;
        let groups = match cols {
            0 => Vec::new(),
            _ => {
                let plain = GroupEncoding::Plain(Arc::new(block));
                vec![ColumnGroup::new(
                    rows,
                    (0..last).collect::<Vec<i32>>(),
                    plain,
                )?]
            }
        };
        CompressedMatrix::new(rows, cols, groups)
    }
}

fn within(range: &Range<usize>, size: usize, what: &str) -> Result<()> {
    match range.start <= range.end && range.end <= size {
        true => Ok(()),
        false => Err(Error::dimension(format!(
            "{what} {} to {} (exclusive) of a compressed matrix that has {size}",
            range.start, range.end
        ))),
    }
}

fn rows_of(group: &ColumnGroup, range: &Range<usize>) -> Result<ColumnGroup> {
    let (rows, end) = (range.len(), range.end);
    let rebased = |places: &[u32]| -> Result<Vec<u32>> {
        memory::collected(places.iter().map(|row| row - range.start as u32))
    };
    let encoding = match group.encoding() {
        GroupEncoding::Coded { dictionary, codes } => GroupEncoding::Coded {
            dictionary: dictionary.clone(),
            codes: codes.slice(range.start, end)?,
        },
        GroupEncoding::OneHot { on, off, codes } => GroupEncoding::OneHot {
            on: on.clone(),
            off: off.clone(),
            codes: codes.slice(range.start, end)?,
        },
        GroupEncoding::Exceptions {
            dictionary,
            at,
            codes,
        } => {
            let first = at.partition_point(|row| (*row as usize) < range.start);
            let last = at.partition_point(|row| (*row as usize) < end);
            GroupEncoding::Exceptions {
                dictionary: dictionary.clone(),
                at: rebased(&at[first..last])?.into(),
                codes: codes.slice(first, last)?,
            }
        }
        GroupEncoding::Runs {
            dictionary,
            starts,
            codes,
        } => {
            // The run that the first row is in starts before it, or there.
            let next = starts.partition_point(|row| (*row as usize) <= range.start);
            let last = starts.partition_point(|row| (*row as usize) < end);
            let (starts, codes) = match rows {
                0 => (Vec::new(), GroupCodes::new(1, [])?),
                _ => {
                    let first = next - 1;
                    let mut within = memory::copied(&starts[first..last])?;
                    within[0] = range.start as u32;
                    (rebased(&within)?, codes.slice(first, last)?)
                }
            };
            GroupEncoding::Runs {
                dictionary: dictionary.clone(),
                starts: starts.into(),
                codes,
            }
        }
        GroupEncoding::Plain(block) => {
            GroupEncoding::Plain(Arc::new(block.slice_rows(range.start, end)))
        }
        same @ (GroupEncoding::Empty | GroupEncoding::Constant(_)) => same.clone(),
    };
    ColumnGroup::new(rows, group.column_buffer().clone(), encoding)
}

/// Some of a group's columns, by their places in it.
fn columns_of(group: &ColumnGroup, range: Range<usize>) -> Result<ColumnGroup> {
    let width = group.width();
    if range.len() == width {
        return Ok(group.clone());
    }
    let of_tuples = |dictionary: &[f64]| -> Result<Vec<f64>> {
        let mut part = memory::room(dictionary.len() / width * range.len())?;
        for tuple in dictionary.chunks_exact(width) {
            part.extend_from_slice(&tuple[range.clone()]);
        }
        Ok(part)
    };
    let encoding = match group.encoding() {
        GroupEncoding::Empty => GroupEncoding::Empty,
        GroupEncoding::Constant(tuple) => {
            GroupEncoding::Constant(tuple.slice(range.start, range.len()))
        }
        GroupEncoding::Coded { dictionary, codes } => GroupEncoding::Coded {
            dictionary: of_tuples(dictionary)?.into(),
            codes: codes.clone(),
        },
        GroupEncoding::Exceptions {
            dictionary,
            at,
            codes,
        } => GroupEncoding::Exceptions {
            dictionary: of_tuples(dictionary)?.into(),
            at: at.clone(),
            codes: codes.clone(),
        },
        GroupEncoding::Runs {
            dictionary,
            starts,
            codes,
        } => GroupEncoding::Runs {
            dictionary: of_tuples(dictionary)?.into(),
            starts: starts.clone(),
            codes: codes.clone(),
        },
        GroupEncoding::OneHot { on, off, codes } => {
            let codes = codes.iter().map(|code| match range.contains(&code) {
                true => (code - range.start) as u32,
                false => range.len() as u32,
            });
            GroupEncoding::OneHot {
                on: on.slice(range.start, range.len()),
                off: off.slice(range.start, range.len()),
                codes: GroupCodes::new(range.len() + 1, codes)?,
            }
        }
        GroupEncoding::Plain(block) => {
            let (all, part) = (
                IndexRange::new(1, block.rows() as i64),
                IndexRange::new(range.start as i64 + 1, range.end as i64),
            );
            GroupEncoding::Plain(Arc::new(kernels::right_index(block, all, part)?))
        }
    };
    let columns = group.column_buffer().slice(range.start, range.len());
    ColumnGroup::new(group.rows(), columns, encoding)
}
