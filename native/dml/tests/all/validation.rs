//! Scripts that parse but mean nothing, or ask for what is not there yet: one for each class of error.

use crate::support;

use fulgurite_dml::{CompileOptions, compile};
use fulgurite_error::{ErrorKind, Source};
use proptest::prelude::*;
use support::{Sources, compiled};

/// Scripts with the kind of their error. `X` is a matrix, `n` an int, `s` a string that only a run can tell.
const BAD_SCRIPTS: &[(ErrorKind, &str)] = &[
    // Names.
    (ErrorKind::Validation, "y = Z + 1"),
    (ErrorKind::Validation, "labels = 1\ny = lables + 1"),
    (ErrorKind::Validation, "y = rowsums(X)"),
    (ErrorKind::Validation, "y = frobnicate(X)"),
    (ErrorKind::Validation, "y = nn::forward(X)"),
    (ErrorKind::Validation, "y = 1\ny[1, 1] = 2"),
    (ErrorKind::Validation, "Z[1, 1] = 2"),
    (ErrorKind::Validation, "total += 1"),
    (ErrorKind::Validation, "pi = 3"),
    (ErrorKind::Validation, "NaN[1, 1] = 3"),
    (ErrorKind::Validation, "for (Inf in 1:2) { }"),
    (
        ErrorKind::Validation,
        "f = function(double a) return (double b) { b = a + X }\ny = f(1)",
    ),
    // Arguments from the command line.
    (ErrorKind::Argument, "y = read($Y)"),
    (ErrorKind::Argument, "y = $regg + 1"),
    // Arguments of built-in functions.
    (ErrorKind::Validation, "y = sum()"),
    (ErrorKind::Validation, "y = sum(X, X)"),
    (ErrorKind::Validation, "y = sum(n)"),
    (ErrorKind::Validation, "y = sum(\"a\")"),
    (ErrorKind::Validation, "y = exp(\"a\" + n)"),
    (
        ErrorKind::Validation,
        "y = removeEmpty(target=X, margins=\"rows\")",
    ),
    (ErrorKind::Validation, "y = removeEmpty(target=X)"),
    (ErrorKind::Validation, "y = order(target=X, target=X)"),
    (ErrorKind::Validation, "y = rand(10, 10)"),
    (ErrorKind::Validation, "y = rand(rows=10, pdf=\"gauss\")"),
    (ErrorKind::Validation, "y = matrix(TRUE, 2, 2)"),
    (ErrorKind::Validation, "y = matrix(0, X, 2)"),
    (ErrorKind::Validation, "y = matrix(X, 2, 2, byrow=(n > 1))"),
    (ErrorKind::Validation, "y = as.scalar(n)"),
    (ErrorKind::Validation, "l = list(1, 2)\ny = l[X]"),
    (ErrorKind::Validation, "y = as.integer(\"many\")"),
    (ErrorKind::Validation, "y = max(n)"),
    (ErrorKind::Validation, "y = cbind(X, 1)"),
    (ErrorKind::Validation, "y = cbind(X)"),
    (ErrorKind::Validation, "y = table(X, X, 1, 2, 3, 4, 5)"),
    (ErrorKind::Validation, "y = ppred(X, 0, \"=\")"),
    (ErrorKind::Validation, "y = list(a = 1, a = 2)"),
    (
        ErrorKind::Validation,
        "y = f([1, 2])\nf = function(double a) return (double b) { b = a }",
    ),
    (ErrorKind::Validation, "y = sum([1, 2])"),
    (ErrorKind::Validation, "y = read(\"y\", format=\"cvs\")"),
    (ErrorKind::Validation, "y = read(\"y\", format=s)"),
    (ErrorKind::Validation, "y = read(\"y\", colums=3)"),
    (ErrorKind::Validation, "write(X)"),
    (ErrorKind::Validation, "write(X, 3)"),
    (ErrorKind::Validation, "y = print(\"a\")"),
    (ErrorKind::Validation, "sum(X)"),
    // Operators.
    (ErrorKind::Validation, "y = X %*% 2"),
    (ErrorKind::Validation, "y = X + \"a\""),
    (ErrorKind::Validation, "y = s * 2"),
    (ErrorKind::Validation, "y = \"a\" - \"b\""),
    (ErrorKind::Validation, "y = !s"),
    (ErrorKind::Validation, "y = +s"),
    (ErrorKind::Validation, "y = list(1, 2) + 1"),
    (ErrorKind::Validation, "y = n[1, 1]"),
    (ErrorKind::Validation, "y = X[s, 1]"),
    (ErrorKind::Validation, "y = X[X, 1]"),
    (ErrorKind::Dimension, "y = X[0, 1]"),
    (ErrorKind::Dimension, "y = X[3:2, ]"),
    (ErrorKind::Validation, "X[1, 1] = \"a\""),
    // Control flow.
    (ErrorKind::Validation, "if (X) { }"),
    (ErrorKind::Validation, "if (X == 1) { }"),
    (ErrorKind::Validation, "if (s) { }"),
    (ErrorKind::Validation, "while (\"yes\") { }"),
    (ErrorKind::Validation, "for (i in 1:X) { }"),
    (ErrorKind::Validation, "for (i in seq(1, 10, 0)) { }"),
    (ErrorKind::Validation, "parfor (i in 1:3, chek=0) { }"),
    (
        ErrorKind::Validation,
        "if (n > 1) { a = 1 } else { a = X }\nb = a",
    ),
    (ErrorKind::Validation, "a = 1\nwhile (sum(X) > a) { a = X }"),
    // Functions of the script.
    (
        ErrorKind::Validation,
        "f = function() { }\nf = function() { }",
    ),
    (ErrorKind::Validation, "f = function(double a, int a) { }"),
    (
        ErrorKind::Validation,
        "f = function(double a = b + 1, double b) { }",
    ),
    (ErrorKind::Validation, "f = function(double pi) { }"),
    (
        ErrorKind::Validation,
        "f = function() return (double b) { c = 1 }",
    ),
    (
        ErrorKind::Validation,
        "f = function() return (double b) { b = matrix(0, 1, 1) }",
    ),
    (
        ErrorKind::Validation,
        "f = function(double a) return (double b) { b = a }\ny = f()",
    ),
    (
        ErrorKind::Validation,
        "f = function(double a) return (double b) { b = a }\ny = f(1, 2)",
    ),
    (
        ErrorKind::Validation,
        "f = function(double a) return (double b) { b = a }\ny = f(c = 2)",
    ),
    (
        ErrorKind::Validation,
        "f = function(double a, int b) { }\nf(b = 2, 1)",
    ),
    (
        ErrorKind::Validation,
        "f = function(double a, int b = 1) { }\nf(1, a = 2)",
    ),
    (
        ErrorKind::Validation,
        "f = function(double a) return (double b) { b = a }\ny = f(X)",
    ),
    (
        ErrorKind::Validation,
        "f = function(double a) return (double b) { b = a }\ny = f(\"a\")",
    ),
    (
        ErrorKind::Validation,
        "f = function(matrix[double] A) { }\nf(1)",
    ),
    (
        ErrorKind::Validation,
        "f = function() return (double a, double b) { a = 1; b = 2 }\ny = f()",
    ),
    (
        ErrorKind::Validation,
        "f = function() return (double a, double b) { a = 1; b = 2 }\ny = 1 + f()",
    ),
    (
        ErrorKind::Validation,
        "f = function() return (double a, double b) { a = 1; b = 2 }\n[p, q, r] = f()",
    ),
    (ErrorKind::Validation, "f = function() { }\ny = f()"),
    (ErrorKind::Validation, "[a, b] = sum(X)"),
    (ErrorKind::Validation, "e = eigen(X)"),
    (ErrorKind::Validation, "[P, L] = lu(X)"),
    (
        ErrorKind::Validation,
        "source(\"a.dml\") as m\nsource(\"b.dml\") as m",
    ),
    (ErrorKind::Io, "source(\"missing.dml\") as m"),
    (ErrorKind::Syntax, "source(\"broken.dml\") as m"),
    (ErrorKind::Validation, "source(\"a.dml\") as m\ny = m::on()"),
    (
        ErrorKind::Validation,
        "source(\"bad.dml\") as m\ny = m::f()",
    ),
    // Not there yet.
    // Lists in brackets.
    (
        ErrorKind::Validation,
        "Y = conv2d(X, X, stride=[1, 1], padding=[0, 0])",
    ),
    (ErrorKind::Validation, "y = eval()"),
    (ErrorKind::Validation, "l = list(1, 2)\ny = l[1, 2]"),
    (ErrorKind::Validation, "y = X[[1]]"),
    (
        ErrorKind::Validation,
        "Y = max_pool(X, input_shape=[1, 1, 2], pool_size=[1, 1])",
    ),
    (
        ErrorKind::Validation,
        "Y = max_pool(X, input_shape=[1, 1, X, 2], pool_size=[1, 1])",
    ),
    (
        ErrorKind::Validation,
        "[a, b, c] = lstm(X, X, X, X, X, TRUE)",
    ),
    (
        ErrorKind::Unsupported,
        "if (n > 1) { q = 1 }\ny = exists(q)",
    ),
    (
        ErrorKind::Unsupported,
        "g = externalFunction(int i) return (int j) implemented in (classname=\"G\")\ny = g(1)",
    ),
];

