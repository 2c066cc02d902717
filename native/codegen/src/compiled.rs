//! Plans with what runs them: machine code, or the interpreter of steps where a process can't have any.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use fulgurite_error::{Error, Result};
use fulgurite_fusion::cplan::{CPlan, InputBinding, Template};

use crate::frame::{Frame, Target};
use crate::jit::{self, Code, Failure};
use crate::program::{ColumnVectors, Layout, Program, Unsupported, lower};
use crate::step_interpreter;

/// Whether the plan can be compiled.
///
/// # Errors
/// Why not, for the planner to refuse the plan and to tell the user.
pub fn supports(plan: &CPlan) -> std::result::Result<(), Unsupported> {
    lower(plan, ColumnVectors::PerRow).map(|_| ())
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
}

impl Kernel {
    fn new(plan: &CPlan, column_vectors: ColumnVectors, interpreted: Option<&str>) -> Result<Self> {
        let program = lower(plan, column_vectors).map_err(|reason| {
            Error::unsupported(format!("this fused operator can't be compiled: {reason}"))
        })?;
        let layout = Layout::of(&program);
        let engine = match interpreted {
            Some(reason) => Engine::Interpreter(reason.into()),
            None => match jit::compile(&program, &layout) {
                Ok(code) => Engine::MachineCode(Box::new(code)),
                Err(Failure::Denied(reason)) => Engine::Interpreter(reason),
                Err(Failure::Refused(error)) => return Err(error),
            },
        };
        Ok(Kernel {
            program,
            layout,
            engine,
        })
    }

    /// Runs the program over the block that the frame describes; values of the block go to the target.
    ///
    /// # Errors
    /// `internal` when the frame's slices are shorter than the program would read: nothing has run then.
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
        Self::with_engine(plan, None)
    }

    /// A plan that is interpreted even where there could be machine code.
    ///
    /// # Errors
    /// As [`CompiledPlan::compile`].
    pub fn interpreted(plan: &CPlan) -> Result<Self> {
        Self::with_engine(plan, Some("as was asked for"))
    }

    fn with_engine(plan: &CPlan, interpreted: Option<&str>) -> Result<Self> {
        let start = Instant::now();
        let kernel = Kernel::new(plan, ColumnVectors::PerRow, interpreted)?;
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
        jit::list(&self.kernel.program, &self.kernel.layout).map(|listing| listing.clif)
    }

    /// The machine's instructions, as Cranelift writes them, for explain. Made when asked for.
    ///
    /// # Errors
    /// As [`CompiledPlan::compile`].
    pub fn asm(&self) -> Result<String> {
        jit::list(&self.kernel.program, &self.kernel.layout).map(|listing| listing.assembly)
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
            .get_or_init(|| Kernel::new(&self.plan, ColumnVectors::PerCell, self.why_interpreted()))
            .as_ref()
            .map_err(Clone::clone)
    }
}
