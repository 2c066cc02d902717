//! Aggregates of rows that a vector selects, computed over all rows: the selected ones are never put together.

use std::collections::HashMap;

use super::{Editor, Family, Precision, Rule};
use crate::{AggregateOp, Direction, HopId, HopOp, Literal, ParameterizedOp, TernaryOp};

pub(super) const FAMILY: Family = Family {
    title: "Selected rows",
    rules: &[
        Rule::local(
            "groups-of-selected",
            "aggregate(target=f(S(X)), groups=S(v), fn=a, ngroups=k) -> aggregate(target=f(X), groups=ifelse(w, v, 0), fn=a, ngroups=k)",
            "S(X) is removeEmpty(target=X, margin=\"rows\", select=w) for one column w; f works on each row alone: cell by cell, or an aggregate of it; sizes are known",
            Precision::Rounding,
            groups_of_selected,
        ),
        Rule::local(
            "aggregate-of-selected",
            "sum(f(S(X))) -> sum(ifelse(w, f(X), 0)), min(f(S(X))) -> min(ifelse(w, f(X), Inf))",
            "S(X) and f as in the rule before; sum, min and max; nobody else reads the selected rows; f(0) is known to be 0 for a sum, else S has empty.return=FALSE",
            Precision::Rounding,
            aggregate_of_selected,
        ),
    ],
};

/// How many operators lie above each other between a selection and what reads it.
const MOST_DEEP: usize = 64;

/// `removeEmpty(target, margin="rows", select)` of several rows.
#[derive(Debug, Clone, Copy)]
struct Selected {
    target: HopId,
    select: HopId,
    /// Where no row is selected, there is one of zeros.
    is_padded: bool,
}

impl Selected {
    fn of(editor: &Editor, id: HopId) -> Option<Self> {
        let (ParameterizedOp::RemoveEmpty, places) = editor.op(id).with_named_inputs()? else {
            return None;
        };
        let input = |name: &str| editor.input(id, *places.get(name)?);
        let by_rows = Literal::String("rows".to_owned());
        if editor.literal(input("margin")?)? != &by_rows {
            return None;
        }
        let (target, select) = (input("target")?, input("select")?);
        let (rows, _) = editor.shape(target)?;
        let fits = rows > 1 && editor.shape(select) == Some((rows, 1));
        let empty_return = input("empty.return").map(|given| editor.literal(given));
        let is_padded = empty_return != Some(Some(&Literal::Boolean(false)));
        fits.then_some(Selected {
            target,
            select,
            is_padded,
        })
    }
}

/// Operators on each row alone, above selections by one column.
struct OnRows {
    select: HopId,
    is_padded: bool,
    /// The selections, each with how many of these operators read it.
    selections: HashMap<HopId, u32>,
    visited: HashMap<HopId, bool>,
}

impl OnRows {
    /// All between a matrix and the selections below it, of which this is one.
    fn below(editor: &Editor, id: HopId, select: HopId) -> Option<Self> {
        let mut found = OnRows {
            select,
            is_padded: false,
            selections: HashMap::new(),
            visited: HashMap::new(),
        };
        let fits = found.visit(editor, id, MOST_DEEP);
        (fits && !found.selections.is_empty()).then_some(found)
    }

    fn visit(&mut self, editor: &Editor, id: HopId, depth: usize) -> bool {
        if stays(editor, id) {
            return true;
        }
        if let Some(selected) = Selected::of(editor, id) {
            *self.selections.entry(id).or_default() += 1;
            self.is_padded |= selected.is_padded;
            return selected.select == self.select;
        }
        if let Some(known) = self.visited.get(&id) {
            return *known;
        }
        let mut inputs = editor.hop(id).inputs.iter();
        let fits = depth > 0
            && is_on_rows(editor, id)
            && inputs.all(|input| self.visit(editor, *input, depth - 1));
        self.visited.insert(id, fits);
        fits
    }

    /// Whether nothing else reads the selections.
    fn are_all_readers(&self, editor: &Editor) -> bool {
        let mut selections = self.selections.iter();
        selections.all(|(selection, readers)| editor.readers(*selection) <= *readers)
    }
}

/// It has the same cells beside each row: a scalar, or one row.
fn stays(editor: &Editor, id: HopId) -> bool {
    !editor.is_matrix(id) || editor.hop(id).rows() == Some(1)
}

fn is_on_rows(editor: &Editor, id: HopId) -> bool {
    let is_of_rows = matches!(editor.aggregate(id), Some((_, Direction::Row, _)));
    editor.is_cellwise(id) || is_of_rows
}

/// A selection below a matrix.
fn selection_below(editor: &Editor, id: HopId, depth: usize) -> Option<Selected> {
    if stays(editor, id) {
        return None;
    }
    if let Some(selected) = Selected::of(editor, id) {
        return Some(selected);
    }
    if depth == 0 || !is_on_rows(editor, id) {
        return None;
    }
    // One way down is enough: every other one must lead to a selection by the same column.
    let mut inputs = editor.hop(id).inputs.iter();
    let below = inputs.find(|input| !stays(editor, **input))?;
    selection_below(editor, *below, depth - 1)
}