const SOURCES: Sources = Sources(&[
    ("a.dml", "one = function() return (double x) { x = 1 }"),
    ("b.dml", "two = function() return (double x) { x = 2 }"),
    ("broken.dml", "one = function( { }"),
    (
        "bad.dml",
        "f = function() return (double x) {\n  x = undefined + 1\n}",
    ),
]);

fn options() -> CompileOptions<'static> {
    CompileOptions {
        arguments: [("reg".to_owned(), fulgurite_dml::parse_argument("0.5"))].into(),
        resolver: &SOURCES,
        ..CompileOptions::default()
    }
}

/// The script after a first line that defines X, n and s.
fn with_variables(script: &str) -> String {
    format!("X = read(\"X\"); n = nrow(X); s = \"s\" + n\n{script}")
}

#[test]
fn every_class_of_error_points_at_its_place() {
    let mut report = Vec::new();
    let mut wrong = Vec::new();
    for (kind, script) in BAD_SCRIPTS {
        let source = Source::new("test.dml", with_variables(script));
        match compile(&source, &options()) {
            Ok(_) => wrong.push(format!("compiles: {script}")),
            Err(error) if error.kind() != *kind || error.position().is_none() => {
                wrong.push(format!("not {kind} with a place: {script}\n{error}"));
            }
            Err(error) => report.push(error.to_string()),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    insta::assert_snapshot!(report.join("\n\n"));
}

#[test]
fn outputs_must_be_assigned() {
    let options = CompileOptions {
        outputs: vec!["beta".to_owned()],
        ..CompileOptions::default()
    };
    let error = compile(&Source::new("test.dml", "betta = 1"), &options).expect_err("no beta");
    insta::assert_snapshot!(error.to_string(), @r"
    validation error[E0206]: the script never assigns the output 'beta'
       = help: did you mean 'betta'?
    ");
}

#[test]
fn lenient_where_the_language_is() {
    let scripts = [
        "f = function(double a) return (double b) { b = lineage(a) }",
        "if (n > 1) { a = 1 }\nprint(a)",
        "if (n > 1) { a = 1 } else { a = X }",
        "min = 3\ny = min(X) + min",
        "y = TRUE + 1",
        "y = \"a\" < \"b\" & s == \"s3\"",
        "y = X; y = 1; y = \"a\"",
        "f = function(double a) return (double b) { b = a }\ny = f(3)\nwhile (f(n) > 1) { n = n - 1 }",
        "y = max(X, 1, n)",
        "sum = function(matrix[double] A) return (double s) { s = 0 }\ny = sum(X) + 1",
        "write(X + 1, \"a\")\nwrite(\"text\", \"b\")",
        "parfor (i in 1:n, check=0, par=4, mode=LOCAL) { X[i, ] = X[i, ] * 2 }",
        "y = as.matrix(X)",
        "x = 9223372036854775807 * 2",
        "F = read(\"f\", data_type=\"frame\")\nG = F[1:2, ]\nwrite(rbind(F, G), \"g\")\nprint(toString(as.frame(X)))",
        "v = read(\"v\", data_type=\"scalar\", value_type=\"string\")\nprint(\"v \" + v)",
        "a = 1\nb = 2\nt = a\na = b\nb = t\nprint(a - b)",
        "print(as.matrix(list(1, n, TRUE)))\nprint(length(list(1, 2)))",
        "for (i in 1:3) for (j in i:3) if (i == j) X[i, j] = i * j else X[j, i] += 1",
    ];
    for script in scripts {
        if let Err(error) = compiled(&with_variables(script), &options()) {
            panic!("{error}");
        }
    }
}

#[test]
fn missing_arguments_can_be_allowed() {
    let options = CompileOptions {
        allow_missing_arguments: true,
        ..CompileOptions::default()
    };
    let program = compiled("if ($O != \" \") print(\"[\" + $O + \"]\")", &options);
    let printed = program.map(|program| support::show(&program));
    insta::assert_snapshot!(printed.unwrap_or_else(|error| error.to_string()), @r"
    basic
      (0) lit [] [string]
      (1) u(print) (0) [string]
      roots 1
    ");
}

/// What writers of R and Python type gets the DML form as help.
#[test]
fn habits_of_other_languages_get_help() {
    for (text, help) in [
        ("y = c(1, 2)", "matrix("),
        ("y = True", "TRUE"),
        ("y = false", "FALSE"),
        ("y = None", "NaN"),
        ("y = sort(X)", "order("),
        ("y = len(X)", "nrow(X)"),
        ("y = rep(1, 5)", "matrix(value"),
        (
            "y = X[X, ]",
            "table(seq(1, nrow(idx)), idx, nrow(idx), nrow(X)) %*% X",
        ),
        ("y = not(n)", "!x"),
        ("cat(n)", "print("),
    ] {
        let error = compiled(&with_variables(text), &options()).expect_err(text);
        let given = error.help().unwrap_or_default();
        assert!(given.contains(help), "{text}: {error}");
    }
}

#[test]
fn deep_scripts_compile_or_are_errors_in_time() {
    let sum = "n".to_owned() + &" + n".repeat(1000);
    let ifs = "if (n > 1) {\n".repeat(240) + &format!("y = {sum}\n") + &"}".repeat(240);
    let parentheses = format!("y = {}n{}", "(".repeat(240), ")".repeat(240));
    let loops = |depth: usize| {
        let open: Vec<_> = (0..depth)
            .map(|level| {
                format!("a{level} = 0\nwhile (n > a{level}) {{\na{level} = a{level} / 2\n")
            })
            .collect();
        open.concat() + &"}".repeat(depth)
    };
    for script in [ifs, parentheses, loops(10)] {
        if let Err(error) = compiled(&with_variables(&script), &options()) {
            panic!("{error}");
        }
    }
    let error = compiled(&with_variables(&loops(11)), &options()).expect_err("too deep");
    assert_eq!(error.kind(), ErrorKind::Validation);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn any_statements_compile_or_are_an_error(statements in proptest::collection::vec(
        proptest::sample::select(vec![
            "X = X %*% t(X)\n", "n = n + 1\n", "n = X\n", "s = s + n\n", "if (n > 1) {\n", "} else {\n", "}\n",
            "while (n < 10) {\n", "for (i in 1:n) {\n", "for (i in seq(n, 1, -1)) {\n", "X[i, n] = i\n",
            "n = f(n, X)\n", "[n, X] = g(X)\n", "print(s)\n", "y = n\n", "n = y\n", "if (FALSE) {\n", "a = i\n",
            "while (f(n, X) > 1) {\n", "write(X, s)\n", "n = 5\n", "y = NaN\n", "parfor (j in 1:3, check=0) {\n",
        ]),
        0..25,
    )) {
        let functions = "f = function(double a, matrix[double] B) return (double c) { c = a + sum(B) }\n\
             g = function(matrix[double] A) return (double c, matrix[double] B) { B = A; c = f(1, A) }\n";
        let open = statements.iter().filter(|text| text.ends_with("{\n") && **text != "} else {\n").count();
        let closed = statements.iter().filter(|text| **text == "}\n").count();
        let text = format!(
            "{functions}{}{}",
            with_variables(&statements.concat()),
            "}".repeat(open.saturating_sub(closed))
        );
        if let Err(error) = compiled(&text, &options()) {
            prop_assert!(error.kind() != ErrorKind::Plan && error.kind() != ErrorKind::Internal, "{}\n{}", text, error);
        }
    }
}
