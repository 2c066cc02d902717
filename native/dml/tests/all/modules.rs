//! Functions of other scripts: sourced ones, and builtin ones.

use fulgurite_dml::CompileOptions;
use fulgurite_hop::Dialect;

use crate::support::{Sources, compiled};

const SCRIPTS: Sources = Sources(&[
    ("a.dml", "source(\"x.dml\") as m\nf = function() return (double y) { y = m::g() }"),
    ("b.dml", "source(\"y.dml\") as m\nf = function() return (double y) { y = m::g() }"),
    ("x.dml", "g = function() return (double y) { y = 1 }"),
    ("y.dml", "g = function() return (double y) { y = 2 }"),
    (
        "builtin/pair.dml",
        "m_pair = function(matrix[double] X) return (matrix[double] A, double b) { A = helper(X); b = one() }
         helper = function(matrix[double] X) return (matrix[double] Y) { Y = X + other(X) }
         one = function() return (double y) { y = 1 }",
    ),
    ("builtin/other.dml", "s_other = function(matrix[double] X) return (double y) { y = sum(X) }"),
    ("builtin/unused.dml", "m_unused = function(matrix[double] X) { this is no script }"),
    ("builtin/sum.dml", "m_sum = function(matrix[double] X) return (double y) { y = 0 }"),
]);

fn options() -> CompileOptions<'static> {
    CompileOptions {
        resolver: &SCRIPTS,
        ..CompileOptions::default()
    }
}

/// The functions that a program has, or the error.
fn functions(text: &str, options: &CompileOptions<'_>) -> String {
    match compiled(text, options) {
        Ok(program) => {
            let names: Vec<&str> = program.functions.keys().map(String::as_str).collect();
            names.join(" ")
        }
        Err(error) => error.to_string(),
    }
}

#[test]
fn two_scripts_may_use_one_name_for_different_files() {
    let text = "source(\"a.dml\") as a\nsource(\"b.dml\") as b\nprint(a::f() + b::f())";
    assert_eq!(functions(text, &options()), "a::f b::f m.2::g m::g");
    let text = "source(\"x.dml\") as m\nsource(\"y.dml\") as m\nprint(m::g())";
    assert!(functions(text, &options()).contains("stands for 'x.dml' already"));
    // One file under two names is there once.
    let text = "source(\"x.dml\") as m\nsource(\"x.dml\") as n\nprint(m::g() + n::g())";
    assert_eq!(functions(text, &options()), "m::g");
}

#[test]
fn unknown_functions_are_builtin_scripts() {
    let text = "[A, b] = pair(matrix(1, 2, 2))\nprint(sum(A) + b)";
    let all = "builtin.other::s_other builtin.pair::helper builtin.pair::m_pair builtin.pair::one";
    assert_eq!(functions(text, &options()), all);
    // The script's own functions come first, then the language's.
    let text = "pair = function(matrix[double] X) return (double y) { y = sum(X) }\nprint(pair(matrix(1, 2, 2)))";
    assert_eq!(functions(text, &options()), "pair");
    // What a builtin script keeps to itself cannot be called.
    let error = functions("print(helper(matrix(1, 2, 2)))", &options());
    assert!(error.contains("unknown function 'helper'"), "{error}");
    let error = functions("print(others(matrix(1, 2, 2)))", &options());
    assert!(
        error.contains("no builtin script of this name in builtin"),
        "{error}"
    );
}

#[test]
fn one_result_is_the_first_of_a_builtin_script() {
    let text = "A = pair(matrix(1, 2, 2))\nprint(sum(A) + sum(pair(A)))";
    assert!(functions(text, &options()).contains("builtin.pair::m_pair"));
    let own = "f = function() return (double a, double b) { a = 1; b = 2 }\nx = f()\nprint(x)";
    assert!(functions(own, &options()).contains("gives 2 results, not one"));
    let systemds = CompileOptions {
        dialect: Dialect::SystemDs,
        ..options()
    };
    assert_eq!(functions(own, &systemds), "f");
}

#[test]
fn remarks_of_systemds_are_read_over() {
    let text = "X = matrix(1, 2, 1)
        f = function(Scalar[int] n) return (double y) { y = n }
        Y = table(X, X, 2, cols=3)
        z = ifelse(f(1) > 0, 1, no = 2;)
        if (z > 5) stop(\"large\").
        f(3)
        print(sum(Y))";
    assert_eq!(functions(text, &options()), "f");
}
