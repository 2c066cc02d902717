//! Tables of so many rows that several tasks share them: against plain loops, and as operators against kernels.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use arrow::{
    array::{
        Array, ArrayRef, AsArray, Date32Array, Float32Array, Float64Array, Int64Array, StringArray,
    },
    compute::cast,
    datatypes::{DataType, Float64Type, Int64Type},
};
use fulgurite_config::Config;
use fulgurite_dataflow::Variable;
use fulgurite_lazy::{Evaluator, Expression, evaluate};
use fulgurite_matrix::Interrupt;
use fulgurite_program::Session;
use fulgurite_relation::{Fusion, Observer, Relation, Table, collect, engine::groups::codes};
use serde_json::{Value, json};

const ROWS: usize = 150_001;

/// Numbers that repeat from run to run.
struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % most
    }

    fn lacks(&mut self) -> bool {
        self.below(10) == 0
    }
}

fn text(number: u64) -> String {
    match number % 3 {
        0 => format!("é{number}"),
        1 => format!("a text that is longer than a key {number}"),
        _ => number.to_string(),
    }
}

fn table(rows: usize, seed: u64) -> Table {
    let mut random = Random(seed);
    let mut integers = |most: u64, times: i64, may_lack: bool| -> ArrayRef {
        let values = (0..rows).map(|_| {
            let value = random.below(most) as i64 * times - 3;
            (!(may_lack && random.lacks())).then_some(value)
        });
        Arc::new(Int64Array::from(values.collect::<Vec<_>>()))
    };
    let columns = [
        ("few", integers(7, 1, false)),
        ("some", integers(500, 1, true)),
        ("far", integers(900, 7_919_000_003, true)),
        ("many", integers(100_000, 1, false)),
    ];
    let mut columns: Vec<(Arc<str>, ArrayRef)> = columns
        .into_iter()
        .map(|(name, column)| (name.into(), column))
        .collect();
    let special = [f64::NAN, -0.0, 0.0, f64::INFINITY];
    let floats = (0..rows).map(|_| match random.below(12) {
        special_one @ 0..4 => Some(special[special_one as usize]),
        4 => None,
        _ => Some(random.below(200) as f64 / 8.0 - 9.0),
    });
    columns.push((
        "x".into(),
        Arc::new(Float64Array::from(floats.collect::<Vec<_>>())),
    ));
    let plain = (0..rows).map(|_| random.below(1000) as f64 / 8.0);
    columns.push((
        "y".into(),
        Arc::new(Float64Array::from(plain.collect::<Vec<_>>())),
    ));
    let days = (0..rows).map(|_| random.below(3000) as i32);
    columns.push((
        "day".into(),
        Arc::new(Date32Array::from(days.collect::<Vec<_>>())),
    ));
    for (name, most) in [("word", 40), ("name", 3_000), ("line", 1 << 30)] {
        let texts = (0..rows).map(|_| (!random.lacks()).then(|| text(random.below(most))));
        columns.push((name.into(), Arc::new(texts.collect::<StringArray>())));
    }
    for (name, most, is_short) in [("flag", 90, true), ("city", 700, false)] {
        let texts = (0..rows).map(|_| match (is_short, random.below(most)) {
            (true, number) => Some(
                ["", "é", "a"]
                    .get(number as usize)
                    .map_or_else(|| number.to_string(), ToString::to_string),
            ),
            (false, number) => Some(text(number)),
        });
        columns.push((name.into(), Arc::new(texts.collect::<StringArray>())));
    }
    let halves = (0..rows).map(|_| random.below(50) as f32 / 2.0);
    columns.push((
        "half".into(),
        Arc::new(Float32Array::from(halves.collect::<Vec<_>>())),
    ));
    Table::new(columns).unwrap()
}

/// The cells of rows, as keys of a loop see them.
fn keys(columns: &[&ArrayRef]) -> Vec<Vec<Option<String>>> {
    let texts = columns.iter().map(|column| match column.data_type() {
        DataType::Float64 => {
            let floats = column.as_primitive::<Float64Type>().iter();
            floats
                .map(|value| {
                    value.map(|value| {
                        if value.is_nan() {
                            "NaN".into()
                        } else {
                            (value + 0.0).to_string()
                        }
                    })
                })
                .collect::<Vec<Option<String>>>()
        }
        _ => {
            let texts = cast(column, &DataType::Utf8).unwrap();
            texts
                .as_string::<i32>()
                .iter()
                .map(|text| text.map(str::to_owned))
                .collect()
        }
    });
    let texts: Vec<Vec<Option<String>>> = texts.collect();
    (0..columns[0].len())
        .map(|row| texts.iter().map(|column| column[row].clone()).collect())
        .collect()
}

