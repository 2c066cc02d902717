//! Ranges of matrices.

use super::{Editor, Family, Precision, Rule};
use crate::{CastOp, HopId, HopOp, Literal, ParameterizedOp, scalar};

pub(super) const FAMILY: Family = Family {
    title: "Indexing",
    rules: &[
        Rule::local(
            "whole-range",
            "X[1:nrow(X), 1:ncol(X)] -> X",
            "the sizes are known",
            Precision::Exact,
            whole_range,
        ),
        Rule::local(
            "range-of-range",
            "X[a:b, c:d][e:f, g:h] -> X[a+e-1:a+f-1, c+g-1:c+h-1]",
            "the bounds are literals within the known sizes, nobody else reads the inner range",
            Precision::Exact,
            range_of_range,
        ),
        Rule::local(
            "range-of-transpose",
            "t(X)[a:b, c:d] -> t(X[c:d, a:b])",
            "nobody else reads t(X); the range is smaller",
            Precision::Exact,
            range_of_transpose,
        ),
        Rule::local(
            "range-of-product",
            "(X %*% Y)[a:b, c:d] -> X[a:b, ] %*% Y[, c:d]",
            "sizes are known, the range is smaller, nobody else reads the product",
            Precision::Rounding,
            range_of_product,
        ),
        Rule::local(
            "cell-of-sorted",
            "order(target=x, by=1)[k, 1] -> quantile(x, (k - 0.5) / nrow(x))",
            "x is a column, its size is known, and no more than two read the sorted one",
            Precision::ZeroSign,
            cell_of_sorted,
        ),
        Rule::local(
            "part-of-cbind",
            "cbind(X, Y)[, a:b] -> X[, a:b] or Y[, a-ncol(X):b-ncol(X)]",
            "the bounds are literals within one of the bound matrices, and computing the others cannot fail; rbind too",
            Precision::Exact,
            part_of_bind,
        ),
        Rule::local(
            "whole-assignment",
            "X[1:nrow(X), 1:ncol(X)] = Y -> Y",
            "the sizes are known, and that computing X cannot fail",
            Precision::Exact,
            whole_assignment,
        ),
    ],
};

/// First and last index, from 1, of a range whose bounds are literals at these places.
fn literal_range(editor: &Editor, id: HopId, first: usize) -> Option<(u64, u64)> {
    let bound = |place| {
        let number = editor.number(editor.input(id, place)?)?;
        u64::try_from(scalar::double_to_int(number)).ok()
    };
    let (from, to) = (bound(first)?, bound(first + 1)?);
    (1 <= from && from <= to).then_some((from, to))
}

/// Rows and columns that a `rix` selects, if they are literals within the known size of its matrix.
fn ranges(editor: &Editor, id: HopId) -> Option<[(u64, u64); 2]> {
    let matrix = editor.input(id, 0)?;
    let (rows, cols) = (literal_range(editor, id, 1)?, literal_range(editor, id, 3)?);
    let size = editor.shape(matrix)?;
    let applies = *editor.op(id) == HopOp::RightIndex && rows.1 <= size.0 && cols.1 <= size.1;
    applies.then_some([rows, cols])
}

fn make_range(editor: &mut Editor, matrix: HopId, [rows, cols]: [(u64, u64); 2]) -> Option<HopId> {
    let mut inputs = vec![matrix];
    for bound in [rows.0, rows.1, cols.0, cols.1] {
        inputs.push(editor.make_size(bound)?);
    }
    editor.make(HopOp::RightIndex, &inputs)
}

fn whole_range(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let (rows, cols) = editor.shape(editor.input(id, 0)?)?;
    let matrix = editor.input(id, 0)?;
    let is_whole = ranges(editor, id)? == [(1, rows), (1, cols)];
    is_whole.then(|| editor.standing_for(matrix, id)).flatten()
}

fn range_of_range(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let inner = editor.input(id, 0)?;
    let (outer_ranges, inner_ranges) = (ranges(editor, id)?, ranges(editor, inner)?);
    if !editor.read_once(inner) {
        return None;
    }
    let within =
        |(from, _): (u64, u64), (first, last): (u64, u64)| (from + first - 1, from + last - 1);
    let matrix = editor.input(inner, 0)?;
    let both = [
        within(inner_ranges[0], outer_ranges[0]),
        within(inner_ranges[1], outer_ranges[1]),
    ];
    make_range(editor, matrix, both)
}