/// The same over all rows.
fn over_all_rows(
    editor: &mut Editor,
    id: HopId,
    made: &mut HashMap<HopId, HopId>,
) -> Option<HopId> {
    if stays(editor, id) {
        return Some(id);
    }
    if let Some(selected) = Selected::of(editor, id) {
        return Some(selected.target);
    }
    if let Some(known) = made.get(&id) {
        return Some(*known);
    }
    let hop = editor.hop(id).clone();
    let mut inputs = Vec::new();
    for input in hop.inputs {
        inputs.push(over_all_rows(editor, input, made)?);
    }
    let all = editor.make(hop.op, &inputs)?;
    made.insert(id, all);
    Some(all)
}

/// The matrix where the column is not 0, else a number.
fn if_selected(editor: &mut Editor, select: HopId, id: HopId, otherwise: f64) -> Option<HopId> {
    let otherwise = editor.make_double(otherwise);
    editor.make(HopOp::Ternary(TernaryOp::IfElse), &[select, id, otherwise])
}

fn groups_of_selected(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let grouping = editor.dag().grouping(id)?;
    let of_rows = [Some(grouping.target), grouping.weights];
    let groups = grouping.groups;
    let hop = editor.hop(id).clone();
    // A row of zeros, which stands for none, is in no group.
    let by = Selected::of(editor, *hop.inputs.get(groups)?)?;
    if !editor.is_column(by.target) {
        return None;
    }
    for slot in of_rows.into_iter().flatten() {
        OnRows::below(editor, *hop.inputs.get(slot)?, by.select)?;
    }
    let mut inputs = hop.inputs.clone();
    for slot in of_rows.into_iter().flatten() {
        inputs[slot] = over_all_rows(editor, inputs[slot], &mut HashMap::new())?;
        if editor.hop(inputs[slot]).rows() != editor.hop(by.select).rows() {
            return None;
        }
    }
    inputs[groups] = if_selected(editor, by.select, by.target, 0.0)?;
    let all = editor.make(hop.op, &inputs)?;
    editor.standing_for(all, id)
}

fn aggregate_of_selected(editor: &mut Editor, id: HopId) -> Option<HopId> {
    let (op, Direction::Full, x) = editor.aggregate(id)? else {
        return None;
    };
    let otherwise = match op {
        AggregateOp::Sum => 0.0,
        AggregateOp::Min => f64::INFINITY,
        AggregateOp::Max => f64::NEG_INFINITY,
        _ => return None,
    };
    let select = selection_below(editor, x, MOST_DEEP)?.select;
    let on_rows = OnRows::below(editor, x, select)?;
    let adds_nothing =
        op == AggregateOp::Sum && at_zeros(editor, x, &mut HashMap::new()) == Some(0.0);
    if !on_rows.are_all_readers(editor) || on_rows.is_padded && !adds_nothing {
        return None;
    }
    let all = over_all_rows(editor, x, &mut HashMap::new())?;
    let (rows, cols) = editor.shape(all)?;
    if Some(rows) != editor.hop(select).rows() {
        return None;
    }
    let all = match cols {
        1 => all,
        _ => editor.make_aggregate(op, Direction::Row, all)?,
    };
    let chosen = if_selected(editor, select, all, otherwise)?;
    let chosen = editor.make_aggregate(op, Direction::Full, chosen)?;
    editor.standing_for(chosen, id)
}

/// What all cells are where all selected ones are 0, of operators that have been found to be on rows.
fn at_zeros(editor: &Editor, id: HopId, known: &mut HashMap<HopId, Option<f64>>) -> Option<f64> {
    if editor.is_scalar(id) {
        return editor.number(id);
    }
    if Selected::of(editor, id).is_some() {
        return Some(0.0);
    }
    if let Some(known) = known.get(&id) {
        return *known;
    }
    let inputs = editor.hop(id).inputs.clone();
    let mut at = |slot: usize| at_zeros(editor, *inputs.get(slot)?, known);
    let cell = match editor.op(id) {
        HopOp::Unary(op) => at(0).map(|x| op.eval(x)),
        HopOp::Binary(op) => at(0).zip(at(1)).map(|(x, y)| op.eval(x, y)),
        HopOp::Ternary(op) => {
            let (x, y, z) = (at(0), at(1), at(2));
            x.zip(y).zip(z).map(|((x, y), z)| op.eval(x, y, z))
        }
        HopOp::Aggregate(AggregateOp::Sum, Direction::Row) => at(0).filter(|cell| *cell == 0.0),
        _ => None,
    };
    known.insert(id, cell);
    cell
}
