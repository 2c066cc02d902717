//! Cranelift's instructions on cells, on a pair or on one.

use cranelift_codegen::ir::condcodes::FloatCC;
use cranelift_codegen::ir::{Endianness, InstBuilder, MemFlagsData, Type, Value, types};
use cranelift_frontend::FunctionBuilder;

use crate::cellwise::{CellInstructions, Comparison, maximum_of_bits, minimum_of_bits};

/// How many cells an instruction works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Width {
    One,
    Two,
}

impl Width {
    pub fn ty(self) -> Type {
        match self {
            Width::One => types::F64,
            Width::Two => types::F64X2,
        }
    }

    pub fn cells(self) -> i64 {
        match self {
            Width::One => 1,
            Width::Two => 2,
        }
    }
}

/// Emits instructions for one width of lanes.
pub(super) struct Cells<'a, 'b> {
    pub builder: &'a mut FunctionBuilder<'b>,
    pub lanes: Width,
}

impl Cells<'_, '_> {
    /// The bits of a mask of two lanes.
    fn as_cells(&mut self, mask: Value) -> Value {
        let flags = MemFlagsData::new().with_endianness(Endianness::Little);
        self.builder.ins().bitcast(types::F64X2, flags, mask)
    }
}

impl CellInstructions for Cells<'_, '_> {
    type Value = Value;
    /// A mask of 64-bit lanes, or an 8-bit truth value for one lane.
    type Truth = Value;

    /// A pair is read from memory, which most instructions can do on the way.
    fn literal(&mut self, number: f64) -> Value {
        match self.lanes {
            Width::One => self.builder.ins().f64const(number),
            Width::Two => {
                let bytes: Vec<u8> = [number.to_le_bytes(); 2].concat();
                let constant = self.builder.func.dfg.constants.insert(bytes.into());
                self.builder.ins().vconst(types::F64X2, constant)
            }
        }
    }

    fn add(&mut self, x: Value, y: Value) -> Value {
        self.builder.ins().fadd(x, y)
    }

    fn subtract(&mut self, x: Value, y: Value) -> Value {
        self.builder.ins().fsub(x, y)
    }

    fn multiply(&mut self, x: Value, y: Value) -> Value {
        self.builder.ins().fmul(x, y)
    }

    fn divide(&mut self, x: Value, y: Value) -> Value {
        self.builder.ins().fdiv(x, y)
    }

    fn square_root(&mut self, x: Value) -> Value {
        self.builder.ins().sqrt(x)
    }

    fn magnitude(&mut self, x: Value) -> Value {
        self.builder.ins().fabs(x)
    }

    fn floor(&mut self, x: Value) -> Value {
        self.builder.ins().floor(x)
    }

    fn ceiling(&mut self, x: Value) -> Value {
        self.builder.ins().ceil(x)
    }

    fn compare(&mut self, comparison: Comparison, x: Value, y: Value) -> Value {
        let condition = match comparison {
            Comparison::Less => FloatCC::LessThan,
            Comparison::LessEqual => FloatCC::LessThanOrEqual,
            Comparison::Greater => FloatCC::GreaterThan,
            Comparison::GreaterEqual => FloatCC::GreaterThanOrEqual,
            Comparison::Equal => FloatCC::Equal,
            Comparison::NotEqual => FloatCC::NotEqual,
            Comparison::Unordered => FloatCC::Unordered,
        };
        self.builder.ins().fcmp(condition, x, y)
    }

    fn both(&mut self, left: Value, right: Value) -> Value {
        self.builder.ins().band(left, right)
    }

    fn either(&mut self, left: Value, right: Value) -> Value {
        self.builder.ins().bor(left, right)
    }

    fn one_of(&mut self, left: Value, right: Value) -> Value {
        self.builder.ins().bxor(left, right)
    }

    fn truth(&mut self, test: Value) -> Value {
        let (one, zero) = (self.literal(1.0), self.literal(0.0));
        self.choose(test, one, zero)
    }

    fn choose(&mut self, test: Value, x: Value, y: Value) -> Value {
        match self.lanes {
            Width::One => self.builder.ins().select(test, x, y),
            Width::Two => {
                let mask = self.as_cells(test);
                self.builder.ins().bitselect(mask, x, y)
            }
        }
    }

    fn lesser(&mut self, x: Value, y: Value) -> Value {
        let test = self.compare(Comparison::Less, x, y);
        self.choose(test, x, y)
    }

    fn greater(&mut self, x: Value, y: Value) -> Value {
        let test = self.compare(Comparison::Less, y, x);
        self.choose(test, x, y)
    }

    fn common_bits(&mut self, x: Value, y: Value) -> Value {
        self.builder.ins().band(x, y)
    }

    fn all_bits(&mut self, x: Value, y: Value) -> Value {
        self.builder.ins().bor(x, y)
    }

    fn fill_where(&mut self, x: Value, test: Value) -> Value {
        let mask = self.as_cells(test);
        self.builder.ins().bor(x, mask)
    }

    /// On pairs, Cranelift's own form, for quiet NaNs without payload, takes eight instructions.
    fn minimum(&mut self, x: Value, y: Value) -> Value {
        match self.lanes {
            Width::One => self.builder.ins().fmin(x, y),
            Width::Two => minimum_of_bits(self, x, y),
        }
    }

    fn maximum(&mut self, x: Value, y: Value) -> Value {
        match self.lanes {
            Width::One => self.builder.ins().fmax(x, y),
            Width::Two => maximum_of_bits(self, x, y),
        }
    }
}
