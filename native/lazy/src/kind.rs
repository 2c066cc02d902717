//! Operators, each with what tells it from others at the price of a number.

use std::{
    collections::HashMap,
    sync::{
        Arc, LazyLock, Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
};

use fulgurite_error::{Error, Result};
use fulgurite_hop::HopOp;

/// An operator and its number.
#[derive(Debug)]
pub struct Kind {
    pub op: HopOp,
    pub number: u32,
}

/// Operators by their codes and the names of their inputs.
type Kinds = HashMap<(String, Vec<String>), Arc<Kind>>;

static KINDS: LazyLock<Mutex<Kinds>> = LazyLock::new(Mutex::default);
static NEXT: AtomicU32 = AtomicU32::new(0);

impl Kind {
    /// The operator of a code (`ba(+*)`), with names of inputs where it has names.
    ///
    /// # Errors
    /// `internal`, for a code that there is not.
    pub fn named(code: &str, names: &[&str]) -> Result<Arc<Kind>> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let key = (code.to_owned(), names);
        let mut kinds = KINDS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kinds.get(&key) {
            return Ok(Arc::clone(known));
        }
        let op = HopOp::from_code(code)
            .ok_or_else(|| Error::internal(format!("there is no operator '{code}'")))?;
        let kind = Arc::new(Kind {
            op: op.naming_inputs(&key.1),
            number: NEXT.fetch_add(1, Ordering::Relaxed),
        });
        kinds.insert(key, Arc::clone(&kind));
        Ok(kind)
    }
}
