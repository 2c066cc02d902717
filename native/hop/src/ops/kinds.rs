//! The kinds of operators a HOP can be.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{BinaryOp, TernaryOp, UnaryOp};
use crate::{Characteristics, Literal};

/// What a HOP does. The inputs each kind takes, in order, stand at the variant.
#[derive(Debug, Clone, PartialEq)]
pub enum HopOp {
    /// No inputs.
    Literal(Literal),
    /// Reads a variable. No inputs.
    TransientRead(String),
    /// Writes a variable. Input: the value.
    TransientWrite(String),
    /// Reads a file. Input: the path (a string scalar).
    PersistentRead(ReadOptions),
    /// Writes a file. Inputs: the value, the path.
    PersistentWrite(WriteOptions),
    Unary(UnaryOp),
    Binary(BinaryOp),
    Ternary(TernaryOp),
    /// Input: a matrix.
    Aggregate(AggregateOp, Direction),
    /// Inputs: left, right.
    MatMult,
    /// Input: a matrix.
    Transpose,
    /// Column vector to diagonal matrix, or square matrix to its diagonal.
    Diag,
    /// Reverses the order of rows.
    Rev,
    /// Inputs: matrix, rows, cols.
    Reshape {
        by_row: bool,
    },
    /// Inputs: matrix, first row, last row, first column, last column (from 1, inclusive).
    RightIndex,
    /// Inputs: matrix, value (matrix or scalar), first row, last row, first column, last column.
    LeftIndex,
    /// Two or more matrices.
    CBind,
    /// Two or more matrices.
    RBind,
    /// Inputs by kind, see [`DataGenOp`].
    DataGen(DataGenOp),
    /// Contingency table. Inputs: A, B, weights (scalar or matrix); optionally output rows and columns.
    Table,
    /// Down each column. Input: a matrix.
    Cumulative(CumulativeOp),
    Cast(CastOp),
    /// Input: a matrix. Gives an int.
    Size(SizeOp),
    /// Named inputs: the map gives each parameter's place among the inputs. The names are
    /// [`ParameterizedOp::parameters`].
    Parameterized(ParameterizedOp, BTreeMap<String, usize>),
    /// Input: a scalar. With more inputs: a printf format and its values.
    Print,
    /// Input: the message.
    Stop,
    /// Input: the condition.
    Assert,
    /// A fused operator, by its number in its plan. Inputs as the plan's.
    Fused(usize),
}

impl HopOp {
    /// Has an effect besides its value: must run, and in order.
    pub fn has_effect(&self) -> bool {
        match self {
            HopOp::TransientWrite(_)
            | HopOp::PersistentWrite(_)
            | HopOp::Print
            | HopOp::Stop
            | HopOp::Assert => true,
            HopOp::Literal(_)
            | HopOp::TransientRead(_)
            | HopOp::PersistentRead(_)
            | HopOp::Unary(_)
            | HopOp::Binary(_)
            | HopOp::Ternary(_)
            | HopOp::Aggregate(..)
            | HopOp::MatMult
            | HopOp::Transpose
            | HopOp::Diag
            | HopOp::Rev
            | HopOp::Reshape { .. }
            | HopOp::RightIndex
            | HopOp::LeftIndex
            | HopOp::CBind
            | HopOp::RBind
            | HopOp::DataGen(_)
            | HopOp::Table
            | HopOp::Cumulative(_)
            | HopOp::Cast(_)
            | HopOp::Size(_)
            | HopOp::Parameterized(..)
            | HopOp::Fused(_) => false,
        }
    }

    /// Gives something else each time it runs, or reads what may have changed: two of them are never one.
    pub fn is_deterministic(&self) -> bool {
        match self {
            HopOp::DataGen(op) => match op {
                DataGenOp::Rand | DataGenOp::Sample => false,
                DataGenOp::Fill | DataGenOp::Seq => true,
            },
            HopOp::Fused(_) => false,
            HopOp::Literal(_)
            | HopOp::TransientRead(_)
            | HopOp::TransientWrite(_)
            | HopOp::PersistentRead(_)
            | HopOp::PersistentWrite(_)
            | HopOp::Unary(_)
            | HopOp::Binary(_)
            | HopOp::Ternary(_)
            | HopOp::Aggregate(..)
            | HopOp::MatMult
            | HopOp::Transpose
            | HopOp::Diag
            | HopOp::Rev
            | HopOp::Reshape { .. }
            | HopOp::RightIndex
            | HopOp::LeftIndex
            | HopOp::CBind
            | HopOp::RBind
            | HopOp::Table
            | HopOp::Cumulative(_)
            | HopOp::Cast(_)
            | HopOp::Size(_)
            | HopOp::Parameterized(..)
            | HopOp::Print
            | HopOp::Stop
            | HopOp::Assert => true,
        }
    }
}

