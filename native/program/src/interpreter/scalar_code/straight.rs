//! The code of one block: its operators in order, then its variables' new values.

mod scalars;

use std::rc::Rc;

use fulgurite_error::Position;
use fulgurite_hop::{BinaryOp, CastOp, Dag, Hop, HopId, HopOp, Literal, SizeOp};
use fulgurite_operators::{BlockPlan, undefined};

use self::scalars::{binary, cast, doubles, is_same_on_cells, modulo, number, ternary, unary};
pub(super) use self::scalars::{convert, truth};
use super::{
    emitter::{Emitter, at, origin_of},
    flow::{Flow, NodeId},
    instructions::{Effect, Instruction, Kind, Matrix, Origin, Register, Target, Text},
    registers::Registers,
};

/// A block that is on the way to code. A copy of it goes on with what an operator gives otherwise.
#[derive(Clone)]
pub(super) struct Straight {
    pub(super) node: NodeId,
    /// What variables are where the block begins.
    kinds: Vec<Kind>,
    plan: Rc<BlockPlan>,
    /// What errors tell that know no place.
    around: Option<Position>,
    /// How many operators have their code.
    done: usize,
    values: Vec<Value>,
    /// Variables take their new values when the block is through: all its reads see the old ones.
    assigned: Vec<(usize, Value)>,
    writes: Vec<CellWrite>,
    registers: usize,
}

/// An operator's value.
#[derive(Debug, Clone, Copy)]
enum Value {
    Nothing,
    Scalar(Kind, Register),
    /// A matrix of one cell.
    Cell(Register),
    /// A matrix after so many of the block's writes into it.
    Matrix {
        place: u8,
        version: usize,
    },
    /// A string, which is made when it is printed.
    Text,
}

/// What a write replaced, and where: who reads the matrix as it was before finds it here.
#[derive(Debug, Clone, Copy)]
struct CellWrite {
    matrix: u8,
    row: Register,
    col: Register,
    old: Register,
}

/// What the code of a block is made with.
pub(super) struct Tools<'a, 'p> {
    pub(super) flow: &'a Flow<'p>,
    /// By their places.
    pub(super) matrices: &'a [Matrix],
    /// Only the region itself writes into matrices: a function has matrices of its own.
    pub(super) may_write: bool,
    pub(super) emitter: &'a mut Emitter,
    pub(super) registers: &'a mut Registers,
    /// What else may come of the block, and where its code belongs.
    pub(super) forks: &'a mut Vec<(Target, Straight)>,
}

/// What a block comes to.
pub(super) enum Outcome {
    /// An error, whenever the run comes here.
    Fails,
    Done {
        /// Of a predicate.
        root: Option<(Kind, Register)>,
        kinds: Vec<Kind>,
    },
}

/// What became of an operator.
enum Made {
    Value(Value),
    Fails,
    /// Unless this int is not 0 (which a boolean may be, too), it gives another value.
    Either {
        test: Register,
        otherwise: Value,
        value: Value,
        /// Computes the value.
        by: Option<Instruction>,
    },
}

/// Whether an operator may be code, as far as it and its inputs say.
pub(super) fn may_be_code(dag: &Dag, hop: &Hop) -> bool {
    let mut inputs = hop.inputs.iter().map(|input| dag.hop(*input));
    match &hop.op {
        HopOp::Literal(_)
        | HopOp::TransientRead(_)
        | HopOp::Size(_)
        | HopOp::Print
        | HopOp::Stop
        | HopOp::Assert => true,
        HopOp::RightIndex => (hop.rows(), hop.cols()) == (Some(1), Some(1)),
        HopOp::LeftIndex => match &hop.inputs[..] {
            [_, _, first_row, last_row, first_col, last_col] => {
                let is_one = |first: &HopId, last: &HopId| {
                    first == last
                        || matches!(
                            (&dag.hop(*first).op, &dag.hop(*last).op),
                            (HopOp::Literal(first), HopOp::Literal(last)) if first == last
                        )
                };
                is_one(first_row, last_row) && is_one(first_col, last_col)
            }
            _ => false,
        },
        // Of a matrix, only what was written into it.
        HopOp::TransientWrite(_) => {
            inputs.all(|input| input.is_scalar() || input.op == HopOp::LeftIndex)
        }
        // Of scalars, and of cells.
        HopOp::Unary(_) | HopOp::Binary(_) | HopOp::Ternary(_) => inputs.all(|input| {
            let is_whole = matches!(input.op, HopOp::TransientRead(_) | HopOp::LeftIndex);
            input.is_scalar() || !is_whole
        }),
        HopOp::Cast(op) => match op {
            CastOp::AsScalar | CastOp::AsDouble | CastOp::AsInteger | CastOp::AsLogical => true,
            CastOp::AsMatrix | CastOp::AsFrame => false,
        },
        HopOp::PersistentRead(_)
        | HopOp::PersistentWrite(_)
        | HopOp::Aggregate(..)
        | HopOp::MatMult
        | HopOp::Transpose
        | HopOp::Diag
        | HopOp::Rev
        | HopOp::Reshape { .. }
        | HopOp::CBind
        | HopOp::RBind
        | HopOp::DataGen(_)
        | HopOp::Table
        | HopOp::Cumulative(_)
        | HopOp::Parameterized(..)
        | HopOp::List(_)
        | HopOp::Frame(_)
        | HopOp::Fused(_) => false,
    }
}

