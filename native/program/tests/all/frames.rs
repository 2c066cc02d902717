//! Frames in scripts: parts, comparisons, coding of categories, files, functions and loops.

use crate::common::script;

fn printed(text: &str) -> String {
    script(text).run().text()
}

/// A frame of four rows with text, numbers, truth values and missing cells.
const PEOPLE: &str = "
    F = frame(list('Graz', 3, 1.5, TRUE, 'Linz', 4, 2.5, FALSE, 'a, \"b\"', 5, -1.0, TRUE, 'Graz', 6, 0.0, FALSE),
      rows=4, cols=4, schema=list('STRING', 'INT32', 'FP64', 'BOOLEAN'))
";

fn of_people(text: &str) -> String {
    printed(&format!("{PEOPLE}{text}"))
}

#[test]
fn parts_of_frames() {
    let text = of_people(
        "
        print(toString(F))
        print(nrow(F) + ' ' + ncol(F) + ' ' + length(F))
        print(F[2:3, 1:2])
        print(F[, 'C2'])
        print(as.scalar(F[3, 1]) + '!' + as.scalar(F[1, 'C3']))
        G = F
        G[1, 1] = 'Wien'
        G[2:3, 2] = frame(list(40, 50), rows=2, cols=1)
        G[4, 3:4] = F[1, 3:4]
        print(G)
        print(F)
        print(cbind(F[1:2, 1], matrix('7 8', 2, 1)))
        print(rbind(F[1, ], G[1, ]))
        print(toString(as.matrix(F[, 2:4]) * 2))
        print(sum(as.matrix(F[, 2])) + ' ' + sum(as.matrix(F[, 'C4'])))
        print(toString(F, rows=1, cols=2, sep='|', decimal=1))
        ",
    );
    insta::assert_snapshot!(text);
}

