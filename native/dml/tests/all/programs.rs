//! Scripts and the programs they compile to.

use crate::support;

use fulgurite_dml::{CompileOptions, InputVariable, parse_argument};
use fulgurite_error::{Result, Source};
use fulgurite_hop::{Block, Characteristics, Program, ValueType};
use support::{Sources, compiled, program, show};

#[test]
fn one_dag_a_block_with_one_read_a_variable() {
    insta::assert_snapshot!(program(
        r#"
X = read("X.csv")
s = sum(X) + sum(X * X)
X[1, 2] = 0
y = X[1:3, ] %*% t(X)
print("s = " + s + ", " + nrow(y))
write(y, "y.csv", format="csv")
"#
    ));
}

#[test]
fn indexes_have_explicit_bounds() {
    insta::assert_snapshot!(program(
        r#"
X = read("X.csv")
i = nrow(X)
a = X[i, ]
b = X[, 2:i]
c = X[i]
d = X[i, i - 1]
X[, 1] = a
write(cbind(a, c), "a")
write(b %*% d + X, "b")
"#
    ));
}

#[test]
fn scalar_types_follow_the_values() {
    insta::assert_snapshot!(program(
        r#"
X = read("X.csv")
n = nrow(X)
m = sum(X)
print(n + 1)
print(n / 2)
print(n ^ 2)
print(n %/% 2)
print(n * 2.0)
print(n > 2 & m > 1)
print(-n)
print(-m)
print(max(n, 3))
print(max(n, 3, 4))
print("n " + n + TRUE)
print(ifelse(n > 1, n, 7))
print(round(m))
print(abs(n))
print(!(n == 1))
print(as.integer(m))
print(X)
print("%d of %f", n, m)
"#
    ));
}

#[test]
fn constants_fold_and_decide_branches() {
    insta::assert_snapshot!(program(
        r#"
fileO = ifdef($O, " ")
alpha = 0.5
if (fileO != " ") {
  Z = read(fileO)
  print(sum(Z))
} else {
  beta = alpha * 2 - 1 + 7 %/% 2 ^ 2
}
print("beta " + beta + ", " + (-2 ^ 2) + " " + -0.0 + " " + 5 %% 3 + " " + (1 < 2 & TRUE))
while (fileO != " ") { alpha = 2 }
i = 0
while (i < 3) {
  i = i + 1
  alpha = 0.5
}
print(i + alpha)
"#
    ));
}

#[test]
fn arguments_are_literals_and_decide_branches() -> Result<()> {
    let arguments = [("reg", "0.5"), ("icpt", "1"), ("B", "out/b.csv")];
    let options = CompileOptions {
        arguments: arguments
            .map(|(name, text)| (name.to_owned(), parse_argument(text)))
            .into(),
        ..CompileOptions::default()
    };
    let text = r#"
X = read("X.csv")
if ($icpt == 1) X = cbind(X, matrix(1, nrow(X), 1))
reg = ifdef($reg, ncol(X))
other = ifdef($other, ncol(X))
write(X * reg + other, $B, format=ifdef($fmt, "csv"))
"#;
    insta::assert_snapshot!(show(&compiled(text, &options)?));
    Ok(())
}

#[test]
fn only_live_variables_are_written() {
    insta::assert_snapshot!(program(
        r#"
X = read("X.csv")
unused = X %*% X
kept = sum(X)
overwritten = 1
n = nrow(X)
if (n > 1) {
  overwritten = kept + 1
  dead = 3
  kept = 2
} else {
  overwritten = 4
}
i = 0
last = 0
while (i < n) {
  last = i
  temp = i * 2
  i = temp - i + 1
}
print(overwritten + last)
"#
    ));
}

#[test]
fn branches_and_loops_merge_types() {
    insta::assert_snapshot!(program(
        r#"
n = as.scalar(read("n"))
x = 1
if (n > 1) { x = 2.5; y = 1 } else if (n > 0) { x = 3 }
print(x)
z = 1
for (i in 1:n) { z = z / 2; last = i }
for (j in seq(n, 1, -2)) { maybe = j }
print(z + last + i + y)
print(maybe)
"#
    ));
}

