//! Relational plans on one table, as Spark's tasks run them.

use std::{
    cell::RefCell,
    sync::{Arc, LazyLock},
};

use arrow::{
    array::{Array, ArrayRef, RecordBatch},
    compute::cast,
    datatypes::DataType,
    error::ArrowError,
};
use fulgurite_config::Config;
use fulgurite_error::{Error, Result};
use fulgurite_lazy::Evaluator;
use fulgurite_matrix::Interrupt;
use fulgurite_operators::Threads;
use fulgurite_program::Session;
use fulgurite_relation::{Fusion, Relation, Table, WORTH_A_PLAN};

/// That a thread keeps: a task has a plan, and one that says whether it may run.
const MOST: usize = 4;

struct Ready {
    json: Box<[u8]>,
    plan: Relation,
}

/// Of all tasks: what one has planned serves the others.
static EVALUATOR: LazyLock<Evaluator> =
    LazyLock::new(|| Evaluator::new(Session::new(Config::default()).on_calling_thread()));

thread_local! {
    /// The latest plans of this thread, the last one first: a task runs one on chunk after chunk.
    static READY: RefCell<Vec<Ready>> = const { RefCell::new(Vec::new()) };
}

/// Runs the plan on the table, which is its scan 0.
///
/// # Errors
/// `plan` for one that is not understood; those of the plan.
pub(crate) fn relate(json: &[u8], batch: RecordBatch) -> Result<RecordBatch> {
    let known = READY.with_borrow_mut(|ready| {
        let at = ready.iter().position(|ready| *ready.json == *json)?;
        Some(ready.remove(at))
    });
    let table = Table::from_batches(&batch.schema(), &[batch])?;
    let ready = match known {
        Some(ready) => ready,
        None => {
            let text = str::from_utf8(json)
                .map_err(|error| Error::plan(format!("a plan is no text: {error}")))?;
            Ready {
                json: json.into(),
                plan: Relation::from_json(text)?,
            }
        }
    };
    let fusion = Fusion {
        tables: &[table],
        arrays: &[],
        evaluator: &EVALUATOR,
        interrupt: &Interrupt::current(),
        least_rows: WORTH_A_PLAN,
        observer: None,
    };
    let result = Threads::of_task()?.run(|| fusion.collect(&ready.plan))?;
    READY.with_borrow_mut(|all| {
        all.truncate(MOST - 1);
        all.insert(0, ready);
    });
    plain(&result)
}

/// The table with its texts as such: Java reads no codes.
fn plain(table: &Table) -> Result<RecordBatch> {
    let failed =
        |error: ArrowError| Error::internal(format!("a result could not be handed over: {error}"));
    let columns = table.iter().map(|(name, column)| {
        let column = match column.data_type() {
            DataType::Dictionary(..) => cast(column, &DataType::Utf8).map_err(failed)?,
            _ => Arc::clone(column),
        };
        Ok((&**name, column, true))
    });
    let columns = columns.collect::<Result<Vec<(&str, ArrayRef, bool)>>>()?;
    RecordBatch::try_from_iter_with_nullable(columns).map_err(failed)
}
