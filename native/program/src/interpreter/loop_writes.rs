//! Matrices of the workers that a `for` or `while` reads and writes ranges of, and nothing else.
//!
//! Each assignment to a range would make a new matrix of all stripes, which stands on the one before. The loop keeps the
//! parts instead ([`WrittenMatrix`]) and puts them into the matrix together: after the last iteration, or when too many
//! wait. (Iterations of a `parfor` keep theirs apart from each other's.)

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Instant,
};

use fulgurite_dataflow::{OnBehalf, Variable, WrittenMatrix};
use fulgurite_error::Result;
use fulgurite_hop::{Argument, Block, Dag, HopId, Predicate};

use super::{context::Context, written};
use crate::{session::Session, symbols::SymbolTable};

/// What a loop that runs keeps parts of.
#[derive(Default)]
pub(super) struct LoopWrites {
    kept: BTreeSet<String>,
    /// Asks for what the workers do: `for i a.dml:3`.
    label: Arc<str>,
}

impl LoopWrites {
    /// A loop begins that uses these variables in ranges.
    pub(super) fn begin(
        in_ranges: &BTreeSet<String>,
        label: impl FnOnce() -> String,
        symbols: &mut SymbolTable,
        context: &Context,
    ) -> Self {
        let is_kept = |name: &&String| match symbols.find(name) {
            // A loop around this one, or the iteration of a `parfor` that this one is in, puts them.
            Some(Variable::Written(_)) | None => false,
            Some(matrix) => written::is_kept(matrix, &context.session),
        };
        let kept: BTreeSet<String> = in_ranges.iter().filter(is_kept).cloned().collect();
        for name in &kept {
            if let Some(matrix) = symbols.find(name) {
                let written = WrittenMatrix::new(matrix);
                symbols.set(name, Variable::Written(written));
            }
        }
        let label = match kept.is_empty() {
            true => Arc::default(),
            false => label().into(),
        };
        LoopWrites { kept, label }
    }

    /// An iteration has ended: puts parts into their places if too many wait.
    ///
    /// # Errors
    /// Of the backend.
    pub(super) fn after_iteration(
        &self,
        symbols: &mut SymbolTable,
        context: &mut Context,
    ) -> Result<()> {
        for name in &self.kept {
            if let Some(Variable::Written(written)) = symbols.find(name)
                && written::is_too_much(written.waiting(), &context.session)
            {
                let whole = self.put(&written.clone(), context)?;
                symbols.set(name, Variable::Written(WrittenMatrix::new(&whole)));
            }
        }
        Ok(())
    }

    /// The loop has ended: leaves whole matrices.
    ///
    /// # Errors
    /// Of the backend.
    pub(super) fn end(&self, symbols: &mut SymbolTable, context: &mut Context) -> Result<()> {
        for name in &self.kept {
            if let Some(Variable::Written(written)) = symbols.find(name) {
                let whole = self.put(&written.clone(), context)?;
                symbols.set(name, whole);
            }
        }
        Ok(())
    }

    fn put(&self, written: &WrittenMatrix, context: &mut Context) -> Result<Variable> {
        if !written.has_parts() {
            return Ok(written.base().clone());
        }
        let _on_behalf = OnBehalf::of(Arc::clone(&self.label));
        let started = Instant::now();
        let mut whole = written::whole(written, &context.session)?;
        if let Variable::Distributed(matrix) = &mut whole {
            matrix.persist()?;
            context
                .recorder
                .lock()
                .operator(&self.label, true, started.elapsed(), None);
        }
        Ok(whole)
    }
}

/// What explain says of parts that a loop would keep, as far as sizes are known before a run.
pub fn expected_writes(
    body: &[Block],
    condition: Option<&Predicate>,
    session: &Session,
) -> Option<String> {
    written::expectation(body, &used_in_ranges(body, condition), session)
}

/// Variables that blocks write ranges of, and use in no other way than by their ranges and sizes.
pub(super) fn used_in_ranges(body: &[Block], condition: Option<&Predicate>) -> BTreeSet<String> {
    let mut uses = Uses::default();
    condition
        .into_iter()
        .for_each(|condition| uses.predicate(condition));
    uses.blocks(body);
    uses.in_ranges.retain(|name| !uses.otherwise.contains(name));
    uses.in_ranges
}

/// Variables that blocks write ranges of, and read nothing of but their sizes.
pub(super) fn only_written(body: &[Block]) -> BTreeSet<String> {
    let mut uses = Uses::default();
    uses.blocks(body);
    let is_read = |name: &String| uses.otherwise.contains(name) || uses.read.contains(name);
    uses.in_ranges.retain(|name| !is_read(name));
    uses.in_ranges
}

#[derive(Default)]
struct Uses {
    /// Written in ranges.
    in_ranges: BTreeSet<String>,
    /// Read in ranges.
    read: BTreeSet<String>,
    otherwise: BTreeSet<String>,
}