fn range_of_transpose(editor: &mut Editor, id: HopId) -> Option<HopId> {
    if *editor.op(id) != HopOp::RightIndex {
        return None;
    }
    let &[transpose, top, bottom, left, right] = editor.hop(id).inputs.as_slice() else {
        return None;
    };
    let matrix = editor.transposed(transpose)?;
    if !editor.read_once(transpose) {
        return None;
    }
    let range = editor.make(HopOp::RightIndex, &[matrix, left, right, top, bottom])?;
    editor.make_transpose(range)
}

fn range_of_product(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let product = editor.input(id, 0)?;
    let [rows, cols] = ranges(editor, id)?;
    let (left, right) = editor.product(product)?;
    let ((m, k), (_, n)) = (editor.shape(left)?, editor.shape(right)?);
    if !editor.read_once(product) || k == 0 {
        return None;
    }
    let left = match rows == (1, m) {
        true => left,
        false => make_range(editor, left, [rows, (1, k)])?,
    };
    let right = match cols == (1, n) {
        true => right,
        false => make_range(editor, right, [(1, k), cols])?,
    };
    editor.make_product(left, right)
}

/// To find the cell of one rank takes a tenth of the time of sorting, and little memory.
fn cell_of_sorted(editor: &mut Editor, id: HopId) -> Option<HopId> {
    const READERS: u32 = 2;
    let sorted = editor.input(id, 0)?;
    let [(rank, last), cols] = ranges(editor, id)?;
    let (ParameterizedOp::Order, places) = editor.op(sorted).with_named_inputs()? else {
        return None;
    };
    let input = |name: &str| places.get(name).map(|place| editor.input(sorted, *place));
    let is_off = |name: &str| match input(name) {
        None => true,
        Some(given) => {
            given.and_then(|given| editor.literal(given)) == Some(&Literal::Boolean(false))
        }
    };
    let column = input("target")??;
    let is_by_first = input("by").is_none_or(|by| by.and_then(|by| editor.number(by)) == Some(1.0));
    let applies = rank == last
        && cols == (1, 1)
        && editor.is_column(column)
        && is_by_first
        && is_off("decreasing")
        && is_off("index.return")
        && editor.readers(sorted) <= READERS;
    let count = editor.cells(column)?;
    if !applies {
        return None;
    }
    let share = editor.make_double((rank as f64 - 0.5) / count as f64);
    let quantile = HopOp::named(ParameterizedOp::Quantile, &["target", "probabilities"]);
    let cell = editor.make(quantile, &[column, share])?;
    editor.make_cast(CastOp::AsMatrix, cell)
}

fn part_of_bind(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let bound = editor.input(id, 0)?;
    let [rows, cols] = ranges(editor, id)?;
    let by_columns = match editor.op(bound) {
        HopOp::CBind => true,
        HopOp::RBind => false,
        _ => return None,
    };
    let (from, to) = if by_columns { cols } else { rows };
    let mut before = 0;
    let parts = editor.hop(bound).inputs.clone();
    for part in parts.iter().copied() {
        let shape = editor.shape(part)?;
        let length = if by_columns { shape.1 } else { shape.0 };
        if from > before && to <= before + length {
            let mut others = parts.iter().filter(|other| **other != part);
            if !others.all(|other| editor.cannot_fail(*other)) {
                return None;
            }
            let along = (from - before, to - before);
            let part_ranges = if by_columns {
                [rows, along]
            } else {
                [along, cols]
            };
            return make_range(editor, part, part_ranges);
        }
        before += length;
    }
    None
}

fn whole_assignment(editor: &mut Editor, id: HopId) -> Option<HopId> {
    if *editor.op(id) != HopOp::LeftIndex {
        return None;
    }
    let (matrix, value) = (editor.input(id, 0)?, editor.input(id, 1)?);
    let (rows, cols) = editor.shape(matrix)?;
    let is_whole = literal_range(editor, id, 2)? == (1, rows)
        && literal_range(editor, id, 4)? == (1, cols)
        && editor.same_shape(matrix, value)
        && editor.cannot_fail(matrix);
    is_whole.then(|| editor.standing_for(value, id)).flatten()
}
