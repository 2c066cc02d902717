//! Instructions over registers of 64 bits, and the tables that they name.
//!
//! A register holds a double, an int, or a boolean as 0 or 1. Which of them it holds is known when code is made, so no
//! instruction looks. Each call of a function has [`REGISTERS`] registers of its own, so that a number of a register is
//! one byte and needs no check.

use fulgurite_error::{Error, Position};
use fulgurite_hop::{BinaryOp, Literal, TernaryOp, UnaryOp};

/// Registers of a call.
pub(super) const REGISTERS: usize = 256;

pub(super) type Register = u8;
/// An instruction by its place. While code is made, a label.
pub(super) type Target = u32;

/// What a register holds, or what a variable is at a place in a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// Nothing was assigned to it.
    Undefined,
    Double,
    Int,
    Boolean,
    /// A matrix of this process, by its place among the [`Matrix`]es of the code.
    Matrix(u8),
    /// What code can't work with: a string, any other matrix.
    Other,
}

/// What is known of a matrix as long as code runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Matrix {
    pub(super) rows: usize,
    pub(super) cols: usize,
    pub(super) may_be_written: bool,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Instruction {
    Move {
        to: Register,
        from: Register,
    },

    // Doubles. The four have instructions of their own since most code is made of them; the machine computes them itself.
    Add {
        to: Register,
        x: Register,
        y: Register,
    },
    Subtract {
        to: Register,
        x: Register,
        y: Register,
    },
    Multiply {
        to: Register,
        x: Register,
        y: Register,
    },
    Divide {
        to: Register,
        x: Register,
        y: Register,
    },
    Unary {
        op: UnaryOp,
        to: Register,
        x: Register,
    },
    Binary {
        op: BinaryOp,
        to: Register,
        x: Register,
        y: Register,
    },
    Ternary {
        op: TernaryOp,
        to: Register,
        x: Register,
        y: Register,
        z: Register,
    },
    /// Gives a boolean.
    Less {
        to: Register,
        x: Register,
        y: Register,
    },
    LessEqual {
        to: Register,
        x: Register,
        y: Register,
    },
    Equal {
        to: Register,
        x: Register,
        y: Register,
    },

    // Ints. Where a result does not fit, the run ends with the error of the operator.
    AddInts {
        op: BinaryOp,
        to: Register,
        x: Register,
        y: Register,
    },
    SubtractInts {
        op: BinaryOp,
        to: Register,
        x: Register,
        y: Register,
    },
    MultiplyInts {
        op: BinaryOp,
        to: Register,
        x: Register,
        y: Register,
    },
    DivideInts {
        op: BinaryOp,
        to: Register,
        x: Register,
        y: Register,
    },
    /// The divisor is not 0.
    ModuloInts {
        to: Register,
        x: Register,
        y: Register,
    },
    MinInts {
        to: Register,
        x: Register,
        y: Register,
    },
    MaxInts {
        to: Register,
        x: Register,
        y: Register,
    },
    AbsInt {
        to: Register,
        x: Register,
    },
    LessInts {
        to: Register,
        x: Register,
        y: Register,
    },
    LessEqualInts {
        to: Register,
        x: Register,
        y: Register,
    },
    /// Of booleans, too.
    EqualInts {
        to: Register,
        x: Register,
        y: Register,
    },

    // Booleans.
    Not {
        to: Register,
        x: Register,
    },
    And {
        to: Register,
        x: Register,
        y: Register,
    },
    Or {
        to: Register,
        x: Register,
        y: Register,
    },
    Select {
        to: Register,
        condition: Register,
        yes: Register,
        no: Register,
    },

    // From one type to another.
    IntToDouble {
        to: Register,
        from: Register,
    },
    /// As `as.integer`.
    DoubleToInt {
        to: Register,
        from: Register,
    },
    /// As doubles become indices.
    DoubleToIndex {
        to: Register,
        from: Register,
    },
    /// As doubles become bounds of loops.
    DoubleToBound {
        to: Register,
        from: Register,
    },
    IntToBoolean {
        to: Register,
        from: Register,
    },
    DoubleToBoolean {
        to: Register,
        from: Register,
    },

    // Cells. Row and column are ints, from 1.
    Read {
        to: Register,
        matrix: u8,
        row: Register,
        col: Register,
    },
    /// `old` gets what was there.
    Write {
        matrix: u8,
        row: Register,
        col: Register,
        value: Register,
        old: Register,
    },

    // Control.
    Jump {
        target: Target,
    },
    JumpUnless {
        condition: Register,
        target: Target,
    },
    JumpUnlessLess {
        x: Register,
        y: Register,
        target: Target,
    },
    JumpUnlessLessInts {
        x: Register,
        y: Register,
        target: Target,
    },
    JumpUnlessLessEqualInts {
        x: Register,
        y: Register,
        target: Target,
    },
    JumpUnlessEqualInts {
        x: Register,
        y: Register,
        target: Target,
    },
    /// Where an int is 0.
    JumpIfZero {
        x: Register,
        target: Target,
    },
    /// A `while` begins an iteration.
    Iteration,
    /// Makes a range of the bounds and the increment in three registers from `range` on: its next value, how many are
    /// left, and the increment.
    Range {
        range: Register,
        has_increment: bool,
    },
    /// Takes the next value, or goes to `end`.
    Next {
        range: Register,
        variable: Register,
        end: Target,
    },
    Call {
        site: u32,
    },
    Return,
    /// Prints, or stops the run.
    Effect {
        effect: u32,
    },
    Fail {
        error: u32,
    },
    /// A function's result is an int, and its value this double.
    FailReturned {
        message: u32,
        value: Register,
    },
    /// The code is through.
    End {
        exit: u32,
    },
}

