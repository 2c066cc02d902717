//! The grammar: precedence, every kind of statement and literal, and errors that point at their place.

use fulgurite_dml::{ast, parse};
use fulgurite_error::{Position, Result, Source};
use fulgurite_hop::{BinaryOp, Literal};
use proptest::prelude::*;

fn script(text: &str) -> Result<ast::Script> {
    parse(&Source::new("test.dml", text))
}

fn tree(text: &str) -> String {
    match script(text) {
        Ok(script) => script.to_s_expression(),
        Err(error) => error.to_string(),
    }
}

fn expression(text: &str) -> String {
    let printed = tree(&format!("x = {text}"));
    match printed.trim_end().strip_prefix("(= x ") {
        Some(rest) => rest.strip_suffix(')').unwrap_or(rest).to_owned(),
        None => printed,
    }
}

#[test]
fn operators_bind_as_the_reference_says() {
    let cases = [
        ("2^3^2", "(^ 2 (^ 3 2))"),
        ("2^-1", "(^ 2 (- 1))"),
        ("2^-a^b", "(^ 2 (- (^ a b)))"),
        ("-2^2", "(- (^ 2 2))"),
        ("3--2", "(- 3 (- 2))"),
        ("-a %*% b", "(%*% (- a) b)"),
        ("X * U %*% t(V)", "(* X (%*% U (t V)))"),
        ("A %*% B %*% C", "(%*% (%*% A B) C)"),
        ("3*7%/%2", "(* 3 (%/% 7 2))"),
        ("7*2%/%2", "(* 7 (%/% 2 2))"),
        ("5*a %% b", "(* 5 (%% a b))"),
        ("a %% b %*% c", "(%% a (%*% b c))"),
        ("a / b * c", "(* (/ a b) c)"),
        ("a - b + c", "(+ (- a b) c)"),
        ("a + b * c ^ d", "(+ a (* b (^ c d)))"),
        ("3 > 2 > 1", "(> (> 3 2) 1)"),
        ("a + 1 <= b - 1", "(<= (+ a 1) (- b 1))"),
        ("!a == b", "(! (== a b))"),
        ("!a & !b", "(& (! a) (! b))"),
        ("x * !y == z", "(* x (! (== y z)))"),
        ("a | b & c", "(| a (& b c))"),
        ("a & b == c | d", "(| (& a (== b c)) d)"),
        ("a || b && c", "(| a (& b c))"),
        ("(a + b) * c", "(* (+ a b) c)"),
        ("TRUE & x", "(& TRUE x)"),
        ("-X[1, ]", "(- ([] X 1 all))"),
    ];
    for (text, expected) in cases {
        assert_eq!(expression(text), expected, "{text}");
    }
}

