//! Every committed input gives a result or a typed error.

use std::{fs, path::Path};

use fulgurite_fuzz::Target;

fn replay(target: Target) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let inputs = fs::read_dir(corpus.join(target.name())).expect("the target's corpus");
    let mut seen = 0;
    for input in inputs {
        let path = input.expect("a readable folder").path();
        let bytes = fs::read(&path).expect("a readable file");
        println!("{}", path.display());
        target.run(&bytes, folder.path());
        seen += 1;
    }
    assert!(seen > 0, "{} has no corpus", target.name());
}

macro_rules! targets {
    ($($test:ident $target:ident)*) => {
        $(#[test]
        fn $test() {
            replay(Target::$target);
        })*
    };
}

targets! {
    scripts Dml
    dags HopJson
    csv_files Csv
    text_files Text
    matrix_market_files MatrixMarket
    libsvm_files Libsvm
    binary_files Binary
    metadata Metadata
    arrow_streams Arrow
}
