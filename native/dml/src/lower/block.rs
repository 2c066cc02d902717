//! The DAG of the statement block being built.

use std::collections::BTreeMap;

use fulgurite_error::{Code, Error, ErrorKind, Position, Result};
use fulgurite_hop::{
    BinaryOp, Block, CastOp, Dag, DataType, Dialect, FrameOp, Hop, HopId, HopOp, Literal, SizeOp,
    TernaryOp, UnaryOp, ValueType, scalar,
};

/// Builds one DAG: operators are typed, checked and, where all their inputs are literals, folded.
#[derive(Debug, Default)]
pub(crate) struct BlockBuilder {
    dag: Dag,
    /// The current value of each variable that the block has read or assigned.
    values: BTreeMap<String, HopId>,
    /// The variables the block has assigned, with the place of the last assignment.
    assigned: BTreeMap<String, Position>,
    dialect: Dialect,
}

impl BlockBuilder {
    pub fn new(dialect: Dialect) -> Self {
        BlockBuilder {
            dialect,
            ..BlockBuilder::default()
        }
    }

    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// A binary operator as a script means it.
    pub fn operator(
        &mut self,
        op: BinaryOp,
        left: HopId,
        right: HopId,
        position: &Position,
    ) -> Result<HopId> {
        match (self.dialect, op) {
            (Dialect::SystemDs, BinaryOp::Modulus) => {
                let (negative, of_absolutes) = self.of_absolutes(op, left, right, position)?;
                self.negated_if(negative, of_absolutes, position)
            }
            (Dialect::SystemDs, BinaryOp::IntDiv) => {
                let (left_negative, of_absolutes) = self.of_absolutes(op, left, right, position)?;
                let zero = self.int(0, position);
                let right_negative = self.binary(BinaryOp::Less, right, zero, position)?;
                let differ =
                    self.binary(BinaryOp::NotEqual, left_negative, right_negative, position)?;
                self.negated_if(differ, of_absolutes, position)
            }
            _ => self.binary(op, left, right, position),
        }
    }

    /// Whether the left operand is negative, and the operator of what both are without signs.
    fn of_absolutes(
        &mut self,
        op: BinaryOp,
        left: HopId,
        right: HopId,
        position: &Position,
    ) -> Result<(HopId, HopId)> {
        let zero = self.int(0, position);
        let negative = self.binary(BinaryOp::Less, left, zero, position)?;
        let left = self.unary(UnaryOp::Abs, left, position)?;
        let right = self.unary(UnaryOp::Abs, right, position)?;
        Ok((negative, self.binary(op, left, right, position)?))
    }

    fn negated_if(&mut self, condition: HopId, value: HopId, position: &Position) -> Result<HopId> {
        let minus_one = self.int(-1, position);
        let negated = self.times(minus_one, value, position)?;
        self.if_else(condition, negated, value, position)
    }

    pub fn hop(&self, id: HopId) -> &Hop {
        self.dag.hop(id)
    }

    pub fn hop_mut(&mut self, id: HopId) -> &mut Hop {
        self.dag.hop_mut(id)
    }

    pub fn push(&mut self, hop: Hop) -> HopId {
        self.dag.push(hop)
    }

    /// Adds an operator that runs for its effect.
    pub fn push_root(&mut self, hop: Hop) -> HopId {
        let id = self.dag.push(hop);
        self.dag.roots.push(id);
        id
    }

    pub fn literal(&mut self, value: Literal, position: &Position) -> HopId {
        self.push(Hop::literal(value).at(position))
    }

    pub fn int(&mut self, value: i64, position: &Position) -> HopId {
        self.literal(Literal::Int(value), position)
    }

    /// The value of a HOP that is a literal.
    pub fn constant(&self, id: HopId) -> Option<&Literal> {
        self.dag.hop(id).op.constant()
    }

    pub fn value(&self, variable: &str) -> Option<HopId> {
        self.values.get(variable).copied()
    }