#[test]
fn cells_are_compared_and_replaced() {
    let text = of_people(
        "
        print(t(F[, 1] == 'Graz'))
        print(t('Graz' != F[, 1]))
        print(t(4 > F[, 2]))
        print(t(4 <= F[, 2]))
        print(t(F[, 2] > 4))
        print(t(F[, 3] <= F[, 2]))
        print(sum((F[, 2] >= 4) & (F[, 1] == 'Graz')))
        print(contains(F[, 1], 'Linz') + ' ' + contains(F[, 1], 'Paris') + ' ' + countDistinct(F[, 1]))
        G = replace(target=F[, 1], pattern='Graz', replacement='Wien')
        print(G)
        print(order(target=F, by=2, decreasing=TRUE))
        print(t(order(target=F, by='C1', index.return=TRUE)))
        print(order(target=F[, 1:2], by=matrix('1 2', 2, 1), decreasing=TRUE))
        print(unique(F[, 1]))
        print(removeEmpty(target=F, margin='rows', select=F[, 1] == 'Graz'))
        print(nrow(removeEmpty(target=F, margin='rows', select=F[, 1] == 'x', empty.return=FALSE)))
        H = frame('', rows=2, cols=1)
        print(sum(is.na(dropInvalidLength(F[, 1], matrix(4, 1, 1)))))
        print(map(F[, 1], \"x -> x.length() > 4 ? x.toUpperCase() : x.substring(1)\"))
        ",
    );
    insta::assert_snapshot!(text);
}

#[test]
fn categories_become_numbers_and_come_back() {
    let text = of_people(
        "
        s = \"{recode: [C1], dummycode: [C4], bin: [{name: C2, method: equi-width, numbins: 2}]}\"
        [X, M] = transformencode(target=F, spec=s)
        print(X)
        print(M)
        print(transformdecode(target=X, spec=s, meta=M))
        print(transformcolmap(target=M, spec=s))
        G = F
        G[1, 1] = 'unknown'
        print(transformapply(target=G, spec=s, meta=M))
        [Y, N] = transformencode(target=F, spec='{ids: true, recode: [1]}')
        print(sum(X[, 1] == Y[, 1]) + ' ' + nrow(N))
        W = matrix(seq(1, 6), 3, 2)
        print(transformapply(target=F[, 1], spec='{ids: true, word_embedding: [1]}', meta=N[, 1], embedding=W))
        ",
    );
    insta::assert_snapshot!(text);
}

#[test]
fn types_are_found_and_given() {
    let text = printed(
        "
        F = frame(list('1', 'x', '2.5', 'true', '', ''), rows=3, cols=2)
        print(detectSchema(F))
        S = detectSchema(F[1:2, 1])
        print(applySchema(F[1:2, 1], S))
        print(dropInvalidType(F[, 2], frame('BOOLEAN', rows=1, cols=1)))
        print(colnames(F))
        ",
    );
    insta::assert_snapshot!(text);
}

#[test]
fn types_of_columns_are_told() {
    let text = printed(
        "
        F = applySchema(frame(list('1', 'x', '2', 'y'), rows=2, cols=2), frame(list('INT32', 'STRING'), rows=1, cols=2))
        T = typeof(F)
        print(as.scalar(T[1, 1]) + ' ' + as.scalar(T[1, 2]) + ' ' + nrow(T))
        ",
    );
    assert_eq!(text, "INT32 STRING 1\n");
}

#[test]
fn columns_of_a_frame_without_rows_are_taken() {
    let text = printed(
        "
        F = removeEmpty(target=frame('', rows=2, cols=3), margin='rows', empty.return=FALSE)
        for (i in 1:2) {
            G = F[, i:3]
            print(nrow(G) + ' ' + ncol(G))
        }
        print(nrow(F[, 'C2']) + ' ' + nrow(F))
        ",
    );
    assert_eq!(text, "0 3\n0 2\n0 0\n");
    let failed = script("F = removeEmpty(target=frame('', rows=2, cols=3), margin='rows', empty.return=FALSE)\nprint(F[1, 1])").run();
    assert!(
        failed.text().contains("row 1 of a frame that has 0"),
        "{}",
        failed.text()
    );
}

#[test]
fn single_cells_are_written_in_every_type() {
    let text = printed(
        "
        F = frame(list('a', '1', '2', '0.5', 'TRUE', 'b', '3', '4', '1.5', 'FALSE', 'a', '5', '6', '2.5', 'TRUE'), rows=3, cols=5)
        F = applySchema(F, frame(list('STRING', 'INT32', 'INT64', 'FP64', 'BOOLEAN'), rows=1, cols=5))
        for (i in 2:3) {
            F[i, 1] = 'a'
            F[i, 2] = 10 * i
            F[i, 3] = 100 * i
            F[i, 4] = i / 4
            F[i, 5] = i == 2
        }
        F[1, 1] = 'new'
        print(F)
        for (j in 1:5) { F[2, j] = 0/0 }
        print(F)
        print(toString(is.na(F)))
        F[2, 3] = 7
        print(toString(is.na(F[, 3])))
        ",
    );
    insta::assert_snapshot!(text);
}

#[test]
fn packed_text_is_written_by_its_name_and_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    for (name, format) in [("f.csv.gz", "csv"), ("f.jsonl.gz", "jsonl")] {
        let text = printed(&format!(
            "
            F = frame(list('x', ' y ', '1', '2'), rows=2, cols=2)
            write(F, '{0}', format='{format}')
            G = read('{0}', data_type='frame', format='{format}')
            print('[' + as.scalar(G[1, 2]) + '] ' + sum(F == G))
            ",
            path(name)
        ));
        assert_eq!(text, "[ y ] 4.0\n", "{name}");
        let bytes = std::fs::read(folder.path().join(name)).expect("a file");
        assert_eq!(bytes[..2], [0x1f, 0x8b], "{name}");
    }
    let text = printed(&format!(
        "X = matrix(seq(1, 6), 2, 3)\nwrite(X, '{0}', format='csv')\nY = read('{0}')\nprint(sum(X == Y))",
        path("m.csv.gz")
    ));
    assert_eq!(text, "6.0\n");
}

#[test]
fn frames_go_through_functions_branches_loops_and_lists() {
    let text = of_people(
        "
        f = function(Frame[Unknown] A, int k) return (Frame[String] R, double n) {
          R = A[k, ]
          n = ncol(A)
        }
        [R, n] = f(F, 3)
        print(R)
        if (n > 3) { R = rbind(R, F[1, ]) } else { R = R[1, ] }
        print(nrow(R))
        for (i in 1:2) { R = rbind(R, R) }
        print(nrow(R) + ' ' + nrow(unique(R, dir='r')))
        parfor (i in 1:4) { F[i, 2] = i * 10 }
        print(F[, 2])
        l = list(F, x=2)
        H = as.frame(l[1])
        l[[1]] = F[1, ]
        print(nrow(H) + ' ' + nrow(as.frame(l[1])))
        print(l)
        G = evalList('f', list(F, 2))
        print(nrow(as.frame(G[1])))
        ",
    );
    insta::assert_snapshot!(text);
}

#[test]
fn files_keep_frames() {
    let folder = tempfile::tempdir().unwrap();
    for format in ["csv", "jsonl", "parquet", "binary"] {
        let path = folder.path().join(format);
        let path = path.display();
        let text = of_people(&format!(
            "
            G = cbind(F, frame('x', rows=4, cols=1))
            G = dropInvalidLength(G, matrix('4 9 9 9 9', 1, 5))
            write(G, '{path}', format='{format}', header=TRUE)
            H = read('{path}', data_type='frame')
            print(sum(H == G) + ' ' + sum(is.na(H)) + ' ' + as.scalar(H[1, 1]))
            print(toString(detectSchema(H)))
            ",
        ));
        insta::assert_snapshot!(format!("a frame as {format}"), text);
    }
}

#[test]
fn what_is_wrong_with_frames_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let csv = folder.path().join("a.csv");
    std::fs::write(&csv, "name,age\nAnna,3\nBert,many\n").unwrap();
    let csv = csv.display();
    let scripts = [
        "x = as.matrix(F)\nprint(toString(x))".to_owned(),
        "print(F[5, 1])".to_owned(),
        "i = 0\nprint(F[1, i])".to_owned(),
        "print(F[1, 'C9'])".to_owned(),
        "F[1, 2] = 'many'\nprint(toString(F))".to_owned(),
        "F[1:2, ] = F[1, ]\nprint(toString(F))".to_owned(),
        "X = F + 1\nprint(toString(X))".to_owned(),
        "X = F %*% F\nprint(toString(X))".to_owned(),
        "X = sum(F)\nprint(toString(X))".to_owned(),
        "x = as.scalar(F)\nprint(toString(x))".to_owned(),
        "X = matrix(0, 2, 2)\nX[1, 1] = F".to_owned(),
        "G = rbind(F, F[, 1])\nprint(toString(G))".to_owned(),
        "[X, M] = transformencode(target=F, spec='{recode: [C1, C9]}')\nprint(X)".to_owned(),
        "[X, M] = transformencode(target=F, spec='{recode: [C1')\nprint(X)".to_owned(),
        "[X, M] = transformencode(target=F, spec='{recode: [C1], mean: [C2]}')\nprint(X)".to_owned(),
        "[X, M] = transformencode(target=F, spec='{ids: true, recode: [2]}')\nprint(X)".to_owned(),
        "X = transformapply(target=F, spec='{}', meta=F[, 1:2])\nprint(X)".to_owned(),
        "G = map(F, 'x -> x.shout()')\nprint(G)".to_owned(),
        "G = map(F, 'x -> (')\nprint(G)".to_owned(),
        "write(F, 'out')".to_owned(),
        format!("G = read('{csv}', data_type='frame', format='csv', header=TRUE, schema='STRING,INT32')\nprint(G)"),
        format!("G = read('{csv}', data_type='frame', format='csv', header=TRUE, schema='STRING,NUMBER')\nprint(G)"),
        format!("G = read('{csv}', data_type='frame', format='csv', schema='STRING')\nprint(G)"),
        "f = function(Frame[String] A) return (double n) { n = nrow(A) }\nprint(f(matrix(1, 1, 1)))".to_owned(),
        "G = frame(list(1, 2, 3), rows=2, cols=2)\nprint(G)".to_owned(),
        "print(order(target=F, by=9))".to_owned(),
        "G = applySchema(frame('2.5', rows=1, cols=1), frame('INT32', rows=1, cols=1))\nprint(G)".to_owned(),
        "F[1, 2] = 2.5\nprint(F)".to_owned(),
        "k = -1\nwhile (k < -1) { k = 0 }\nprint(frame('a', rows=k, cols=2))".to_owned(),
        "G = map(F, 'x -> x.repeat(2000000000)')\nprint(G)".to_owned(),
        format!("write(F, '{csv}2', format='csv')\nG = read('{csv}2', format='csv')\nprint(nrow(G))"),
        "print(transform(F))".to_owned(),
    ];
    let said = scripts.map(|text| {
        let error = script(&format!("{PEOPLE}{text}"))
            .run()
            .result
            .expect_err(&text);
        let folder = folder.path().display().to_string();
        error.to_string().replace(&folder, "FOLDER")
    });
    insta::assert_snapshot!(said.join("\n\n"));
}

