//! What a plan rests on: of each variable that a block reads, what plans depend on.

use fulgurite_dataflow::Variable;
use fulgurite_fusion::is_about_the_same;
use fulgurite_hop::ValueType;

use crate::symbols::SymbolTable;

/// Of each variable in turn.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Basis(Vec<Fact>);

#[derive(Debug, Clone, PartialEq)]
enum Fact {
    Undefined,
    Scalar(ValueType),
    /// A scalar that decides sizes, as text (which is exact).
    Constant(ValueType, String),
    Matrix {
        rows: Option<u64>,
        cols: Option<u64>,
        /// 1 where it is not known.
        sparsity: f64,
        empty: bool,
        distributed: bool,
        transposed: bool,
    },
    List,
    Frame {
        rows: usize,
        cols: usize,
    },
}

impl Basis {
    pub(super) fn new(
        reads: &[String],
        symbols: &SymbolTable,
        decides: impl Fn(&str) -> bool,
    ) -> Self {
        let fact = |name: &String| Fact::of(name, symbols, &decides);
        Basis(reads.iter().map(fact).collect())
    }

    /// Whether a plan that rests on this serves as it is. Loops ask this in each iteration: what is there now is looked at
    /// variable by variable.
    pub(super) fn serves(
        &self,
        reads: &[String],
        symbols: &SymbolTable,
        decides: impl Fn(&str) -> bool,
    ) -> bool {
        let mut facts = self.0.iter().zip(reads);
        self.0.len() == reads.len()
            && facts.all(|(was, name)| was.serves(&Fact::of(name, symbols, &decides)))
    }

    /// The variables whose values decide sizes and differ.
    pub(super) fn changed_values<'a>(
        &'a self,
        now: &'a Basis,
        reads: &'a [String],
    ) -> impl Iterator<Item = &'a String> {
        let facts = self.0.iter().zip(&now.0);
        let changed = facts.zip(reads).filter(|((was, is), _)| {
            matches!((was, is), (Fact::Constant(..), Fact::Constant(..))) && was != is
        });
        changed.map(|(_, name)| name)
    }

    /// These sizes, but the sparsities that a plan was made for: it may not drift away from them step by step.
    pub(super) fn with_sparsity_of(mut self, planned: &Basis) -> Self {
        for (fact, planned) in self.0.iter_mut().zip(&planned.0) {
            if let (
                Fact::Matrix { sparsity, .. },
                Fact::Matrix {
                    sparsity: planned, ..
                },
            ) = (fact, planned)
            {
                *sparsity = *planned;
            }
        }
        self
    }
}

impl Fact {
    fn of(name: &str, symbols: &SymbolTable, decides: impl Fn(&str) -> bool) -> Self {
        match symbols.find(name) {
            None => Fact::Undefined,
            Some(Variable::Scalar(value)) if decides(name) => {
                Fact::Constant(value.value_type(), value.to_string())
            }
            Some(Variable::Scalar(value)) => Fact::Scalar(value.value_type()),
            Some(Variable::List(_)) => Fact::List,
            Some(Variable::Frame(frame)) => Fact::Frame {
                rows: frame.rows(),
                cols: frame.cols(),
            },
            Some(matrix) => {
                let known = matrix.characteristics();
                Fact::Matrix {
                    rows: known.rows,
                    cols: known.cols,
                    sparsity: known.sparsity(),
                    empty: known.nnz == Some(0),
                    distributed: matrix.is_distributed(),
                    transposed: matches!(matrix, Variable::Distributed(matrix) if matrix.transposed),
                }
            }
        }
    }

    fn serves(&self, now: &Fact) -> bool {
        match (self, now) {
            (
                Fact::Matrix {
                    rows,
                    cols,
                    sparsity,
                    empty,
                    distributed,
                    transposed,
                },
                Fact::Matrix {
                    rows: now_rows,
                    cols: now_cols,
                    sparsity: now_sparsity,
                    empty: now_empty,
                    distributed: now_distributed,
                    transposed: now_transposed,
                },
            ) => {
                (rows, cols, empty, distributed, transposed)
                    == (
                        now_rows,
                        now_cols,
                        now_empty,
                        now_distributed,
                        now_transposed,
                    )
                    && is_about_the_same(*sparsity, *now_sparsity)
            }
            _ => self == now,
        }
    }
}
