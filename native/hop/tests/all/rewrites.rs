//! What each rewrite does to its cases (`cases/`), and that none breaks a DAG or runs forever.

use std::{collections::BTreeMap, fs, path::Path};

use crate::common::Builder;
use fulgurite_dml::{CompileOptions, InputVariable, compile};
use fulgurite_error::Source;
use fulgurite_hop::{
    BinaryOp, Block, Characteristics, Dag, DataGenOp, Folding, HopId, HopOp, Literal, SizeOp,
    Symbols, UnaryOp, ValueType, VariableInfo, propagate_dag, propagate_dag_folding, rewrite_dag,
    rewrite_dag_traced,
    rewrites::{Precision, rules, to_markdown},
};
use proptest::prelude::*;

/// The variables of all cases.
fn variables() -> Symbols {
    let matrix = |rows, cols| VariableInfo::matrix(Characteristics::dims(rows, cols));
    let with_nnz =
        |rows, cols, nnz| VariableInfo::matrix(Characteristics::dims(rows, cols).with_nnz(nnz));
    let mut variables = BTreeMap::new();
    let mut add = |names: &str, info: VariableInfo| {
        for name in names.split(' ') {
            variables.insert(name.to_owned(), info.clone());
        }
    };
    add("X Y Z", matrix(10, 5));
    add("G", with_nnz(10, 5, 6));
    add("E", with_nnz(10, 5, 0));
    add("e", with_nnz(10, 1, 0));
    add("A B", matrix(5, 10));
    add("S Q", matrix(8, 8));
    add("v w", matrix(10, 1));
    add("h", matrix(5, 1));
    add("d", matrix(8, 1));
    add("r", matrix(1, 5));
    add("m", matrix(1, 10));
    add("o", matrix(1, 1));
    add("L", matrix(30, 4));
    add("M", matrix(4, 30));
    add("U V", VariableInfo::matrix(Characteristics::UNKNOWN));
    add("s q", VariableInfo::scalar(ValueType::Double));
    add("k", VariableInfo::scalar(ValueType::Int));
    add("b", VariableInfo::scalar(ValueType::Boolean));
    variables
}

/// The DAG of straight-line statements, with sizes.
fn dag_of(statements: &str, outputs: Vec<String>) -> Dag {
    let symbols = variables();
    let input = |(name, info): (&String, &VariableInfo)| {
        let variable = InputVariable {
            data_type: info.data_type,
            value_type: info.value_type,
            characteristics: Characteristics::UNKNOWN,
        };
        (name.clone(), variable)
    };
    let options = CompileOptions {
        inputs: symbols.iter().map(input).collect(),
        outputs,
        ..CompileOptions::default()
    };
    let source = Source::new("case.dml", statements);
    let program = compile(&source, &options).expect("the case compiles");
    let [Block::Basic { dag }] = program.body.as_slice() else {
        panic!("not one block: {statements}");
    };
    propagate_dag(dag, &symbols).expect("the sizes fit").0
}

/// Rule and statements of each case of a file.
fn cases(family: &str) -> Vec<(String, String)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/cases/{family}.dml"));
    let text = fs::read_to_string(path).expect("the cases are there");
    let case = |part: &str| {
        let (rule, statements) = part.split_once('\n').expect("a rule and its cases");
        (rule.trim().to_owned(), statements.trim().to_owned())
    };
    text.split("## ").skip(1).map(case).collect()
}

/// All rules off but this one and those that clean up.
fn all_but(rule: &str) -> Vec<String> {
    let names = rules().map(|rule| rule.name.to_owned());
    names
        .filter(|name| ![rule, "dead-code", "common-subexpressions"].contains(&name.as_str()))
        .collect()
}

fn written(dag: &Dag) -> BTreeMap<String, String> {
    let write = |root: &HopId| match &dag.hop(*root).op {
        HopOp::TransientWrite(name) => Some((
            name.clone(),
            dag.whole_expression(*dag.hop(*root).inputs.first()?),
        )),
        _ => None,
    };
    dag.roots.iter().filter_map(write).collect()
}

