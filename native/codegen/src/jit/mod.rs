//! Programs to machine code, with Cranelift.
//!
//! [`compile`] makes one function per program: `extern "C" fn(frame: *const u64)`. Everything that depends on
//! sizes is read from the frame, see [`crate::program::Layout`]. Loops over cells are functions of their own on processors with
//! AVX ([`avx`]), else Cranelift's, on two lanes at a time (the widest vectors that it has); all else is calls of primitives.

mod avx;
mod code;
mod columns;
mod emit;
mod operands;
mod pairs;

pub(crate) use code::Code;

use std::sync::{Arc, OnceLock};

use cranelift_codegen::Context;
use cranelift_codegen::ir::{AbiParam, Signature, UserFuncName, types};
use cranelift_codegen::isa::{CallConv, OwnedTargetIsa};
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Linkage, Module, default_libcall_names};
use fulgurite_error::{Error, Result};

use crate::primitives::symbols;
use crate::program::{Layout, Program};

/// Why there is no machine code.
#[derive(Debug)]
pub(crate) enum Failure {
    /// This process can't have any: the processor is unknown to Cranelift, or memory must not become executable.
    Denied(String),
    /// Cranelift refuses this program.
    Refused(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Refused(error)
    }
}

/// Who makes the code of loops over cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Loops {
    /// Ourselves, on vectors of four.
    Avx,
    /// Cranelift, on pairs.
    Pairs,
}

impl Loops {
    pub fn of_this_processor() -> Self {
        match avx::is_available() {
            true => Loops::Avx,
            false => Loops::Pairs,
        }
    }
}

/// # Errors
/// Why there is no code; nothing is left of it.
pub(crate) fn compile(program: &Program, layout: &Layout, loops: Loops) -> Result<Code, Failure> {
    let mut module = module_for()?;
    let built = build(&mut module, program, layout, loops, false).and_then(|mut built| {
        let defined = module.define_function(built.function, &mut built.context);
        defined.map_err(refused).map(|()| built.function)
    });
    let defined = built.map_err(Failure::Refused).and_then(|function| {
        // All that is left to do is to make the code's memory executable.
        let finished = module.finalize_definitions();
        finished.map_err(|error| Failure::Denied(format!("{error}")))?;
        Ok(function)
    });
    match defined {
        Ok(function) => Ok(Code::new(module, function)),
        Err(error) => {
            Code::discard(module);
            Err(error)
        }
    }
}

/// The code of a program as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Listing {
    /// Cranelift's intermediate representation, before its optimizations.
    pub clif: String,
    /// The instructions of this machine.
    pub assembly: String,
}

/// Generates the code anew, for reading: running programs don't pay for the texts.
///
/// # Errors
/// `unsupported` on a processor that Cranelift has no code generator for; `internal` when it refuses the code.
pub(crate) fn list(program: &Program, layout: &Layout, loops: Loops) -> Result<Listing> {
    let mut module = module_for().map_err(|failure| match failure {
        Failure::Denied(reason) => {
            Error::unsupported(format!("there is no machine code: {reason}"))
                .with_help("`--level cplan` shows what is interpreted instead")
        }
        Failure::Refused(error) => error,
    })?;
    let listing = build(&mut module, program, layout, loops, true).and_then(|built| {
        let Built {
            function,
            mut context,
            listings,
        } = built;
        let clif = context.func.display().to_string();
        context.set_disasm(true);
        module
            .define_function(function, &mut context)
            .map_err(refused)?;
        let compiled = context.compiled_code();
        let assembly = compiled.and_then(|compiled| compiled.vcode.clone());
        let assembly = assembly.ok_or_else(|| Error::internal("code without a disassembly"))?;
        let assembly = [vec![assembly], listings].concat().join("\n");
        Ok(Listing { clif, assembly })
    });
    Code::discard(module);
    listing
}

fn module_for() -> Result<JITModule, Failure> {
    let mut builder = JITBuilder::with_isa(target()?, default_libcall_names());
    for (name, address) in symbols() {
        builder.symbol(name, address);
    }
    Ok(JITModule::new(builder))
}

/// A function that is yet to be defined.
struct Built {
    function: FuncId,
    context: Context,
    /// The loops that are functions of their own, to read.
    listings: Vec<String>,
}

/// Declares the function and emits its body.
fn build(
    module: &mut JITModule,
    program: &Program,
    layout: &Layout,
    loops: Loops,
    with_listings: bool,
) -> Result<Built> {
    let mut signature = module.make_signature();
    signature.params.push(AbiParam::new(types::I64));
    let function = module
        .declare_function("fused", Linkage::Export, &signature)
        .map_err(refused)?;
    let mut context = module.make_context();
    context.func.signature = signature;
    context.func.name = UserFuncName::user(0, function.as_u32());
    let mut scratch = FunctionBuilderContext::new();
    let builder = FunctionBuilder::new(&mut context.func, &mut scratch);
    let listings = emit::emit(builder, module, program, layout, loops, with_listings)?;
    Ok(Built {
        function,
        context,
        listings,
    })
}

fn refused(error: cranelift_module::ModuleError) -> Error {
    Error::internal(format!("Cranelift refused a fused operator: {error:?}"))
}

fn signature_of(convention: CallConv, arguments: usize) -> Signature {
    let mut signature = Signature::new(convention);
    signature.params = vec![AbiParam::new(types::I64); arguments];
    signature
}

/// The machine we run on.
fn target() -> Result<OwnedTargetIsa, Failure> {
    static TARGET: OnceLock<Result<OwnedTargetIsa, String>> = OnceLock::new();
    let isa = TARGET.get_or_init(build_target);
    isa.as_ref()
        .map(Arc::clone)
        .map_err(|reason| Failure::Denied(format!("Cranelift and this processor: {reason}")))
}

fn build_target() -> Result<OwnedTargetIsa, String> {
    let mut flags = settings::builder();
    let verifier = if cfg!(debug_assertions) {
        "true"
    } else {
        "false"
    };
    for (name, value) in [
        // Code is emitted as it is to run: the optimizer makes it no faster, takes a quarter of the time in which short programs are
        // compiled, and moves all loads of an unrolled body to its start, where they take registers.
        ("opt_level", "none"),
        ("enable_verifier", verifier),
        ("use_colocated_libcalls", "false"),
        ("is_pic", "false"),
    ] {
        flags.set(name, value).map_err(|error| error.to_string())?;
    }
    cranelift_native::builder()?
        .finish(settings::Flags::new(flags))
        .map_err(|error| error.to_string())
}