#[test]
fn literals() {
    let cases = [
        ("42", "42"),
        ("7L", "7"),
        ("1.", "1.0"),
        (".5", "0.5"),
        ("1e3", "1000.0"),
        ("1.5E-3", "0.0015"),
        ("1e+2", "100.0"),
        ("TRUE", "TRUE"),
        ("true", "true"),
        ("$name", "$name"),
        ("$1", "$1"),
        (r#""a'b""#, r#""a'b""#),
        (r#"'a"b'"#, r#""a\"b""#),
        (
            r#""tab\t quote\" back\\ newline\n""#,
            r#""tab\t quote\" back\\ newline\n""#,
        ),
        ("\"two\nlines\"", r#""two\nlines""#),
        ("as.scalar(X[1, 1])", "(as.scalar ([] X 1 1))"),
        ("ns::f(X, k = 2)", "(ns::f X k=2)"),
        ("ifdef($a, ncol(X))", "(ifdef $a (ncol X))"),
        ("X[a : b + 1]", "([] X (: a (+ b 1)) all)"),
        ("X[, ]", "([] X all all)"),
        (
            "conv2d(X, W, stride=[1, s])",
            "(conv2d X W stride=(list 1 s))",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(expression(text), expected, "{text}");
    }
}

#[test]
fn every_kind_of_statement() {
    insta::assert_snapshot!(tree(
        r#"
# A comment; statements need no separator.
setwd("lib") source("a/b.dml") as ab;
x=3 y <- x;; x += 1
/* over
   lines */
X[1:2, ] = ab::f(x)
X[i, j] += 1
[a, B[, 1]] = g(x, n = 2)
print("a" + x)
if (x > 1) y = 2 else if (x > 0) { y = 3; } else { }
if (x > 1) { print("b") };
while (!done) { x = x - 1 };
for (i in 1:nrow(X)) s = s + i
for (i in seq(10, 1, -2), check = 0) { }
parfor (i in seq(1, n), check=0, mode=LOCAL, par=4) { R[i, ] = X[i, ] }
Z = rand(rows=2, cols=2)
[U, V] = svd(Z)
min = 3
f = function(matrix[double] A, Double eps = 1e-3, Boolean verbose, frame[string] F, list[unknown] l, M)
  return (Matrix[Double] R, int iterations) { R = A; iterations = 0 };
nothing = function() { print("x") }
ext = externalFunction(Matrix[Double] A, Integer n) return (Matrix[Double] B)
  implemented in (classname="org.example.Udf", exectype="mem");
# the end, without a line end"#
    ));
}

/// One script for each class of error.
const BAD_SCRIPTS: &[&str] = &[
    "x = ",
    "x = (1 + 2",
    "x = f(1, 2",
    "x = f(1 2)",
    "x = 1 +* 2",
    "x = y = 3",
    "x 3",
    "if x > 1 { }",
    "if (x = 1) { }",
    "else { }",
    "while (TRUE) { x = 1",
    "for (i = 1:3) { }",
    "for (i in X) { }",
    "for (i in seq(1)) { }",
    "if = 3",
    "x = \"abc",
    "/* never closed",
    "x = \"a\\d\"",
    "x = 99999999999999999999",
    "x = 3abc",
    "x = a.b",
    "y = as.Scalar(X)",
    "x = read.csv(\"a\")",
    "x = _a",
    "x = a % b",
    "x = $",
    "x = a ? b",
    "x = X[1:, ]",
    "x = X[]",
    "x = f(X)[1, ]",
    "x = (X + 1)[1, ]",
    "x = X[1, ][1, 1]",
    "x = ns::f",
    "x = ifdef(a, 1)",
    "x = ifdef($a)",
    "[a, b] f(x)",
    "[a, b] = 3",
    "f = function(matrx[double] A) { }",
    "f = function(matrix[dbl] A) { }",
    "f = function(double a) return (double b = 1) { }",
    "f = function(double a) b = 1",
    "if (TRUE) { f = function() { } }",
    "if (TRUE) { source(\"a.dml\") as a }",
    "source(\"a.dml\")",
    "x = [1, 2]",
    "\tx = f(\ty z)",
];

#[test]
fn errors_point_at_their_place() {
    let report: Vec<String> = BAD_SCRIPTS
        .iter()
        .map(|text| match script(text) {
            Ok(script) => panic!("'{text}' parses as {}", script.to_s_expression()),
            Err(error) => error.to_string(),
        })
        .collect();
    insta::assert_snapshot!(report.join("\n\n"));
}

#[test]
fn deep_nesting_and_long_chains_are_errors_not_overflows() {
    let deep = format!("x = {}1{}", "(".repeat(100_000), ")".repeat(100_000));
    let long = format!("x = 1{}", " + 1".repeat(100_000));
    let signs = format!("x = {}1", "-".repeat(100_000));
    let powers = format!("x = 1{}", " ^ 1".repeat(100_000));
    let blocks = "if (TRUE) ".repeat(100_000) + "x = 1";
    let calls = format!("x = {}1{}", "f(".repeat(100_000), ")".repeat(100_000));
    let indexes = "x = ".to_owned() + &"X[".repeat(5_000);
    for text in [deep, long, signs, powers, blocks, calls, indexes] {
        let error = script(&text).expect_err("too deep");
        assert!(error.position().is_some(), "{error}");
    }
    let reasonable = format!("x = 1{}", " + 1".repeat(1000));
    assert!(script(&reasonable).is_ok());
}

/// What writers of R and Python type gets the DML form as help.
#[test]
fn habits_of_other_languages_get_help() {
    for (text, help) in [
        ("x = 2 ** 3", "x ^ y"),
        ("C = A @ B", "A %*% B"),
        ("if (a and b) { x = 1 }", "write & for and"),
        ("if (a or b) { x = 1 }", "write | for or"),
        ("if (not a) { x = 1 }", "!x"),
        ("x = a and b", "write & for and"),
        ("for (i in 1:3) { break }", "no break"),
        ("for (i in 1:3) { next }", "no next"),
        ("for (i in 1:3) { continue }", "no next"),
        ("for (i in range(3)) { x = i }", "1:n"),
        ("def f(x):", "f = function"),
        ("print x", "parentheses"),
        ("print 'x'", "parentheses"),
        ("x -= 1", "x = x - "),
        ("x *= 2", "x = x * "),
        ("Y = X.T", "t(X)"),
        ("n = X.shape", "nrow(X)"),
        ("s = X.sum()", "sum(X)"),
        ("if (x = 1) { y = 2 }", "=="),
        ("if (x): y = 2", "braces"),
        ("elif (x) { y = 2 }", "else if"),
        ("y = x // 2", "x %/% y"),
        ("y = x % 2", "%%"),
        ("import numpy", "source("),
    ] {
        let error = script(text).expect_err(text);
        let given = error.help().unwrap_or_default();
        assert!(given.contains(help), "{text}: {error}");
    }
}

fn literal() -> impl Strategy<Value = Literal> {
    prop_oneof![
        (0..=i64::MAX).prop_map(Literal::Int),
        (0.0..1e300f64).prop_map(Literal::Double),
        any::<bool>().prop_map(Literal::Boolean),
        any::<String>().prop_map(Literal::String),
    ]
}

fn name() -> impl Strategy<Value = String> {
    "[A-Z][a-z0-9_]{0,3}".prop_filter("constants and keywords", |name| name != "TRUE")
}

/// Functions alone have names with dots.
fn function_name() -> impl Strategy<Value = String> {
    let dotted = vec!["is.na", "as.list", "is.infinite"];
    prop_oneof![3 => name(), 1 => proptest::sample::select(dotted).prop_map(str::to_owned)]
}

fn operator() -> impl Strategy<Value = ast::BinaryOperator> {
    use BinaryOp::*;
    let cells = vec![
        Plus,
        Minus,
        Mult,
        Div,
        Modulus,
        IntDiv,
        Pow,
        Less,
        LessEqual,
        Greater,
        GreaterEqual,
        Equal,
        NotEqual,
        And,
        Or,
    ];
    prop_oneof![
        1 => Just(ast::BinaryOperator::MatMult),
        8 => proptest::sample::select(cells).prop_map(ast::BinaryOperator::Cell),
    ]
}

fn expressions() -> impl Strategy<Value = ast::Expression> {
    use ast::{ExpressionKind, Range, UnaryOperator};
    let at = |kind: ExpressionKind| ast::Expression {
        kind,
        position: Position::new(&Source::new("generated", ""), 1, 1, 1),
    };
    let leaf = prop_oneof![
        literal().prop_map(ExpressionKind::Literal),
        name().prop_map(ExpressionKind::Variable),
        name().prop_map(ExpressionKind::Argument),
    ]
    .prop_map(at);
    leaf.prop_recursive(6, 40, 3, move |inner| {
        let boxed = inner.clone().prop_map(Box::new);
        let range = prop_oneof![
            Just(Range::All),
            boxed.clone().prop_map(Range::Single),
            (boxed.clone(), boxed.clone()).prop_map(|(from, to)| Range::Between(from, to)),
        ];
        let unary = proptest::sample::select(vec![
            UnaryOperator::Minus,
            UnaryOperator::Plus,
            UnaryOperator::Not,
        ]);
        let argument = inner.clone();
        // Lists in brackets stand only there.
        let list = proptest::collection::vec(inner, 0..3).prop_map(ExpressionKind::List);
        let argument = prop_oneof![4 => argument, 1 => list.prop_map(at)];
        let arguments = proptest::collection::vec((proptest::option::of(name()), argument), 0..3);
        prop_oneof![
            4 => (operator(), boxed.clone(), boxed.clone())
                .prop_map(|(operator, left, right)| ExpressionKind::Binary(operator, left, right)),
            2 => (unary, boxed.clone())
                .prop_map(|(operator, operand)| ExpressionKind::Unary(operator, operand)),
            1 => (proptest::option::of("n[a-z]{0,2}"), function_name(), arguments).prop_map(move |(namespace, name, arguments)| {
                let position = Position::new(&Source::new("generated", ""), 1, 1, 1);
                let arguments = arguments
                    .into_iter()
                    .map(|(name, value)| ast::Argument { name, value, position: position.clone() })
                    .collect();
                ExpressionKind::Call(ast::Call { namespace, name, arguments, position })
            }),
            1 => (name(), boxed.clone()).prop_map(|(variable, place)| {
                let position = Position::new(&Source::new("generated", ""), 1, 1, 1);
                ExpressionKind::Index {
                    variable,
                    subscripts: ast::Subscripts {
                        rows: ast::Range::Single(place),
                        cols: ast::Range::All,
                        is_element: true,
                        position,
                    },
                }
            }),
            1 => (name(), range.clone(), range).prop_map(|(variable, rows, cols)| {
                let position = Position::new(&Source::new("generated", ""), 1, 1, 1);
                ExpressionKind::Index {
                    variable,
                    subscripts: ast::Subscripts { rows, cols, is_element: false, position },
                }
            }),
            1 => (name(), boxed)
                .prop_map(|(argument, default)| ExpressionKind::IfDef { argument, default }),
        ]
        .prop_map(at)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_text_parses_or_is_an_error(text in any::<String>()) {
        let _ = script(&text);
    }

    #[test]
    fn any_words_parse_or_are_an_error(words in proptest::collection::vec(
        proptest::sample::select(vec![
            "x", "f", "1", "2.5", "'s'", "$a", "TRUE", "(", ")", "[", "]", "{", "}", ",", ";", ":", "=", "<-",
            "+=", "+", "-", "^", "!", "==", "&", "%*%", "if", "else", "while", "for", "parfor", "in", "function",
            "[[", "]]", "l[[1]]", "&&", "||", "is.na", "as.list", "list[unknown]", "Frame[String]", "NaN", "[a, b]",
            "return", "source", "as", "ifdef", "externalFunction", "implemented", "seq", "matrix", "\n", "ns::f",
        ]),
        0..40,
    )) {
        let _ = script(&words.join(" "));
    }

    #[test]
    fn printed_expressions_parse_back(expression in expressions()) {
        let text = format!("x = {expression}");
        let parsed = script(&text).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(
            parsed.to_s_expression(),
            format!("(= x {})\n", expression.to_s_expression())
        );
    }

    #[test]
    fn printed_defaults_parse_back(expression in expressions()) {
        let text = format!("f = function(list[unknown] l, double x = {expression}) return (double y) {{ y = x }}");
        let parsed = script(&text).map_err(|error| TestCaseError::fail(error.to_string()))?;
        let default = parsed.functions[0].parameters[1].default.as_ref();
        prop_assert_eq!(
            default.map(ast::Expression::to_s_expression),
            Some(expression.to_s_expression())
        );
    }
}