#[test]
fn groups_are_those_of_a_loop() {
    let table = table(ROWS, 1);
    for by in [
        &["few"][..],
        &["some"],
        &["far"],
        &["many"],
        &["x"],
        &["day"],
        &["word"],
        &["line"],
        &["few", "word"],
        &["name", "far"],
        &["x", "some", "name"],
        &["many", "line"],
    ] {
        let columns: Vec<&ArrayRef> = by.iter().map(|name| table.column(name).unwrap()).collect();
        let found = codes(
            &columns
                .iter()
                .map(|column| Arc::clone(column))
                .collect::<Vec<_>>(),
        )
        .unwrap();
        let (mut known, mut first_rows) = (HashMap::new(), Vec::new());
        for (row, key) in keys(&columns).into_iter().enumerate() {
            let next = known.len() as u32;
            let code = *known.entry(key).or_insert(next);
            if code == next {
                first_rows.push(row as u32);
            }
            assert_eq!(found.codes[row], code, "{by:?}, row {row}");
        }
        assert_eq!(found.first_rows, first_rows, "{by:?}");
        assert_eq!(found.count, first_rows.len());
    }
}

/// Pairs of rows as a loop over both sides finds them.
fn pairs(
    how: &str,
    left: &[Vec<Option<String>>],
    right: &[Vec<Option<String>>],
) -> Vec<(Option<usize>, Option<usize>)> {
    let lacks = |key: &Vec<Option<String>>| key.iter().any(Option::is_none);
    let mut rows: HashMap<&Vec<Option<String>>, Vec<usize>> = HashMap::new();
    for (row, key) in right.iter().enumerate().filter(|(_, key)| !lacks(key)) {
        rows.entry(key).or_default().push(row);
    }
    let (mut found, mut met) = (Vec::new(), vec![false; right.len()]);
    for (row, key) in left.iter().enumerate() {
        let partners = rows.get(key).map_or(&[][..], Vec::as_slice);
        match how {
            "semi" | "anti" => {
                if partners.is_empty() == (how == "anti") {
                    found.push((Some(row), None));
                }
            }
            _ => {
                found.extend(partners.iter().map(|partner| (Some(row), Some(*partner))));
                partners.iter().for_each(|partner| met[*partner] = true);
                if partners.is_empty() && how != "inner" {
                    found.push((Some(row), None));
                }
            }
        }
    }
    if how == "full" {
        let alone = met.iter().enumerate().filter(|(_, met)| !**met);
        found.extend(alone.map(|(row, _)| (None, Some(row))));
    }
    found
}

fn with_rows(table: &Table, name: &str) -> Table {
    let rows: ArrayRef = Arc::new(Int64Array::from_iter_values(0..table.rows() as i64));
    let columns = table
        .iter()
        .map(|(name, column)| (Arc::clone(name), Arc::clone(column)));
    Table::new(columns.chain([(name.into(), rows)]).collect()).unwrap()
}