impl Straight {
    pub(super) fn new(
        node: NodeId,
        kinds: Vec<Kind>,
        plan: Rc<BlockPlan>,
        around: Option<Position>,
        registers: &Registers,
    ) -> Self {
        Straight {
            node,
            kinds,
            around,
            done: 0,
            values: vec![Value::Nothing; plan.dag.len()],
            plan,
            assigned: Vec::new(),
            writes: Vec::new(),
            registers: registers.taken(),
        }
    }

    /// Makes the code of what is left. Nothing where something is no code.
    pub(super) fn emit(mut self, tools: &mut Tools) -> Option<Outcome> {
        tools.registers.resume(self.registers);
        let plan = Rc::clone(&self.plan);
        while let Some(id) = plan.schedule.get(self.done) {
            let made = self.operator(*id, plan.dag.hop(*id), tools)?;
            self.done += 1;
            match made {
                Made::Value(value) => self.values[id.index()] = value,
                Made::Fails => return Some(Outcome::Fails),
                Made::Either {
                    test,
                    otherwise,
                    value,
                    by,
                } => {
                    let target = tools.emitter.label();
                    let jump = Instruction::JumpIfZero { x: test, target };
                    tools.emitter.emit(jump);
                    self.values[id.index()] = otherwise;
                    self.registers = tools.registers.taken();
                    tools.forks.push((target, self.clone()));
                    self.values[id.index()] = value;
                    if let Some(instruction) = by {
                        tools.emitter.emit(instruction);
                    }
                }
            }
        }
        self.finish(tools)
    }

    /// Assigns variables.
    fn finish(mut self, tools: &mut Tools) -> Option<Outcome> {
        let root = self.plan.dag.roots.first();
        let root = root.and_then(|root| match self.values[root.index()] {
            Value::Scalar(kind, register) => Some((kind, register)),
            Value::Nothing | Value::Cell(_) | Value::Matrix { .. } | Value::Text => None,
        });
        for write in &self.writes {
            let latest = self.version(write.matrix);
            let is_kept = |(_, value): &(usize, Value)| matches!(value, Value::Matrix { place, version } if *place == write.matrix && *version == latest);
            if !self.assigned.iter().any(is_kept) {
                return None;
            }
        }
        let mut moves: Vec<(Register, Register)> = Vec::new();
        for (variable, value) in std::mem::take(&mut self.assigned) {
            match value {
                Value::Scalar(kind, from) => {
                    self.kinds[variable] = kind;
                    moves.push((Register::try_from(variable).ok()?, from));
                }
                Value::Matrix { place, version } => {
                    // Only the variable's own matrix, with all that was written into it.
                    let is_own = self.kinds[variable] == Kind::Matrix(place);
                    if !is_own || version != self.version(place) {
                        return None;
                    }
                }
                Value::Nothing | Value::Cell(_) | Value::Text => return None,
            }
        }
        moves.retain(|(to, from)| to != from);
        let targets: Vec<Register> = moves.iter().map(|(to, _)| *to).collect();
        for (_, from) in &mut moves {
            if targets.contains(from) {
                // Another variable's old value, which is overwritten, too.
                let to = tools.registers.free()?;
                tools.emitter.emit(Instruction::Move { to, from: *from });
                *from = to;
            }
        }
        for (to, from) in moves {
            tools.emitter.emit(Instruction::Move { to, from });
        }
        Some(Outcome::Done {
            root,
            kinds: self.kinds,
        })
    }

    fn version(&self, matrix: u8) -> usize {
        let writes = self.writes.iter();
        writes.filter(|write| write.matrix == matrix).count()
    }

