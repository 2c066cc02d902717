//! Scripts run on small stacks: a thread of a JVM has a megabyte, and calls may have taken half of it.

use std::thread;

use crate::common::script;

#[test]
fn operators_have_room_below_the_deepest_calls() {
    let text = "f = function(int n, matrix[double] A) return (double s) {
           if (n > 0) { s = f(n - 1, A) }
           else {
             G = t(A) %*% A
             [U, S, V] = svd(A)
             [e, W] = eigen(G)
             C = solve(G + diag(matrix(1, ncol(A), 1)), t(A))
             D = cholesky(G + diag(matrix(1, ncol(A), 1)))
             O = order(target=A, by=2)
             s = sum(exp(A %*% G / sum(A ^ 2)) * A) + sum(S) + sum(e) + sum(C) + sum(D) + sum(O) + sum(cumsum(A))
           }
         }
         A = rand(rows=1500, cols=100, seed=1, min=-1, max=1)
         s = f(calls, A)";
    let of = |calls: &str| {
        let ran = script(&text.replace("calls", calls)).config("fulgurite.threads", "2");
        ran.output("s").run().number("s")
    };
    thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(1 << 20);
        let found = thread.spawn_scoped(scope, || (of("0"), of("250")));
        let (shallow, deep) = found.expect("a thread").join().expect("it ends");
        assert_eq!(shallow, deep);
    });
}
