//! Relational plans on one table, as Spark's tasks run them.

use std::cell::RefCell;

use arrow::array::RecordBatch;
use fulgurite_error::{Error, Result};
use fulgurite_relation::{Relation, Table, collect};

/// That a thread keeps: a task has a plan, and one that says whether it may run.
const MOST: usize = 4;

struct Ready {
    json: Box<[u8]>,
    plan: Relation,
}

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
    let table = Table::from_batches(&batch.schema(), &[batch])?;
    let result = collect(&ready.plan, &[table], &[])?.to_record_batch()?;
    READY.with_borrow_mut(|all| {
        all.truncate(MOST - 1);
        all.insert(0, ready);
    });
    Ok(result)
}