#[test]
fn joins_are_those_of_a_loop_with_and_without_selections() {
    let (left, right) = (
        with_rows(&table(ROWS, 2), "of_left"),
        with_rows(&table(3_001, 3), "of_right"),
    );
    // Keys that come once on the right.
    let once: ArrayRef = Arc::new(Int64Array::from_iter_values(
        (0..3_001).map(|row| row * 31 - 3),
    ));
    let unique = Table::new(vec![
        ("many".into(), once),
        (
            "of_right".into(),
            Arc::clone(right.column("of_right").unwrap()),
        ),
    ])
    .unwrap();
    let evaluator = Evaluator::new(Session::new(Config::default()));
    for (right, on) in [
        (&unique, &["many"][..]),
        (&right, &["many"]),
        (&right, &["far"]),
        (&right, &["line"]),
        (&right, &["name", "some", "few"]),
        (&right, &["far", "many"]),
    ] {
        for how in ["inner", "left", "full", "semi", "anti"] {
            for is_selected in [false, true] {
                let on_columns: Vec<Value> = on.iter().map(|name| json!({"col": name})).collect();
                let selected = |scan: usize, name: &str| match is_selected {
                    false => json!({"scan": scan}),
                    true => {
                        let most = json!({"call": "gt", "args": [{"col": name}, {"lit": 700, "type": "int"}]});
                        json!({"filter": {"input": {"scan": scan}, "predicate": most}})
                    }
                };
                let join = json!({"join": {"left": selected(0, "of_left"), "right": selected(1, "of_right"), "how": how, "left_on": on_columns, "right_on": on_columns, "nulls_equal": false}});
                let named = |name: &str| json!({"name": name, "expr": {"col": name}});
                let wanted = match how {
                    "semi" | "anti" => json!([named("of_left")]),
                    _ => json!([named("of_left"), named("of_right")]),
                };
                let plan = json!({"select": {"input": join, "exprs": wanted}});
                let plan = Relation::from_json(&plan.to_string()).unwrap();
                let tables = [left.clone(), right.clone()];
                let fusion = Fusion {
                    tables: &tables,
                    arrays: &[],
                    evaluator: &evaluator,
                    interrupt: &Interrupt::default(),
                    least_rows: 0,
                    observer: None,
                };
                let found = fusion.collect(&plan).unwrap();
                let from = if is_selected { 701 } else { 0 };
                let of = |table: &Table| {
                    let columns = on.iter().map(|name| table.column(name).unwrap());
                    keys(&columns.collect::<Vec<_>>()).split_off(from)
                };
                let expected = pairs(how, &of(&left), &of(right));
                let rows = |name: &str| -> Vec<Option<usize>> {
                    let column = found.column(name).unwrap().as_primitive::<Int64Type>();
                    column
                        .iter()
                        .map(|row| row.map(|row| row as usize - from))
                        .collect()
                };
                let (lefts, rights): (Vec<_>, Vec<_>) = expected.into_iter().unzip();
                assert_eq!(rows("of_left"), lefts, "{how} {on:?}");
                if !matches!(how, "semi" | "anti") {
                    assert_eq!(rows("of_right"), rights, "{how} {on:?}");
                }
            }
        }
    }
}

fn col(name: &str) -> Value {
    json!({"col": name})
}

fn call(function: &str, args: Vec<Value>) -> Value {
    json!({"call": function, "args": args})
}

fn with_options(function: &str, arg: Value, options: Value) -> Value {
    json!({"call": function, "args": [arg], "options": options})
}

fn int(value: i64) -> Value {
    json!({"lit": value, "type": "int"})
}

fn predicates() -> Vec<Value> {
    let long = call("gt", vec![call("str.len_chars", vec![col("word")]), int(3)]);
    let words = with_options(
        "is_in",
        col("word"),
        json!({"values": [{"lit": "2", "type": "string"}, {"lit": "é3", "type": "string"}, {"lit": "5", "type": "string"}]}),
    );
    let early = call("lt", vec![col("day"), json!({"lit": 40, "type": "date"})]);
    let late = call("ge", vec![col("day"), json!({"lit": 900, "type": "date"})]);
    let starts = with_options("str.starts_with", col("line"), json!({"prefix": "a"}));
    let of_numbers = call(
        "lt",
        vec![call("mul", vec![col("y"), col("few")]), int(200)],
    );
    let nan = call("gt", vec![col("x"), int(2)]);
    let and = |a: &Value, b: &Value| call("and", vec![a.clone(), b.clone()]);
    vec![
        long.clone(),
        words.clone(),
        and(&early, &starts),
        and(&late, &words),
        and(&late, &of_numbers),
        and(&and(&starts, &early), &of_numbers),
        call("not", vec![nan.clone()]),
        nan,
        call("or", vec![early, call("is_null", vec![col("name")])]),
        call("le", vec![col("x"), col("y")]),
        call(
            "eq",
            vec![col("name"), json!({"lit": "é3", "type": "string"})],
        ),
        of_numbers,
    ]
}

fn named(values: &[(&str, Value)]) -> Value {
    values
        .iter()
        .map(|(name, value)| json!({"name": name, "expr": value}))
        .collect()
}

