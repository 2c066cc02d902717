//! Aggregates over all cells, rows or columns.

use std::borrow::Cow;

use fulgurite_error::Result;
use serde::{Deserialize, Serialize};

use super::{
    call::{Call, Known},
    declare::operators,
    operator::{
        Beside, Certain, Facts, Finite, Form, Gives, Inputs, Memory, Operator, Purity, Zeros,
    },
};
use crate::{Characteristics, DataType, ValueType, variable_info::VariableInfo};

/// Over what an aggregate runs: all cells, each row (gives a column vector), each column (a row vector).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Direction {
    Full,
    Row,
    Col,
}

impl Direction {
    pub(super) const ALL: [Direction; 3] = [Direction::Full, Direction::Row, Direction::Col];
}

struct AggregateFacts {
    code: &'static str,
    /// Over all cells, rows and columns.
    names: [Name; 3],
    /// For each cell read.
    flops: f64,
    /// Numbers that are kept beside each result until it is there.
    kept: u64,
    domain: Domain,
}

/// A name in expressions that people read.
#[derive(Debug, Clone, Copy)]
enum Name {
    /// Of a function of the language.
    Dml(&'static str),
    /// Of what only rewrites and imported DAGs have.
    Internal(&'static str),
}

/// Of which matrices there is a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Domain {
    All,
    Square,
    /// Those with columns: the result is the number of one.
    WithColumns,
}

use Name::{Dml, Internal};

operators! {
    /// Aggregation functions. Sums are compensated; `IndexMax` and `IndexMin` exist per row only.
    AggregateOp: AggregateFacts;
    /// Sum, with compensation of rounding errors.
    Sum {
        code: "+", names: [Dml("sum"), Dml("rowSums"), Dml("colSums")],
        flops: 4.0, kept: 1, domain: Domain::All,
    }
    /// Sum of squares, with compensation of rounding errors.
    SumSq {
        code: "sq+", names: [Internal("sumsq"), Internal("rowSumsqs"), Internal("colSumsqs")],
        flops: 5.0, kept: 1, domain: Domain::All,
    }
    /// The smallest cell; NaN if one is.
    Min {
        code: "min", names: [Dml("min"), Dml("rowMins"), Dml("colMins")],
        flops: 1.0, kept: 0, domain: Domain::All,
    }
    /// The largest cell; NaN if one is.
    Max {
        code: "max", names: [Dml("max"), Dml("rowMaxs"), Dml("colMaxs")],
        flops: 1.0, kept: 0, domain: Domain::All,
    }
    /// Mean, from a compensated sum.
    Mean {
        code: "mean", names: [Dml("mean"), Dml("rowMeans"), Dml("colMeans")],
        flops: 4.0, kept: 1, domain: Domain::All,
    }
    /// Product.
    Prod {
        code: "*", names: [Dml("prod"), Dml("rowProds"), Dml("colProds")],
        flops: 1.0, kept: 0, domain: Domain::All,
    }
    /// Variance, divided by the number of cells less 1.
    Var {
        code: "var", names: [Dml("var"), Dml("rowVars"), Dml("colVars")],
        flops: 16.0, kept: 2, domain: Domain::All,
    }
    /// Standard deviation, the root of the variance.
    Sd {
        code: "sd", names: [Dml("sd"), Dml("rowSds"), Dml("colSds")],
        flops: 16.0, kept: 2, domain: Domain::All,
    }
    /// Sum of the diagonal.
    Trace {
        code: "trace", names: [Dml("trace"), Internal("rowTraces"), Internal("colTraces")],
        flops: 1.0, kept: 0, domain: Domain::Square,
    }
    /// The column of the largest cell, from 1, the last one on ties; NaN is skipped.
    IndexMax {
        code: "imax", names: [Internal("indexMax"), Dml("rowIndexMax"), Internal("colIndexMax")],
        flops: 1.0, kept: 0, domain: Domain::WithColumns,
    }
    /// The column of the smallest cell, from 1, the last one on ties; NaN is skipped.
    IndexMin {
        code: "imin", names: [Internal("indexMin"), Dml("rowIndexMin"), Internal("colIndexMin")],
        flops: 1.0, kept: 0, domain: Domain::WithColumns,
    }
}

impl AggregateOp {
    /// FLOPs for each cell read.
    pub fn flops(self) -> f64 {
        self.declared().flops
    }
}

impl Domain {
    /// Whether there is a result for matrices of this size, where the size says so.
    fn has(self, size: &Characteristics) -> Option<bool> {
        match self {
            Domain::All => Some(true),
            Domain::Square => Some(size.rows? == size.cols?),
            Domain::WithColumns => Some(size.cols? > 0),
        }
    }

