//! Plans with what runs them: machine code, or the interpreter of steps where a process can't have any.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use fulgurite_error::{Error, Result};
use fulgurite_fusion::cplan::{CPlan, InputBinding, Template};
use fulgurite_matrix::Interrupt;

use crate::bind::{Bound, Operand, bind};
use crate::frame::{Frame, Target, WholeMatrix, Widths};
use crate::jit::{self, Code, Failure, Listing, Loops};
use crate::program::{ColumnVectors, Layout, Program, Unsupported, lower};
use crate::step_interpreter;

/// Whether the plan can be compiled.
///
/// # Errors
/// Why not, for the planner to refuse the plan and to tell the user.
pub fn supports(plan: &CPlan) -> std::result::Result<(), Unsupported> {
    lower(plan, ColumnVectors::PerRow).map(|_| ())
}

/// Which engine a plan gets.
#[derive(Debug, Clone, Copy)]
enum Choice<'a> {
    /// Machine code if this process can have any, with loops made by whom the processor asks for.
    Best,
    /// The same with loops that Cranelift makes.
    Pairs,
    /// The interpreter, and why.
    Interpreter(&'a str),
}

impl Choice<'_> {
    fn loops(self) -> Loops {
        match self {
            Choice::Pairs => Loops::Pairs,
            Choice::Best | Choice::Interpreter(_) => Loops::of_this_processor(),
        }
    }
}

/// What runs a program.
#[derive(Debug)]
enum Engine {
    MachineCode(Box<Code>),
    /// The interpreter of steps, and why.
    Interpreter(String),
}

/// A plan's program, and what runs it.
#[derive(Debug)]
pub(crate) struct Kernel {
    pub program: Program,
    pub layout: Layout,
    engine: Engine,
    loops: Loops,
}

impl Kernel {
    fn new(plan: &CPlan, column_vectors: ColumnVectors, choice: Choice<'_>) -> Result<Self> {
        let program = lower(plan, column_vectors).map_err(|reason| {
            Error::unsupported(format!("this fused operator can't be compiled: {reason}"))
        })?;
        let layout = Layout::of(&program);
        let engine = match choice {
            Choice::Interpreter(reason) => Engine::Interpreter(reason.into()),
            choice => match jit::compile(&program, &layout, choice.loops()) {
                Ok(code) => Engine::MachineCode(Box::new(code)),
                Err(Failure::Denied(reason)) => Engine::Interpreter(reason),
                Err(Failure::Refused(error)) => return Err(error),
            },
        };
        Ok(Kernel {
            program,
            layout,
            engine,
            loops: choice.loops(),
        })
    }

    /// A frame for blocks of at most `block_rows` rows, with scalars and whole matrices bound.
    ///
    /// # Errors
    /// `memory` when there is none for scratch buffers.
    pub fn frame<'a>(
        &'a self,
        bound: &Bound<'a>,
        widths: Widths<'a>,
        wholes: &'a [WholeMatrix],
        block_rows: usize,
    ) -> Result<Frame<'a>> {
        Frame::new(
            &self.program,
            &self.layout,
            bound,
            widths,
            wholes,
            block_rows,
        )
    }

    /// Runs the program over the block that the frame describes; values of the block go to the target.
    ///
    /// # Errors
    /// `internal` when the frame's slices are shorter than the program would read, `interrupted` if the run is: nothing has
    /// run then.
    pub fn run(&self, frame: &mut Frame<'_>, mut target: Target<'_>) -> Result<()> {
        let slots = frame.checked_slots(&mut target)?;
        // SAFETY: both read and write what the slots point to, within rows x width of each slice, and the frame has
        // just checked that its slices, which it borrows or owns, hold that many cells. Values of inputs are borrowed
        // shared, those written to are borrowed exclusively or owned by the frame.
        unsafe {
            match &self.engine {
                Engine::MachineCode(code) => code.run(slots),
                Engine::Interpreter(_) => step_interpreter::run(&self.program, &self.layout, slots),
            }
        }
        Ok(())
    }
}