fn plans(input: &Value) -> Vec<Value> {
    let slice = with_options("str.slice", col("word"), json!({"offset": 0, "length": 2}));
    let agg = |name: &str, arg: Value| json!({"agg": name, "arg": arg});
    let sums = [
        ("n", json!({"agg": "len"})),
        ("y", agg("sum", col("y"))),
        ("z", agg("mean", call("mul", vec![col("y"), col("few")]))),
        ("c", agg("count", col("x"))),
        ("m", agg("max", col("y"))),
    ];
    let grouped = |keys: &[(&str, Value)], is_ordered: bool| {
        let grouped = json!({"group_by": {"input": input, "keys": named(keys), "aggs": named(&sums), "maintain_order": is_ordered}});
        match is_ordered {
            true => grouped,
            false => {
                let by: Value = keys
                    .iter()
                    .map(|(name, _)| json!({"expr": {"col": name}}))
                    .collect();
                json!({"sort": {"input": grouped, "by": by}})
            }
        }
    };
    let sliced = json!({"select": {"input": input, "exprs": named(&[("s", slice.clone()), ("few", col("few"))])}});
    let counted = |key: &str| json!({"group_by": {"input": input, "keys": named(&[(key, col(key))]), "aggs": named(&[("n", json!({"agg": "len"}))]), "maintain_order": true}});
    let by_one = [
        "few", "some", "far", "many", "x", "day", "word", "line", "flag", "city", "half",
    ];
    // A column that needs the selected rows alone.
    let beside =
        json!({"with_columns": {"input": input, "exprs": named(&[("m", agg("mean", col("y")))])}});
    // Texts that are computed, looked at, and read again.
    let some = with_options(
        "is_in",
        col("s"),
        json!({"values": [{"lit": "é1", "type": "string"}, {"lit": "a ", "type": "string"}, {"lit": "2", "type": "string"}]}),
    );
    let others = json!({"filter": {"input": sliced, "predicate": call("not", vec![some])}});
    let mut plans = vec![
        grouped(&[("word", col("word"))], false),
        grouped(&[("s", slice.clone()), ("few", col("few"))], false),
        grouped(&[("name", col("name")), ("some", col("some"))], true),
        grouped(&[("city", col("city"))], false),
        grouped(&[("city", col("city"))], true),
        grouped(&[("flag", col("flag")), ("city", col("city"))], false),
        json!({"group_by": {"input": input, "keys": named(&[("flag", col("flag"))]), "aggs": named(&[("city", agg("first", col("city")))]), "maintain_order": true}}),
        json!({"group_by": {"input": beside, "keys": named(&[("city", col("city"))]), "aggs": named(&[("line", agg("first", col("line")))]), "maintain_order": true}}),
        json!({"group_by": {"input": beside, "keys": named(&[("city", col("city"))]), "aggs": named(&[("m", agg("sum", col("m")))]), "maintain_order": true}}),
        json!({"select": {"input": input, "exprs": named(&sums)}}),
        json!({"unique": {"input": sliced, "subset": null, "keep": "first"}}),
        json!({"unique": {"input": others, "subset": ["s"], "keep": "first"}}),
        json!({"group_by": {"input": others, "keys": named(&[("s", col("s"))]), "aggs": named(&[("n", json!({"agg": "len"}))]), "maintain_order": true}}),
        json!({"filter": {"input": others, "predicate": call("ne", vec![col("few"), int(2)])}}),
        json!({"unique": {"input": input, "subset": ["name"], "keep": "any"}}),
        json!({"with_columns": {"input": input, "exprs": named(&[("line", slice), ("z", call("add", vec![col("x"), col("y")]))])}}),
    ];
    plans.extend(by_one.map(counted));
    plans
}

#[test]
fn plans_as_operators_give_what_kernels_give() {
    let tables = [table(ROWS, 4)];
    let evaluator = Evaluator::new(Session::new(Config::default()));
    let whole = json!({"scan": 0});
    let filters = predicates()
        .into_iter()
        .map(|predicate| json!({"filter": {"input": whole, "predicate": predicate}}));
    for input in filters.chain([whole.clone()]) {
        for plan in plans(&input) {
            let plan = Relation::from_json(&plan.to_string()).unwrap();
            let fusion = Fusion {
                tables: &tables,
                arrays: &[],
                evaluator: &evaluator,
                interrupt: &Interrupt::default(),
                least_rows: 0,
                observer: None,
            };
            let (fused, kernels) = (
                fusion.collect(&plan).unwrap(),
                collect(&plan, &tables, &[]).unwrap(),
            );
            assert_eq!(fused.schema(), kernels.schema(), "{plan}");
            assert_eq!(fused.rows(), kernels.rows(), "{plan}");
            for ((name, a), (_, b)) in fused.iter().zip(kernels.iter()) {
                if *a.data_type() != DataType::Float64 {
                    assert_eq!(a, b, "{plan}: {name}");
                    continue;
                }
                let cells = a
                    .as_primitive::<Float64Type>()
                    .iter()
                    .zip(b.as_primitive::<Float64Type>());
                for (row, (a, b)) in cells.enumerate() {
                    let is_close = match (a, b) {
                        (Some(a), Some(b)) => {
                            a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= 1e-11 * a.abs()
                        }
                        (a, b) => a == b,
                    };
                    assert!(is_close, "{plan}: {name}, row {row}: {a:?} and {b:?}");
                }
            }
        }
    }
}

