//! A distributed matrix of which each iteration reads rows or columns of its own alone: iterations then run where these
//! are.

use std::collections::BTreeSet;

use fulgurite_error::Result;
use fulgurite_hop::{
    Affine, Argument, BinaryOp, Block, Dag, Formulas, Hop, HopId, Literal, Program, SizeOp,
    ValueType, walk,
};

/// The stripe, where iterations read it; what they write into the matrix has its name. No variable of a script can be called so.
pub(super) const STRIPE: &str = "the stripe";
/// Hold the rows, or columns, that an iteration reads of the stripe.
pub(super) const FIRST: &str = "first row in the stripe";
pub(super) const LAST: &str = "last row in the stripe";

/// Of the whole matrix.
#[derive(Debug, Clone, Copy)]
pub(super) struct Size {
    pub rows: u64,
    pub cols: u64,
}

/// What an iteration reads of the matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slice {
    pub of: Axis,
    /// The first row or column is `scale` times the loop's variable and `offset`, counted from 1.
    pub scale: i64,
    pub offset: i64,
    pub length: u64,
    /// The last one may have less: the script says `min(…, nrow(X))`.
    pub is_cut_off: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Axis {
    Rows,
    Columns,
}

/// The loop's variable, the only term of bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct OwnVariable;

/// Where a bound of a range is.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Bound {
    At(Affine<OwnVariable>),
    /// There, or at the last row or column.
    AtMost(Affine<OwnVariable>),
}

/// Finds what iterations read.
pub(super) struct Reader<'a> {
    pub matrix: &'a str,
    pub size: Size,
    /// The loop's.
    pub variable: &'a str,
    /// Whole numbers that all iterations see alike.
    pub constant: &'a dyn Fn(&str) -> Option<i64>,
}

impl Slice {
    /// The first row or column of an iteration, from 0.
    pub fn first(&self, value: i64) -> i128 {
        i128::from(self.scale) * i128::from(value) + i128::from(self.offset) - 1
    }
}

