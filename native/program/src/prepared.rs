//! Programs of one block that a front end builds itself and runs again and again, without requests in between.

use fulgurite_dataflow::Variable;
use fulgurite_error::Result;
use fulgurite_hop::{Block, Dag, HopId, Program, later_reads::ReadOnce, memory, verify};
use fulgurite_operators::BlockPlan;

use super::{
    compile::on_deep_stack,
    execution::{self, OutputValue},
    interpreter::{Context, Interpreter},
    programs::PlannedProgram,
    session::Session,
    symbols::SymbolTable,
};

/// Operators from which on a program may be nested so deeply that passes over it need a stack of their own.
const SHALLOW: usize = 256;

/// A program of one block, with the plans that it got so far.
///
/// ```
/// use fulgurite_dataflow::Variable;
/// use fulgurite_hop::{Dag, Formulas, Hop, HopOp};
/// use fulgurite_matrix::MatrixBlock;
/// use fulgurite_program::{OutputValue, Prepared, Session};
///
/// let mut dag = Dag::new();
/// let x = dag.read("X");
/// let twice = dag.plus(x, x);
/// let write = dag.push(Hop::matrix(HopOp::TransientWrite("Y".into()), vec![twice]));
/// dag.roots.push(write);
/// let prepared = Prepared::new(dag)?;
/// let session = Session::new(fulgurite_config::Config::default());
/// for value in [1.0, 2.0] {
///     let x = Variable::matrix(MatrixBlock::filled(2, 3, value)?);
///     let outputs = prepared.run([("X".to_owned(), x)], &["Y".to_owned()], &session)?;
///     let [OutputValue::Matrix(y)] = &outputs[..] else { panic!("one matrix") };
///     assert_eq!(y.get(1, 2), 2.0 * value);
/// }
/// # Ok::<(), fulgurite_error::Error>(())
/// ```
pub struct Prepared(PlannedProgram);

impl Prepared {
    /// Of a DAG whose transient reads are the inputs. Plans follow from the session that it runs in first: other
    /// configurations need programs of their own.
    ///
    /// # Errors
    /// `plan`, for a DAG that is inconsistent.
    pub fn new(dag: Dag) -> Result<Self> {
        verify(&dag)?;
        let program = Program {
            body: vec![Block::Basic { dag }],
            ..Program::default()
        };
        Ok(Prepared(PlannedProgram::leaving(
            program,
            ReadOnce::default(),
        )))
    }

    /// The DAG that it was built from.
    pub fn dag(&self) -> &Dag {
        match &self.0.program.body[..] {
            [Block::Basic { dag }] => dag,
            _ => unreachable!("it is made of one block"),
        }
    }

    /// Runs it; gives these outputs in their order.
    ///
    /// # Errors
    /// As [`execute`](super::execute).
    pub fn run(
        &self,
        inputs: impl IntoIterator<Item = (String, Variable)>,
        outputs: &[String],
        session: &Session,
    ) -> Result<Vec<OutputValue>> {
        let mut symbols = SymbolTable::default();
        for (name, value) in inputs {
            symbols.set(name, value);
        }
        let run = || self.run_here(symbols, outputs, session);
        let interrupt = session.interrupt.or_current();
        interrupt.within(|| match self.dag().len() < SHALLOW {
            true => run(),
            false => on_deep_stack(run),
        })
    }

    fn run_here(
        &self,
        mut symbols: SymbolTable,
        outputs: &[String],
        session: &Session,
    ) -> Result<Vec<OutputValue>> {
        let mut context = Context::new(session.clone())?;
        context.limit_beside(&symbols);
        let mut interpreter = Interpreter::of_planned(&self.0, context);
        if let Some(progress) = session.interrupt.progress() {
            let plan = interpreter.plan_of(self.dag(), &symbols)?;
            progress.expect(expected(&plan));
        }
        interpreter.run(&self.0.program.body, &mut symbols)?;
        outputs
            .iter()
            .map(|name| execution::handed_back(symbols.take(name)?, session))
            .collect()
    }
}

/// How many operations take as long as a byte that comes from memory.
const OPERATIONS_PER_BYTE: f64 = 10.0;

/// What a plan's operators on matrices are expected to take, in bytes from memory: enough to say how much is left.
fn expected(plan: &BlockPlan) -> Vec<f64> {
    let operators = plan.schedule.iter().copied();
    let on_matrices = operators.filter(|id| plan.labels[id.index()].is_some());
    let taken = on_matrices.map(|id| {
        let hop = plan.dag.hop(id);
        let bytes = memory::held_bytes(&plan.dag, id).unwrap_or(0) as f64;
        let cells = |id: HopId| plan.dag.hop(id).characteristics.cells().unwrap_or(0) as f64;
        let operations = match hop.inputs[..] {
            // Rows times columns times depth, of what has them all twice.
            [left, right] if hop.op.is_product() => {
                2.0 * (cells(left) * cells(right) * cells(id)).sqrt()
            }
            _ => 0.0,
        };
        bytes + operations / OPERATIONS_PER_BYTE
    });
    taken.collect()
}
