//! All rules as a page.

use std::fmt::Write;

use super::{FAMILIES, Precision};

const HEAD: &str = "# Rewrites

Before operators are fused, these rules change what is computed to what is computed with less work. Rules on single
operators and whole DAGs run wherever a DAG is planned, so that those that need sizes meet the actual ones; rules on
programs run once, before the program does. Each can be switched off:
`--config fulgurite.rewrites.off=sum-of-product,loop-invariants`. `fulgurite explain --level rewrites` shows which rule
did what. This page is printed from the table in `native/hop/src/rewrites`.

In the formulas X, Y, Z are matrices, v is a column, r a row, s a scalar, c a literal. What a rule may do to numbers:

- **exact**: every bit stays, signed zeros, infinities and NaN included (but which NaN it is; and sparse matrices never
  store the sign of a zero);
- **zero's sign**: every value stays, infinities and NaN included, but the sign of a zero may change;
- **rounding**: operations happen in another order, so that the last bits may change. What is not finite stays so, but
  may come out as NaN where it was an infinity, or as an infinity where it was NaN.

No rule leaves out an operator that can fail, as `matrix(X, rows=3, cols=1)` of an X of unknown size can. Dead code is
the exception: what nobody reads is not computed. `fulgurite check` reports its errors all the same, as far as sizes are
known. Cells are known to be finite where they are those of finite literals, `seq`, `sample`, comparisons, `!`, and what
`abs`, `min`, `max`, rounding, indexing, binding and transposing make of such; ints and booleans always are.

Not done, for it would be wrong: `X * 0` is not 0 (X may hold NaN), `exp(log(X))` is not X (X may be negative), `X / s`
is not `X * (1 / s)` unless s is a power of two. Not done, for it would not pay: `t(X) %*% y` keeps its form, which the
runtime and the Row template compute without a transpose, and `sum(X ^ 2)` stays a sum, which multi-aggregates share.
";

/// `docs/rewrites.md`.
pub fn to_markdown() -> String {
    let mut text = HEAD.to_owned();
    for family in FAMILIES {
        let _ = write!(
            text,
            "\n## {}\n\n| rule | formula | where | numbers |\n|---|---|---|---|\n",
            family.title
        );
        for rule in family.rules {
            let precision = match rule.precision {
                Precision::Exact => "exact",
                Precision::ZeroSign => "zero's sign",
                Precision::Rounding => "rounding",
            };
            // A bar would end the cell.
            let formula = rule.formula.replace('|', "\\|");
            let _ = writeln!(
                text,
                "| {} | `{formula}` | {} | {precision} |",
                rule.name, rule.condition
            );
        }
    }
    text
}
