//! Plans that read and compute less, with the same result.
//!
//! Selections move down below operators that treat each row alone; columns that nobody reads are left out at scans; a sort of which
//! only the first rows are read keeps no more. Nothing moves past what may refuse a row: an error stays an error.

mod columns;
mod names;
mod selection;
mod top;

use fulgurite_error::Result;
pub(crate) use names::is_movable;

use crate::{deep::on_deep_stack, plan::Relation, resolve::resolve, table::Columns};

impl Relation {
    /// The plan with selections moved down, unused columns left out and sorts cut short.
    ///
    /// # Errors
    /// Those of the plan, see [`resolve`].
    pub fn optimized(&self, sources: &[Columns]) -> Result<Relation> {
        on_deep_stack(|| {
            resolve(self, sources, None)?;
            let known = names::Names { sources };
            let plan = selection::selected(&known, self, Vec::new());
            let plan = top::cut_short(&plan, None);
            let plan = columns::pruned(&known, &plan, None);
            resolve(&plan, sources, None)?;
            Ok(plan)
        })
    }
}