fn outputs(statements: &str) -> Vec<String> {
    let names = statements.lines().filter_map(|line| line.split_once(" = "));
    let mut names: Vec<String> = names
        .map(|(name, _)| name.split('[').next().unwrap_or_default().to_owned())
        .filter(|name| !name.starts_with("tmp"))
        .collect();
    names.dedup();
    names
}

/// Each output before and after the rule. Outputs are looked at one by one, so that they share nothing but
/// what a case names.
fn show(family: &str) -> String {
    let mut text = String::new();
    for (rule, statements) in cases(family) {
        text += &format!("## {rule}\n");
        let (tested, shared): (Vec<String>, Vec<String>) = outputs(&statements)
            .into_iter()
            .partition(|name| name.ends_with(char::is_numeric));
        for name in tested {
            let mut lines = statements.lines();
            let line = lines.find(|line| line.starts_with(&format!("{name} = ")));
            let line = line.unwrap_or_default();
            let words = line.split(|c: char| !c.is_alphanumeric());
            let words: Vec<&str> = words.collect();
            let named = shared.iter().filter(|name| words.contains(&name.as_str()));
            let outputs = named.cloned().chain([name.clone()]).collect();
            let dag = dag_of(&statements, outputs);
            let (after, trace) = rewrite_dag_traced(&dag, &all_but(&rule)).expect("no rule fails");
            let (before, after) = (written(&dag), written(&after));
            let (before, after) = (&before[&name], &after[&name]);
            let applied = trace
                .iter()
                .any(|application| application.rule == rule && application.position.is_some());
            let kept = name.starts_with("keep");
            assert_ne!(kept, applied, "{rule}: {name}: {before} -> {after}");
            assert_eq!(kept, before == after, "{rule}: {name}: {before} -> {after}");
            text += &match kept {
                true => format!("{name}: {before}\n"),
                false => format!("{name}: {before}  ->  {after}\n"),
            };
        }
        text += "\n";
    }
    text
}

macro_rules! families {
    ($($family:ident)*) => {$(
        #[test]
        fn $family() {
            insta::assert_snapshot!(show(stringify!($family)));
        }
    )*

    const FAMILIES: &[&str] = &[$(stringify!($family)),*];
    };
}

families!(constants neutral signs cells scalars transposes reorganizations indexing aggregates products chains empty);

#[test]
fn every_local_rule_has_cases() {
    let elsewhere = [
        "constant-folding",
        "known-size",
        "common-subexpressions",
        "dead-code",
    ];
    let program = [
        "constant-branches",
        "unentered-loops",
        "dead-variables",
        "adjacent-blocks",
        "loop-invariants",
    ];
    let with_cases = FAMILIES.iter().flat_map(|family| cases(family));
    let with_cases: Vec<String> = with_cases.map(|(rule, _)| rule).collect();
    let names = rules().map(|rule| rule.name);
    let names: Vec<&str> = names
        .filter(|name| !elsewhere.contains(name) && !program.contains(name))
        .collect();
    assert_eq!(with_cases, names);
}

#[test]
fn names_are_unique_and_rules_described() {
    let mut names: Vec<&str> = rules().map(|rule| rule.name).collect();
    names.sort_unstable();
    let all = names.len();
    names.dedup();
    assert_eq!(names.len(), all);
    assert!(rules().all(|rule| rule.formula.contains("->")));
}

/// `FULGURITE_BLESS=1` writes the page.
#[test]
fn the_page_of_rules_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/rewrites.md");
    let text = to_markdown();
    if std::env::var_os("FULGURITE_BLESS").is_some() {
        fs::write(&path, &text).expect("docs can be written");
    }
    let page = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        page == text,
        "docs/rewrites.md is out of date: run the test with FULGURITE_BLESS=1"
    );
}

