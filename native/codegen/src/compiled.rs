//! Plans with their machine code.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use fulgurite_error::{Error, Result};
use fulgurite_fusion::cplan::{CPlan, InputBinding, Template};

use crate::jit::{self, Code};
use crate::program::{ColumnVectors, Layout, Program, Unsupported, lower};

/// Whether the plan can be compiled.
///
/// # Errors
/// Why not, for the planner to refuse the plan and to tell the user.
pub fn supports(plan: &CPlan) -> std::result::Result<(), Unsupported> {
    lower(plan, ColumnVectors::PerRow).map(|_| ())
}

/// A plan's program, and the code made from it.
#[derive(Debug)]
pub(crate) struct Kernel {
    pub program: Program,
    pub layout: Layout,
    pub code: Code,
}

impl Kernel {
    fn compile(plan: &CPlan, column_vectors: ColumnVectors) -> Result<Self> {
        let program = lower(plan, column_vectors).map_err(|reason| {
            Error::unsupported(format!("this fused operator can't be compiled: {reason}"))
        })?;
        let layout = Layout::of(&program);
        let code = jit::compile(&program, &layout)?;
        Ok(Kernel {
            program,
            layout,
            code,
        })
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
        let start = Instant::now();
        let kernel = Kernel::compile(plan, ColumnVectors::PerRow)?;
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
            .get_or_init(|| Kernel::compile(&self.plan, ColumnVectors::PerCell))
            .as_ref()
            .map_err(Clone::clone)
    }
}
