//! What is wrong with plans, and how it is told.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, ListArray, Time32SecondArray};
use fulgurite_error::{Error, ErrorKind};
use fulgurite_relation::{MOST_NESTED, Relation, Table, collect};
use serde_json::{Value, json};

use crate::tables::*;

fn failure(expr: Value) -> Error {
    let rows = table(&[
        ("amount", integers(&[Some(1), None, Some(300)])),
        ("name", texts(&[Some("a"), Some("b"), None])),
    ]);
    value_of(expr, &rows).unwrap_err()
}

#[track_caller]
fn check_failure(expr: Value, kind: ErrorKind, message: &str) -> Error {
    let error = failure(expr);
    assert_eq!((error.kind(), error.message()), (kind, message));
    error
}

#[test]
fn unknown_columns_have_near_names() {
    let error = check_failure(
        col("amuont"),
        ErrorKind::Validation,
        "there is no column 'amuont'",
    );
    assert_eq!(error.help(), Some("did you mean 'amount'?"));
    let error = failure(col("zzz"));
    assert_eq!(error.help(), Some("the columns are 'amount', 'name'"));
}

#[test]
fn types_that_do_not_fit_are_named_with_the_expression() {
    let expr = call("sub", &[call("mul", &[col("amount"), int(2)]), col("name")]);
    let error = check_failure(
        expr,
        ErrorKind::Validation,
        "'sub' does not take Int64 and String",
    );
    assert_eq!(
        error.notes()[0].message,
        r#"the expression is col("amount") * 2 - col("name")"#
    );
    check_failure(
        call("eq", &[col("name"), int(1)]),
        ErrorKind::Validation,
        "'eq' does not compare String and Int32",
    );
    check_failure(
        call("str.len_chars", &[col("amount")]),
        ErrorKind::Validation,
        "'str.len_chars' takes no Int64",
    );
    check_failure(
        agg("sum", col("name")),
        ErrorKind::Validation,
        "'sum' takes no String",
    );
    let filter = json!({"filter": {"input": scan(), "predicate": col("a")}});
    let rows = [table(&[("a", integers(&[Some(1)]))])];
    let error = run(&filter, &rows).unwrap_err();
    assert_eq!(
        error.message(),
        "a filter needs a predicate of type Boolean, not Int64"
    );
}

#[test]
fn casts_name_row_and_value() {
    let error = check_failure(
        json!({"cast": "int8", "arg": col("amount")}),
        ErrorKind::Data,
        "row 3: 300 of type Int64 does not fit into Int8",
    );
    assert_eq!(
        error.notes()[0].message,
        r#"the expression is col("amount").cast(Int8)"#
    );
    check_failure(
        json!({"cast": "int8", "arg": col("name")}),
        ErrorKind::Data,
        r#"row 1: "a" of type String does not fit into Int8"#,
    );
    check_failure(
        json!({"cast": "date", "arg": col("name")}),
        ErrorKind::Unsupported,
        "a value of type String is not cast to Date",
    );
    check_failure(
        call("pow", &[int(2), call("neg", &[col("amount")])]),
        ErrorKind::Data,
        "row 1: -1 of type Int64 does not fit into UInt32",
    );
}

#[test]
fn patterns_are_looked_at_before_anything_runs() {
    let error = failure(with(
        "str.contains",
        &[col("name")],
        json!({"pattern": "("}),
    ));
    assert_eq!(error.kind(), ErrorKind::Validation);
    assert!(
        error
            .message()
            .starts_with("\"(\" is no regular expression"),
        "{error}"
    );
}

#[test]
fn groups_have_no_lists() {
    let rows = [table(&[("a", integers(&[Some(1)]))])];
    let plan = json!({"group_by": {"input": scan(), "keys": named(&[("k", col("a"))]), "aggs": named(&[("r", call("add", &[col("a"), int(1)]))])}});
    let error = run(&plan, &rows).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert_eq!(
        error.message(),
        r#"col("a") + 1 has a list of values for each group: col("a") is not aggregated"#
    );
}

#[test]
fn joins_name_both_types_and_clashing_columns() {
    let rows = [
        table(&[
            ("a", integers(&[Some(1)])),
            ("x", integers(&[Some(1)])),
            ("x_right", integers(&[Some(1)])),
        ]),
        table(&[
            ("a", floats(&[Some(1.0)])),
            ("b", integers(&[Some(1)])),
            ("x", integers(&[Some(1)])),
        ]),
    ];
    let join = |on: &str| json!({"join": {"left": scan(), "right": {"scan": 1}, "how": "inner", "left_on": [col("a")], "right_on": [col(on)]}});
    let error = run(&join("a"), &rows).unwrap_err();
    assert_eq!(
        error.message(),
        r#"a join on col("a") of type Int64 and col("a") of type Float64"#
    );
    let error = run(&join("b"), &rows).unwrap_err();
    assert_eq!(error.message(), "two columns have the name 'x_right'");
}

