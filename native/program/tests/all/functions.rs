//! Functions of the language that are no operator of SystemML.

use crate::common::script;

#[test]
fn special_values_are_found() {
    let ran = script(
        "
        X = matrix('1 NaN 3 0 2 1', rows=3, cols=2)
        print(toString(is.na(X), linesep=';') + toString(isNaN(X), linesep=';') + toString(is.nan(X), linesep=';'))
        print(toString(is.infinite(X / 0), linesep=';') + isNA(0/0) + isInf(1/0) + isInf(3))
        v = 0/0
        for (i in 1:1) { v = v * i }
        print(contains(target=X, pattern=NaN) + ' ' + contains(X, 3) + ' ' + contains(X, 5) + ' ' + contains(X, v) + ' ' + contains(X[3, ], v))
        print(toString(sigmoid(matrix('0 1 -Infinity', 1, 3)), linesep='') + ' ' + sigmoid(0))
        ",
    )
    .run();
    insta::assert_snapshot!(ran.text());
}

#[test]
fn distinct_values_and_rows() {
    let ran = script(
        "
        X = matrix('1 2 1 3 1 2 NaN 2', rows=4, cols=2)
        print(toString(unique(X), linesep=' ') + '|' + toString(unique(X, 'r'), linesep=';') + '|' + toString(unique(t(X), dir='c'), linesep=';'))
        print(countDistinct(X) + ' ' + toString(t(countDistinct(X, dir='r')), linesep='') + ' ' + toString(countDistinct(X, dir='c'), linesep=''))
        E = matrix(0, 0, 2)
        print(nrow(unique(E)) + ' ' + nrow(unique(E, 'r')) + ' ' + countDistinct(E))
        ",
    )
    .run();
    insta::assert_snapshot!(ran.text());
}

#[test]
fn rows_move_and_run() {
    let ran = script(
        "
        X = matrix('1 2 3 4 5 6', rows=3, cols=2)
        print(toString(roll(X, 1), linesep=';') + ' ' + toString(roll(X, -4), linesep=';'))
        print(toString(cumsumprod(X), linesep=';') + ' ' + toString(rowcumsum(X), linesep=';'))
        print(det(matrix('1 2 3 4', 2, 2)) + ' ' + det(matrix('0 1 0 0 0 1 1 0 0', 3, 3)) + ' ' + det(matrix(0, 2, 2)))
        print(bitwAnd(6, 3) + ' ' + bitwXor(6, 3) + ' ' + bitwShiftL(1, 4) + ' ' + bitwShiftR(16, 3) + ' ' + toString(t(bitwOr(seq(1, 3), 4)), linesep=''))
        print(toString(aggregate(target=X, groups=matrix('1 2 1', 3, 1), fn='mean', ngroups=2), linesep=';'))
        ",
    )
    .run();
    insta::assert_snapshot!(ran.text());
}

#[test]
fn time_passes_between_statements() {
    let ran = script(
        "
        before = time()
        s = sum(rand(rows=700, cols=700, seed=1))
        after = time()
        print((after - before > 100000) & (after - before < 60 * 1e9) & (s > 0))
        last = 0
        for (i in 1:3) { t = time(); if (i > 1) { print(t > last) }; last = t }
        ",
    )
    .run();
    assert_eq!(ran.text(), "TRUE\nTRUE\nTRUE\n");
}

#[test]
fn wrong_arguments_are_said() {
    let errors = [
        "x = unique(matrix(1, 2, 2), 'z'); print(sum(x))",
        "print(sum(cumsumprod(matrix(1, 2, 3))))",
        "print(det(matrix(1, 2, 3)))",
    ];
    let errors = errors.map(|text| {
        let text = script(text).run().text();
        text.lines().next().unwrap_or_default().to_owned()
    });
    insta::assert_snapshot!(errors.join("\n"));
}

#[test]
fn binning_of_systemml_is_built_in() {
    let ran = script(
        "
        binning = externalFunction(Matrix[Double] A, Integer binsize, Integer numbins) return (Matrix[Double] B, Integer bins)
          implemented in (classname='org.apache.sysml.udf.lib.BinningWrapper', exectype='mem')
        [b, n] = binning(matrix('1 2 2 2 3 4 5 6 7', 9, 1), 2, 5)
        print(toString(t(b), linesep='') + ' ' + n)
        [b, n] = binning(matrix('1 1 1', 3, 1), 2, 2)
        print(toString(t(b), linesep='') + ' ' + n)
        ",
    )
    .run();
    assert_eq!(
        ran.text(),
        "1.500 3.000 5.000 6.500 7.000 0.000 4\n1.000 1.000 0.000 1\n"
    );
}
