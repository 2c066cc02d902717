//! The scripts of examples/algorithms as functions: each model predicts what it was fitted to.

use crate::common::script;

/// Runs statements on data of 60 rows and 4 columns: X, labels y of 1 and 2, classes c of 1 to 3, and values v.
fn printed(text: &str) -> String {
    let data = "
        X = rand(rows=60, cols=4, min=-1, max=1, seed=3)
        w = matrix('1 -2 0.5 3', 4, 1)
        v = X %*% w + 0.7
        y = 1 + (v > 0.7)
        c = 1 + (v > 0) + (v > 1.5)
        N = abs(X)
        ";
    let ran = script(&format!("{data}{text}"))
        .config("fulgurite.builtins", "examples")
        .run();
    let text = ran.text();
    // What the scripts print themselves is theirs.
    let own = text
        .lines()
        .filter(|line| line.starts_with("> ") || line.contains(" error["));
    own.map(|line| format!("{line}\n")).collect()
}

#[test]
fn models_predict_what_they_are_fitted_to() {
    let text = printed(
        "
        B = linreg_ds(X, v, icpt=1, reg=1e-9)
        R2 = score_values(linreg_predict(X, B), v)
        print('> ds ' + (as.scalar(R2) > 0.999999))
        B = linreg_cg(X=X, Y=v, icpt=2, reg=1e-9)
        [R2, error] = score_values(linreg_predict(X, B), v)
        print('> cg ' + (as.scalar(R2) > 0.999999) + ' ' + (as.scalar(error) < 1e-4))
        [B, log] = l2svm(X, y, icpt=1)
        [S, P] = l2svm_predict(X, B, low=1, high=2)
        [accuracy, confusion] = score_classes(P, y)
        print('> l2svm ' + (as.scalar(accuracy) > 0.9) + ' ' + sum(confusion) + ' ' + (sum((S > 0) == (P == 2)) == 60))
        W = msvm(X, c, icpt=1)
        [P, S] = msvm_predict(X, W)
        print('> msvm ' + (mean(P == c) > 0.7) + ' ' + ncol(S))
        B = mlogreg(X, c, icpt=2)
        [P, p] = mlogreg_predict(X, B)
        print('> mlogreg ' + (mean(P == c) > 0.9) + ' ' + (max(abs(rowSums(p) - 1)) < 1e-12))
        B = glm(X, v, family='gaussian', icpt=1, reg=1e-9)
        print('> gaussian ' + (max(abs(glm_predict(X, B, family='gaussian') - v)) < 1e-5))
        B = glm(X, exp(X %*% w), family='poisson', reg=1e-9)
        print('> poisson ' + (max(abs(glm_predict(X, B, family='poisson') - exp(X %*% w))) < 1e-2))
        for (link in 1:2) {
          name = ifelse(link == 1, 'probit', 'logit')
          B = glm(X, y, link=name, icpt=1)
          [P, eta] = glm_predict(X, B, link=name)
          print('> ' + name + ' ' + (mean((P > 0.5) == (y == 2)) > 0.95) + ' ' + (sum((eta > 0) == (P > 0.5)) == 60))
        }
        [prior, conditionals] = naive_bayes(N, c)
        [P, p] = naive_bayes_predict(N, prior, conditionals)
        print('> naive_bayes ' + (max(abs(rowSums(p) - 1)) < 1e-12) + ' ' + (sum(rowIndexMax(p) == P) == 60))
        ",
    );
    insta::assert_snapshot!(text);
}

#[test]
fn factors_and_clusters_are_found_again() {
    let text = printed(
        "
        [C, Y] = kmeans(X, k=3, seed=2)
        [P, D] = kmeans_predict(X, C)
        print('> kmeans ' + sum(P != Y) + ' ' + (min(D) >= 0))
        [U, V] = als_cg(N, rank=2, lambda=0.01)
        I = cbind(seq(1, 8), matrix('1 2 3 4 1 2 3 4', 8, 1))
        p = als_predict(I, U, V)
        difference = 0
        for (i in 1:8) {
          difference = difference + abs(as.scalar(p[i, 1]) - as.scalar(U[i, ] %*% t(V[as.scalar(I[i, 2]), ])))
        }
        print('> als ' + (difference < 1e-12))
        [C, variances, P] = pca(X, k=2)
        [Q, R] = pca_project(X, C, colMeans(X), matrix(1, 1, 4))
        print('> pca ' + (max(abs(P - Q)) < 1e-9) + ' ' + ncol(R))
        [W, H] = pnmf(N, rank=2)
        print('> pnmf ' + nrow(W) + ' ' + ncol(H))
        p = pagerank(N %*% t(N))
        print('> pagerank ' + (abs(sum(p) - 1) < 1e-9))
        [W1, W2, W3, W4, b1, b2, b3, b4, C] = autoencoder(X, H1=5, H2=2, epochs=2)
        m = colMeans(X)
        d = sqrt(colSums((X - m) ^ 2) / 59)
        E = autoencoder_encode(X, m, d, W1, W2, b1, b2)
        print('> autoencoder ' + nrow(E) + ' ' + ncol(E) + ' ' + (min(E) > 0) + ' ' + ncol(C))
        ",
    );
    insta::assert_snapshot!(text);
}

#[test]
fn what_does_not_fit_is_said() {
    let text = script("B = linreg_predict(matrix(1, 2, 2), matrix(1, 5, 1))\nprint(sum(B))")
        .config("fulgurite.builtins", "examples")
        .run()
        .text();
    assert!(text.contains("X has 2 columns, B has 5 rows"), "{text}");
    let text = script("x = no_such_example(1)\nprint(x)")
        .config("fulgurite.builtins", "examples")
        .run()
        .text();
    assert!(
        text.contains("no builtin script of this name in examples"),
        "{text}"
    );
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("odd.dml"), "x = $a + 1\nprint(x)").unwrap();
    let text = script("y = odd(1)\nprint(y)")
        .config("fulgurite.builtins", &folder.path().to_string_lossy())
        .run()
        .text();
    assert!(
        text.contains("unsupported error[E0901]") && text.contains("uses $a"),
        "{text}"
    );
}