#[test]
fn calls_leave_expressions_in_the_order_of_evaluation() {
    insta::assert_snapshot!(program(
        r#"
scale = function(matrix[double] A, double factor = 2) return (matrix[double] B) { B = A * factor }
norm = function(matrix[double] A) return (double n) { n = sqrt(sum(A ^ 2)) }
both = function(matrix[double] A) return (matrix[double] Q, int k) {
  k = 0
  Q = A
  while (norm(Q) > 1) { Q = scale(Q, factor = 0.5); k = k + 1 }
}
say = function(string what) { print("said " + what) }
unused = function(double a) return (double b) { b = a }
X = read("X.csv")
Y = scale(X + 1)
r = norm(scale(X, 3)) + norm(t(Y)) * norm(Y)
[X[1, ], k] = both(X)
say("r " + r)
for (i in 1:both_k(X)) print(i)
both_k = function(matrix[double] A) return (int k) { [Q, k] = both(A) }
write(X, "X2")
"#
    ));
}

#[test]
fn inputs_and_outputs_are_bound_from_outside() -> Result<()> {
    let options = CompileOptions {
        inputs: [
            (
                "X".to_owned(),
                InputVariable::matrix(Characteristics::dims(100, 10).with_nnz(500)),
            ),
            ("tol".to_owned(), InputVariable::scalar(ValueType::Double)),
        ]
        .into(),
        outputs: vec!["B".to_owned(), "n".to_owned()],
        ..CompileOptions::default()
    };
    let text = r#"
X = read($X)
Y = read("Y.csv", rows=100, cols=1, format="csv", header=TRUE)
B = t(X) %*% Y
if (sum(B) > tol) { B = B / tol }
n = ncol(X)
write(B, $B, format="csv")
write(Y, "Y2.csv")
"#;
    insta::assert_snapshot!(show(&compiled(text, &options)?));
    Ok(())
}

#[test]
fn builtins_become_their_operators() {
    insta::assert_snapshot!(program(
        r#"
X = read("X.csv")
v = X[, 1]
A = matrix(0, rows=3, cols=nrow(X))
A = matrix("1 2 3 4", 2, 2) + matrix(X, 2, 2, byrow=FALSE)
A = A + table(seq(1, nrow(X)), v, 10, 5) + table(v, v) + table(v, v, 2) + table(v, 1, v, 3, 3)
A = A + removeEmpty(target=X, margin="rows", select=v > 0) + replace(target=X, pattern=NaN, replacement=0)
A = A + order(target=X, by=2, decreasing=TRUE) + rand(rows=2, cols=2, pdf="normal", seed=7) + sample(10, 5)
A = A + diag(v) + rev(X) + rbind(X, X, X) + cumsum(X) + outer(v, t(v), "<") + ppred(X, 0, ">=")
A = A + aggregate(target=v, groups=v, fn="sum", ngroups=4) + solve(X, v) + lower.tri(target=X, diag=TRUE)
s = moment(v, 2) + moment(v, v, 3) + quantile(v, 0.5) + cov(v, v) + log(2 * sum(v), 2) + mean(v, v)
s = s + pnorm(target=s) + cdf(target=s, dist="chisq", df=3, lower.tail=FALSE) + as.scalar(as.matrix(list(1, s)))
text = append("a", "b,c" + s)
fmt = toString(X, decimal=2)
if (exists("s") & !exists("nowhere")) write(text, "log.txt", format=fmt)
write(A, "A")
assert(s > 0)
stop("done")
"#
    ));
}

#[test]
fn factors_are_taken_apart() {
    insta::assert_snapshot!(program(
        r#"
X = read("X.csv", rows=5, cols=5)
[values, vectors] = eigen(t(X) %*% X)
[P, L, U] = lu(X)
[left, S, V] = svd(X[, 1:2])
A = matrix(0, 2, 5)
[A[1, ], unused] = f(X)
f = function(matrix[double] X) return (matrix[double] row, double n) { row = X[1, ]; n = nrow(X) }
write(vectors %*% diag(values) + P %*% L %*% U + left %*% S %*% t(V) %*% A, "A")
"#
    ));
}

#[test]
fn sourced_functions_live_in_their_namespaces() -> Result<()> {
    let sources = Sources(&[
        (
            "lib/affine.dml",
            "source(\"lib/util.dml\") as util\nforward = function(matrix[double] X) return (matrix[double] Y) { Y = double(X) + util::one() }\ndouble = function(matrix[double] X) return (matrix[double] Y) { Y = 2 * X }\n",
        ),
        (
            "lib/util.dml",
            "source(\"lib/affine.dml\") as affine\none = function() return (double x) { x = 1 }\nbroken = function() return (double x) { x = qr(1) }\n",
        ),
    ]);
    let options = CompileOptions {
        resolver: &sources,
        ..CompileOptions::default()
    };
    let text = "setwd(\"lib\")\nsource(\"affine.dml\") as affine\nprint(sum(affine::forward(read(\"X\"))))\n";
    let program = compiled(text, &options);
    // Its own imports are not relative to the importer's folder.
    insta::assert_snapshot!(show(&program?));
    Ok(())
}

