//! All errors of a script in one run, without those that follow from others; and warnings.

use fulgurite_dml::{CompileOptions, compile, warnings};
use fulgurite_error::{Error, Source};
use proptest::prelude::*;

/// A line for each error: place, code and message.
fn errors(script: &str) -> String {
    let compiled = compile(&Source::new("a.dml", script), &CompileOptions::default());
    match compiled {
        Ok(_) => "none\n".to_owned(),
        Err(error) => error.each().map(|error| line(&error)).collect(),
    }
}

fn line(error: &Error) -> String {
    let place = error.position().map_or_else(String::new, |position| {
        format!("{}:{} ", position.line, position.column)
    });
    format!("{place}{} {}\n", error.code(), error.message())
}

fn shown(scripts: &[&str], report: impl Fn(&str) -> String) -> String {
    let each = scripts.iter();
    let each = each.map(|script| format!("{script}\n---\n{}", report(script)));
    each.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_parser_goes_on_with_the_next_statement() {
    let scripts = [
        // Ends of lines, semicolons and braces end what is wrong.
        "x = 1 +\ny = * 2\nz = 3",
        "x = ); y = ]; z = 3",
        "if (TRUE) { x = = 1 } else { y = 2 3 }\nz = )",
        // A header that is wrong; its blocks are parsed all the same.
        "if (x = 1) {\n  y = )\n} else {\n  z = ]\n}\nw = 3",
        "for (i 1:3) { x = ) }\nwhile x { y = ] }",
        "f = function(matrix X, 3) return (double y) {\n  y = )\n}\nz = 2",
        // Lines of a call go together, unless its parenthesis was forgotten.
        "x = rand(rows=1 cols=2,\n         min=0,\n         max=1)\ny = )",
        "x = sum(y\nz = 3\nw = )",
        // One error for a block that is not closed; none for what a string swallows.
        "if (TRUE) {\n  x = )\n",
        "if (TRUE) {\n  x = \"a\n",
        "x = 1\n}\ny = )",
        // Tokens that are none.
        "x = 1 @ 2\ny = a.b\nz = 99999999999999999999 ~ ?\nw = \"\\q\" + \"\\w\"",
        "x = /* 1",
        "{ { {",
    ];
    insta::assert_snapshot!(shown(&scripts, errors));
}

#[test]
fn what_follows_from_another_error_is_not_told() {
    let scripts = [
        "x = f(1)\ny = x + 1\nz = sum(y)\nprint(z)",
        "y = x + 1\nz = x + 2\nx = 3\nprint(x + sum(x))",
        // A part of a matrix does not change its type.
        "X = rand(rows=2, cols=2)\nX[1, 1] = f(1)\nprint(X %*% 2)",
        // A variable that is assigned again is as good as new.
        "x = f(1)\nx = 2\nprint(sum(x))",
        // Blocks of a branch or loop whose header is wrong.
        "if (f(1)) {\n  x = g(1)\n} else {\n  x = h(1)\n}\nprint(sum(x))",
        "while (f(1)) { x = g(1); y = x }\nfor (i in 1:f(1)) { z = g(i) }\nparfor (i in h(1):2, par=-1) { w = g(sum(i)) }",
        // A loop is looked at twice.
        "x = 1\nfor (i in 1:3) {\n  y = f(x)\n  x = y\n  z = sum(2)\n}\nprint(sum(x))",
        // Functions, called or not, in the order of the script.
        "f = function(double a) return (double b) { b = sum(a) }\ng = function(double a) return (double b, double c) { b = h(a) }\nprint(f(1) + x)",
        "if (FALSE) { x = f(1) }\nprint(sum(2))",
        "R = matrix(0, 3, 1)\nparfor (i in 1:3) { R[1, 1] = sum(i) }\nprint(R + f(1))",
        "pi = 3\n[a, b] = f(1)\nprint(a + b + sum(pi))",
    ];
    insta::assert_snapshot!(shown(&scripts, errors));
}

#[test]
fn warnings_are_right() {
    let report = |script: &str| {
        let found = warnings(&Source::new("a.dml", script), &["out".to_owned()]);
        let lines = found.iter().map(|warning| {
            let position = &warning.position;
            let place = format!("{}:{}", position.line, position.column);
            format!("{place} {} {}\n", warning.code, warning.message)
        });
        match lines.collect::<String>() {
            none if none.is_empty() => "none\n".to_owned(),
            lines => lines,
        }
    };
    let scripts = [
        // A program may read what a script leaves, unless the script writes its results itself.
        "x = 1\nprint(2)",
        "x = 1\nwrite(2, 'o')",
        "x = 1\nwrite(2, 'o')\nx = 2\ny = 3",
        "out = 1\nwrite(2, 'o')",
        "for (i in 1:2) { x = 1 }\nif (TRUE) { y = 2 }\nwrite(2, 'o')",
        // Assigning a part and adding are not reading.
        "X = matrix(0, 2, 2)\nX[1, 1] = 1\nn = 0\nn += 1\nwrite(1, 'o')",
        "x = 1\ny = exists('x')\nwrite(y, 'o')",
        // The language wants names for results of calls.
        "f = function(double a) return (double b, double c) { d = 1; b = a; c = a }\n[x, y] = f(1)\nz = lib::g(1)\nwrite(x, 'o')",
        "f = function(double a) return (double b) { b = a }\ng = function(double a) return (double b) { b = f(a) }\nx = f(1)",
        "f = function(double a) return (double b) { b = a }\nx = as.scalar(eval('f', 1))\nprint(x)",
        "f = function(double a) return (double b) { b = a }",
        "stop('x')\ny = 1\nz = 2",
        "if ($a > 1) { stop('x') } else { stop('y') }\nprint(1)",
        "if ($a > 1) { stop('x') }\nprint(1)",
        "if (FALSE) { print(1) } else { print(2) }\nif (!FALSE) { print(1) } else { print(2) }\nif (1 == 1) { } \nwhile (FALSE) { }",
        "while (TRUE) { print(1) }\nprint(2)",
        "for (i in seq(3, 1, 1)) { print(i) }\nfor (i in 3:1) { print(i) }\nfor (i in seq(3, 1, -1)) { print(i) }",
        "x = $a == NaN\ny = NaN != $a\nz = $a < NaN\nprint(x + y + z)",
        "x = )",
    ];
    insta::assert_snapshot!(shown(&scripts, report));
}

const STATEMENTS: [&str; 12] = [
    "x = 2",
    "y = x + 1",
    "M = matrix(x, 2, 2)",
    "M[1, x] = y",
    "s = sum(M)",
    "if (s > 1) { x = s } else { y = x; z = 1 }",
    "while (x < 9) { x = x + z }",
    "for (i in 1:y) { s += i; M = M * i }",
    "parfor (i in 1:2) { M[i, 1] = z }",
    "l = list(x, M)",
    "z = as.scalar(M[1, 1])",
    "print(M + f(x))",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    /// The first error of a script is the error of the script that ends behind it.
    #[test]
    fn more_statements_add_errors_and_take_none(
        order in proptest::collection::vec(0..STATEMENTS.len(), 1..12),
    ) {
        let script = |statements: &[usize]| -> String {
            let lines = statements.iter();
            lines.map(|place| format!("{}\n", STATEMENTS[*place])).collect()
        };
        let all = errors(&script(&order));
        for length in 1..order.len() {
            let fewer = errors(&script(&order[..length]));
            if fewer != "none\n" {
                prop_assert!(all.starts_with(&fewer), "{fewer}\n{all}");
            }
        }
    }
}
