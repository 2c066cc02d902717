//! Lists, functions called by name, and defaults that are expressions.

use crate::common::script;

fn printed(text: &str) -> String {
    script(text).run().text()
}

#[test]
fn lists_hold_values_of_any_type() {
    let text = printed(
        "
        l = list(a=3, b='text', c=matrix(7, 2, 2))
        print(length(l) + ' ' + (as.scalar(l['a']) + 1) + ' ' + as.scalar(l[2]) + 1)
        print(l[['b']] + l[['a']])
        print(sum(as.matrix(l[3])))
        for (i in 1:3) { l = append(l, matrix(i, 1, 1)) }
        [m, e] = remove(l, 1)
        print(length(l) + ' ' + length(m) + ' ' + as.scalar(e))
        l[4] = 5
        l['c'] = matrix(1, 3, 3)
        print(sum(as.matrix(l[3])) + as.scalar(l[4]))
        print(l)
        print(length(l[2:4]) + ' ' + toString(list(list(1, TRUE), 'x')))
        print(toString(as.matrix(list(1, 2.5, TRUE)), sep='|', linesep=';'))
        m = append(list(), matrix(1, 2, 3))
        print(ncol(as.matrix(m)) + ' ' + ncol(matrix(0, ncol(as.matrix(m)), 2) %*% matrix(1, 2, 4)))
        print(sum(rbind(list(matrix(1, 2, 2), matrix(2, 1, 2)))) + ' ' + ncol(cbind(list(matrix(1, 2, 2), matrix(2, 2, 3)))))
        ",
    );
    insta::assert_snapshot!(text);
}

#[test]
fn lists_of_lists() {
    let text = printed(
        "
        n = list(list(1, 2), list(3))
        inner = as.list(n[1])
        print(length(inner) + ' ' + as.scalar(inner[2]))
        n[2] = list(list(4, 5, 6))
        third = as.list(n[2])
        print(length(n) + ' ' + length(third))
        n[[1]] = list('a')
        first = as.list(n[[1]])
        print(length(n) + ' ' + as.scalar(first[1]))
        empty = list()
        print(length(empty))
        empty = append(empty, list())
        print(length(empty))
        ",
    );
    insta::assert_snapshot!(text);
}

#[test]
fn lists_go_through_functions_and_branches() {
    let text = printed(
        "
        f = function(list[unknown] p, double x) return (double y, List[Unknown] q) {
          y = as.scalar(p['a']) * x
          if (x > 2) { q = append(p, 7) } else { q = list() }
        }
        [y, q] = f(list(a=2), 3)
        print(y + ' ' + length(q))
        [y, q] = f(list(a=2), 1)
        print(y + ' ' + length(q))
        queue = list(list(1, 3))
        sum = 0
        while (length(queue) > 0) {
          [queue, head] = remove(queue, 1)
          node = as.list(head)
          sum = sum + as.scalar(node[1])
          if (as.scalar(node[2]) > 0) { queue = append(queue, list(list(as.scalar(node[1]) * 2, as.scalar(node[2]) - 1))) }
        }
        print(sum)
        ",
    );
    insta::assert_snapshot!(text);
}

#[test]
fn iterations_of_a_parfor_write_elements_of_a_list() {
    for degree in [1, 4] {
        let text = printed(&format!(
            "
            r = list(0, 0, 0, 0)
            parfor (i in 1:4, par={degree}) {{ r[i] = matrix(i, 2, 2) }}
            s = rbind(r)
            print(sum(s) + ' ' + nrow(s))
            "
        ));
        assert_eq!(text, "40.0 8\n");
    }
}

#[test]
fn defaults_are_expressions_of_other_parameters() {
    let text = printed(
        "
        f = function(matrix[double] X, int k = ncol(X) + 1, matrix[double] W = matrix(k, nrow(X), 1)) return (double s) {
          s = sum(X) + sum(W) * k
        }
        X = matrix(1, 2, 2)
        print(f(X) + ' ' + f(X, 2) + ' ' + f(W=matrix(1, 1, 1), X=X) + ' ' + f(X=X, k=0))
        g = function(matrix[double] y = matrix(0, 0, 0)) return (boolean given) { given = nrow(y) > 0 }
        print(g() + ' ' + g(X))
        ",
    );
    insta::assert_snapshot!(text);
}

#[test]
fn eval_calls_functions_by_name() {
    let text = printed(
        "
        scaled = function(matrix[double] X, double by = 2, matrix[double] plus = X * 0) return (matrix[double] Y) {
          Y = X * by + plus
        }
        both = function(matrix[double] X) return (matrix[double] a, double b) { a = X; b = sum(X) }
        takes = function(list[unknown] l) return (double n) { n = length(l) }
        loss = function(matrix[double] X) return (double s) { s = sum(X ^ 2) }
        X = matrix(3, 2, 2)
        name = 'sca'
        print(sum(eval(name + 'led', X)))
        print(sum(eval('scaled', list(X=X, by=10))))
        print(sum(eval('scaled', list(X, 1, X))))
        print(sum(eval('rowSums', X)))
        print(as.scalar(eval('takes', list(1, 2, 3))))
        total = matrix(0, 1, 1)
        for (i in 1:2) { total = total + eval('loss', X / i) }
        print(as.scalar(total))
        l = evalList('both', X)
        print(length(l) + ' ' + sum(as.matrix(l['a'])) + ' ' + as.scalar(l['b']))
        if (as.scalar(eval('loss', X)) > 1) { print('large') }
        ",
    );
    insta::assert_snapshot!(text);
}

#[test]
fn eval_runs_in_parfor() {
    let text = printed(
        "
        double_it = function(matrix[double] X) return (matrix[double] Y) { Y = 2 * X }
        R = matrix(0, 4, 1)
        parfor (i in 1:4, par=4) { R[i, 1] = eval('double_it', as.matrix(i)) }
        print(sum(R))
        ",
    );
    assert_eq!(text, "20.0\n");
}

/// The errors of scripts, each on a line.
fn errors(scripts: &[&str]) -> String {
    let errors = scripts.iter().map(|text| match script(text).run().result {
        Ok(_) => format!("no error: {text}"),
        Err(error) => error
            .to_string()
            .lines()
            .next()
            .unwrap_or_default()
            .to_owned(),
    });
    errors.collect::<Vec<_>>().join("\n")
}

#[test]
fn what_is_wrong_with_lists_is_said() {
    let text = errors(&[
        "l = list(1, 2); print(as.scalar(l[3]))",
        "l = list(1, 2); print(as.scalar(l[0]))",
        "l = list(a=1, b=2); print(as.scalar(l['c']))",
        "l = list(1, 2); n = 0; for (i in 1:1) { n = 2 }; print(length(l[n:1]))",
        "l = list(1, matrix(1, 2, 2)); x = 1; for (i in 1:1) { x = 2 }; print(as.scalar(l[x]))",
        "l = list(1, 'a'); print(sum(as.matrix(l)))",
        "l = list(1, 2); l[1:2] = list(1, 2, 3); print(length(l))",
        "l = list(); print(sum(rbind(l)))",
        "r = list(1, 2); parfor (i in 1:2, par=2) { r = append(r, i) }; print(length(r))",
        "print(sum(eval('nothing', 1)))",
        "print(sum(eval('rowSums', matrix(1, 2, 2), 3, 4)))",
        "f = function(double x) { print(x) }; print(sum(eval('f', 1)))",
        "f = function(double x) return (double y) { y = x }; print(sum(eval('f', list(z=1))))",
    ]);
    insta::assert_snapshot!(text);
}
