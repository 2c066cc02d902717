//! Operators on frames alone. What matrices have too (parts, binding, casts) is declared once for both.

use std::borrow::Cow;

use fulgurite_error::Result;

use super::{
    call::Call,
    declare::operators,
    operator::{Accepts, Facts, Gives, Input, Inputs, More, Operator},
};
use crate::{BinaryOp, Characteristics, DataType, ValueType, variable_info::VariableInfo};

struct FrameFacts {
    code: &'static str,
    inputs: &'static [Input],
    /// All of these follow, or none.
    optional: &'static [Input],
    gives: DataType,
    size: fn(&dyn Call) -> Characteristics,
}

const FRAME: Input = ("frame", Accepts::Frame);
/// JSON, as SystemDS has it.
const SPECIFICATION: Input = ("specification", Accepts::Scalar);
/// The path of a folder of metadata.
const FOLDER: Input = ("folder", Accepts::Scalar);
const METADATA: Input = ("metadata", Accepts::Frame);
/// A frame of one row that names types.
const SCHEMA: Input = ("schema", Accepts::Frame);
/// Frames, or a scalar.
const COMPARED: &[Input] = &[FRAME, ("other", Accepts::FrameOrScalar)];

const ORDERED: &[Input] = &[
    FRAME,
    ("by", Accepts::MatrixOrScalar),
    ("decreasing", Accepts::Scalar),
];

operators! {
    /// Operators on frames.
    FrameOp: FrameFacts;
    /// A frame with a value in every cell, or with those of a list row by row; with the types of a list.
    Fill {
        code: "fill", inputs: &[("data", Accepts::Any), ("rows", Accepts::Scalar), ("cols", Accepts::Scalar)],
        optional: &[("schema", Accepts::Any)], gives: DataType::Frame, size: filled,
    }
    /// The frame that says which code stands for which category, as a specification asks for it.
    Metadata {
        code: "metadata", inputs: &[FRAME, SPECIFICATION], optional: &[], gives: DataType::Frame,
        size: |call| Characteristics::new(None, call.size_of(0).cols, None),
    }
    /// The matrix of a frame, by metadata.
    Encode {
        code: "encode", inputs: &[FRAME, SPECIFICATION, METADATA], optional: &[], gives: DataType::Matrix,
        size: |_| Characteristics::UNKNOWN,
    }
    /// As `encode`, and the metadata are stored in a folder, as SystemML's `transform` does it.
    EncodeStoring {
        code: "encodeStoring", inputs: &[FRAME, SPECIFICATION, METADATA, FOLDER], optional: &[], gives: DataType::Matrix,
        size: |_| Characteristics::UNKNOWN,
    }
    /// The metadata that a folder holds.
    StoredMetadata {
        code: "storedMetadata", inputs: &[FOLDER, SPECIFICATION], optional: &[], gives: DataType::Frame,
        size: |_| Characteristics::UNKNOWN,
    }
    /// The specification that a folder holds, as a frame of one cell.
    StoredSpecification {
        code: "storedSpecification", inputs: &[FOLDER], optional: &[], gives: DataType::Frame,
        size: |_| Characteristics::new(Some(1), Some(1), None),
    }
    /// As `encode`, with rows of a matrix in the place of codes.
    Embed {
        code: "embed", inputs: &[FRAME, SPECIFICATION, METADATA, ("embeddings", Accepts::Matrix)], optional: &[], gives: DataType::Matrix,
        size: |_| Characteristics::UNKNOWN,
    }
    /// The frame that a matrix was made of.
    Decode {
        code: "decode", inputs: &[("matrix", Accepts::Matrix), SPECIFICATION, METADATA], optional: &[], gives: DataType::Frame,
        size: |call| Characteristics::new(call.size_of(0).rows, call.size_of(2).cols, None),
    }
    /// Which columns of the matrix stand for each column of the frame.
    ColumnMap {
        code: "columns", inputs: &[METADATA, SPECIFICATION], optional: &[], gives: DataType::Matrix,
        size: |call| Characteristics::new(call.size_of(0).cols, Some(3), None),
    }
    /// The narrowest types that the cells of each column have, as one row.
    DetectSchema { code: "detectSchema", inputs: &[FRAME], optional: &[], gives: DataType::Frame, size: one_row }
    /// The frame with other types of columns.
    ApplySchema { code: "applySchema", inputs: &[FRAME, SCHEMA], optional: &[], gives: DataType::Frame, size: as_large }
    /// Without the cells that are no values of their column's type.
    DropInvalidType { code: "dropInvalidType", inputs: &[FRAME, SCHEMA], optional: &[], gives: DataType::Frame, size: as_large }
    /// Without the cells that are longer than a number for their column.
    DropInvalidLength {
        code: "dropInvalidLength", inputs: &[FRAME, ("lengths", Accepts::Matrix)], optional: &[], gives: DataType::Frame, size: as_large,
    }
    /// Cells that stand in each other's columns change places.
    ValueSwap { code: "valueSwap", inputs: &[FRAME, SCHEMA], optional: &[], gives: DataType::Frame, size: as_large }
    /// The names of the columns, as one row.
    Names { code: "colnames", inputs: &[FRAME], optional: &[], gives: DataType::Frame, size: one_row }
    /// The types of the columns, as a frame of one row.
    TypeOf { code: "typeof", inputs: &[FRAME], optional: &[], gives: DataType::Frame, size: one_row }
    /// A function of each cell, row or column, which is written as text.
    Map {
        code: "map", inputs: &[FRAME, ("function", Accepts::Scalar), ("margin", Accepts::Scalar)], optional: &[], gives: DataType::Frame,
        size: |_| Characteristics::UNKNOWN,
    }
    /// The words of texts, each in its row or all of a text in one, as a specification asks for them.
    Tokenize {
        code: "tokenize", inputs: &[FRAME, SPECIFICATION, ("max_tokens", Accepts::Scalar)], optional: &[], gives: DataType::Frame,
        size: |_| Characteristics::UNKNOWN,
    }
    /// The frame with one value replaced.
    Replace {
        code: "replace", inputs: &[FRAME, ("pattern", Accepts::Scalar), ("replacement", Accepts::Scalar)],
        optional: &[], gives: DataType::Frame, size: as_large,
    }
    /// The frame without empty rows or columns, or with the selected ones.
    RemoveEmpty {
        code: "removeEmpty", inputs: &[FRAME, ("margin", Accepts::Scalar), ("empty.return", Accepts::Scalar)], optional: &[("select", Accepts::Matrix)],
        gives: DataType::Frame, size: |_| Characteristics::UNKNOWN,
    }
    /// The rows sorted by columns.
    Sort { code: "sort", inputs: ORDERED, optional: &[], gives: DataType::Frame, size: as_large }
    /// The numbers of the rows in sorted order.
    Order {
        code: "order", inputs: ORDERED, optional: &[], gives: DataType::Matrix,
        size: |call| Characteristics::new(call.size_of(0).rows, Some(1), None),
    }
    /// The distinct rows, columns or cells.
    Unique {
        code: "unique", inputs: &[FRAME, ("dir", Accepts::Scalar)], optional: &[], gives: DataType::Frame,
        size: |_| Characteristics::UNKNOWN,
    }
    /// How many values are different.
    CountDistinct {
        code: "countDistinct", inputs: &[FRAME], optional: &[], gives: DataType::Scalar, size: |_| Characteristics::SCALAR,
    }
    /// 1 where a value is missing.
    IsMissing { code: "isNA", inputs: &[FRAME], optional: &[], gives: DataType::Matrix, size: as_large }
    /// 1 where cells are equal.
    Equal { code: "==", inputs: COMPARED, optional: &[], gives: DataType::Matrix, size: as_large }
    /// 1 where they are not.
    NotEqual { code: "!=", inputs: COMPARED, optional: &[], gives: DataType::Matrix, size: as_large }
    /// 1 where the cell comes before the other.
    Less { code: "<", inputs: COMPARED, optional: &[], gives: DataType::Matrix, size: as_large }
    /// 1 where it comes before it, or is equal.
    LessEqual { code: "<=", inputs: COMPARED, optional: &[], gives: DataType::Matrix, size: as_large }
    /// 1 where it comes after it.
    Greater { code: ">", inputs: COMPARED, optional: &[], gives: DataType::Matrix, size: as_large }
    /// 1 where it comes after it, or is equal.
    GreaterEqual { code: ">=", inputs: COMPARED, optional: &[], gives: DataType::Matrix, size: as_large }
}