#[test]
fn operators_know_their_place() -> Result<()> {
    let text = "X = read(\"X\")\ny = sum(X[1, ] %*%\n  t(X)) - -X[2, 3] + log(X)\nX[1, 1] = min(y)\nwrite(X, \"a\")\n";
    let program = compiled(text, &CompileOptions::default())?;
    let mut places = Vec::new();
    for block in &program.body {
        if let Block::Basic { dag } = block {
            for (_, hop) in dag.iter() {
                let place = hop.position.as_ref().map(ToString::to_string);
                places.push(format!("{} {}", hop.op.code(), place.unwrap_or_default()));
            }
        }
    }
    insta::assert_snapshot!(places.join("\n"));
    Ok(())
}

#[test]
fn variables_of_dropped_branches_stay_known() {
    insta::assert_snapshot!(program(
        r#"
n = as.scalar(read("n"))
debug = FALSE
if (debug) { trace = matrix(0, 10, 2) }
if (n > 5 & debug) { print(sum(trace)) }
"#
    ));
}

const MULTINOMIAL_REGRESSION: &str = r#"
# Multinomial logistic regression by a trust-region Newton method.
X = read($X)
labels = read($Y)
reg = ifdef($reg, 0.1)
tol = ifdef($tol, 0.000001)
maxi = ifdef($moi, 20)
n = nrow(X)
d = ncol(X)
k = as.integer(max(labels)) - 1
Y = table(seq(1, n), labels, n, k + 1)
B = matrix(0, d, k)
P = matrix(1, n, k + 1) / (k + 1)
G = t(X) %*% (P[, 1:k] - Y[, 1:k])
delta = 0.5 * sqrt(d) / max(sqrt(rowSums(X ^ 2)))
obj = n * log(k + 1)
iter = 0
done = FALSE
while (!done & iter < maxi) {
  S = matrix(0, d, k)
  R = G
  V = -R
  rr = sum(R ^ 2)
  inner = 0
  while (inner < 10 & rr > tol) {
    Q = P[, 1:k] * (X %*% V)
    H = t(X) %*% (Q - P[, 1:k] * rowSums(Q)) + reg * V
    alpha = rr / sum(V * H)
    S = S + alpha * V
    if (sum(S ^ 2) > delta ^ 2) { inner = 10 }
    R = R + alpha * H
    new = sum(R ^ 2)
    V = -R + (new / rr) * V
    rr = new
    inner = inner + 1
  }
  scores = X %*% (B + S)
  scores = cbind(scores, matrix(0, n, 1))
  P = exp(scores - rowMaxs(scores))
  P = P / rowSums(P)
  objNew = -sum(Y * log(P)) + 0.5 * reg * sum((B + S) ^ 2)
  if (objNew < obj) {
    B = B + S
    done = obj - objNew < tol * obj
    obj = objNew
    G = t(X) %*% (P[, 1:k] - Y[, 1:k]) + reg * B
  } else {
    delta = delta / 2
  }
  iter = iter + 1
  print("iteration " + iter + " objective " + obj)
}
write(B, $B, format=ifdef($fmt, "csv"))
"#;

#[test]
fn multinomial_regression() -> Result<()> {
    let options = CompileOptions {
        arguments: [("X", "X.csv"), ("Y", "Y.csv"), ("B", "B.csv")]
            .map(|(name, text)| (name.to_owned(), parse_argument(text)))
            .into(),
        ..CompileOptions::default()
    };
    insta::assert_snapshot!(show(&compiled(MULTINOMIAL_REGRESSION, &options)?));
    Ok(())
}

#[test]
fn the_examples_compile() -> Result<()> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    for name in ["mlogreg.dml", "l2svm.dml", "linreg_cg.dml"] {
        let text =
            std::fs::read_to_string(format!("{folder}/{name}")).expect("the example is there");
        let options = CompileOptions {
            arguments: [("X", "X.csv"), ("Y", "Y.csv"), ("B", "B.csv")]
                .map(|(name, text)| (name.to_owned(), parse_argument(text)))
                .into(),
            ..CompileOptions::default()
        };
        let program: Program = fulgurite_dml::compile(&Source::new(name, text), &options)?;
        support::verify_program(&program)?;
    }
    Ok(())
}
