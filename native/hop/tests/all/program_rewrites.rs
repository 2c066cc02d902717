//! Rewrites of programs: branches, loops, blocks and variables, before and after.

use std::fmt::Write;

use fulgurite_dml::{CompileOptions, InputVariable, compile};
use fulgurite_error::Source;
use fulgurite_hop::{
    Block, Characteristics, Dag, OptimizeOptions, Outputs, Program, Symbols, ValueType,
    VariableInfo, optimize_program_traced, rewrites::rules,
};

fn symbols() -> Symbols {
    let matrix = |rows, cols| VariableInfo::matrix(Characteristics::dims(rows, cols));
    [
        ("X", matrix(1000, 20)),
        ("P", matrix(1000, 5)),
        ("y", matrix(1000, 1)),
        ("w", matrix(20, 1)),
        ("U", VariableInfo::matrix(Characteristics::UNKNOWN)),
        ("n", VariableInfo::scalar(ValueType::Int)),
        ("a", VariableInfo::scalar(ValueType::Double)),
    ]
    .map(|(name, info)| (name.to_owned(), info))
    .into()
}

/// The program of a script, after these rules, and which applied.
fn optimized(script: &str, outputs: &[&str], on: &[&str]) -> (Program, Vec<&'static str>) {
    let symbols = symbols();
    let input = |(name, info): (&String, &VariableInfo)| {
        let variable = InputVariable {
            data_type: info.data_type,
            value_type: info.value_type,
            characteristics: info.characteristics,
        };
        (name.clone(), variable)
    };
    let names: Vec<String> = outputs.iter().map(|name| (*name).to_owned()).collect();
    let options = CompileOptions {
        inputs: symbols.iter().map(input).collect(),
        outputs: names.clone(),
        ..CompileOptions::default()
    };
    let program = compile(&Source::new("test.dml", script), &options).expect("it compiles");
    let off = rules().map(|rule| rule.name.to_owned());
    let off: Vec<String> = off.filter(|name| !on.contains(&name.as_str())).collect();
    let options = OptimizeOptions {
        off: &off,
        outputs: Outputs::Only(names.into_iter().collect()),
    };
    let (program, trace) =
        optimize_program_traced(&program, &symbols, &|_, _| None, &options).expect("no rule fails");
    let applied = trace.into_iter().map(|application| application.rule);
    (program, applied.collect())
}

/// Statements and control flow, as a script has them.
fn outline(blocks: &[Block], depth: usize) -> String {
    let mut text = String::new();
    let indent = "  ".repeat(depth);
    for block in blocks {
        let headers = block.predicates().into_iter();
        let headers: Vec<String> = headers.map(|header| value(&header.dag)).collect();
        match block {
            Block::Basic { dag } => {
                let _ = writeln!(text, "{indent}--");
                for root in &dag.roots {
                    let _ = writeln!(text, "{indent}{}", dag.whole_expression(*root));
                }
            }
            Block::If {
                then, otherwise, ..
            } => {
                let _ = writeln!(text, "{indent}if {}", headers.join(""));
                text += &outline(then, depth + 1);
                let _ = writeln!(text, "{indent}else");
                text += &outline(otherwise, depth + 1);
            }
            Block::While { body, .. } => {
                let _ = writeln!(text, "{indent}while {}", headers.join(""));
                text += &outline(body, depth + 1);
            }
            Block::For { variable, body, .. } => {
                let _ = writeln!(text, "{indent}for {variable} in {}", headers.join(" to "));
                text += &outline(body, depth + 1);
            }
            Block::Call {
                function, outputs, ..
            } => {
                let _ = writeln!(text, "{indent}{} = {function}(...)", outputs.join(", "));
            }
        }
    }
    text
}

fn value(dag: &Dag) -> String {
    let roots = dag.roots.iter();
    let texts: Vec<String> = roots.map(|root| dag.whole_expression(*root)).collect();
    texts.join("; ")
}

/// The program without the rule and with it.
fn show(script: &str, outputs: &[&str], rule: &str) -> String {
    const CLEAN: [&str; 2] = ["dead-code", "common-subexpressions"];
    let (before, _) = optimized(script, outputs, &CLEAN);
    let (after, applied) = optimized(script, outputs, &[CLEAN[0], CLEAN[1], rule]);
    assert!(applied.contains(&rule), "{rule} leaves no trace");
    format!(
        "{}\n=== {rule}\n\n{}",
        outline(&before.body, 0),
        outline(&after.body, 0)
    )
}