    fn operator(&mut self, id: HopId, hop: &Hop, tools: &mut Tools) -> Option<Made> {
        let origin = origin_of(hop, self.around.as_ref());
        let inputs = &self.plan.inputs[id.index()];
        let inputs: Vec<Value> = inputs
            .iter()
            .map(|input| self.values[input.index()])
            .collect();
        let value = match (&hop.op, &inputs[..]) {
            (HopOp::Literal(Literal::String(_)), _) => Value::Text,
            (HopOp::Literal(value), _) => {
                let (kind, register) = tools.registers.literal(value)?;
                Value::Scalar(kind, register)
            }
            (HopOp::TransientRead(name), _) => {
                let place = tools.flow.place_of(name)?;
                match self.kinds[place] {
                    Kind::Undefined => {
                        tools.emitter.fail(undefined(name), origin);
                        return Some(Made::Fails);
                    }
                    kind @ (Kind::Double | Kind::Int | Kind::Boolean) => {
                        Value::Scalar(kind, Register::try_from(place).ok()?)
                    }
                    Kind::Matrix(place) => Value::Matrix { place, version: 0 },
                    Kind::Other => return None,
                }
            }
            (HopOp::TransientWrite(name), [value]) => {
                self.assigned.push((tools.flow.place_of(name)?, *value));
                Value::Nothing
            }
            (HopOp::Unary(op), [value]) => unary(*op, *value, origin, tools)?,
            (HopOp::Binary(op), [x, y]) => return self.binary(*op, *x, *y, origin, tools),
            (HopOp::Ternary(op), [x, y, z]) => return ternary(*op, [*x, *y, *z], tools),
            (HopOp::Cast(op), [value]) => cast(*op, *value, origin, tools)?,
            (HopOp::Size(op), [Value::Matrix { place, .. }]) => {
                let matrix = tools.matrices.get(usize::from(*place))?;
                let size = match op {
                    SizeOp::NRow => matrix.rows,
                    SizeOp::NCol => matrix.cols,
                    SizeOp::Length => matrix.rows.checked_mul(matrix.cols)?,
                };
                let size = Literal::Int(i64::try_from(size).ok()?);
                let (kind, register) = tools.registers.literal(&size)?;
                Value::Scalar(kind, register)
            }
            (HopOp::RightIndex, [Value::Matrix { place, version }, ranges @ ..]) => {
                let matrix = tools.matrices.get(usize::from(*place))?;
                if (matrix.rows, matrix.cols) == (0, 0) {
                    return None;
                }
                let [row, col] = single_cell(ranges, tools)?;
                self.read(*place, *version, row, col, origin, tools)?
            }
            (HopOp::LeftIndex, [Value::Matrix { place, version }, value, ranges @ ..]) => {
                let [row, col] = single_cell(ranges, tools)?;
                let matrix = tools.matrices.get(usize::from(*place))?;
                let may_write = tools.may_write && matrix.may_be_written;
                if !may_write || *version != self.version(*place) {
                    return None;
                }
                let value = number(*value, tools)?;
                let (matrix, old) = (*place, tools.registers.free()?);
                let write = Instruction::Write {
                    matrix,
                    row,
                    col,
                    value,
                    old,
                };
                tools.emitter.emit_of(write, origin);
                *tools.emitter.code.written.get_mut(usize::from(matrix))? = true;
                self.writes.push(CellWrite {
                    matrix,
                    row,
                    col,
                    old,
                });
                Value::Matrix {
                    place: matrix,
                    version: version + 1,
                }
            }
            (HopOp::Print, _) => {
                let effect = Effect::Print(self.texts(id)?);
                return effect_of(effect, origin, tools);
            }
            (HopOp::Stop, _) => {
                let effect = Effect::Stop(self.texts(id)?);
                effect_of(effect, at(origin.position.as_ref()), tools)?;
                return Some(Made::Fails);
            }
            (HopOp::Assert, [Value::Scalar(kind, register)]) => {
                let condition = truth(*kind, *register, tools)?;
                let origin = at(origin.position.as_ref());
                return effect_of(Effect::Assert(condition), origin, tools);
            }
            (
                HopOp::TransientWrite(_)
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
                | HopOp::DataGen(_)
                | HopOp::Table
                | HopOp::Cumulative(_)
                | HopOp::Cast(_)
                | HopOp::Size(_)
                | HopOp::Parameterized(..)
                | HopOp::List(_)
                | HopOp::Frame(_)
                | HopOp::Assert
                | HopOp::Fused(_),
                _,
            ) => return None,
        };
        Some(Made::Value(value))
    }