    /// Notes the HOP that reads a variable.
    pub fn note_read(&mut self, variable: &str, id: HopId) {
        self.values.insert(variable.to_owned(), id);
    }

    pub fn assign(&mut self, variable: &str, id: HopId, position: &Position) {
        self.values.insert(variable.to_owned(), id);
        self.assigned.insert(variable.to_owned(), position.clone());
    }

    /// The block, with a write for each variable assigned; `None` if it does nothing.
    pub fn finish(mut self) -> Option<Block> {
        for (variable, position) in self.assigned {
            let Some(value) = self.values.get(&variable).copied() else {
                continue;
            };
            let hop = self.dag.hop(value);
            if hop.op.variable_read() == Some(variable.as_str()) {
                continue;
            }
            let write = Hop {
                op: HopOp::TransientWrite(variable),
                inputs: vec![value],
                data_type: hop.data_type,
                value_type: hop.value_type,
                characteristics: hop.characteristics,
                position: Some(position),
            };
            let id = self.dag.push(write);
            self.dag.roots.push(id);
        }
        (!self.dag.roots.is_empty()).then_some(Block::Basic { dag: self.dag })
    }

    /// The DAG of a predicate, whose only root is its value.
    pub fn finish_predicate(mut self, root: HopId) -> Dag {
        self.dag.roots = vec![root];
        self.dag
    }

    /// A cell-wise operator, on scalars or matrices.
    pub fn unary(&mut self, op: UnaryOp, operand: HopId, position: &Position) -> Result<HopId> {
        self.check_cells(op.code(), &[operand], position)?;
        let hop = self.hop(operand);
        if hop.is_matrix() {
            return Ok(self.push(Hop::matrix(HopOp::Unary(op), vec![operand]).at(position)));
        }
        let value_type = scalar::unary_value_type(op, hop.value_type);
        let folded = self
            .constant(operand)
            .map(|value| scalar::eval_scalar_unary(op, value));
        let hop = Hop::scalar(HopOp::Unary(op), vec![operand], value_type);
        self.folded_or(folded, hop, position)
    }

    /// A cell-wise operator, on scalars or matrices; `+` on strings joins them.
    pub fn binary(
        &mut self,
        op: BinaryOp,
        left: HopId,
        right: HopId,
        position: &Position,
    ) -> Result<HopId> {
        let inputs = vec![left, right];
        let is_frame = |id: &HopId| self.hop(*id).data_type == DataType::Frame;
        if inputs.iter().any(is_frame)
            && let Some(comparison) = FrameOp::of_comparison(op)
        {
            return self.compared(comparison, left, right, position);
        }
        let texts = self.is_string(left) || self.is_string(right);
        if !(texts && op.takes_texts() && self.hop(left).is_scalar() && self.hop(right).is_scalar())
        {
            self.check_cells(op.code(), &inputs, position)?;
        }
        if self.hop(left).is_matrix() || self.hop(right).is_matrix() {
            return Ok(self.push(Hop::matrix(HopOp::Binary(op), inputs).at(position)));
        }
        let value_type =
            scalar::binary_value_type(op, self.hop(left).value_type, self.hop(right).value_type);
        let folded = match (self.constant(left), self.constant(right)) {
            (Some(left), Some(right)) => Some(scalar::eval_scalar_binary(op, left, right)),
            _ => None,
        };
        let hop = Hop::scalar(HopOp::Binary(op), inputs, value_type);
        self.folded_or(folded, hop, position)
    }

    pub fn plus(&mut self, left: HopId, right: HopId, position: &Position) -> Result<HopId> {
        self.binary(BinaryOp::Plus, left, right, position)
    }

    pub fn times(&mut self, left: HopId, right: HopId, position: &Position) -> Result<HopId> {
        self.binary(BinaryOp::Mult, left, right, position)
    }

    pub fn equal(&mut self, left: HopId, right: HopId, position: &Position) -> Result<HopId> {
        self.binary(BinaryOp::Equal, left, right, position)
    }