#[test]
fn constant_folding() {
    let mut b = Builder::new();
    let (two, three, text) = (b.int(2), b.double(3.0), b.text("n="));
    let sum = b.binary(BinaryOp::Plus, two, three);
    let root = b.unary(UnaryOp::Sqrt, sum);
    let message = b.binary(BinaryOp::Plus, text, root);
    b.print(message);
    let x = b.matrix("X", Characteristics::dims(10, 5));
    let product = b.binary(BinaryOp::Mult, x, root);
    b.write("Y", product);
    // Fails, so it stays.
    let large = b.int(i64::MAX);
    let overflow = b.binary(BinaryOp::Mult, large, two);
    b.write("o", overflow);
    let after = rewrite_dag(&b.dag, &all_but("constant-folding")).expect("no rule fails");
    insta::assert_snapshot!(format!("{}\n===\n\n{after}", b.dag));
}

#[test]
fn known_size() {
    let mut b = Builder::new();
    let x = b.matrix("X", Characteristics::dims(10, 5));
    let half_known = b.matrix("Y", Characteristics::new(Some(3), None, None));
    for (name, op, matrix) in [
        ("rows", SizeOp::NRow, x),
        ("cells", SizeOp::Length, x),
        ("Y_rows", SizeOp::NRow, half_known),
        ("Y_cols", SizeOp::NCol, half_known),
    ] {
        let size = b.size(op, matrix);
        b.write(name, size);
    }
    let after = rewrite_dag(&b.dag, &all_but("known-size")).expect("no rule fails");
    insta::assert_snapshot!(format!("{}\n===\n\n{after}", b.dag));
}

#[test]
fn common_subexpressions() {
    let mut b = Builder::new();
    let size = Characteristics::dims(10, 5);
    let (x1, x2) = (b.matrix("X", size), b.matrix("X", size));
    let y = b.matrix("Y", Characteristics::dims(10, 5));
    let (one, also_one, real_one) = (b.int(1), b.int(1), b.double(1.0));
    let sum = b.binary(BinaryOp::Plus, x1, y);
    let swapped = b.binary(BinaryOp::Plus, y, x2);
    let product = b.binary(BinaryOp::Mult, sum, swapped);
    b.write("P", product);
    // Each draw is another, and effects stay two.
    let text = b.text("uniform");
    let inputs = [one, also_one, real_one, one, one, one, text, one];
    let first = b.op(HopOp::DataGen(DataGenOp::Rand), &inputs);
    let second = b.op(HopOp::DataGen(DataGenOp::Rand), &inputs);
    let draws = b.op(HopOp::CBind, &[first, second]);
    b.write("R", draws);
    b.print(one);
    b.print(also_one);
    let after = rewrite_dag(&b.dag, &all_but("")).expect("no rule fails");
    insta::assert_snapshot!(format!("{}\n===\n\n{after}", b.dag));
}

#[test]
fn dead_code() {
    let mut b = Builder::new();
    let x = b.matrix("X", Characteristics::dims(10, 5));
    let unread = b.transpose(x);
    b.sum(unread);
    let sum = b.sum(x);
    b.write("s", sum);
    let after = rewrite_dag(&b.dag, &all_but("")).expect("no rule fails");
    insta::assert_snapshot!(format!("{}\n===\n\n{after}", b.dag));
}

#[test]
fn a_predicate_may_become_its_own_operand() {
    let mut b = Builder::new();
    let (x, one) = (b.scalar("x", ValueType::Double), b.int(1));
    let product = b.binary(BinaryOp::Mult, x, one);
    b.dag.roots = vec![product];
    let rewritten = rewrite_dag(&b.dag, &[]).expect("no rule fails");
    insta::assert_snapshot!(rewritten);
}

#[test]
fn chains_are_rewritten_to_their_end() {
    let steps = ["T = T * 3\n", "T = T + 1\n"].concat().repeat(100);
    let dag = dag_of(&format!("T = X\n{steps}R = sum(T)"), vec!["R".into()]);
    let cellwise = |dag: &Dag| {
        let of_matrices = dag.iter().filter(|(_, hop)| hop.is_matrix());
        of_matrices
            .filter(|(_, hop)| matches!(hop.op, HopOp::Binary(_)))
            .count()
    };
    assert_eq!(cellwise(&dag), 200);
    let rewritten = rewrite_dag(&dag, &[]).expect("no rule fails");
    assert_eq!(cellwise(&rewritten), 0, "the sum has passed all of them");
}