    fn certain(self) -> Certain {
        fn all(domain: Domain, inputs: &[Known]) -> bool {
            let mut inputs = inputs.iter();
            inputs.all(|input| domain.has(&input.size) == Some(true))
        }
        match self {
            Domain::All => Certain::Sizes,
            Domain::Square => Certain::If(|_, inputs| all(Domain::Square, inputs)),
            Domain::WithColumns => Certain::If(|_, inputs| all(Domain::WithColumns, inputs)),
        }
    }
}

pub(super) struct Aggregate(pub AggregateOp, pub Direction);

impl Aggregate {
    fn name(&self) -> Name {
        let [full, row, col] = self.0.declared().names;
        match self.1 {
            Direction::Full => full,
            Direction::Row => row,
            Direction::Col => col,
        }
    }
}

impl Operator for Aggregate {
    fn code(&self) -> Cow<'static, str> {
        let direction = match self.1 {
            Direction::Full => "",
            Direction::Row => "R",
            Direction::Col => "C",
        };
        format!("ua({direction}{})", self.0.code()).into()
    }

    fn facts(&self) -> Facts<'_> {
        let declared = self.0.declared();
        Facts {
            doc: self.0.doc(),
            inputs: Inputs::matrix(),
            gives: Gives::Always(match self.1 {
                Direction::Full => DataType::Scalar,
                Direction::Row | Direction::Col => DataType::Matrix,
            }),
            purity: Purity::Pure,
            finite: Finite::Unknown,
            certain: declared.domain.certain(),
            total: declared.domain.certain(),
            zeros: Zeros::Unknown,
            memory: Memory {
                on_coordinates: self.1 != Direction::Row,
                beside: match (self.1, declared.kept) {
                    (Direction::Full, _) | (_, 0) => Beside::Nothing,
                    (Direction::Row | Direction::Col, kept) => Beside::EachResult(kept),
                },
            },
            form: match self.name() {
                Dml(name) => Form::Function(name),
                Internal(name) => Form::Internal(name),
            },
        }
    }

    fn size(&self, call: &dyn Call) -> Result<VariableInfo> {
        let size = call.size_of(0);
        let domain = self.0.declared().domain;
        let is_index = domain == Domain::WithColumns;
        if domain.has(&size) == Some(false) {
            let shape = call.shape(0);
            return Err(call.mismatch(match is_index {
                true => format!(
                    "the rows of a matrix that is {shape} have no cell that could be the largest or smallest"
                ),
                false => format!("trace of a matrix that is not square: {shape}"),
            }));
        }
        let results = |results: Option<u64>| match size.nnz {
            // A row of zeros has the sum, product, extremes and moments 0, but an index even so.
            Some(nnz) if !is_index && size.cells() != Some(0) => {
                results.map(|results| results.min(nnz))
            }
            _ => results,
        };
        Ok(match self.1 {
            Direction::Full => VariableInfo::scalar(ValueType::Double),
            Direction::Row => VariableInfo::matrix(Characteristics {
                rows: size.rows,
                cols: Some(1),
                nnz: results(size.rows),
            }),
            Direction::Col => VariableInfo::matrix(Characteristics {
                rows: Some(1),
                cols: size.cols,
                nnz: results(size.cols),
            }),
        })
    }
}