/// Over what an aggregate runs: all cells, each row (gives a column vector), each column (a row vector).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Direction {
    Full,
    Row,
    Col,
}

/// Declares an enum whose variants have a code.
macro_rules! coded {
    ($(#[$enum_doc:meta])* $enum:ident { $( $(#[$doc:meta])* $variant:ident = $code:literal ),* $(,)? }) => {
        $(#[$enum_doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum $enum { $( $(#[$doc])* #[serde(rename = $code)] $variant, )* }
        impl $enum {
            pub const ALL: &'static [$enum] = &[$($enum::$variant),*];
            pub fn code(self) -> &'static str { match self { $($enum::$variant => $code,)* } }
            pub fn from_code(code: &str) -> Option<Self> { Self::ALL.iter().copied().find(|op| op.code() == code) }
        }
    };
}

coded! {
    /// Aggregation functions. Sums are compensated; `IndexMax` and `IndexMin` give the 1-based column, the
    /// last one on ties, skip NaN, and exist per row only.
    AggregateOp {
        Sum = "+", SumSq = "sq+", Min = "min", Max = "max", Mean = "mean", Prod = "*",
        Var = "var", Sd = "sd", Trace = "trace", IndexMax = "imax", IndexMin = "imin",
    }
}

impl AggregateOp {
    /// FLOPs for each cell read.
    pub fn flops(self) -> f64 {
        use AggregateOp::*;
        match self {
            Sum | Mean => 4.0,
            SumSq => 5.0,
            Var | Sd => 16.0,
            Min | Max | Prod | Trace | IndexMax | IndexMin => 1.0,
        }
    }

    /// Numbers that are kept beside each result until it is there: compensated sums carry one correction, variances a mean
    /// and a correction.
    pub(crate) fn kept_beside(self) -> u64 {
        use AggregateOp::*;
        match self {
            Sum | SumSq | Mean => 1,
            Var | Sd => 2,
            Min | Max | Prod | Trace | IndexMax | IndexMin => 0,
        }
    }

    /// Whether there is a result for matrices of this size, where the size says so.
    pub(crate) fn is_defined(self, size: &Characteristics) -> Option<bool> {
        use AggregateOp::*;
        match self {
            Trace => Some(size.rows? == size.cols?),
            // The number of a column.
            IndexMax | IndexMin => Some(size.cols? > 0),
            Sum | SumSq | Min | Max | Mean | Prod | Var | Sd => Some(true),
        }
    }
}

coded! {
    /// Functions that give a matrix from scalars.
    DataGenOp {
        /// `matrix(value, rows, cols)`. Inputs: value (a number, or a string of blank-separated numbers), rows, cols.
        Fill = "matrix",
        /// Inputs: from, to, increment (the literal NaN where the script gives none); optionally the first and the
        /// last row, of a part.
        Seq = "seq",
        /// Inputs: rows, cols, min, max, sparsity, seed, pdf (string), lambda; optionally the first and the last row,
        /// of a part.
        Rand = "rand",
        /// Inputs: range, size, replace, seed.
        Sample = "sample",
    }
}

coded! {
    CumulativeOp { Sum = "cumsum", Prod = "cumprod", Min = "cummin", Max = "cummax" }
}

coded! {
    CastOp {
        AsScalar = "as.scalar", AsMatrix = "as.matrix", AsDouble = "as.double",
        AsInteger = "as.integer", AsLogical = "as.logical", AsFrame = "as.frame",
    }
}

coded! {
    SizeOp { NRow = "nrow", NCol = "ncol", Length = "length" }
}

coded! {
    /// Builtins with named parameters, and those that take other types than matrices.
    ParameterizedOp {
        RemoveEmpty = "removeEmpty", Replace = "replace", Order = "order", GroupedAggregate = "aggregate",
        Cdf = "cdf", InverseCdf = "icdf", ToString = "toString", LowerTri = "lower.tri", UpperTri = "upper.tri",
        Moment = "moment", Cov = "cov", Quantile = "quantile", Median = "median",
        InterQuartileMean = "interQuartileMean", Outer = "outer", Solve = "solve", Inverse = "inv",
        Cholesky = "cholesky",
        /// Of a square matrix: a column of eigenvalues, then one eigenvector a column.
        Eigen = "eigen",
        /// Permutation, lower and upper triangle, side by side.
        Lu = "lu",
        /// Left singular vectors, the diagonal matrix of singular values, right singular vectors, one below the other.
        Svd = "svd",
        List = "list", Transform = "transform",
        BitwAnd = "bitwAnd", BitwOr = "bitwOr", BitwXor = "bitwXor",
        BitwShiftL = "bitwShiftL", BitwShiftR = "bitwShiftR",
    }
}

coded! {
    FileFormat {
        Csv = "csv", Text = "text", MatrixMarket = "mm", Binary = "binary",
        /// The label is the last column.
        Libsvm = "libsvm", Parquet = "parquet",
    }
}

impl ParameterizedOp {
    /// Whether it works on coordinates of ultra-sparse matrices, without pointers to all rows.
    pub(crate) fn works_on_coordinates(self) -> bool {
        use ParameterizedOp::*;
        match self {
            RemoveEmpty | Replace => true,
            Order | GroupedAggregate | Cdf | InverseCdf | ToString | LowerTri | UpperTri
            | Moment | Cov | Quantile | Median | InterQuartileMean | Outer | Solve | Inverse
            | Cholesky | Eigen | Lu | Svd | List | Transform | BitwAnd | BitwOr | BitwXor
            | BitwShiftL | BitwShiftR => false,
        }
    }

    /// Names of the inputs, as in DML where DML names them; `None` where any name goes (`list`). All but
    /// the first may be left out where DML has a default.
    pub fn parameters(self) -> Option<&'static [&'static str]> {
        use ParameterizedOp::*;
        Some(match self {
            RemoveEmpty => &["target", "margin", "select", "empty.return"],
            Replace => &["target", "pattern", "replacement"],
            Order => &["target", "by", "decreasing", "index.return"],
            GroupedAggregate => &["target", "groups", "fn", "order", "weights", "ngroups"],
            Cdf | InverseCdf => &[
                "target",
                "dist",
                "mean",
                "sd",
                "rate",
                "df",
                "df1",
                "df2",
                "lower.tail",
            ],
            ToString => &[
                "target", "rows", "cols", "decimal", "sparse", "sep", "linesep",
            ],
            // The last one is for stripes: how many rows of their matrix stand above them.
            LowerTri | UpperTri => &["target", "diag", "values", "rows.above"],
            Moment => &["target", "weights", "order"],
            Cov => &["left", "right", "weights"],
            Quantile => &["target", "weights", "probabilities"],
            Median | InterQuartileMean => &["target", "weights"],
            Outer => &["left", "right", "op"],
            Solve | BitwAnd | BitwOr | BitwXor | BitwShiftL | BitwShiftR => &["left", "right"],
            Inverse | Cholesky | Eigen | Lu | Svd => &["target"],
            Transform => &[
                "target",
                "spec",
                "transformPath",
                "applyTransformPath",
                "outputNames",
            ],
            List => return None,
        })
    }
}

/// Parameters of `read`; what is not given comes from the `.mtd` file.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReadOptions {
    pub format: Option<FileFormat>,
    pub rows: Option<u64>,
    pub cols: Option<u64>,
    pub nnz: Option<u64>,
    pub separator: Option<String>,
    pub header: Option<bool>,
    pub fill: Option<bool>,
    #[serde(with = "crate::literal::optional_double")]
    pub default: Option<f64>,
    pub na_strings: Option<Vec<String>>,
    pub data_type: Option<crate::DataType>,
    pub value_type: Option<crate::ValueType>,
}

/// Parameters of `write`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WriteOptions {
    /// `text` where the script gives none.
    pub format: Option<FileFormat>,
    /// The format as a string scalar among the inputs (the third), where the script computes it.
    pub format_is_input: bool,
    pub separator: Option<String>,
    pub header: Option<bool>,
    pub sparse: Option<bool>,
}