impl Reader<'_> {
    /// Rows, or columns, if iterations read nothing of the matrix but these and its sizes, as they were before the loop.
    pub fn slice(&self, body: &[Block]) -> Option<Slice> {
        if !self.reads_come_first(body, &mut false) {
            return None;
        }
        let mut ranges = Vec::new();
        let mut alone = true;
        walk(body, &mut |block| {
            alone &= match block {
                Block::Basic { dag } => self.ranges(dag, &mut ranges),
                Block::For { variable: own, .. } => own != self.matrix && own != self.variable,
                Block::Call {
                    arguments, outputs, ..
                } => {
                    let passes = |argument: &Argument| matches!(argument, Argument::Variable { variable, .. } if variable == self.matrix);
                    let assigns =
                        |output: &String| output == self.matrix || output == self.variable;
                    !arguments.iter().any(passes) && !outputs.iter().any(assigns)
                }
                Block::If { .. } | Block::While { .. } => true,
            };
            let mut predicates = block.predicates().into_iter();
            alone &= predicates.all(|predicate| self.ranges(&predicate.dag, &mut ranges));
        });
        if !alone {
            return None;
        }
        if ranges.is_empty() {
            // Of sizes alone; any slice does.
            return Some(Slice {
                of: Axis::Rows,
                scale: 1,
                offset: 0,
                length: 1,
                is_cut_off: false,
            });
        }
        let along = |axis: usize| {
            let mut found = ranges.iter().map(|range: &[Option<Slice>; 2]| range[axis]);
            let first = found.next()??;
            found.all(|other| other == Some(first)).then_some(first)
        };
        along(0).or_else(|| along(1))
    }

    /// Whether iterations write parts of the matrix.
    pub fn writes(&self, body: &[Block]) -> bool {
        let mut found = false;
        walk(body, &mut |block| {
            if let Block::Basic { dag } = block {
                found |= assigns(dag, self.matrix);
            }
        });
        found
    }

    /// Whether no block reads a range of the matrix when one may have been written already.
    fn reads_come_first(&self, blocks: &[Block], written: &mut bool) -> bool {
        let reads = |dag: &Dag| {
            let of_matrix = |hop: &Hop| {
                hop.inputs
                    .first()
                    .is_some_and(|of| is(dag, *of, self.matrix))
            };
            let is_range = |hop: &Hop| hop.op.is_part() && of_matrix(hop);
            dag.iter().any(|(_, hop)| is_range(hop))
        };
        blocks.iter().all(|block| {
            let before = *written;
            let is_loop = matches!(block, Block::For { .. } | Block::While { .. });
            let mut any_reads = false;
            for predicate in block.predicates() {
                any_reads |= reads(&predicate.dag);
                if !self.reads_come_first(&predicate.before, written) {
                    return false;
                }
            }
            if let Block::Basic { dag } = block {
                any_reads |= reads(dag);
                *written |= assigns(dag, self.matrix);
            }
            let mut after = *written;
            for body in block.bodies() {
                let mut own = *written;
                if !self.reads_come_first(body, &mut own) {
                    return false;
                }
                walk(body, &mut |block| match block {
                    Block::Basic { dag } => any_reads |= reads(dag),
                    _ => {
                        let predicates = block.predicates();
                        any_reads |= predicates.iter().any(|predicate| reads(&predicate.dag));
                    }
                });
                after |= own;
            }
            *written = after;
            // What a loop writes, its next iteration would read.
            let seen = before || (is_loop && after);
            !(any_reads && seen)
        })
    }

    /// Adds the ranges that are read there, each as rows and as columns; false if the matrix is used in another way, but for ranges
    /// that are written.
    fn ranges(&self, dag: &Dag, ranges: &mut Vec<[Option<Slice>; 2]>) -> bool {
        let is_read = |id: &HopId| is(dag, *id, self.matrix);
        let mut written: BTreeSet<HopId> = BTreeSet::new();
        for (id, hop) in dag.iter() {
            let is_matrix = |id: &HopId| is_read(id) || written.contains(id);
            if hop.inputs.iter().skip(1).any(is_matrix) {
                return false;
            }
            let first = hop.inputs.first();
            let op = &hop.op;
            let is_fine = match (op.variable_written(), &hop.inputs[..]) {
                (Some(name), _) if name == self.variable => false,
                (Some(name), [of]) if name == self.matrix => written.contains(of),
                (_, [into, ..]) if op.writes_part() && is_matrix(into) => written.insert(id),
                _ if first.is_some_and(|first| written.contains(first)) => false,
                _ if !first.is_some_and(is_read) => true,
                _ if op.size_asked().is_some() => true,
                (_, [_, top, bottom, left, right]) if op.is_part() => {
                    let rows = self.slice_of(dag, Axis::Rows, *top, *bottom);
                    let columns = self.slice_of(dag, Axis::Columns, *left, *right);
                    ranges.push([rows, columns]);
                    rows.is_some() || columns.is_some()
                }
                _ => false,
            };
            if !is_fine {
                return false;
            }
        }
        let is_matrix = |id: &HopId| is_read(id) || written.contains(id);
        !dag.roots.iter().any(is_matrix)
    }

    fn slice_of(&self, dag: &Dag, of: Axis, first: HopId, last: HopId) -> Option<Slice> {
        let (Bound::At(first), last) = (self.bound(dag, of, first)?, self.bound(dag, of, last)?)
        else {
            return None;
        };
        let (last, is_cut_off) = match last {
            Bound::At(last) => (last, false),
            Bound::AtMost(last) => (last, true),
        };
        let length = last.minus(&first)?.number()?.checked_add(1)?;
        let length = u64::try_from(length).ok().filter(|length| *length > 0)?;
        let scale = i64::try_from(first.coefficient(&OwnVariable)).ok()?;
        (scale != 0).then_some(Slice {
            of,
            scale,
            offset: i64::try_from(first.constant).ok()?,
            length,
            is_cut_off,
        })
    }

    fn bound(&self, dag: &Dag, of: Axis, id: HopId) -> Option<Bound> {
        let hop = dag.hop(id);
        if let (Some(BinaryOp::Min), [left, right]) = (hop.op.binary(), &hop.inputs[..]) {
            let (left, right) = (self.affine(dag, *left)?, self.affine(dag, *right)?);
            let end = match of {
                Axis::Rows => self.size.rows,
                Axis::Columns => self.size.cols,
            };
            let end = Affine::constant(end.into());
            return match (left == end, right == end) {
                (true, _) => Some(Bound::AtMost(right)),
                (_, true) => Some(Bound::AtMost(left)),
                _ => None,
            };
        }
        self.affine(dag, id).map(Bound::At)
    }

    fn affine(&self, dag: &Dag, id: HopId) -> Option<Affine<OwnVariable>> {
        let constant = |number: i64| Affine::constant(number.into());
        let hop = dag.hop(id);
        if let Some(value) = hop.op.constant() {
            return whole(value).map(constant);
        }
        if let Some(name) = hop.op.variable_read() {
            return match name == self.variable {
                true => Some(Affine::term(OwnVariable)),
                false => (self.constant)(name).map(constant),
            };
        }
        match (hop.op.size_asked(), hop.op.binary(), &hop.inputs[..]) {
            (Some(asked), _, [of]) if is(dag, *of, self.matrix) => {
                sizes(asked, self.size).map(constant)
            }
            (_, Some(op), [left, right]) => {
                Affine::of(op, &self.affine(dag, *left)?, &self.affine(dag, *right)?)
            }
            _ => None,
        }
    }
}

