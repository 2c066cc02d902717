//! Which operator of the script asks for a primitive: backends name their work after it.
//!
//! Primitives come from many places: operators, but also matrices that are sent, persisted or brought back when somebody
//! first needs them. All of them run on the thread that evaluates the operator, which therefore remembers it.

use std::{cell::RefCell, sync::Arc};

thread_local! {
    static OPERATOR: RefCell<Option<Arc<str>>> = const { RefCell::new(None) };
}

/// While this lives, primitives of this thread are asked for by the operator.
pub struct OnBehalf {
    before: Option<Arc<str>>,
}

impl OnBehalf {
    /// The operator with this label asks from now on.
    pub fn of(label: Arc<str>) -> Self {
        OnBehalf {
            before: OPERATOR.replace(Some(label)),
        }
    }
}

impl Drop for OnBehalf {
    fn drop(&mut self) {
        OPERATOR.set(self.before.take());
    }
}

/// The label of the operator that this thread evaluates: `ba(+*) mlogreg.dml:42`.
pub fn asking_operator() -> Option<Arc<str>> {
    OPERATOR.with_borrow(Clone::clone)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operator_that_is_evaluated_within_another_gives_way_to_it() {
        let label = || asking_operator().as_deref().map(str::to_owned);
        assert_eq!(label(), None);
        let outer = OnBehalf::of("fcall a.dml:1".into());
        let inner = OnBehalf::of("ba(+*) a.dml:9".into());
        assert_eq!(label().as_deref(), Some("ba(+*) a.dml:9"));
        drop(inner);
        assert_eq!(label().as_deref(), Some("fcall a.dml:1"));
        drop(outer);
        assert_eq!(label(), None);
    }
}
