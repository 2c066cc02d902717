//! Folders that scripts read and write: lists, and the metadata of `transform`.

use fulgurite_program::OutputValue;

use crate::common::script;

#[test]
fn lists_are_outputs() {
    let ran = script(
        "
        l = list(a=3, b='text', c=matrix(7, 2, 1), d=list(1, list(TRUE)), e=as.frame('x'))
        m = list()
        ",
    )
    .output("l")
    .output("m")
    .run();
    let OutputValue::List(elements) = &ran.outcome().outputs["l"] else {
        panic!("{}", ran.text());
    };
    let names: Vec<_> = elements.iter().map(|(name, _)| name.as_deref()).collect();
    assert_eq!(names, ["a", "b", "c", "d", "e"].map(Some));
    assert!(matches!(&elements[2].1, OutputValue::Matrix(m) if m.get(1, 0) == 7.0));
    assert!(matches!(&elements[3].1, OutputValue::List(inner) if inner.len() == 2));
    assert!(matches!(&elements[4].1, OutputValue::Frame(_)));
    assert_eq!(ran.outcome().outputs["m"], OutputValue::List(Vec::new()));
}

#[test]
fn lists_are_written_as_folders_and_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("l");
    let path = path.to_string_lossy();
    let written = script(
        "
        l = list(a=3, matrix(7, 2, 3), list('x', TRUE), as.frame('y'))
        write(l, $path, format='csv')
        write(list(matrix(1, 1, 1)), $path + '2')
        write(list(2), $path + '2')
        ",
    );
    assert_eq!(written.argument("path", &path).run().text(), "");
    let read = script(
        "
        l = read($path)
        print(length(l) + ' ' + as.scalar(l['a']) + ' ' + sum(as.matrix(l[2])))
        inner = as.list(l[3])
        print(as.scalar(inner[1]) + ' ' + as.scalar(inner[2]))
        print(as.scalar(as.frame(l[4])))
        k = read($path + '2', data_type='list')
        print(length(k) + ' ' + as.scalar(k[1]))
        ",
    );
    insta::assert_snapshot!(read.argument("path", &path).run().text(), @r"
    4 3 42.0
    x TRUE
    y
    1 2
    ");
    for bad in [
        "write(list(1), $path)",
        "l = read($path + 'x', data_type='list')\nprint(length(l))",
    ] {
        let other = folder.path().join("other");
        std::fs::create_dir_all(&other).unwrap();
        let ran = script(bad).argument("path", &other.to_string_lossy()).run();
        assert!(ran.text().contains("io error[E060"), "{}", ran.text());
    }
}

const ENCODE: &str = "
    F = frame(list('Graz', 1.0, 'a', 'Linz', 3.0, 'b', 'say \"hi\", x', 5.0, '', 'Graz', 2.0, 'b'), rows=4, cols=3,
      schema=list('STRING', 'FP64', 'STRING'))
    spec = '{ids: true, recode: [1, 3], dummycode: [1], bin: [{id: 2, method: equi-width, numbins: 2}], impute: [{id: 3, method: constant, value: b}]}'
    ";

#[test]
fn metadata_are_stored_in_folders() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("meta");
    let path = path.to_string_lossy();
    let run = |text: &str| {
        let ran = script(&format!("{ENCODE}{text}"))
            .argument("path", &path)
            .run();
        ran.text()
    };
    let text = run("
        A = transform(target=F, spec=spec, transformPath=$path)
        [B, M] = transformencode(target=F, spec=spec)
        print(sum(A != B) + ' ' + nrow(A) + ' x ' + ncol(A))
        print(toString(A))
        ");
    insta::assert_snapshot!(text);
    let read = |file: &str| std::fs::read_to_string(folder.path().join("meta").join(file)).unwrap();
    assert_eq!(read("column.names"), "C1,C2,C3\n");
    assert_eq!(read("Recode/C3.ndistinct"), "3");
    assert_eq!(read("Bin/C2.bin"), "2,1.0,5.0,2.0,2\n");
    assert_eq!(read("Impute/C3.impute"), "3,b\n");
    let text = run("
        [B, M] = transformencode(target=F, spec=spec)
        N = transformmeta(spec=spec, transformPath=$path)
        print(sum(M[1:2, ] != N[1:2, ]) + ' ' + nrow(N) + ' x ' + ncol(N))
        print(sum(transformapply(target=F, spec=spec, meta=N) != B))
        A = transform(target=F[1:2, ], transformPath=$path + '2', applyTransformPath=$path)
        print(sum(A != B[1:2, ]))
        print(toString(transformmeta(spec, $path + '2')))
        ");
    insta::assert_snapshot!(text);
    for (bad, expected) in [
        (
            "M = transformmeta(spec=spec, transformPath=$path + 'x')\nprint(nrow(M))",
            "io error[E0601]",
        ),
        (
            "A = transform(target=F, transformPath=$path)\nprint(sum(A))",
            "validation error[E0302]",
        ),
        (
            "A = transform(target=F, spec='{ids: true, bin: [{id: 2, method: equi-height, numbins: 2}], recode: [1, 3]}', transformPath=$path + '3')\nprint(sum(A))",
            "unsupported error[E0900]",
        ),
    ] {
        let text = run(bad);
        assert!(text.contains(expected), "{text}");
    }
    std::fs::write(folder.path().join("meta/Recode/C1.map"), "Graz;1\n").unwrap();
    let text = run("M = transformmeta(spec=spec, transformPath=$path)\nprint(nrow(M))");
    assert!(
        text.contains("C1.map, line 1: 'Graz;1' is no \"category\",code"),
        "{text}"
    );
}