impl Uses {
    fn blocks(&mut self, blocks: &[Block]) {
        for block in blocks {
            match block {
                Block::Basic { dag } => self.dag(dag),
                Block::Call {
                    arguments, outputs, ..
                } => {
                    self.otherwise.extend(outputs.iter().cloned());
                    for argument in arguments {
                        if let Argument::Variable { variable, .. } = argument {
                            self.otherwise.insert(variable.clone());
                        }
                    }
                }
                Block::For {
                    parallel: Some(_),
                    body,
                    ..
                } => {
                    // Its own parts, and sums, start from whole matrices.
                    let mut own = Uses::default();
                    own.blocks(body);
                    self.otherwise.extend(own.in_ranges);
                    self.otherwise.extend(own.otherwise);
                }
                _ => block
                    .bodies()
                    .into_iter()
                    .for_each(|body| self.blocks(body)),
            }
            for predicate in block.predicates() {
                self.predicate(predicate);
            }
        }
    }

    fn predicate(&mut self, predicate: &Predicate) {
        self.blocks(&predicate.before);
        self.dag(&predicate.dag);
    }

    fn dag(&mut self, dag: &Dag) {
        // The variable whose matrix, with what was written into it so far, an operator gives.
        let mut gives: BTreeMap<HopId, &str> = BTreeMap::new();
        for (id, hop) in dag.iter() {
            let first = hop
                .inputs
                .first()
                .and_then(|input| gives.get(input).copied());
            for input in hop.inputs.iter().skip(1) {
                self.otherwise
                    .extend(gives.get(input).map(|name| (*name).to_owned()));
            }
            let op = &hop.op;
            let written = op.variable_written();
            if let Some(name) = op.variable_read() {
                gives.insert(id, name);
            } else if let (true, Some(name)) = (op.writes_part(), first) {
                gives.insert(id, name);
            } else if op.is_part() {
                self.read.extend(first.map(str::to_owned));
            } else if written.is_some() && written == first {
                self.in_ranges.extend(written.map(str::to_owned));
            } else if op.size_asked().is_none() {
                let names = first.into_iter().chain(written);
                self.otherwise.extend(names.map(str::to_owned));
            }
        }
        // A predicate's value.
        for root in &dag.roots {
            self.otherwise
                .extend(gives.get(root).map(|name| (*name).to_owned()));
        }
    }
}

#[cfg(test)]
mod tests {
    use fulgurite_error::Source;

    use super::*;

    /// Of a `while` with this body: what it uses in ranges, and what of that it only writes.
    fn ranges(body: &str) -> (Vec<String>, Vec<String>) {
        let text = format!(
            "f = function(matrix[double] A) return (matrix[double] B) {{ B = A * 2 }}
            X = matrix(1, 4, 4)\nY = matrix(1, 4, 4)\nb = 3
            while (as.scalar(Y[1, 1]) < b) {{ {body} }}
            print(sum(X) + sum(Y) + b)"
        );
        let options = fulgurite_dml::CompileOptions::default();
        let program = fulgurite_dml::compile(&Source::new("a.dml", text), &options);
        for block in program.expect("a right script").body {
            if let Block::While {
                predicate, body, ..
            } = block
            {
                let used = used_in_ranges(&body, Some(&predicate));
                let only_written = only_written(&body);
                return (
                    used.into_iter().collect(),
                    only_written.into_iter().collect(),
                );
            }
        }
        panic!("the loop is gone")
    }

    #[test]
    fn other_uses_than_ranges_and_sizes_are_found() {
        for (body, found, only_written) in [
            (
                "X[b, ] = X[b - 1, ] * 2\nY[1, 1] = b + nrow(X)",
                &["X", "Y"][..],
                &["Y"][..],
            ),
            (
                "X[1, ] = matrix(b, 1, 4)\nX[2, ] = X[1, ]\nb = b - 1",
                &["X"],
                &[],
            ),
            (
                "if (b > 2) { for (i in 1:2) { X[i, i] = b } }\nb = b - 1",
                &["X"],
                &["X"],
            ),
            ("X[1, ] = colSums(X)\nb = b - 1", &[], &[]),
            ("X[1, ] = t(X[, 1])\nY = Y + 1", &["X"], &[]),
            ("X[1, 1] = b\nX = X + 1\nb = b - 1", &[], &[]),
            ("X = matrix(b, 4, 4)\nX[1, 1] = 0\nb = b - 1", &[], &[]),
            ("X[1, 1] = b\nb = sum(X)", &[], &[]),
            (
                "X[1, 1] = b\nif (as.scalar(X[2, 2]) > 1) { b = 3 }",
                &["X"],
                &[],
            ),
            ("X[1, 1] = b\nY = X", &[], &[]),
            ("X[1:4, 1:4] = Y\nY[1, 1] = b", &["X"], &["X"]),
            ("X[1, 1] = b\nY = f(X)", &[], &[]),
            ("X[1, 1] = b\nX = f(Y)\nY[1, 1] = b", &[], &[]),
            (
                "X[1, 1] = b\nif (sum(X) > 3) { Y[1, 1] = b }",
                &["Y"],
                &["Y"],
            ),
            (
                "parfor (i in 1:4) { X[i, ] = Y[i, ] }\nX[1, 1] = b\nb = b - 1",
                &[],
                &[],
            ),
        ] {
            let (used, written) = ranges(body);
            assert_eq!(used, found, "{body}");
            assert_eq!(written, only_written, "{body}");
        }
    }
}
