//! Runs code.

use fulgurite_error::{Error, Result};
use fulgurite_hop::{BinaryOp, Literal, UnaryOp, scalar};
use fulgurite_matrix::{MatrixBlock, arrow_block::cut_off, kernels::IndexRange};

use super::{
    super::{call_errors, effects, range::Range},
    instructions::{Code, Effect, Instruction, Kind, REGISTERS, Register, Text},
    registers,
};

/// So many iterations and calls pass until the run looks whether it is to stop: a millisecond or less.
const UNOBSERVED: u32 = 8192;

/// A matrix that code reads or writes.
pub(super) struct Cells<'a> {
    pub(super) rows: usize,
    pub(super) cols: usize,
    pub(super) values: Values<'a>,
}

pub(super) enum Values<'a> {
    Read(&'a [f64]),
    Sparse(&'a MatrixBlock),
    Written(&'a mut [f64]),
}

impl Cells<'_> {
    fn at(&self, row: i64, col: i64) -> Option<usize> {
        let row = usize::try_from(row).ok()?.checked_sub(1)?;
        let col = usize::try_from(col).ok()?.checked_sub(1)?;
        (row < self.rows && col < self.cols).then(|| row * self.cols + col)
    }

    fn get(&self, row: i64, col: i64) -> Option<f64> {
        let at = self.at(row, col)?;
        match &self.values {
            Values::Read(values) => values.get(at).copied(),
            Values::Sparse(matrix) => Some(matrix.get(at / self.cols, at % self.cols)),
            Values::Written(values) => values.get(at).copied(),
        }
    }

    /// Gives what was there.
    fn set(&mut self, row: i64, col: i64, value: f64) -> Option<f64> {
        let at = self.at(row, col)?;
        match &mut self.values {
            Values::Read(_) | Values::Sparse(_) => None,
            Values::Written(values) => values
                .get_mut(at)
                .map(|cell| std::mem::replace(cell, value)),
        }
    }

    /// Why there is no such cell.
    fn outside(&self, row: i64, col: i64) -> Error {
        let index = |index| IndexRange::new(index, index);
        let row = index(row).within(self.rows, "row");
        let col = || index(col).within(self.cols, "column");
        match row.and_then(|_| col()) {
            Ok(_) => Error::internal("a cell could not be written"),
            Err(error) => error,
        }
    }
}

/// What the run shows to others, and asks them.
pub(super) trait Host {
    fn print(&self, line: &str) -> Result<()>;

    /// # Errors
    /// Where the run is to stop.
    fn go_on(&self) -> Result<()>;
}

/// The registers of a call.
#[derive(Clone)]
struct Frame([u64; REGISTERS]);

impl Frame {
    #[inline(always)]
    fn bits(&self, register: Register) -> u64 {
        self.0[usize::from(register)]
    }

    #[inline(always)]
    fn double(&self, register: Register) -> f64 {
        f64::from_bits(self.bits(register))
    }

    #[inline(always)]
    fn int(&self, register: Register) -> i64 {
        self.bits(register).cast_signed()
    }

    #[inline(always)]
    fn truth(&self, register: Register) -> bool {
        self.bits(register) != 0
    }

    #[inline(always)]
    fn set(&mut self, register: Register, bits: u64) {
        self.0[usize::from(register)] = bits;
    }

    #[inline(always)]
    fn set_double(&mut self, register: Register, value: f64) {
        self.set(register, value.to_bits());
    }

    #[inline(always)]
    fn set_int(&mut self, register: Register, value: i64) {
        self.set(register, value.cast_unsigned());
    }

    #[inline(always)]
    fn set_truth(&mut self, register: Register, value: bool) {
        self.set(register, u64::from(value));
    }

    fn with(constants: &[(Register, u64)]) -> Self {
        let mut frame = Frame([0; REGISTERS]);
        frame.load(constants);
        frame
    }

    #[inline(always)]
    fn load(&mut self, values: &[(Register, u64)]) {
        for (register, bits) in values {
            self.set(*register, *bits);
        }
    }
}

/// A call that has not returned.
struct Suspended {
    /// Where its caller goes on.
    next: usize,
    site: u32,
}

/// How the code ended, and the registers of the region's variables.
pub(super) struct Ended {
    pub(super) exit: u32,
    pub(super) registers: Vec<u64>,
}

/// Runs code whose variables have these values, inside so many calls of functions.
///
/// # Errors
/// Those of operators, with their places.
pub(super) fn run(
    code: &Code,
    variables: &[(Register, u64)],
    matrices: &mut [Cells],
    call_depth: usize,
    host: &dyn Host,
) -> Result<Ended> {
    let mut machine = Machine {
        code,
        frames: Vec::new(),
        calls: Vec::new(),
        call_depth,
        host,
        at: 0,
    };
    let ended = machine.run(variables, matrices);
    ended.map_err(|error| machine.place(error))
}

struct Machine<'a> {
    code: &'a Code,
    /// Those beyond the calls that run are kept for the next ones.
    frames: Vec<Frame>,
    calls: Vec<Suspended>,
    call_depth: usize,
    host: &'a dyn Host,
    /// The instruction that failed.
    at: usize,
}