fn filled(call: &dyn Call) -> Characteristics {
    let size = |place| call.size(place).ok().flatten();
    Characteristics::new(size(1), size(2), None)
}

fn one_row(call: &dyn Call) -> Characteristics {
    Characteristics::new(Some(1), call.size_of(0).cols, None)
}

fn as_large(call: &dyn Call) -> Characteristics {
    let size = call.size_of(0);
    Characteristics::new(size.rows, size.cols, None)
}

impl FrameOp {
    /// What it gives: a frame, a matrix of doubles or a double.
    pub fn gives(self) -> DataType {
        self.declared().gives
    }

    /// The operator that compares frames as this one compares cells.
    pub fn of_comparison(op: BinaryOp) -> Option<FrameOp> {
        let mut all = FrameOp::ALL.iter().copied();
        all.find(|known| known.declared().inputs == COMPARED && FrameOp::code(*known) == op.code())
    }

    /// Of a comparison its sign, as scripts have it.
    pub fn sign(self) -> &'static str {
        FrameOp::code(self)
    }

    /// The same comparison, with the operands exchanged.
    #[must_use]
    pub fn mirrored(self) -> FrameOp {
        match self {
            FrameOp::Less => FrameOp::Greater,
            FrameOp::LessEqual => FrameOp::GreaterEqual,
            FrameOp::Greater => FrameOp::Less,
            FrameOp::GreaterEqual => FrameOp::LessEqual,
            other => other,
        }
    }
}

impl Operator for FrameOp {
    fn code(&self) -> Cow<'static, str> {
        format!("frame({})", FrameOp::code(*self)).into()
    }

    fn facts(&self) -> Facts<'_> {
        let declared = self.declared();
        let inputs = Inputs {
            first: declared.inputs,
            more: match declared.optional {
                [] => More::Nothing,
                optional => More::Together(optional),
            },
        };
        let gives = Gives::Always(declared.gives);
        Facts::without_cells(self.doc(), inputs, gives)
    }

    fn size(&self, call: &dyn Call) -> Result<VariableInfo> {
        let declared = self.declared();
        let characteristics = (declared.size)(call);
        Ok(match declared.gives {
            DataType::Frame => VariableInfo::frame(characteristics),
            DataType::Scalar => VariableInfo::scalar(ValueType::Double),
            _ => VariableInfo::matrix(characteristics),
        })
    }
}
