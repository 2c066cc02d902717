//! Takes instructions one after the other, with the places that jumps go to.

use fulgurite_error::{Error, Position};
use fulgurite_hop::Hop;

use super::instructions::{Code, Instruction, Origin, Register, Target};

#[derive(Debug, Default)]
pub(super) struct Emitter {
    pub(super) code: Code,
    /// Where labels are, once that is known.
    labels: Vec<Option<Target>>,
}

impl Emitter {
    pub(super) fn new(code: Code) -> Self {
        Emitter {
            code,
            labels: Vec::new(),
        }
    }

    pub(super) fn label(&mut self) -> Target {
        self.labels.push(None);
        self.labels.len() as Target - 1
    }

    pub(super) fn place(&mut self, label: Target) {
        self.labels[label as usize] = Some(self.code.instructions.len() as Target);
    }

    /// An instruction that can't fail.
    pub(super) fn emit(&mut self, instruction: Instruction) {
        self.emit_of(instruction, Origin::default());
    }

    /// An instruction whose errors tell this.
    pub(super) fn emit_of(&mut self, instruction: Instruction, origin: Origin) {
        let origins = &mut self.code.origins;
        if origins.last() != Some(&origin) {
            origins.push(origin);
        }
        self.code.origin_of.push(origins.len() as u32 - 1);
        self.code.instructions.push(instruction);
    }

    /// Goes to `target` unless a boolean holds, which a block has in one of its own registers or in a variable's. A
    /// comparison that gave it just before becomes part of the jump.
    pub(super) fn jump_unless(&mut self, condition: Register, target: Target) {
        let compared = match self.code.instructions.last().copied() {
            Some(Instruction::Less { to, x, y }) if to == condition => {
                Some(Instruction::JumpUnlessLess { x, y, target })
            }
            Some(Instruction::LessInts { to, x, y }) if to == condition => {
                Some(Instruction::JumpUnlessLessInts { x, y, target })
            }
            Some(Instruction::LessEqualInts { to, x, y }) if to == condition => {
                Some(Instruction::JumpUnlessLessEqualInts { x, y, target })
            }
            Some(Instruction::EqualInts { to, x, y }) if to == condition => {
                Some(Instruction::JumpUnlessEqualInts { x, y, target })
            }
            _ => None,
        };
        match compared {
            Some(jump) => {
                self.code.instructions.pop();
                self.code.origin_of.pop();
                self.emit(jump);
            }
            None => self.emit(Instruction::JumpUnless { condition, target }),
        }
    }

    pub(super) fn fail(&mut self, error: Error, origin: Origin) {
        self.code.errors.push(error);
        let error = self.code.errors.len() as u32 - 1;
        self.emit_of(Instruction::Fail { error }, origin);
    }

    /// The code, with places for labels; nothing where one has none.
    pub(super) fn finish(mut self) -> Option<Code> {
        let labels = self.labels;
        let place = |label: &mut Target| {
            *label = labels.get(*label as usize).copied().flatten()?;
            Some(())
        };
        for instruction in &mut self.code.instructions {
            match instruction {
                Instruction::Jump { target }
                | Instruction::JumpUnless { target, .. }
                | Instruction::JumpUnlessLess { target, .. }
                | Instruction::JumpUnlessLessInts { target, .. }
                | Instruction::JumpUnlessLessEqualInts { target, .. }
                | Instruction::JumpUnlessEqualInts { target, .. }
                | Instruction::JumpIfZero { target, .. }
                | Instruction::Next { end: target, .. } => place(target)?,
                Instruction::Move { .. }
                | Instruction::Add { .. }
                | Instruction::Subtract { .. }
                | Instruction::Multiply { .. }
                | Instruction::Divide { .. }
                | Instruction::Unary { .. }
                | Instruction::Binary { .. }
                | Instruction::Ternary { .. }
                | Instruction::Less { .. }
                | Instruction::LessEqual { .. }
                | Instruction::Equal { .. }
                | Instruction::AddInts { .. }
                | Instruction::SubtractInts { .. }
                | Instruction::MultiplyInts { .. }
                | Instruction::DivideInts { .. }
                | Instruction::ModuloInts { .. }
                | Instruction::MinInts { .. }
                | Instruction::MaxInts { .. }
                | Instruction::AbsInt { .. }
                | Instruction::LessInts { .. }
                | Instruction::LessEqualInts { .. }
                | Instruction::EqualInts { .. }
                | Instruction::Not { .. }
                | Instruction::And { .. }
                | Instruction::Or { .. }
                | Instruction::Select { .. }
                | Instruction::IntToDouble { .. }
                | Instruction::DoubleToInt { .. }
                | Instruction::DoubleToIndex { .. }
                | Instruction::DoubleToBound { .. }
                | Instruction::IntToBoolean { .. }
                | Instruction::DoubleToBoolean { .. }
                | Instruction::Read { .. }
                | Instruction::Write { .. }
                | Instruction::Iteration
                | Instruction::Range { .. }
                | Instruction::Call { .. }
                | Instruction::Return
                | Instruction::Effect { .. }
                | Instruction::Fail { .. }
                | Instruction::FailReturned { .. }
                | Instruction::End { .. } => {}
            }
        }
        for unit in &mut self.code.units {
            place(&mut unit.entry)?;
        }
        Some(self.code)
    }
}

/// What errors of an operator tell.
pub(super) fn origin_of(hop: &Hop, around: Option<&Position>) -> Origin {
    Origin {
        operator: Some(hop.op.code()),
        ..at(hop.position.as_ref().or(around))
    }
}

/// What errors tell that are no operator's.
pub(super) fn at(position: Option<&Position>) -> Origin {
    Origin {
        operator: None,
        position: position.cloned(),
    }
}