impl Machine<'_> {
    fn run(&mut self, variables: &[(Register, u64)], matrices: &mut [Cells]) -> Result<Ended> {
        let code = self.code;
        let no_unit = || Error::internal("code without a beginning");
        let region = code.units.first().ok_or_else(no_unit)?;
        let mut first = Frame::with(&region.constants);
        first.load(variables);
        self.frames.push(first);
        let mut frame = self.frames.last_mut().ok_or_else(no_unit)?;
        let mut next = region.entry as usize;
        let mut unobserved = UNOBSERVED;
        macro_rules! failing {
            ($error:expr) => {{
                self.at = next - 1;
                return Err($error);
            }};
        }
        macro_rules! checked {
            ($result:expr) => {
                match $result {
                    Ok(value) => value,
                    Err(error) => failing!(error),
                }
            };
        }
        /// An int, or the error of the operator that has none.
        macro_rules! int {
            ($to:expr, $op:expr, $x:expr, $y:expr, $value:expr) => {
                match $value {
                    Some(value) => frame.set_int($to, value),
                    None => failing!(int_error($op, frame.int($x), frame.int($y))),
                }
            };
        }
        macro_rules! observe {
            () => {
                unobserved -= 1;
                if unobserved == 0 {
                    unobserved = UNOBSERVED;
                    checked!(observed(self.host));
                }
            };
        }
        loop {
            let Some(instruction) = code.instructions.get(next) else {
                return Err(Error::internal("code without an end"));
            };
            next += 1;
            match *instruction {
                Instruction::Move { to, from } => frame.set(to, frame.bits(from)),

                Instruction::Add { to, x, y } => {
                    frame.set_double(to, frame.double(x) + frame.double(y));
                }
                Instruction::Subtract { to, x, y } => {
                    frame.set_double(to, frame.double(x) - frame.double(y));
                }
                Instruction::Multiply { to, x, y } => {
                    frame.set_double(to, frame.double(x) * frame.double(y));
                }
                Instruction::Divide { to, x, y } => {
                    frame.set_double(to, frame.double(x) / frame.double(y));
                }
                Instruction::Unary { op, to, x } => {
                    let value = unary(op, frame.double(x));
                    frame.set_double(to, value);
                }
                Instruction::Binary { op, to, x, y } => {
                    let value = binary(op, frame.double(x), frame.double(y));
                    frame.set_double(to, value);
                }
                Instruction::Ternary { op, to, x, y, z } => {
                    let value = op.eval(frame.double(x), frame.double(y), frame.double(z));
                    frame.set_double(to, value);
                }
                Instruction::Less { to, x, y } => {
                    frame.set_truth(to, frame.double(x) < frame.double(y));
                }
                Instruction::LessEqual { to, x, y } => {
                    frame.set_truth(to, frame.double(x) <= frame.double(y));
                }
                Instruction::Equal { to, x, y } => {
                    frame.set_truth(to, frame.double(x) == frame.double(y));
                }

                Instruction::AddInts { op, to, x, y } => {
                    let value = frame.int(x).checked_add(frame.int(y));
                    int!(to, op, x, y, value);
                }
                Instruction::SubtractInts { op, to, x, y } => {
                    let value = frame.int(x).checked_sub(frame.int(y));
                    int!(to, op, x, y, value);
                }
                Instruction::MultiplyInts { op, to, x, y } => {
                    let value = frame.int(x).checked_mul(frame.int(y));
                    int!(to, op, x, y, value);
                }
                Instruction::DivideInts { op, to, x, y } => {
                    let value = scalar::floor_div(frame.int(x), frame.int(y));
                    int!(to, op, x, y, value);
                }
                Instruction::ModuloInts { to, x, y } => {
                    match scalar::floor_mod(frame.int(x), frame.int(y)) {
                        Some(value) => frame.set_int(to, value),
                        None => failing!(Error::internal("a divisor that is 0 after all")),
                    }
                }
                Instruction::MinInts { to, x, y } => {
                    frame.set_int(to, frame.int(x).min(frame.int(y)));
                }
                Instruction::MaxInts { to, x, y } => {
                    frame.set_int(to, frame.int(x).max(frame.int(y)));
                }
                Instruction::AbsInt { to, x } => match frame.int(x).checked_abs() {
                    Some(value) => frame.set_int(to, value),
                    None => {
                        let of = Literal::Int(frame.int(x));
                        failing!(failed(scalar::eval_scalar_unary(UnaryOp::Abs, &of)))
                    }
                },
                Instruction::LessInts { to, x, y } => {
                    frame.set_truth(to, frame.int(x) < frame.int(y));
                }
                Instruction::LessEqualInts { to, x, y } => {
                    frame.set_truth(to, frame.int(x) <= frame.int(y));
                }
                Instruction::EqualInts { to, x, y } => {
                    frame.set_truth(to, frame.int(x) == frame.int(y));
                }

                Instruction::Not { to, x } => frame.set_truth(to, !frame.truth(x)),
                Instruction::And { to, x, y } => frame.set(to, frame.bits(x) & frame.bits(y)),
                Instruction::Or { to, x, y } => frame.set(to, frame.bits(x) | frame.bits(y)),
                Instruction::Select {
                    to,
                    condition,
                    yes,
                    no,
                } => {
                    let from = if frame.truth(condition) { yes } else { no };
                    frame.set(to, frame.bits(from));
                }

                Instruction::IntToDouble { to, from } => {
                    frame.set_double(to, frame.int(from) as f64);
                }
                Instruction::DoubleToInt { to, from } => {
                    let value = scalar::truncated(frame.double(from));
                    frame.set_int(to, checked!(value));
                }
                Instruction::DoubleToIndex { to, from } => {
                    frame.set_int(to, scalar::double_to_int(frame.double(from)));
                }
                Instruction::DoubleToBound { to, from } => {
                    let bound = scalar::loop_bound(&Literal::Double(frame.double(from)));
                    frame.set_int(to, checked!(bound));
                }
                Instruction::IntToBoolean { to, from } => {
                    frame.set_truth(to, frame.int(from) != 0);
                }
                Instruction::DoubleToBoolean { to, from } => {
                    frame.set_truth(to, frame.double(from) != 0.0);
                }

                Instruction::Read {
                    to,
                    matrix,
                    row,
                    col,
                } => {
                    let matrix = &matrices[usize::from(matrix)];
                    let (row, col) = (frame.int(row), frame.int(col));
                    match matrix.get(row, col) {
                        Some(value) => frame.set_double(to, value),
                        None => failing!(matrix.outside(row, col)),
                    }
                }
                Instruction::Write {
                    matrix,
                    row,
                    col,
                    value,
                    old,
                } => {
                    let matrix = &mut matrices[usize::from(matrix)];
                    let (row, col) = (frame.int(row), frame.int(col));
                    match matrix.set(row, col, frame.double(value)) {
                        Some(before) => frame.set_double(old, before),
                        None => failing!(matrix.outside(row, col)),
                    }
                }

                Instruction::Jump { target } => next = target as usize,
                Instruction::JumpUnless { condition, target } => {
                    if !frame.truth(condition) {
                        next = target as usize;
                    }
                }
                Instruction::JumpUnlessLess { x, y, target } => {
                    // Nor where one of them is NaN.
                    let is_less = frame.double(x) < frame.double(y);
                    if !is_less {
                        next = target as usize;
                    }
                }
                Instruction::JumpUnlessLessInts { x, y, target } => {
                    if frame.int(x) >= frame.int(y) {
                        next = target as usize;
                    }
                }
                Instruction::JumpUnlessLessEqualInts { x, y, target } => {
                    if frame.int(x) > frame.int(y) {
                        next = target as usize;
                    }
                }
                Instruction::JumpUnlessEqualInts { x, y, target } => {
                    if frame.int(x) != frame.int(y) {
                        next = target as usize;
                    }
                }
                Instruction::JumpIfZero { x, target } => {
                    if frame.int(x) == 0 {
                        next = target as usize;
                    }
                }
                Instruction::Iteration => {
                    observe!();
                }
                Instruction::Range {
                    range,
                    has_increment,
                } => {
                    let [first, last, increment] = three(range);
                    let increment_given = has_increment.then(|| frame.int(increment));
                    let values = Range::new(frame.int(first), frame.int(last), increment_given);
                    let values = checked!(values);
                    frame.set(last, values.left());
                    frame.set_int(increment, values.step());
                }
                Instruction::Next {
                    range,
                    variable,
                    end,
                } => {
                    let [value, left, increment] = three(range);
                    match frame.bits(left).checked_sub(1) {
                        Some(fewer) => {
                            let now = frame.int(value);
                            frame.set_int(variable, now);
                            // Beyond the last value it is not looked at.
                            frame.set_int(value, now.wrapping_add(frame.int(increment)));
                            frame.set(left, fewer);
                            observe!();
                        }
                        None => next = end as usize,
                    }
                }
                Instruction::Call { site } => {
                    let Some(called) = code.sites.get(site as usize) else {
                        failing!(Error::internal("a call of nothing"));
                    };
                    let unit = &code.units[called.unit];
                    if self.call_depth + self.calls.len() >= call_errors::MAX_CALLS {
                        failing!(call_errors::too_deep(&called.function));
                    }
                    observe!();
                    self.calls.push(Suspended { next, site });
                    let depth = self.calls.len();
                    if self.frames.len() == depth {
                        self.frames.push(Frame([0; REGISTERS]));
                    }
                    let (callers, own) = self.frames.split_at_mut(depth);
                    let (caller, own) = (&callers[depth - 1], &mut own[0]);
                    own.load(&unit.constants);
                    for (from, to) in &called.arguments {
                        own.set(*to, caller.bits(*from));
                    }
                    frame = own;
                    next = unit.entry as usize;
                }
                Instruction::Return => {
                    let Some(call) = self.calls.pop() else {
                        failing!(Error::internal("a return from no call"));
                    };
                    let depth = self.calls.len();
                    let (callers, own) = self.frames.split_at_mut(depth + 1);
                    let (caller, own) = (&mut callers[depth], &own[0]);
                    for (from, to) in &code.sites[call.site as usize].results {
                        caller.set(*to, own.bits(*from));
                    }
                    frame = caller;
                    next = call.next;
                }
                Instruction::Effect { effect } => {
                    let done = match &code.effects[effect as usize] {
                        Effect::Print(texts) => {
                            line(texts, frame).and_then(|line| self.host.print(&line))
                        }
                        Effect::Stop(texts) => {
                            Err(line(texts, frame).map_or_else(|error| error, Error::stopped))
                        }
                        Effect::Assert(condition) => effects::asserted(frame.truth(*condition)),
                    };
                    checked!(done);
                }
                Instruction::Fail { error } => failing!(code.errors[error as usize].clone()),
                Instruction::FailReturned { message, value } => {
                    let returned = &code.returned[message as usize];
                    let value = frame.double(value);
                    failing!(call_errors::double_for_int(
                        &returned.function,
                        &returned.result,
                        value
                    ))
                }
                Instruction::End { exit } => {
                    cut_off::check()?;
                    return Ok(Ended {
                        exit,
                        registers: frame.0.to_vec(),
                    });
                }
            }
        }
    }

    /// The error with the operator and the place of the instruction, or else of the calls that it was in.
    fn place(&self, error: Error) -> Error {
        let told = |error: Error, at: usize| {
            let origin = self.code.origin_of.get(at);
            let origin = origin.and_then(|origin| self.code.origins.get(*origin as usize));
            match origin {
                Some(origin) => origin.tell(error),
                None => error,
            }
        };
        let calls = self.calls.iter().rev();
        let error = told(error, self.at);
        calls.fold(error, |error, call| told(error, call.next - 1))
    }
}