    pub fn smaller(&mut self, left: HopId, right: HopId, position: &Position) -> Result<HopId> {
        self.binary(BinaryOp::Min, left, right, position)
    }

    /// A size of a matrix or frame.
    pub fn size(&mut self, asked: SizeOp, of: HopId, position: &Position) -> HopId {
        let size = Hop::scalar(HopOp::Size(asked), vec![of], ValueType::Int);
        self.push(size.at(position))
    }

    pub fn rows(&mut self, of: HopId, position: &Position) -> HopId {
        self.size(SizeOp::NRow, of, position)
    }

    pub fn cols(&mut self, of: HopId, position: &Position) -> HopId {
        self.size(SizeOp::NCol, of, position)
    }

    /// `matrix[first row : last row, first column : last column]`
    pub fn part(&mut self, matrix: HopId, bounds: [HopId; 4], position: &Position) -> HopId {
        let mut inputs = vec![matrix];
        inputs.extend(bounds);
        let of = self.hop(matrix);
        let (data_type, value_type) = (of.data_type, of.value_type);
        let part = Hop::matrix(HopOp::RightIndex, inputs).at(position);
        self.push(Hop {
            data_type,
            value_type,
            ..part
        })
    }

    pub fn if_else(
        &mut self,
        condition: HopId,
        then: HopId,
        otherwise: HopId,
        position: &Position,
    ) -> Result<HopId> {
        let op = TernaryOp::IfElse;
        let inputs = vec![condition, then, otherwise];
        let all_scalars = inputs.iter().all(|input| self.hop(*input).is_scalar());
        if !all_scalars {
            self.check_cells(op.code(), &inputs, position)?;
            return Ok(self.push(Hop::matrix(HopOp::Ternary(op), inputs).at(position)));
        }
        self.check_cells(op.code(), &[condition], position)?;
        let value_type = match (self.hop(then).value_type, self.hop(otherwise).value_type) {
            (left, right) if left == right => left,
            (ValueType::String, _) | (_, ValueType::String) => ValueType::String,
            _ => ValueType::Double,
        };
        let constants = inputs.iter().map(|input| self.constant(*input));
        let folded = match constants.collect::<Option<Vec<_>>>().as_deref() {
            Some([x, y, z]) => Some(scalar::eval_scalar_ternary(op, x, y, z)),
            _ => None,
        };
        let hop = Hop::scalar(HopOp::Ternary(op), inputs, value_type);
        self.folded_or(folded, hop, position)
    }

    /// The scalar in a 1 x 1 matrix, or in a list of one.
    pub fn as_scalar(&mut self, value: HopId, value_type: ValueType, position: &Position) -> HopId {
        let op = HopOp::Cast(CastOp::AsScalar);
        self.push(Hop::scalar(op, vec![value], value_type).at(position))
    }

    /// A 1 x 1 matrix, or the matrix that a frame or a list is.
    pub fn as_matrix(&mut self, value: HopId, position: &Position) -> HopId {
        let op = HopOp::Cast(CastOp::AsMatrix);
        self.push(Hop::matrix(op, vec![value]).at(position))
    }

    /// An operator that gives a list.
    pub fn list(&mut self, op: HopOp, inputs: Vec<HopId>, position: &Position) -> HopId {
        self.push(Hop {
            data_type: DataType::List,
            ..Hop::matrix(op, inputs).at(position)
        })
    }

    /// An operator on frames.
    pub fn frame(&mut self, op: FrameOp, inputs: Vec<HopId>, position: &Position) -> HopId {
        let (data_type, value_type) = match op.gives() {
            DataType::Frame => (DataType::Frame, ValueType::String),
            other => (other, ValueType::Double),
        };
        self.push(Hop {
            data_type,
            value_type,
            ..Hop::matrix(HopOp::Frame(op), inputs).at(position)
        })
    }