    /// The cell as it was before the later ones of the block's writes.
    fn read(
        &self,
        matrix: u8,
        version: usize,
        row: Register,
        col: Register,
        origin: Origin,
        tools: &mut Tools,
    ) -> Option<Value> {
        let mut cell = tools.registers.free()?;
        let read = Instruction::Read {
            to: cell,
            matrix,
            row,
            col,
        };
        tools.emitter.emit_of(read, origin);
        let own = self.writes.iter().filter(|write| write.matrix == matrix);
        let later: Vec<&CellWrite> = own.skip(version).collect();
        // The earliest of them replaced what is asked for.
        for write in later.into_iter().rev() {
            let registers = &mut *tools.registers;
            let (rows, cols, both, to) = (
                registers.free()?,
                registers.free()?,
                registers.free()?,
                registers.free()?,
            );
            let (same_row, same_col) = (write.row, write.col);
            for instruction in [
                Instruction::EqualInts {
                    to: rows,
                    x: row,
                    y: same_row,
                },
                Instruction::EqualInts {
                    to: cols,
                    x: col,
                    y: same_col,
                },
                Instruction::And {
                    to: both,
                    x: rows,
                    y: cols,
                },
                Instruction::Select {
                    to,
                    condition: both,
                    yes: write.old,
                    no: cell,
                },
            ] {
                tools.emitter.emit(instruction);
            }
            cell = to;
        }
        Some(Value::Cell(cell))
    }

    fn binary(
        &self,
        op: BinaryOp,
        x: Value,
        y: Value,
        origin: Origin,
        tools: &mut Tools,
    ) -> Option<Made> {
        let value = match (x, y) {
            (Value::Scalar(Kind::Int, x), Value::Scalar(Kind::Int, y))
                if op == BinaryOp::Modulus =>
            {
                return modulo(x, y, tools);
            }
            (Value::Scalar(x_kind, x), Value::Scalar(y_kind, y)) => {
                binary(op, (x_kind, x), (y_kind, y), origin, tools)?
            }
            (Value::Text, Value::Text | Value::Scalar(..)) | (Value::Scalar(..), Value::Text)
                if op == BinaryOp::Plus =>
            {
                Value::Text
            }
            (Value::Cell(_), Value::Cell(_) | Value::Scalar(..))
            | (Value::Scalar(..), Value::Cell(_))
                if is_same_on_cells(op) =>
            {
                let (x, y) = (number(x, tools)?, number(y, tools)?);
                let to = tools.registers.free()?;
                tools.emitter.emit(doubles(op, to, x, y));
                Value::Cell(to)
            }
            (
                Value::Nothing
                | Value::Scalar(..)
                | Value::Cell(_)
                | Value::Matrix { .. }
                | Value::Text,
                Value::Nothing
                | Value::Scalar(..)
                | Value::Cell(_)
                | Value::Matrix { .. }
                | Value::Text,
            ) => return None,
        };
        Some(Made::Value(value))
    }

    /// What a statement prints.
    fn texts(&self, id: HopId) -> Option<Vec<Text>> {
        let inputs = self.plan.inputs[id.index()].iter();
        inputs.map(|input| self.text(*input)).collect()
    }

    fn text(&self, id: HopId) -> Option<Text> {
        let hop = self.plan.dag.hop(id);
        match (
            self.values[id.index()],
            &hop.op,
            &self.plan.inputs[id.index()][..],
        ) {
            (Value::Scalar(kind, register), ..) => Some(Text::Register(kind, register)),
            (Value::Text, HopOp::Literal(value), _) => Some(Text::Literal(value.clone())),
            (Value::Text, HopOp::Binary(op), [left, right]) => {
                let joined = (self.text(*left)?, self.text(*right)?);
                let origin = origin_of(hop, self.around.as_ref());
                Some(Text::Joined(*op, Box::new(joined), origin))
            }
            (Value::Nothing | Value::Cell(_) | Value::Matrix { .. } | Value::Text, ..) => None,
        }
    }
}

fn effect_of(effect: Effect, origin: Origin, tools: &mut Tools) -> Option<Made> {
    let emitter = &mut *tools.emitter;
    emitter.code.effects.push(effect);
    let effect = u32::try_from(emitter.code.effects.len()).ok()? - 1;
    emitter.emit_of(Instruction::Effect { effect }, origin);
    Some(Made::Value(Value::Nothing))
}

/// The registers of row and column, where ranges are a single cell for certain.
fn single_cell(ranges: &[Value], tools: &mut Tools) -> Option<[Register; 2]> {
    let [first_row, last_row, first_col, last_col] = ranges else {
        return None;
    };
    let same = |first: &Value, last: &Value| match (first, last) {
        (Value::Scalar(kind, register), Value::Scalar(last_kind, last))
            if (kind, register) == (last_kind, last) =>
        {
            Some((*kind, *register))
        }
        _ => None,
    };
    let mut index = |(kind, from): (Kind, Register)| match kind {
        Kind::Int | Kind::Boolean => Some(from),
        Kind::Double => {
            let to = tools.registers.free()?;
            tools.emitter.emit(Instruction::DoubleToIndex { to, from });
            Some(to)
        }
        Kind::Undefined | Kind::Matrix(_) | Kind::Other => None,
    };
    let row = index(same(first_row, last_row)?)?;
    let col = index(same(first_col, last_col)?)?;
    Some([row, col])
}