/// The function itself is not copied into the loop for each operator.
#[inline(never)]
fn unary(op: UnaryOp, x: f64) -> f64 {
    op.eval(x)
}

#[inline(never)]
fn binary(op: BinaryOp, x: f64, y: f64) -> f64 {
    op.eval(x, y)
}

fn three(first: Register) -> [Register; 3] {
    [first, first.wrapping_add(1), first.wrapping_add(2)]
}

#[cold]
fn observed(host: &dyn Host) -> Result<()> {
    cut_off::check()?;
    host.go_on()
}

#[cold]
fn int_error(op: BinaryOp, x: i64, y: i64) -> Error {
    failed(scalar::eval_scalar_binary(
        op,
        &Literal::Int(x),
        &Literal::Int(y),
    ))
}

/// The error of what failed before.
fn failed(again: Result<Literal>) -> Error {
    match again {
        Ok(value) => Error::internal(format!("an operator that gives {value} has failed")),
        Err(error) => error,
    }
}

fn line(texts: &[Text], frame: &Frame) -> Result<String> {
    let literals = texts.iter().map(|text| literal(text, frame));
    let literals: Vec<Literal> = literals.collect::<Result<_>>()?;
    effects::text(&literals.iter().collect::<Vec<_>>())
}

fn literal(text: &Text, frame: &Frame) -> Result<Literal> {
    match text {
        Text::Literal(value) => Ok(value.clone()),
        Text::Register(kind, register) => value(*kind, frame.bits(*register)),
        Text::Joined(op, parts, origin) => {
            let (left, right) = (literal(&parts.0, frame)?, literal(&parts.1, frame)?);
            let joined = scalar::eval_scalar_binary(*op, &left, &right);
            joined.map_err(|error| origin.tell(error))
        }
    }
}

fn value(kind: Kind, bits: u64) -> Result<Literal> {
    let value = registers::scalar(kind, bits);
    value.ok_or_else(|| Error::internal("a register that holds no scalar"))
}