/// What a plan says that it does.
#[derive(Default)]
struct Notes(Mutex<Vec<String>>);

impl Observer for Notes {
    fn notes(&self, what: &str) {
        self.0.lock().unwrap().push(what.to_owned());
    }

    fn computes(&self, _: &[Arc<Expression>]) {}
}

#[test]
fn rows_are_counted_without_numbers_and_written_into_matrices() {
    let tables = [table(ROWS, 6)];
    let evaluator = Evaluator::new(Session::new(Config::default()));
    let notes = Notes::default();
    let fusion = Fusion {
        tables: &tables,
        arrays: &[],
        evaluator: &evaluator,
        interrupt: &Interrupt::default(),
        least_rows: 0,
        observer: Some(&notes),
    };
    let few = json!({"group_by": {"input": {"scan": 0}, "keys": named(&[("few", col("few"))]), "aggs": named(&[("n", json!({"agg": "len"}))]), "maintain_order": false}});
    let late = call("ge", vec![col("day"), json!({"lit": 900, "type": "date"})]);
    let late = json!({"filter": {"input": {"scan": 0}, "predicate": late}});
    let plan = |json: &Value| Relation::from_json(&json.to_string()).unwrap();
    fusion.collect(&plan(&few)).unwrap();
    fusion
        .matrix(&plan(&late), &["y".into(), "few".into()])
        .unwrap();
    let notes = notes.0.into_inner().unwrap();
    assert_eq!(
        notes[0],
        format!("count the rows of 7 groups of {ROWS} rows")
    );
    assert!(notes[1].ends_with("into a matrix"), "{notes:?}");
}

#[test]
fn selected_rows_as_a_matrix_are_those_of_the_table() {
    let far = Int64Array::from_iter_values((0..ROWS as i64).map(|row| (1 << 60) + row));
    let given = table(ROWS, 5);
    let columns = given
        .iter()
        .map(|(name, column)| (Arc::clone(name), Arc::clone(column)));
    let columns = columns.chain([("huge".into(), Arc::new(far) as ArrayRef)]);
    let tables = [Table::new(columns.collect()).unwrap()];
    let evaluator = Evaluator::new(Session::new(Config::default()));
    let interrupt = Interrupt::default();
    for predicate in predicates() {
        for (names, is_whole) in [
            (&["few"][..], true),
            (&["y", "few", "day"], false),
            (&["few", "day", "many"], true),
            (&["half", "many"], false),
            (&["some", "x", "y"], false),
            (&["huge", "few"], false),
        ] {
            let input = json!({"filter": {"input": {"scan": 0}, "predicate": predicate}});
            let exprs: Vec<_> = names.iter().map(|name| (*name, col(name))).collect();
            let plan = json!({"select": {"input": input, "exprs": named(&exprs)}});
            let plan = Relation::from_json(&plan.to_string()).unwrap();
            let fusion = Fusion {
                tables: &tables,
                arrays: &[],
                evaluator: &evaluator,
                interrupt: &interrupt,
                least_rows: 0,
                observer: None,
            };
            let columns: Vec<Arc<str>> = names.iter().map(|name| (*name).into()).collect();
            let found = fusion.matrix(&plan, &columns).unwrap();
            evaluate(&[Arc::clone(&found.matrix)], &evaluator, &interrupt).unwrap();
            let Some(Variable::Matrix(matrix)) = found.matrix.known() else {
                panic!("{plan}: no matrix");
            };
            let matrix = matrix.block().to_dense().unwrap();
            let expected = collect(&plan, &tables, &[]).unwrap();
            assert_eq!(
                (found.rows, matrix.cols()),
                (expected.rows(), names.len()),
                "{plan}"
            );
            assert_eq!(found.is_whole, is_whole, "{plan}");
            for (col, (name, column)) in expected.iter().enumerate() {
                let column = match column.data_type() {
                    DataType::Date32 => cast(column, &DataType::Int32).unwrap(),
                    _ => Arc::clone(column),
                };
                let column = cast(&column, &DataType::Float64).unwrap();
                let cells = column.as_primitive::<Float64Type>().iter();
                for (row, cell) in cells.enumerate() {
                    let (cell, is) = (cell.unwrap_or(f64::NAN), matrix.row(row)[col]);
                    assert!(
                        is.to_bits() == cell.to_bits() || is.is_nan() && cell.is_nan(),
                        "{plan}: {name}, row {row}: {is} and {cell}"
                    );
                }
            }
        }
    }
}
