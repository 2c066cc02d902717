//! Tasks that are ready to run: a thread of an executor runs one on stripe after stripe, those of a pipeline in turns, and to
//! read a task takes as long as ten thousand cells do.

use std::{borrow::Cow, cell::RefCell};

use fulgurite_config::Config;
use fulgurite_error::{Error, Result};
use fulgurite_worker::TaskRun;
use serde::de::DeserializeOwned;

use crate::request::plan_cache;

/// That a thread keeps: no pipeline has many more.
const MOST: usize = 8;

struct Ready {
    json: Box<[u8]>,
    run: TaskRun<'static>,
}

thread_local! {
    /// The latest ones of this thread, the last one first.
    static READY: RefCell<Vec<Ready>> = const { RefCell::new(Vec::new()) };
}

/// Calls `work` with the task, which is made unless it is one of the latest of this thread. One that fails is made anew the next time.
///
/// # Errors
/// `plan`, for a task that is not understood; those of `work`.
pub(crate) fn with_task<R>(
    json: &[u8],
    work: impl FnOnce(&mut TaskRun<'static>) -> Result<R>,
) -> Result<R> {
    let known = READY.with_borrow_mut(|ready| {
        let at = ready.iter().position(|ready| *ready.json == *json)?;
        Some(ready.remove(at))
    });
    let mut ready = match known {
        Some(ready) => ready,
        None => Ready {
            json: json.into(),
            run: TaskRun::new(
                Cow::Owned(parse(json)?),
                plan_cache(|| Config::default().plan_cache_size),
            )?,
        },
    };
    let result = work(&mut ready.run)?;
    READY.with_borrow_mut(|all| {
        all.truncate(MOST - 1);
        all.insert(0, ready);
    });
    Ok(result)
}

/// A task as executors get it.
///
/// # Errors
/// `plan`, for one that is not understood.
pub(crate) fn parse<T: DeserializeOwned>(task: &[u8]) -> Result<T> {
    serde_json::from_slice(task)
        .map_err(|error| Error::plan(format!("the task is not understood: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(label: usize) -> Vec<u8> {
        let dag =
            serde_json::json!({"format": "fulgurite-hop", "version": 1, "hops": [], "roots": []});
        let task = serde_json::json!({
            "dag": dag, "plans": [], "stripes": ["X"], "broadcasts": [], "scalars": {}, "label": label.to_string(),
        });
        task.to_string().into_bytes()
    }

    /// Where the task lies, by which one is known again.
    fn place(json: &[u8]) -> usize {
        with_task(json, |run| {
            Ok(std::ptr::from_ref(run.task().dag.as_object().unwrap()) as usize)
        })
        .unwrap()
    }

    fn kept() -> Vec<String> {
        READY.with_borrow(|ready| {
            ready
                .iter()
                .map(|ready| ready.run.task().label.clone())
                .collect()
        })
    }

    #[test]
    fn a_thread_keeps_its_latest_tasks() {
        let [first, _, again, _] = [0, 1, 0, 2].map(|label| place(&task(label)));
        assert_eq!(again, first);
        assert_eq!(kept(), ["2", "0", "1"]);
        for label in 3..20 {
            place(&task(label));
        }
        assert_eq!(kept().len(), MOST);
        assert_eq!(kept()[0], "19");
    }

    #[test]
    fn a_task_that_fails_is_made_anew() {
        place(&task(7));
        let failed: Result<()> = with_task(&task(7), |_| Err(Error::plan("for a test")));
        assert!(failed.is_err());
        assert!(kept().is_empty());
        assert!(with_task(b"{}", |_| Ok(())).is_err());
    }
}