#[test]
fn concat_needs_the_same_columns() {
    let rows = [
        table(&[("a", integers(&[Some(1)]))]),
        table(&[("a", floats(&[Some(1.0)]))]),
        table(&[("b", integers(&[]))]),
    ];
    let concat = |other: usize| json!({"concat": {"inputs": [scan(), {"scan": other}]}});
    let error = run(&concat(1), &rows).unwrap_err();
    assert_eq!(
        error.message(),
        "concat of column 'a' of type Int64 with one of type Float64 in table 2"
    );
    let error = run(&concat(2), &rows).unwrap_err();
    assert_eq!(
        error.message(),
        "concat of the columns 'a' with table 2, which has 'b'"
    );
}

#[test]
fn json_that_is_no_plan() {
    let kind = |text: &str| Relation::from_json(text).unwrap_err().kind();
    assert_eq!(kind("{"), ErrorKind::Syntax);
    assert_eq!(kind(r#"{"scan": 0} x"#), ErrorKind::Syntax);
    assert_eq!(kind(r#"{"look": 0}"#), ErrorKind::Plan);
    let select = |expr: Value| {
        let plan = json!({"select": {"input": scan(), "exprs": named(&[("r", expr)])}});
        Relation::from_json(&plan.to_string())
            .unwrap_err()
            .to_string()
    };
    assert!(select(call("ad", &[int(1), int(2)])).contains("there is no function 'ad'"));
    assert!(select(call("add", &[int(1)])).contains("'add' takes 2 arguments, not 1"));
    assert!(select(json!({"col": "a", "lit": 1})).contains("an expression is one of"));
    assert!(
        select(with("str.contains", &[col("a")], json!({}))).contains("needs the option 'pattern'")
    );
    assert!(select(json!({"lit": 1e30, "type": "int"})).contains("more than 64 bits"));
}

#[test]
fn deep_plans_run_and_deeper_ones_are_refused() {
    let deep = |levels: usize| {
        let mut expr = col("a").to_string();
        for _ in 0..levels {
            expr = format!(r#"{{"call": "add", "args": [{expr}, {{"lit": 1, "type": "int"}}]}}"#);
        }
        format!(
            r#"{{"select": {{"input": {{"scan": 0}}, "exprs": [{{"name": "r", "expr": {expr}}}]}}}}"#
        )
    };
    let rows = [table(&[("a", integers(&[Some(1)]))])];
    let plan = Relation::from_json(&deep(990)).unwrap();
    let result = collect(&plan, &rows, &[]).unwrap();
    assert_eq!(values(result.column("r").unwrap()), "Int64 991");
    let optimized = plan.optimized(&[rows[0].schema()]).unwrap();
    assert_eq!(optimized, plan);
    assert!(
        optimized
            .to_string()
            .starts_with("select r = col(\"a\") + 1 + 1")
    );
    let error = Relation::from_json(&deep(MOST_NESTED)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Argument);
}

#[test]
fn columns_of_other_types_are_refused_by_name() {
    let list: ArrayRef = Arc::new(ListArray::from_iter_primitive::<
        arrow::datatypes::Int64Type,
        _,
        _,
    >(vec![Some(vec![Some(1)])]));
    let time: ArrayRef = Arc::new(Time32SecondArray::from(vec![1]));
    for column in [list, time] {
        let kind = column.data_type().to_string();
        let error = Table::new(vec![("c".into(), column)]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert_eq!(
            error.message(),
            format!("column 'c' has the type {kind}, which tables do not keep")
        );
    }
    let short: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    let long: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
    let error = Table::new(vec![("a".into(), Arc::clone(&short)), ("b".into(), long)]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Dimension);
    let error =
        Table::new(vec![("a".into(), Arc::clone(&short)), ("a".into(), short)]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Validation);
}

#[test]
fn arrays_have_the_rows_they_stand_beside() {
    let rows = [table(&[("a", integers(&[Some(1), Some(2)]))])];
    let array = json!({"array": 0, "type": "float64"});
    let plan = json!({"select": {"input": scan(), "exprs": named(&[("r", call("add", &[col("a"), array]))])}});
    let plan = plan.to_string();
    let plan = Relation::from_json(&plan).unwrap();
    let found = collect(&plan, &rows, &[floats(&[Some(0.5), None])]).unwrap();
    assert_eq!(values(found.column("r").unwrap()), "Float64 1.5 null");
    let error = collect(&plan, &rows, &[floats(&[Some(0.5)])]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Dimension);
    let error = collect(&plan, &rows, &[]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Plan);
}