#[test]
fn constant_branches() {
    insta::assert_snapshot!(show(
        "if (nrow(X) > 10) { z = sum(X) } else { z = 0.0 }
         if (n > 10) { z = z + 1 }",
        &["z"],
        "constant-branches"
    ));
}

#[test]
fn unentered_loops() {
    insta::assert_snapshot!(show(
        "z = 0.0
         steps = ncol(X) - 20
         while (ncol(X) < 20) { z = z + sum(X) }
         for (i in seq(1, steps, 1)) { z = z + i }
         for (i in 1:steps) { z = z + 2 * i }",
        &["z"],
        "unentered-loops"
    ));
}

#[test]
fn dead_variables() {
    // Who reads B is known only when the branch is gone.
    let script = "B = t(X) %*% y
         if (ncol(X) > 100) { z = sum(B) } else { z = sum(X) }";
    let rules = ["constant-branches", "dead-code", "dead-variables"];
    let (before, _) = optimized(script, &["z"], &rules[..2]);
    let (after, applied) = optimized(script, &["z"], &rules);
    assert!(applied.contains(&"dead-variables"));
    insta::assert_snapshot!(format!(
        "{}\n=== dead-variables\n\n{}",
        outline(&before.body, 0),
        outline(&after.body, 0)
    ));
}

#[test]
fn adjacent_blocks() {
    let script = "A = X * 2
         if (ncol(X) == 20) { A = A + P[, 1] }
         z = sum(A ^ 2)
         B = A
         S = U + 1
         if (ncol(X) == 20) { S = S * 2 }
         T = sum(S) + n";
    let rules = ["constant-branches", "dead-code", "adjacent-blocks"];
    let (before, _) = optimized(script, &["z", "B", "T"], &rules[..2]);
    let (after, applied) = optimized(script, &["z", "B", "T"], &rules);
    assert!(applied.contains(&"adjacent-blocks"));
    insta::assert_snapshot!(format!(
        "{}\n=== adjacent-blocks\n\n{}",
        outline(&before.body, 0),
        outline(&after.body, 0)
    ));
}

#[test]
fn loop_invariants() {
    insta::assert_snapshot!(show(
        "i = 0
         V = w
         while (i < n) {
           # Smaller than P and than X; the square is not, and fusion never materialises it.
           Q = P[, 1:2] * (X %*% cbind(V, w))
           H = t(X) %*% (Q - P[, 1:2] * rowSums(Q))
           scale = max(sqrt(rowSums(X ^ 2)))
           V = V + H[, 1] / scale
           # May fail, and so moves under the loop's condition; or is as large as its input.
           E = X[, n]
           D = X * 2
           V = V + t(D) %*% E / i
           for (j in 1:3) {
             V = V * (sum(y) + j + sum(V))
           }
           if (i > 3) { V = V + sum(P) }
           i = i + 1
         }",
        &["V"],
        "loop-invariants"
    ));
}

#[test]
fn what_may_fail_stays_behind_what_comes_first() {
    let script = "z = 0.0
         i = 0
         while (i < n) {
           if (i == 0) { z = a }
           z = z + sum(U)
           i = i + 1
         }";
    let (_, applied) = optimized(script, &["z"], &["loop-invariants", "dead-code"]);
    assert_eq!(
        applied,
        Vec::<&str>::new(),
        "it may fail, and is not the first thing in the loop"
    );
}

#[test]
fn what_may_fail_does_not_overtake_a_stop() {
    let script = "z = 0.0
         i = 0
         while (i < n) {
           assert(ncol(U) >= n)
           z = z + sum(U[, n])
           i = i + 1
         }
         for (j in 1:n) { z = z + sum(U[, n]) }";
    insta::assert_snapshot!(show(script, &["z"], "loop-invariants"));
}

#[test]
fn functions_have_their_loops_too() {
    let script = "f = function(matrix[double] A, int k) return (double r) {
           r = 0.0
           for (i in 1:k) { r = r + sum(A) * i }
         }
         z = f(X, n)";
    let (program, applied) = optimized(script, &["z"], &["loop-invariants", "dead-code"]);
    assert!(applied.contains(&"loop-invariants"));
    let function = program.functions.values().next().expect("it is called");
    insta::assert_snapshot!(outline(&function.body, 0));
}