/// The operator and the place in the script that an instruction's error tells.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Origin {
    pub(super) operator: Option<String>,
    pub(super) position: Option<Position>,
}

impl Origin {
    pub(super) fn tell(&self, error: Error) -> Error {
        let error = match &self.operator {
            Some(operator) => error.in_operator(operator.clone()),
            None => error,
        };
        error.at_option(self.position.as_ref())
    }
}

/// A function, for arguments of certain types.
#[derive(Debug, Default)]
pub(super) struct Unit {
    pub(super) entry: Target,
    /// Values that registers have when it begins.
    pub(super) constants: Vec<(Register, u64)>,
}

/// Where a function is called.
#[derive(Debug)]
pub(super) struct Site {
    pub(super) unit: usize,
    pub(super) function: String,
    /// Registers of the caller, and of the function.
    pub(super) arguments: Vec<(Register, Register)>,
    /// Registers of the function, and of the caller.
    pub(super) results: Vec<(Register, Register)>,
}

/// What a statement prints: made when it is printed, since no register holds strings.
#[derive(Debug)]
pub(super) enum Text {
    Register(Kind, Register),
    Literal(Literal),
    Joined(BinaryOp, Box<(Text, Text)>, Origin),
}

#[derive(Debug)]
pub(super) enum Effect {
    Print(Vec<Text>),
    Stop(Vec<Text>),
    Assert(Register),
}

/// An error that is known when code is made, should the run come to it.
#[derive(Debug)]
pub(super) struct Returned {
    pub(super) function: String,
    pub(super) result: String,
}

/// Code, and the tables that its instructions name.
#[derive(Debug, Default)]
pub(super) struct Code {
    pub(super) instructions: Vec<Instruction>,
    /// Of each instruction, by its place in `origins`.
    pub(super) origin_of: Vec<u32>,
    pub(super) origins: Vec<Origin>,
    /// The first is where the code begins.
    pub(super) units: Vec<Unit>,
    pub(super) sites: Vec<Site>,
    pub(super) effects: Vec<Effect>,
    pub(super) errors: Vec<Error>,
    pub(super) returned: Vec<Returned>,
    /// What the variables are, in their order, where the code ends in this way.
    pub(super) exits: Vec<Vec<Kind>>,
    /// Which matrices are written into.
    pub(super) written: Vec<bool>,
}