/// The value, if it is a whole number.
pub(super) fn whole(value: &Literal) -> Option<i64> {
    /// Doubles beyond are no longer all whole numbers.
    const LARGEST: f64 = (1u64 << 53) as f64;
    match value {
        Literal::Int(value) => Some(*value),
        Literal::Double(value) if value.trunc() == *value && value.abs() <= LARGEST => {
            Some(*value as i64)
        }
        _ => None,
    }
}

fn is(dag: &Dag, id: HopId, variable: &str) -> bool {
    dag.hop(id).op.variable_read() == Some(variable)
}

/// Whether the block leaves the variable another value.
fn assigns(dag: &Dag, variable: &str) -> bool {
    dag.iter()
        .any(|(_, hop)| hop.op.variable_written() == Some(variable))
}

fn sizes(asked: SizeOp, size: Size) -> Option<i64> {
    let known = match asked {
        SizeOp::NRow => Some(size.rows),
        SizeOp::NCol => Some(size.cols),
        SizeOp::Length => size.rows.checked_mul(size.cols),
    };
    i64::try_from(known?).ok()
}

/// The program, whose body reads the rows [`FIRST`] to [`LAST`] of [`STRIPE`] in place of its slice of the matrix, which has
/// this size; what it writes into the matrix it writes there. Where slices are columns, they are columns of the stripe's transpose.
pub(super) fn of_stripe(
    program: Program,
    matrix: &str,
    size: Size,
    slice: &Slice,
) -> Result<Program> {
    let body = Program {
        body: program.body,
        ..Program::default()
    };
    let body = body.map_dags(&mut |dag| Ok(dag_of_stripe(dag, matrix, size, slice)))?;
    let body = body.body;
    Ok(Program { body, ..program })
}

fn dag_of_stripe(dag: &Dag, matrix: &str, size: Size, slice: &Slice) -> Dag {
    if !dag.iter().any(|(id, _)| is(dag, id, matrix)) {
        return dag.clone();
    }
    let mut changed = Dag::new();
    let mut read = |name: &str| changed.read_scalar(name, ValueType::Int);
    let first = read(FIRST);
    let last = match slice.length {
        1 => first,
        _ => read(LAST),
    };
    let is_written = dag.iter().any(|(_, hop)| {
        let into = hop.inputs.first();
        hop.op.writes_part() && into.is_some_and(|id| is(dag, *id, matrix))
    });
    let mut stripe = None;
    let mut moved: Vec<HopId> = Vec::new();
    for (id, hop) in dag.iter() {
        if is(dag, id, matrix) {
            let read = stripe.get_or_insert_with(|| changed.read(STRIPE));
            moved.push(match is_written {
                true => changed.push(hop.clone()),
                false => *read,
            });
            continue;
        }
        let of = hop.inputs.first().filter(|id| is(dag, **id, matrix));
        let inputs: Vec<HopId> = hop.inputs.iter().map(|id| moved[id.index()]).collect();
        let same = |inputs: Vec<HopId>| Hop {
            inputs,
            ..hop.clone()
        };
        let id = match (of, hop.op.size_asked(), &inputs[..]) {
            (Some(_), _, [own, top, bottom, left, right]) if hop.op.is_part() => {
                let stripe = stripe.as_ref().unwrap_or(own);
                let range = match slice.of {
                    Axis::Rows => vec![*stripe, first, last, *left, *right],
                    Axis::Columns => vec![*stripe, *top, *bottom, first, last],
                };
                changed.push(same(range))
            }
            (Some(_), Some(asked), _) => {
                let known = sizes(asked, size).unwrap_or(i64::MAX);
                changed.push(Hop {
                    position: hop.position.clone(),
                    ..Hop::literal(Literal::Int(known))
                })
            }
            _ => changed.push(same(inputs)),
        };
        moved.push(id);
    }
    changed.roots = dag.roots.iter().map(|id| moved[id.index()]).collect();
    changed
}

#[cfg(test)]
mod tests {
    use fulgurite_error::Source;

    use super::*;

