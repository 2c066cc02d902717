//! Tables and plans of tests.

use std::sync::Arc;

use arrow::{
    array::{
        Array, ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int64Array, StringArray,
    },
    datatypes::{DataType, Int32Type},
    util::display::{ArrayFormatter, FormatOptions},
};
use fulgurite_error::Error;
use fulgurite_relation::{Relation, Table, collect};
use serde_json::{Value, json};

pub fn floats(values: &[Option<f64>]) -> ArrayRef {
    Arc::new(Float64Array::from(values.to_vec()))
}

pub fn integers(values: &[Option<i64>]) -> ArrayRef {
    Arc::new(Int64Array::from(values.to_vec()))
}

pub fn booleans(values: &[Option<bool>]) -> ArrayRef {
    Arc::new(BooleanArray::from(values.to_vec()))
}

pub fn texts(values: &[Option<&str>]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

pub fn coded(values: &[Option<&str>]) -> ArrayRef {
    Arc::new(
        values
            .iter()
            .copied()
            .collect::<DictionaryArray<Int32Type>>(),
    )
}

pub fn table(columns: &[(&str, ArrayRef)]) -> Table {
    let columns = columns
        .iter()
        .map(|(name, column)| ((*name).into(), Arc::clone(column)));
    Table::new(columns.collect()).unwrap()
}

pub fn col(name: &str) -> Value {
    json!({"col": name})
}

pub fn int(value: i64) -> Value {
    json!({"lit": value, "type": "int"})
}

pub fn float(value: f64) -> Value {
    json!({"lit": value, "type": "float"})
}

pub fn text(value: &str) -> Value {
    json!({"lit": value, "type": "string"})
}

pub fn none() -> Value {
    json!({"lit": null, "type": "null"})
}

pub fn call(name: &str, args: &[Value]) -> Value {
    json!({"call": name, "args": args})
}

pub fn with(name: &str, args: &[Value], options: Value) -> Value {
    json!({"call": name, "args": args, "options": options})
}

pub fn agg(name: &str, arg: Value) -> Value {
    json!({"agg": name, "arg": arg})
}

pub fn named(exprs: &[(&str, Value)]) -> Value {
    exprs
        .iter()
        .map(|(name, expr)| json!({"name": name, "expr": expr}))
        .collect()
}

pub fn scan() -> Value {
    json!({"scan": 0})
}

pub fn plan(json: &Value) -> Relation {
    Relation::from_json(&json.to_string()).unwrap()
}

/// What a plan gives, as it is and optimized.
pub fn run(json: &Value, tables: &[Table]) -> Result<Table, Error> {
    let plan = plan(json);
    let result = collect(&plan, tables, &[]);
    let sources: Vec<_> = tables.iter().map(Table::schema).collect();
    if let Ok(expected) = &result {
        let optimized = plan.optimized(&sources).unwrap();
        let found = collect(&optimized, tables, &[]).unwrap();
        assert_eq!(
            shown(&found),
            shown(expected),
            "{plan}\noptimized:\n{optimized}"
        );
        assert_eq!(plan.schema(&sources).unwrap(), expected.schema(), "{plan}");
    }
    result
}

/// Type and values of a column as a text.
pub fn values(column: &ArrayRef) -> String {
    let options = FormatOptions::new().with_null("null");
    let formatter = ArrayFormatter::try_new(column, &options).unwrap();
    let cells: Vec<_> = (0..column.len())
        .map(|row| formatter.value(row).to_string())
        .collect();
    let kind = match column.data_type() {
        DataType::Dictionary(..) => "Coded".to_owned(),
        DataType::Timestamp(..) => "Datetime".to_owned(),
        kind => kind.to_string(),
    };
    format!("{kind} {}", cells.join(" "))
}

/// All columns, a line each.
pub fn shown(table: &Table) -> String {
    let lines = table
        .iter()
        .map(|(name, column)| format!("{name}: {}\n", values(column)));
    format!("{} rows\n{}", table.rows(), lines.collect::<String>())
}

/// The value of one expression over a table.
pub fn value_of(expr: Value, table: &Table) -> Result<String, Error> {
    let plan = json!({"select": {"input": scan(), "exprs": named(&[("r", expr)])}});
    Ok(values(
        run(&plan, std::slice::from_ref(table))?
            .column("r")
            .unwrap(),
    ))
}

#[track_caller]
pub fn check(expr: Value, table: &Table, expected: &str) {
    let found = value_of(expr.clone(), table);
    assert_eq!(
        found.map_err(|error| error.to_string()),
        Ok(expected.to_owned()),
        "{expr}"
    );
}