/// A plan and its machine code, which is freed with it.
#[derive(Debug)]
pub struct CompiledPlan {
    plan: CPlan,
    kernel: Kernel,
    /// For cells that were gathered one by one: only plans over cells of CSR with column vectors need it.
    gathered: OnceLock<Result<Kernel>>,
    compile_time: Duration,
}

impl CompiledPlan {
    /// Compiles a plan, without a cache.
    ///
    /// # Errors
    /// `unsupported` with the reason that [`supports`] gives.
    pub fn compile(plan: &CPlan) -> Result<Self> {
        Self::with_engine(plan, Choice::Best)
    }

    /// A plan whose loops Cranelift makes, as it does on processors that nothing else makes them for: for comparison.
    ///
    /// # Errors
    /// As [`CompiledPlan::compile`].
    pub fn in_pairs(plan: &CPlan) -> Result<Self> {
        Self::with_engine(plan, Choice::Pairs)
    }

    /// A plan that is interpreted even where there could be machine code.
    ///
    /// # Errors
    /// As [`CompiledPlan::compile`].
    pub fn interpreted(plan: &CPlan) -> Result<Self> {
        Self::with_engine(plan, Choice::Interpreter("as was asked for"))
    }

    fn with_engine(plan: &CPlan, choice: Choice<'_>) -> Result<Self> {
        let start = Instant::now();
        let kernel = Kernel::new(plan, ColumnVectors::PerRow, choice)?;
        Ok(CompiledPlan {
            plan: plan.clone(),
            kernel,
            gathered: OnceLock::new(),
            compile_time: start.elapsed(),
        })
    }

    pub fn plan(&self) -> &CPlan {
        &self.plan
    }

    /// Cranelift's intermediate representation of the code, for explain. Made when asked for.
    ///
    /// # Errors
    /// As [`CompiledPlan::compile`].
    pub fn clif(&self) -> Result<String> {
        self.listing().map(|listing| listing.clif)
    }

    /// The machine's instructions, as Cranelift writes them, and those of loops as the GNU assembler does, for explain. Made when
    /// asked for.
    ///
    /// # Errors
    /// As [`CompiledPlan::compile`].
    pub fn asm(&self) -> Result<String> {
        self.listing().map(|listing| listing.assembly)
    }

    fn listing(&self) -> Result<Listing> {
        let Kernel {
            program,
            layout,
            loops,
            ..
        } = &self.kernel;
        jit::list(program, layout, *loops)
    }

    /// Why the plan is interpreted; `None` where it has machine code.
    pub fn why_interpreted(&self) -> Option<&str> {
        match &self.kernel.engine {
            Engine::MachineCode(_) => None,
            Engine::Interpreter(reason) => Some(reason),
        }
    }

    /// How long it took to compile.
    pub fn compile_time(&self) -> Duration {
        self.compile_time
    }

    /// Checks that operands, in the order of the plan's inputs, have the shapes that it asks for.
    ///
    /// # Errors
    /// `dimension` when a shape does not fit, naming the input.
    pub(crate) fn bind<'a>(
        &self,
        operands: &'a [Operand<'a>],
        interrupt: &'a Interrupt,
    ) -> Result<Bound<'a>> {
        bind(&self.plan, &self.kernel.program, operands, interrupt)
    }

    pub(crate) fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// The kernel that takes every input but scalars cell by cell.
    pub(crate) fn gathered_kernel(&self) -> Result<&Kernel> {
        let is_row = matches!(self.plan.template, Template::Row(_));
        if is_row || !self.plan.inputs.contains(&InputBinding::ColumnVector) {
            return Ok(&self.kernel);
        }
        self.gathered
            .get_or_init(|| {
                let choice = match (self.why_interpreted(), self.kernel.loops) {
                    (Some(reason), _) => Choice::Interpreter(reason),
                    (None, Loops::Pairs) => Choice::Pairs,
                    (None, Loops::Avx) => Choice::Best,
                };
                Kernel::new(&self.plan, ColumnVectors::PerCell, choice)
            })
            .as_ref()
            .map_err(Clone::clone)
    }
}
