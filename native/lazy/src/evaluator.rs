//! Computes expressions: programs are found by their structure, and kept.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use fulgurite_dataflow::Variable;
use fulgurite_error::{Error, Result};
use fulgurite_hop::Literal;
use fulgurite_matrix::Interrupt;
use fulgurite_program::{OutputValue, Prepared, Session};
use rustc_hash::FxHashMap;

use crate::{Expression, Structure};

/// Structures whose programs are kept.
const STRUCTURES: usize = 1024;
/// Programs of a structure that differ in literals. One more, and literals that change become variables: then rewrites
/// do not know them, and the program serves all of them.
const VALUES_AS_LITERALS: usize = 4;

/// What happened in this process so far.
pub static COUNTS: Counts = Counts {
    evaluations: AtomicU64::new(0),
    programs: AtomicU64::new(0),
    nanoseconds: AtomicU64::new(0),
};

/// This process was forked from one that had used an evaluator: its threads are not there.
static FORKED: AtomicBool = AtomicBool::new(false);

/// What happened so far.
#[derive(Debug)]
pub struct Counts {
    pub evaluations: AtomicU64,
    pub programs: AtomicU64,
    pub nanoseconds: AtomicU64,
}

/// What the evaluations under one configuration share.
pub struct Evaluator {
    session: Session,
    programs: Mutex<ProgramCache>,
}

#[derive(Default)]
struct ProgramCache {
    by_structure: FxHashMap<Vec<u32>, Known>,
    /// Grows with each use.
    clock: u64,
}

struct Known {
    used: u64,
    variants: Vec<Arc<Variant>>,
}

/// A program of a structure, for these literals, or for all that differ in none but those that vary.
pub struct Variant {
    literals: Vec<Literal>,
    pub varies: Vec<bool>,
    program: Prepared,
}

impl Variant {
    fn serves(&self, literals: &[Literal]) -> bool {
        let mut known = self.literals.iter().zip(literals).zip(&self.varies);
        known.all(|((known, now), varies)| *varies || same(known, now))
    }
}

/// NaN is the same as NaN, and 0 another than -0.
fn same(left: &Literal, right: &Literal) -> bool {
    match (left, right) {
        (Literal::Double(left), Literal::Double(right)) => left.to_bits() == right.to_bits(),
        (left, right) => left == right,
    }
}

impl Evaluator {
    pub fn new(session: Session) -> Self {
        Evaluator {
            session,
            programs: Mutex::default(),
        }
    }

    /// # Errors
    /// `runtime`, in a process that was forked.
    pub fn session(&self) -> Result<&Session> {
        refuse_after_fork()?;
        Ok(&self.session)
    }

    fn programs(&self) -> MutexGuard<'_, ProgramCache> {
        self.programs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The program of a structure: one that is known, or a new one.
    ///
    /// # Errors
    /// `plan`, for a DAG that is inconsistent.
    pub fn program(&self, structure: &Structure) -> Result<Arc<Variant>> {
        let mut programs = self.programs();
        programs.clock += 1;
        let clock = programs.clock;
        let mut varies = vec![false; structure.literals.len()];
        if let Some(known) = programs.by_structure.get_mut(&structure.words) {
            known.used = clock;
            let place = known
                .variants
                .iter()
                .position(|variant| variant.serves(&structure.literals));
            if let Some(place) = place {
                return Ok(Arc::clone(&known.variants[place]));
            }
            if known.variants.len() >= VALUES_AS_LITERALS {
                for variant in &known.variants {
                    let literals = variant.literals.iter().zip(&structure.literals);
                    for (varies, (known, now)) in varies.iter_mut().zip(literals) {
                        *varies |= !same(known, now);
                    }
                }
            }
        }
        let variant = Arc::new(Variant {
            literals: structure.literals.clone(),
            program: Prepared::new(structure.dag(&varies))?,
            varies,
        });
        COUNTS.programs.fetch_add(1, Ordering::Relaxed);
        programs.make_room();
        let known = programs
            .by_structure
            .entry(structure.words.clone())
            .or_insert(Known {
                used: clock,
                variants: Vec::new(),
            });
        if known.variants.len() >= VALUES_AS_LITERALS {
            // This one serves more.
            known.variants.pop();
        }
        known.variants.insert(0, Arc::clone(&variant));
        Ok(variant)
    }

    /// Runs a program with these variables; gives its outputs in their order.
    ///
    /// # Errors
    /// Of its operators; `runtime`, in a process that was forked.
    pub fn run(
        &self,
        known: &Variant,
        variables: impl Iterator<Item = (String, Variable)>,
        outputs: &[String],
        interrupt: &Interrupt,
    ) -> Result<Vec<Variable>> {
        let session = self.session()?.clone().with_interrupt(interrupt.clone());
        let outputs = known.program.run(variables, outputs, &session)?;
        outputs
            .into_iter()
            .map(|output| match output {
                OutputValue::Scalar(value) => Ok(Variable::Scalar(value)),
                OutputValue::Matrix(block) => Ok(Variable::matrix(block)),
                OutputValue::Frame(_) | OutputValue::List(_) | OutputValue::Dataset { .. } => {
                    Err(Error::internal("a result that is not in this process"))
                }
            })
            .collect()
    }

    /// The values of what a structure wants, in its order.
    ///
    /// # Errors
    /// Of its operators, at the places of [`crate::SOURCE`].
    pub fn compute(&self, structure: &Structure, interrupt: &Interrupt) -> Result<Vec<Variable>> {
        let known = self.program(structure)?;
        let variables = Structure::variables(&structure.leaves, &structure.literals, &known.varies);
        self.run(&known, variables, &structure.output_names(), interrupt)
    }
}

/// Computes expressions together; those that have values are left alone.
///
/// # Errors
/// Of their operators.
pub fn evaluate(
    wanted: &[Arc<Expression>],
    evaluator: &Evaluator,
    interrupt: &Interrupt,
) -> Result<()> {
    let pending = wanted.iter().filter(|wanted| !wanted.is_value());
    let pending: Vec<Arc<Expression>> = pending.cloned().collect();
    if pending.is_empty() {
        return Ok(());
    }
    COUNTS.evaluations.fetch_add(1, Ordering::Relaxed);
    let structure = Structure::of(&pending, false);
    let values = evaluator.compute(&structure, interrupt)?;
    for (expression, value) in structure.outputs().zip(values) {
        expression.computed(value);
    }
    Ok(())
}

impl ProgramCache {
    /// Lets go of the half that was not used for longest, where there are too many.
    fn make_room(&mut self) {
        if self.by_structure.len() < STRUCTURES {
            return;
        }
        let mut uses: Vec<u64> = self.by_structure.values().map(|known| known.used).collect();
        uses.sort_unstable();
        let middle = uses[uses.len() / 2];
        self.by_structure.retain(|_, known| known.used > middle);
    }
}

/// # Errors
/// `runtime`, in a process that was forked.
pub fn refuse_after_fork() -> Result<()> {
    match FORKED.load(Ordering::Relaxed) {
        false => Ok(()),
        true => Err(Error::runtime(
            "this process was forked from one that had used fulgurite, whose threads are not here",
        )
        .with_help("start processes with multiprocessing.set_start_method('spawn'), or fork before the first evaluation")),
    }
}

/// To be called in a child process after a fork.
pub fn forked() {
    let used = COUNTS.evaluations.load(Ordering::Relaxed) > 0;
    FORKED.fetch_or(used, Ordering::Relaxed);
}