#[test]
fn numbers_and_truth_values_are_what_they_look_like() {
    let text = printed(
        "
        F = frame(list(1.5, 2), rows=2, cols=1)
        print(t(F < 10))
        B = frame(TRUE, rows=1, cols=1)
        print(as.scalar(B[1, 1]) + ' ' + as.logical(as.scalar(B[1, 1])))
        W = frame(list('16777217', '0.1'), rows=2, cols=1)
        G = applySchema(W, detectSchema(W))
        print(as.scalar(G[1, 1]))
        ",
    );
    assert_eq!(text, "1.000 1.000\n\nTRUE TRUE\n1.6777217E7\n");
}

#[test]
fn the_budget_binds_frames() {
    for text in [
        "F = frame('x', rows=10000000, cols=3)\nprint(as.scalar(F[3, 1]))",
        "F = frame('x', rows=0, cols=1000000000000, schema='INT32')\nprint(detectSchema(F))",
        "F = as.frame(matrix(1, 1, 100000))\nprint(as.scalar(F[1, 1]))",
        "F = frame(1.5, rows=2, cols=1)\n[X, M] = transformencode(target=F, spec='{ids: true, bin: [{id: 1, method: equi-width, numbins: 1000000}]}')\nprint(nrow(M))",
    ] {
        let error = script(text)
            .config("fulgurite.memory.local", "1m")
            .run()
            .result
            .expect_err(text);
        assert_eq!(error.kind().name(), "memory", "{error}");
    }
}