#[test]
fn a_zero_joined_to_a_text_stays() {
    let dag = dag_of("R = \"n=\" + s + 0", vec!["R".into()]);
    let rewritten = rewrite_dag(&dag, &[]).expect("no rule fails");
    assert_eq!(written(&rewritten)["R"], "(\"n=\" + s) + 0");
}

#[test]
fn rules_are_switched_off_by_name() {
    let dag = dag_of("R = t(t(X))", vec!["R".into()]);
    let rewritten = rewrite_dag(&dag, &[]).expect("no rule fails");
    assert_eq!(written(&rewritten)["R"], "X");
    let off = ["double-transpose".to_owned()];
    let kept = rewrite_dag(&dag, &off).expect("no rule fails");
    assert_eq!(written(&kept)["R"], "t(t(X))");
    let unknown = rewrite_dag(&dag, &["no-such-rule".to_owned()]);
    let message = unknown.expect_err("it is unknown").to_string();
    assert!(message.contains("no-such-rule") && message.contains("dead-code"));
}

#[test]
fn rules_together() {
    let statements = "\
        tmp1 = t(X) * s\n\
        R1 = trace(t(X) %*% X) / 4 + sum(tmp1[1:5, 1:10])\n\
        R2 = t(t(v) %*% (X - X * 0.5))\n\
        R3 = sum(t(X * matrix(s, 10, 5)))\n\
        R4 = ((L[, 1] %*% M[2, ]) * (L %*% M)) %*% t(M)\n\
        R5 = colMeans(t(A) * 2 * 3 - 0)\n\
        R6 = 1 / (1 + exp(-(X %*% h + 0)))\n\
        R7 = (X * (v %*% matrix(1, 1, 5)) + E) %*% diag(h) %*% h";
    let names = (1..=7).map(|number| format!("R{number}")).collect();
    let dag = dag_of(statements, names);
    let (after, trace) = rewrite_dag_traced(&dag, &[]).expect("no rule fails");
    let mut text = String::new();
    for (name, value) in written(&after) {
        text += &format!("{name} = {value}\n");
    }
    for application in trace {
        text += &format!(
            "\n{} at {}, HOP {}\n  {}\n  {}\n",
            application.rule,
            application
                .position
                .map_or_else(String::new, |position| position.to_string()),
            application
                .hop
                .map_or_else(String::new, |hop| hop.to_string()),
            application.before,
            application.after
        );
    }
    insta::assert_snapshot!(text);
}

/// A random scalar expression over two variables, as operator and choices among what is there.
fn expression(steps: &[(BinaryOp, usize, usize)], constants: &[f64]) -> Dag {
    let mut b = Builder::new();
    let mut values = vec![
        b.scalar("x", ValueType::Double),
        b.scalar("y", ValueType::Double),
    ];
    values.extend(constants.iter().map(|value| b.double(*value)));
    for (op, left, right) in steps {
        let (left, right) = (values[left % values.len()], values[right % values.len()]);
        values.push(b.binary(*op, left, right));
    }
    for (place, id) in values.iter().enumerate() {
        b.write(&format!("v{place}"), *id);
    }
    b.dag
}

/// What a DAG writes, bit by bit, but with one NaN.
fn values(dag: &Dag, x: f64, y: f64) -> Vec<(String, u64)> {
    let constant = |value| VariableInfo::constant(Literal::Double(value));
    let symbols: Symbols = [("x".to_owned(), constant(x)), ("y".to_owned(), constant(y))].into();
    let (dag, _) = propagate_dag_folding(dag, &symbols, Folding::Variables).expect("scalars fit");
    let write = |root: &HopId| {
        let input = dag.hop(dag.hop(*root).inputs[0]);
        let HopOp::Literal(value) = &input.op else {
            panic!("{} is not folded", input.op);
        };
        let value = value.as_f64().expect("a number");
        let bits = if value.is_nan() { f64::NAN } else { value }.to_bits();
        (dag.hop(*root).op.code(), bits)
    };
    dag.roots.iter().map(write).collect()
}

