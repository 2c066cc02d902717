//! External functions that are built in: scripts name the Java class that implements them.

use fulgurite_error::{Result, Source};
use fulgurite_hop::Literal;

use crate::syntax::{
    self,
    ast::{FunctionBody, FunctionDefinition, Statement},
};

/// What the classes compute, with `$0`, `$1` … for parameters and `%0`, `%1` … for results.
const IMPLEMENTATIONS: &[(&str, usize, usize, &str)] =
    &[("org.apache.sysml.udf.lib.BinningWrapper", 3, 2, BINNING)];

/// `[B, bins] = binning(A, binsize, numbins)`: limits of bins of so many rows of a sorted column. Equal values are in one bin.
/// The limits are halfway between the last values of bins that follow each other; those of bins that are not there are 0.
const BINNING: &str = "
    %0 = matrix(0, rows=$2 + 1, cols=1)
    %0[1, 1] = $0[1, 1]
    %1 = 0
    binning_row = 1
    while (binning_row < nrow($0) & %1 < $2) {
      binning_row = min(binning_row + $1, nrow($0))
      binning_last = as.scalar($0[binning_row, 1])
      %0[%1 + 2, 1] = binning_last
      binning_equal = binning_row < nrow($0)
      while (binning_equal) {
        binning_equal = as.scalar($0[binning_row + 1, 1]) == binning_last
        if (binning_equal) {
          binning_row = binning_row + 1
          binning_equal = binning_row < nrow($0)
        }
      }
      %1 = %1 + 1
    }
    if (%1 > 0) {
      %0[1:%1, 1] = (%0[1:%1, 1] + %0[2:(%1 + 1), 1]) / 2
    }
";

/// The statements of an external function that is built in.
///
/// # Errors
/// Syntax, for names that make the statements something else.
pub(super) fn built_in(definition: &FunctionDefinition) -> Result<Option<Vec<Statement>>> {
    let FunctionBody::External(options) = &definition.body else {
        return Ok(None);
    };
    let class = options.iter().find_map(|(name, value)| match value {
        Literal::String(class) if name == "classname" => Some(class.as_str()),
        _ => None,
    });
    let (parameters, results) = (&definition.parameters, &definition.results);
    let known = IMPLEMENTATIONS.iter().find(|(name, takes, gives, _)| {
        Some(*name) == class && (*takes, *gives) == (parameters.len(), results.len())
    });
    let Some((_, _, _, text)) = known else {
        return Ok(None);
    };
    let mut text = (*text).to_owned();
    for (sign, names) in [('$', parameters), ('%', results)] {
        for (place, name) in names.iter().enumerate() {
            text = text.replace(&format!("{sign}{place}"), &name.name);
        }
    }
    let source = Source::new(definition.name.clone(), text);
    syntax::parse(&source).map(|script| Some(script.body))
}