    fn body(text: &str) -> Vec<Block> {
        let text = format!(
            "R = matrix(0, 9, 9)\nb = 3\nparfor (i in 1:9, check=0) {{ {text} }}\nprint(sum(R) + b + sum(X))"
        );
        let options = fulgurite_dml::CompileOptions {
            inputs: [(
                "X".to_owned(),
                fulgurite_dml::InputVariable {
                    data_type: fulgurite_hop::DataType::Matrix,
                    value_type: ValueType::Double,
                    characteristics: fulgurite_hop::Characteristics::UNKNOWN,
                },
            )]
            .into(),
            ..fulgurite_dml::CompileOptions::default()
        };
        let program = fulgurite_dml::compile(&Source::new("a.dml", text), &options);
        let mut found = Vec::new();
        for block in program.expect("a right script").body {
            if let Block::For { body, .. } = block {
                found = body;
            }
        }
        found
    }

    fn slice(text: &str) -> Option<(Axis, i64, i64, u64, bool)> {
        let reader = Reader {
            matrix: "X",
            size: Size { rows: 27, cols: 12 },
            variable: "i",
            constant: &|name| (name == "b").then_some(3),
        };
        let slice = reader.slice(&body(text))?;
        Some((
            slice.of,
            slice.scale,
            slice.offset,
            slice.length,
            slice.is_cut_off,
        ))
    }

    #[test]
    fn rows_and_columns_of_their_own_are_told_from_other_reads() {
        let (rows, columns) = (Axis::Rows, Axis::Columns);
        for (text, found) in [
            ("R[i, ] = X[i, ] * 2", (rows, 1, 0, 1, false)),
            ("R[i, 1] = sum(X[i, 1:3]) / nrow(X)", (rows, 1, 0, 1, false)),
            (
                "if (as.scalar(X[i, 1]) > 0) { R[i, 1] = sum(X[i, ]) }",
                (rows, 1, 0, 1, false),
            ),
            (
                "for (j in 1:3) { R[i, j] = as.scalar(X[i, j]) }",
                (rows, 1, 0, 1, false),
            ),
            ("R[i, 1] = sum(X[i + 1, ])", (rows, 1, 1, 1, false)),
            ("R[i, 1] = sum(X[28 - i, ])", (rows, -1, 28, 1, false)),
            ("R[i, 1] = sum(X[, i])", (columns, 1, 0, 1, false)),
            ("X[i, ] = X[i, ] * 2", (rows, 1, 0, 1, false)),
            (
                "if (sum(X[i, ]) > 3) { X[i, 2] = 5 } else { X[i, ] = X[i, ] / 2 }",
                (rows, 1, 0, 1, false),
            ),
            (
                "x = X[, i]\nfor (j in 1:3) { X[j, i] = x[4 - j, 1] }",
                (columns, 1, 0, 1, false),
            ),
            (
                "R[i, 1] = sum(X[2:5, 2 * i] + X[1:4, i * 2])",
                (columns, 2, 0, 1, false),
            ),
            (
                "R[i, 1] = sum(X[((i - 1) * b + 1):(i * b), ])",
                (rows, 3, -2, 3, false),
            ),
            (
                "from = (i - 1) * 4 + 1\nR[i, 1] = sum(X[, from:(from + 3)])",
                (columns, 4, -3, 4, false),
            ),
            (
                "R[i, 1] = sum(X[((i - 1) * b + 1):min(i * b, nrow(X)), ])",
                (rows, 3, -2, 3, true),
            ),
        ] {
            assert_eq!(slice(text), Some(found), "{text}");
        }
        for text in [
            "R[i, ] = X[i + 1, ] * 2 + X[i, ]",
            "R[i, 1] = sum(X[i, ]) + sum(X)",
            "R[i, 1] = sum(X[1:i, ])",
            "X[i, 1] = 3\nR[i, 1] = sum(X[i, ])",
            "if (i > 3) { X[i, 1] = 3 }\nR[i, 1] = sum(X[i, ])",
            "if (i > 3) { X[i, 1] = 3\nif (b < 9) { R[i, 1] = sum(X[i, ]) } }",
            "for (j in 1:3) { X[i, j] = X[i, j + 1] }",
            "x = X[i, ]\nX[i, ] = x\nX = X + 1",
            "x = X[i, ]\nX[i, ] = x\nR[i, 1] = sum(X)",
            "R[i, 1] = sum(X[i * i, ])",
            "R[i, 1] = sum(X[i, ]) + sum(X[, i])",
            "R[i, 1] = sum(X[c, ])\nc = i",
            "R[i, 1] = sum(X[i:min(i + 2, 20), ])",
            "k = i\nif (k > 3) { k = 1 }\nR[i, 1] = sum(X[k, ])",
        ] {
            let text = text.replace("c, ]", "b, ]").replace("c = i", "b = i");
            assert_eq!(slice(&text), None, "{text}");
        }
    }
}