    /// A comparison of frames, or of one with a scalar.
    fn compared(
        &mut self,
        op: FrameOp,
        left: HopId,
        right: HopId,
        position: &Position,
    ) -> Result<HopId> {
        let (op, frame, mut other) = match self.hop(left).data_type == DataType::Frame {
            true => (op, left, right),
            false => (op.mirrored(), right, left),
        };
        let hop = self.hop(other);
        match hop.data_type {
            DataType::Frame | DataType::Scalar => {}
            DataType::Matrix => {
                let value_type = hop.value_type;
                other = self.as_frame(other, value_type, position);
            }
            DataType::List => self.check_cells(op.sign(), &[other], position)?,
        }
        Ok(self.frame(op, vec![frame, other], position))
    }

    /// A frame of a matrix, a scalar or a list of a frame.
    pub fn as_frame(&mut self, value: HopId, value_type: ValueType, position: &Position) -> HopId {
        self.push(Hop {
            data_type: DataType::Frame,
            value_type,
            ..Hop::matrix(HopOp::Cast(CastOp::AsFrame), vec![value]).at(position)
        })
    }

    /// A cast between scalars.
    pub fn scalar_cast(
        &mut self,
        op: CastOp,
        operand: HopId,
        position: &Position,
    ) -> Result<HopId> {
        let value_type = match op {
            CastOp::AsInteger => ValueType::Int,
            CastOp::AsLogical => ValueType::Boolean,
            CastOp::AsDouble | CastOp::AsScalar | CastOp::AsMatrix | CastOp::AsFrame => {
                ValueType::Double
            }
        };
        let folded = self
            .constant(operand)
            .map(|value| scalar::eval_scalar_cast(op, value));
        let hop = Hop::scalar(HopOp::Cast(op), vec![operand], value_type);
        self.folded_or(folded, hop, position)
    }

    /// The literal that a scalar operator folds to, or the operator. What fails only for these values
    /// (an overflow) is left to fail when it runs.
    fn folded_or(
        &mut self,
        folded: Option<Result<Literal>>,
        hop: Hop,
        position: &Position,
    ) -> Result<HopId> {
        match folded {
            Some(Ok(value)) if scalar::is_constant_size(&value) => {
                Ok(self.literal(value, position))
            }
            Some(Err(error)) if !matches!(error.kind(), ErrorKind::Runtime | ErrorKind::Memory) => {
                Err(error.at(position))
            }
            _ => Ok(self.push(hop.at(position))),
        }
    }

    /// Operands of cell-wise operators are matrices and numbers.
    fn check_cells(&self, code: &str, operands: &[HopId], position: &Position) -> Result<()> {
        for operand in operands {
            let hop = self.hop(*operand);
            let help = match hop.data_type {
                DataType::Matrix => continue,
                DataType::Scalar if hop.value_type != ValueType::String => continue,
                DataType::Scalar => {
                    "as.double() and as.integer() convert strings, toString() makes a string of a matrix"
                }
                DataType::Frame => "as.matrix() makes a matrix of a frame of numbers",
                DataType::List => "as.matrix() makes a column vector of a list of numbers",
            };
            return Err(Error::validation(format!(
                "'{code}' takes matrices and numbers, not {}",
                describe(hop)
            ))
            .with_code(Code::OperandType)
            .at(position)
            .with_help(help));
        }
        Ok(())
    }

    pub fn is_string(&self, id: HopId) -> bool {
        let hop = self.hop(id);
        hop.is_scalar() && hop.value_type == ValueType::String
    }
}

/// A value's type, as an error message names it.
pub(crate) fn describe(hop: &Hop) -> &'static str {
    describe_type(hop.data_type, hop.value_type)
}

pub(crate) fn describe_type(data_type: DataType, value_type: ValueType) -> &'static str {
    match (data_type, value_type) {
        (DataType::Matrix, _) => "a matrix",
        (DataType::Frame, _) => "a frame",
        (DataType::List, _) => "a list",
        (DataType::Scalar, ValueType::Double) => "a double",
        (DataType::Scalar, ValueType::Int) => "an int",
        (DataType::Scalar, ValueType::Boolean) => "a boolean",
        (DataType::Scalar, ValueType::String) => "a string",
    }
}
