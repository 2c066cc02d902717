//! Scripts in the dialect of SystemDS. The values are those that SystemDS 3.4 prints.

use crate::common::script;

const SCRIPT: &str = "
    X = matrix('-7 7 -7 7 -7.5 7.5', rows=6, cols=1)
    Y = matrix('3 -3 -3 3 2 -2', rows=6, cols=1)
    print(toString(t(X %% Y), linesep=''))
    print(toString(t(X %/% Y), linesep=''))
    a = -7; b = 3
    if (sum(X) > 100) { a = 7; b = 2 }
    print((a %% b) + ' ' + (-a %% -b) + ' ' + (a %/% b) + ' ' + (-a %/% -b))
    print((-7.5 %% 2) + ' ' + (-7.5 %/% 2) + ' ' + (5 %/% 2.0))
    v = matrix('1 2 3 4 5 6', rows=6, cols=1)
    print(quantile(v, 0.5) + ' ' + quantile(v, 0.25) + ' ' + quantile(v, 0.3))
    print(quantile(v, 0) + ' ' + quantile(v, 1) + ' ' + quantile(v[1:5, ], 0.5))
    print(toString(t(quantile(v, matrix('0 0.1 0.5 0.9 1', rows=5, cols=1))), linesep=''))
    n = 13
    print(nrow(seq(1, n, 3)) + ' ' + sum(seq(1, 13, 3)) + ' ' + nrow(seq(13, 1, -3)) + ' ' + nrow(seq(0, 1, 0.1)))
    d = -2.7
    if (sum(X) > 100) { d = 3.5 }
    print(as.integer(d) + ' ' + as.integer(-2.7) + ' ' + as.integer(matrix(-2.7, 1, 1)) + ' ' + as.integer(2.7))
    f = function(double x) return (int r) { r = as.scalar(matrix(x * 1.5, 1, 1)) }
    for (i in 1:20) { z = f(3) }
    print(z)
    ";

#[test]
fn each_dialect_has_its_meaning() {
    for dialect in ["systemds", "systemml"] {
        let ran = script(SCRIPT).config("fulgurite.dialect", dialect).run();
        let text = ran.text();
        let text = text.split("\n  -->").next().unwrap_or_default();
        insta::assert_snapshot!(format!("each_dialect_has_its_meaning_{dialect}"), text);
    }
}