fn special() -> impl Strategy<Value = f64> {
    prop::sample::select(vec![
        -1.0,
        -0.0,
        0.0,
        1.0,
        2.0,
        -2.5,
        1e300,
        f64::INFINITY,
        f64::NAN,
    ])
}

/// Names of the rules that may change bits.
fn inexact() -> Vec<String> {
    rules()
        .filter(|rule| rule.precision != Precision::Exact)
        .map(|rule| rule.name.to_owned())
        .collect()
}

proptest! {
    #[test]
    fn exact_rewrites_change_no_bit(
        steps in prop::collection::vec(
            (
                prop::sample::select(vec![
                    BinaryOp::Plus, BinaryOp::Minus, BinaryOp::Mult, BinaryOp::Div, BinaryOp::Pow,
                ]),
                any::<usize>(),
                any::<usize>(),
            ),
            1..15,
        ),
        constants in prop::collection::vec(special(), 0..4),
        x in special(),
        y in special(),
    ) {
        let dag = expression(&steps, &constants);
        let rewritten = rewrite_dag(&dag, &inexact()).expect("no rule fails");
        prop_assert_eq!(values(&rewritten, x, y), values(&dag, x, y));
    }
}

/// A thousand operators: layers of cell-wise operators, products, aggregates and transposes.
fn large_dag() -> Dag {
    let mut b = Builder::new();
    let size = Characteristics::dims(1000, 100);
    let mut values: Vec<HopId> = (0..8).map(|i| b.matrix(&format!("X{i}"), size)).collect();
    let two = b.double(2.0);
    while b.dag.len() < 990 {
        let at = |offset: usize| values[(b.dag.len() * 7 + offset * 3) % values.len()];
        let (x, y) = (at(1), at(2));
        let scaled = b.binary(BinaryOp::Mult, x, two);
        let sum = b.binary(BinaryOp::Plus, scaled, y);
        let transposed = b.transpose(sum);
        let product = b.matmult(transposed, x);
        let back = b.matmult(y, product);
        let place = b.dag.len() % values.len();
        values[place] = back;
    }
    for (place, value) in values.iter().enumerate() {
        b.write(&format!("R{place}"), *value);
    }
    let symbols = (0..8).map(|i| (format!("X{i}"), VariableInfo::matrix(size)));
    propagate_dag(&b.dag, &symbols.collect())
        .expect("sizes fit")
        .0
}

#[test]
fn a_thousand_operators_take_milliseconds() {
    let dag = large_dag();
    assert!(dag.len() > 950);
    let fastest = (0..5).map(|_| {
        let started = std::time::Instant::now();
        rewrite_dag(&dag, &[]).expect("no rule fails");
        started.elapsed()
    });
    let fastest = fastest.min().expect("runs");
    println!("{} operators: {fastest:?}", dag.len());
    // Machines that run tests are busy; the aim is a few milliseconds.
    assert!(fastest.as_millis() < 50, "{fastest:?}");
}

#[test]
fn rewriting_again_changes_nothing() {
    for family in FAMILIES {
        for (_, statements) in cases(family) {
            let dag = dag_of(&statements, outputs(&statements));
            let once = rewrite_dag(&dag, &[]).expect("no rule fails");
            let twice = rewrite_dag(&once, &[]).expect("no rule fails");
            assert_eq!(once.to_string(), twice.to_string(), "{statements}");
        }
    }
    let once = rewrite_dag(&large_dag(), &[]).expect("no rule fails");
    let twice = rewrite_dag(&once, &[]).expect("no rule fails");
    assert_eq!(once.len(), twice.len());
}
