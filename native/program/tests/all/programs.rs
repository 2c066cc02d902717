//! Programs through the interpreter: control flow, functions, printing, typing, planning.

use fulgurite_hop::Literal;

use crate::common::{exact, script};

#[test]
fn loops_and_branches() {
    let ran = script(
        "
        total = 0
        for (i in 1:3) { total = total + i }
        print('up ' + total)
        for (i in 1:0) { print('down ' + i) }
        for (i in seq(1, 0, 1)) { print('never') }
        for (i in 0.5:2) { print(i) }
        x = 10
        while (x > 1 & total < 100) {
          if (x %% 2 == 0) { x = x %/% 2 } else { x = 3 * x + 1 }
          total = total + x
        }
        print(x + ' ' + total)
        ",
    )
    .run();
    insta::assert_snapshot!(ran.text(), @r"
    up 6
    down 1
    down 0
    0
    1
    2
    1 42
    ");
}

#[test]
fn functions_take_values_and_cast_scalars() {
    let ran = script(
        "
        f = function(matrix[double] A, int n, double s = 0.5) return (matrix[double] B, int m) {
          A[1, 1] = 100
          B = A * s
          m = n + 1
        }
        fib = function(int n) return (int r) {
          if (n < 2) { r = n } else { r = fib(n - 1) + fib(n - 2) }
        }
        A = matrix('1 2 3 4', rows=2, cols=2)
        [B, m] = f(A, 3.7)
        print(as.scalar(A[1, 1]) + ' ' + as.scalar(B[1, 1]) + ' ' + m)
        print(fib(10))
        [C, k] = f(s=2, A=A, n=TRUE)
        print(sum(C) + ' ' + k)
        ",
    )
    .run();
    insta::assert_snapshot!(ran.text(), @r"
    1.0 50.0 4
    55
    218.0 2
    ");
}

#[test]
fn prints_come_before_the_error_that_follows() {
    let ran = script(
        "print('first')\nA = matrix(1, 2, 2)\nstop('enough: ' + sum(A))\nprint('not reached')",
    )
    .run();
    insta::assert_snapshot!(ran.text(), @r"
    first
    stopped error[E1200]: enough: 4.0
      --> test.dml:3:1
       |
     3 | stop('enough: ' + sum(A))
       | ^^^^
    ");
}

#[test]
fn assertions_fail_at_their_place() {
    let ran = script("x = 3\nassert(x > 2)\nassert(x > 3)").run();
    insta::assert_snapshot!(ran.text(), @r"
    stopped error[E1200]: assertion failed
      --> test.dml:3:1
       |
     3 | assert(x > 3)
       | ^^^^^^
    ");
}

#[test]
fn a_variable_of_a_branch_not_taken_has_no_value() {
    let ran = script("if (sum(X) > 1000) { y = 1 }\nprint('before')\nprint(y)")
        .matrix("X", exact(2, 2, 1))
        .run();
    insta::assert_snapshot!(ran.text(), @r"
    before
    runtime error[E1101]: variable 'y' has no value (in TRead y)
      --> test.dml:3:7
       |
     3 | print(y)
       |       ^
       = help: it is assigned only in a branch that was not taken; assign it before
    ");
}

#[test]
fn dimensions_that_do_not_fit_name_operator_and_line() {
    // Known before the run: nothing is printed.
    let known = script("print('before')\nA = matrix(1, 3, 2)\nB = A %*% A\nprint(sum(B))").run();
    insta::assert_snapshot!(known.text(), @r"
    dimension error[E0401]: shapes do not fit: 3 x 2 %*% 3 x 2 (in ba(+*))
      --> test.dml:3:7
       |
     3 | B = A %*% A
       |       ^^^
       = note: the left operand is 3 x 2, computed at test.dml:2:5
       = note: the right operand is 3 x 2, computed at test.dml:2:5
       = help: the left operand needs as many columns as the right one has rows
    ");
    // Known only in the run.
    let unknown = script(
        "print('before')\nn = as.integer(sum(X))\nA = matrix(1, n, 2)\nB = A %*% A\nprint(sum(B))",
    )
    .matrix(
        "X",
        fulgurite_matrix::MatrixBlock::filled(3, 1, 1.0).unwrap(),
    )
    .run();
    insta::assert_snapshot!(unknown.text(), @r"
    before
    dimension error[E0401]: cannot multiply a 3 x 2 matrix by a 3 x 2 matrix (in ba(+*))
      --> test.dml:4:7
       |
     4 | B = A %*% A
       |       ^^^
    ");
}

#[test]
fn left_indexing_in_a_loop_changes_only_its_target() {
    let ran = script(
        "
        A = matrix(0, 3, 3)
        Before = A
        for (i in 1:3) { A[i, i] = i }
        print(sum(A) + ' ' + sum(Before))
        parfor (i in 1:3) { A[i, 1] = 10 ; s = i }
        print(sum(A))
        ",
    )
    .run();
    insta::assert_snapshot!(ran.text(), @r"
    6.0 0.0
    35.0
    ");
}

#[test]
fn factorizations_run_and_refuse_bad_matrices() {
    let ran = script(
        r#"
        A = matrix("4 2 0 2 3 1 0 1 5", 3, 3)
        [values, vectors] = eigen(A)
        print(toString(values, decimal=6))
        [P, L, U] = lu(A)
        [left, S, right] = svd(A[1:2, ])
        gap = max(abs(A %*% vectors - vectors %*% diag(values))) + max(abs(P %*% A - L %*% U))
        gap = gap + max(abs(A[1:2, ] - left %*% S %*% t(right))) + max(abs(A %*% solve(A, A) - A))
        C = cholesky(A)
        gap = gap + max(abs(C %*% t(C) - A)) + max(abs(A %*% inv(A) - diag(matrix(1, 3, 1))))
        print(gap < 1e-13)
        print(pnorm(target=0) + qchisq(target=0, df=3) + cdf(target=Inf, dist="f", df1=1, df2=2))
        "#,
    )
    .run();
    insta::assert_snapshot!(ran.text(), @r"
    1.267949
    4.732051
    6.000000

    TRUE
    1.5
    ");
    let refused = [
        "A = matrix(1, 2, 2)\nx = solve(A, A)\nprint(sum(x))",
        "A = removeEmpty(target=matrix(1, 2, 3), margin='rows')\nprint(sum(inv(A)))",
        "A = matrix('1 2 2 1', 2, 2)\nprint(sum(cholesky(A)))",
        "A = matrix('1 NaN 2 1', 2, 2)\n[e, V] = eigen(A)\nprint(sum(V) + sum(e))",
        "p = 1.5 * nrow(matrix(1, 1, 1))\nprint(qnorm(target=p))",
        "print(pt(target=1, df=0))",
    ]
    .map(|text| script(text).run().text());
    insta::assert_snapshot!(refused.join("\n"), @r"
    runtime error[E1100]: the 2 x 2 matrix is singular: to working precision, column 2 is a combination of the columns before it (in p(solve))
      --> test.dml:2:5
       |
     2 | x = solve(A, A)
       |     ^^^^^
       = help: leave out dependent columns, or add a small multiple of the identity (regularisation)
    dimension error[E0400]: the matrix is not square: 2 x 3 (in p(inv))
      --> test.dml:2:11
       |
     2 | print(sum(inv(A)))
       |           ^^^
    runtime error[E1100]: the matrix is not positive definite: its upper left 2 x 2 part is not (in p(cholesky))
      --> test.dml:2:11
       |
     2 | print(sum(cholesky(A)))
       |           ^^^^^^^^
       = help: covariances are positive definite once dependent columns are left out
    runtime error[E1100]: cell (1, 2) of the matrix is NaN (in p(eigen))
      --> test.dml:2:10
       |
     2 | [e, V] = eigen(A)
       |          ^^^^^
       = help: replace(target=X, pattern=NaN, replacement=0) and removeEmpty() take such cells out
    runtime error[E1100]: 1.5 is no probability: it must be between 0 and 1 (in p(icdf))
      --> test.dml:2:7
       |
     2 | print(qnorm(target=p))
       |       ^^^^^
    argument error[E0500]: the parameter 'df' of the distribution 't' is 0: it must be positive (in p(cdf))
      --> test.dml:1:7
       |
     1 | print(pt(target=1, df=0))
       |       ^^
    ");
}

/// As Java: what is not certain is NaN.
#[test]
fn powers_of_one_by_nan_are_nan() {
    let ran = script(
        r#"
        nan = 0 / 0
        X = matrix("1 -1 1 2", 2, 2)
        Y = matrix("NaN Infinity 0 2", 2, 2)
        print(1 ^ nan)
        print(toString(X ^ Y) + toString(1 ^ Y))
        "#,
    )
    .run();
    insta::assert_snapshot!(ran.text(), @r"
    NaN
    NaN NaN
    1.000 4.000
    NaN NaN
    1.000 1.000
    ");
}

#[test]
fn arguments_and_scalar_inputs() {
    let ran = script("x = ifdef($x, 5)\ny = ifdef($y, 'none')\nprint(x + ' ' + y + ' ' + z)")
        .argument("x", "7")
        .scalar("z", Literal::Boolean(true))
        .run();
    insta::assert_snapshot!(ran.text(), @"7 none TRUE");
    let missing = script("print($x)").run();
    insta::assert_snapshot!(missing.text(), @r"
    argument error[E0501]: the argument '$x' is not given
      --> test.dml:1:7
       |
     1 | print($x)
       |       ^^
       = help: pass it (-nvargs x=...), or give it a default: ifdef($x, ...)
    ");
}

#[test]
fn blocks_are_planned_once_for_each_size() {
    let ran = script(
        "
        v = matrix(1, 4, 1)
        for (i in 1:50) { v = (X %*% v) / (i + sum(v)) }
        s = sum(v)
        ",
    )
    .matrix("X", exact(4, 4, 3))
    .output("s")
    .run();
    // Before the loop, its two bounds, the body, after it.
    assert!(
        ran.outcome().report.block_plans <= 6,
        "{}",
        ran.outcome().report
    );
    let products: u64 = ran
        .outcome()
        .report
        .operators
        .iter()
        .map(|op| op.count)
        .max()
        .unwrap_or(0);
    assert_eq!(products, 50);
}

#[test]
fn outputs_come_back_with_their_types() {
    let ran = script("B = t(X) %*% X\nn = nrow(X)\nlabel = 'n is ' + n")
        .matrix("X", exact(5, 2, 9))
        .output("B")
        .output("n")
        .output("label")
        .run();
    assert_eq!((ran.matrix("B").rows(), ran.matrix("B").cols()), (2, 2));
    assert_eq!(ran.number("n"), 5.0);
    let label = &ran.outcome().outputs["label"];
    assert_eq!(
        *label,
        fulgurite_program::OutputValue::Scalar(Literal::String("n is 5".into()))
    );
}

#[test]
fn recursion_without_end_is_an_error() {
    let ran = script(
        "
        f = function(int n) return (int r) {
          if (n > -1) { while (n > -1) { if (n > -1) { r = f(n + 1) } } }
        }
        print(f(1))
        ",
    )
    .run();
    let error = ran.result.expect_err("it has no end");
    let message = error.message();
    assert!(
        message.ends_with("calls inside one another, which is the limit; the last is of 'f'"),
        "{message}"
    );
}

#[test]
fn a_hop_dag_runs_like_a_script() {
    use fulgurite_hop::{
        AggregateOp, BinaryOp, Dag, Direction, Hop, HopOp, ValueType, json::to_json,
    };
    let mut dag = Dag::new();
    let x = dag.push(Hop::matrix(HopOp::TransientRead("X".into()), vec![]));
    let square = dag.push(Hop::matrix(HopOp::Binary(BinaryOp::Mult), vec![x, x]));
    let sum = HopOp::Aggregate(AggregateOp::Sum, Direction::Full);
    let sum = dag.push(Hop::scalar(sum, vec![square], ValueType::Double));
    let write = HopOp::TransientWrite("s".into());
    let write = dag.push(Hop::scalar(write, vec![sum], ValueType::Double));
    dag.roots = vec![write];
    let ran = script("")
        .dag(to_json(&dag))
        .matrix("X", exact(3, 3, 5))
        .run();
    let squares: f64 = exact(3, 3, 5)
        .to_dense()
        .unwrap()
        .values()
        .iter()
        .map(|x| x * x)
        .sum();
    assert_eq!(ran.number("s"), squares);
}

#[test]
fn a_list_of_numbers_makes_a_column() {
    let ran = script(
        "a = 3\nx = as.matrix(list(a, 2.5, sum(matrix(1, 3, 3)), a > 1))\nl = list(a, 4)
         y = as.matrix(l)\nz = as.matrix(list(matrix(2, 2, 2)))",
    )
    .output("x")
    .output("y")
    .output("z")
    .run();
    let cells = |name: &str| ran.matrix(name).to_dense().unwrap().values().to_vec();
    assert_eq!(cells("x"), [3.0, 2.5, 9.0, 1.0]);
    assert_eq!(cells("y"), [3.0, 4.0]);
    assert_eq!(cells("z"), [2.0; 4]);
    for elements in ["'a', 3", "matrix(1, 2, 2), 3", ""] {
        let ran = script(&format!("x = as.matrix(list({elements}))\nprint(sum(x))")).run();
        let text = ran.text();
        assert!(
            text.contains("takes a list of numbers, or of one matrix"),
            "{text}"
        );
    }
}
